// What the kernel of small singular values computes, and what it leaves to the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

using base::cat;

class Refusing final : public Kernel {
 public:
  Status run(std::span<void* const>) const override { return base::internal_error("the rule"); }
};

// Runs on `numbers`, which are batch x rows x columns.
template <class T>
Status run(int64_t batch, int64_t rows, int64_t columns, char mode, std::vector<T> numbers) {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const int64_t least = std::min(rows, columns);
  const auto array = [&](int64_t m, int64_t n) {
    return cat(type, "[", batch, ",", m, ",", n, "]");
  };
  const int64_t across = mode == 'A' ? rows : least, down = mode == 'A' ? columns : least;
  const hlo::Module module =
      hlo::parse_text(cat("HloModule m\nENTRY e {\n  a = ", array(rows, columns),
                          " parameter(0)\n  ROOT r = (", array(rows, columns), ", ", type, "[",
                          batch, ",", least, "], ", array(rows, across), ", ", array(down, columns),
                          ", s32[", batch, "]) custom-call(a), custom_call_target=\"lapack_",
                          sizeof(T) == 4 ? "s" : "d",
                          "gesdd_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={mode = ",
                          static_cast<int>(mode), " : ui8} }"))
          .value();
  const hlo::Computation& entry = module.entry_computation();
  const auto kernel = make_svd_kernel(entry.root_instruction(), entry.parameter_shape(0),
                                      std::make_unique<Refusing>());
  const auto size = static_cast<size_t>(batch * 36);
  std::vector<T> same(size), s(size), u(size), v(size);
  std::vector<int32_t> info(size);
  void* const pointers[] = {numbers.data(), same.data(), s.data(), u.data(), v.data(), info.data()};
  return kernel->run(pointers);
}

template <class T>
std::vector<T> numbers(int64_t count) {
  std::vector<T> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<T>(std::sin(static_cast<double>(i))));
  return out;
}

template <class T>
void expect_small_squares_alone() {
  for (const char mode : {'A', 'S'}) {
    for (int64_t n = 1; n <= 4; ++n) {
      EXPECT_TRUE(run<T>(150, n, n, mode, numbers<T>(150 * n * n)).ok()) << mode << n;
      std::vector<T> odd = numbers<T>(150 * n * n);
      odd[static_cast<size_t>(70 * n * n)] = static_cast<T>(std::nan(""));
      EXPECT_FALSE(run<T>(150, n, n, mode, odd).ok()) << mode << n;
    }
    EXPECT_TRUE(run<T>(0, 3, 3, mode, {}).ok());
    EXPECT_FALSE(run<T>(2, 5, 5, mode, numbers<T>(50)).ok());
    EXPECT_FALSE(run<T>(2, 4, 3, mode, numbers<T>(24)).ok());
  }
  EXPECT_FALSE(run<T>(2, 3, 3, 'N', numbers<T>(18)).ok());  // make_spectrum_kernel()'s
}

TEST(SvdKernel, TakesSmallSquaresAlone) {
  expect_small_squares_alone<float>();
  expect_small_squares_alone<double>();
}

}  // namespace
}  // namespace heddle::cpu
