// Files go to numpy and come back. Needs a python3 with numpy; skipped elsewhere.
#include <complex>
#include <cstdlib>
#include <filesystem>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/creation/files.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"

namespace heddle::numpy_test {
namespace {

struct Layer {
  Tensor b;
  static constexpr auto kFields = fields(field("b", &Layer::b));
};
struct Params {
  Tensor w;
  std::vector<Layer> layers;
  static constexpr auto kFields = fields(field("w", &Params::w), field("layers", &Params::layers));
};

class RoundTrip : public testing::Test {
 protected:
  void SetUp() override {
    // Not `import numpy`: here that finds the folder of that name.
    if (std::system("python3 -c 'from numpy import ndarray' 2>/dev/null") != 0)
      GTEST_SKIP() << "no python3 with numpy";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] bool python(const std::string& verb) const {
    return std::system(("python3 tests/numpy/round_trip.py " + verb + " " + folder_).c_str()) == 0;
  }
  const std::string folder_ = testing::TempDir() + "heddle_round_trip_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(RoundTrip, NumpysFilesAreLoaded) {
  ASSERT_TRUE(python("write"));
  const Tensor x = load_npy(folder_ + "/x.npy");
  EXPECT_EQ(x.shape(), Shape(f64, {2, 3}));
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(0, 0.25, 0.5, 0.75, 1, 1.25));
  const Params params = load_npz<Params>(folder_ + "/params.npz");
  ASSERT_EQ(params.layers.size(), 2u);
  EXPECT_EQ(params.w.shape(), Shape(f32, {2, 3}));
  EXPECT_THAT(params.layers[1].b.to_vector<bool>(), ElementsAre(false, true));
  const auto [w, n] = load_npz<std::pair<Tensor, Tensor>>(folder_ + "/small.npz");
  EXPECT_EQ(w.to_vector<float>()[5], 1.25f);
  EXPECT_EQ(n.item<int>(), -3);
  EXPECT_EQ(load_npz(folder_ + "/pipe.npz").at("w").to_vector<float>()[5], 1.25f);
}

TEST_F(RoundTrip, NumpyLoadsOurs) {
  const Tensor w = arange(6, f32) / 4;
  save_npy(folder_ + "/ours.npy", reshape(w, {2, 3}).astype(f64));
  const std::map<std::string, Tensor> named = {{"w", reshape(w, {2, 3})},
                                               {"layers[0].b", array({true, false})},
                                               {"layers[1].b", array({false, true})},
                                               {"naïve", scalar(std::complex<float>(1, 2))},
                                               {"half", array({1.0f, -2.5f}).astype(bf16)}};
  save_npz(folder_ + "/ours.npz", named);
  save_npz(folder_ + "/compressed.npz", named, {.compress = true});
  EXPECT_TRUE(python("check"));
  EXPECT_EQ(load_npz(folder_ + "/compressed.npz").at("half").dtype(), bf16);
}

}  // namespace
}  // namespace heddle::numpy_test
