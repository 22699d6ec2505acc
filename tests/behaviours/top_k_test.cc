// top_k of long rows, of which few elements are asked for: it goes by the op for it and not by a
// sort (numpy/sorting.cc), with the same derivatives and lanes, on XLA too.
#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

Tensor rows() { return sin(reshape(arange(600.0).astype(f64), {3, 200}) * 7.3); }

// A third of the squares of the seven greatest, summed. Positions have no derivative.
Tensor measure(const Tensor& row) {
  const TopK top = top_k(row, 7);
  return sum(square(top.values)) / 3.0 + 0.0 * sum(top.indices.astype(f64));
}

Tensor by_sort(const Tensor& row) {
  return sum(square(slice_in_dim(sort(row, 0, /*descending=*/true), 0, 7))) / 3.0;
}

TEST(TopK, OfLongRowsHasDerivativesAndLanes) {
  const Tensor x = rows();
  EXPECT_EQ(grad(measure)(x[0]).to_vector<double>(), grad(by_sort)(x[0]).to_vector<double>());
  check_grads(measure, std::tuple(x[1]), {.order = 2});
  EXPECT_EQ(vmap(measure)(x).to_vector<double>(), vmap(by_sort)(x).to_vector<double>());
  EXPECT_EQ(vmap(grad(measure))(x).to_vector<double>(), vmap(grad(by_sort))(x).to_vector<double>());
}

TEST(TopK, OfLongRowsIsTheSameOnXla) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  const auto xla = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  Device& device = *xla->devices()[0];
  for (const DType dtype : {f32, f64, f16, bf16, s32, u8}) {
    const Tensor x = (rows() * 100.0).astype(dtype);
    const TopK here = top_k(x, 5), there = top_k(device_put(x, device), 5);
    EXPECT_EQ(here.indices.to_vector<int>(), there.indices.to_vector<int>()) << to_string(dtype);
    EXPECT_EQ(here.values.astype(f64).to_vector<double>(),
              there.values.astype(f64).to_vector<double>());
  }
}

}  // namespace
}  // namespace heddle
