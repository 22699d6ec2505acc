// Helpers for the tests of this folder: random matrices, and the distance of tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/support_test.h"

namespace heddle::linalg_internal {

// Normal numbers, the same for the same seed.
inline Tensor random_tensor(const Dimensions& shape, DType dtype, uint32_t seed = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> draw;
  const auto part = [&] {
    std::vector<double> values(static_cast<size_t>(Shape(f64, shape).element_count()));
    for (double& value : values) value = draw(bits);
    return array<double>(values, shape);
  };
  if (!is_complex(dtype)) return part().astype(dtype);
  const Tensor re = part(), im = part();
  return complex(re, im).astype(dtype);
}

// The greatest |x - y|; NaN where one is. Shapes and dtypes must be equal.
inline double distance(const Tensor& x, const Tensor& y) {
  EXPECT_EQ(x.shape(), y.shape());
  if (x.shape() != y.shape()) return NAN;
  if (x.size() == 0) return 0;
  return max(abs(x - y)).item<double>();
}

inline Tensor adjoint_of(const Tensor& x) { return adjoint(Expr(x)).tensor(); }

// Batches of n x n Hermitian positive definite matrices: a a^H + 1.
inline Tensor positive_tensor(const Dimensions& batch, int64_t n, DType dtype) {
  const Tensor a = random_tensor(with_axes(batch, {n, n}), dtype);
  return matmul(a, adjoint_of(a)) + eye(n, n, 0, dtype);
}

inline double tolerance(DType dtype) { return real_dtype(dtype) == f32 ? 2e-4 : 2e-12; }

// Of tests for each dtype.
class OfDType : public testing::TestWithParam<DType> {
 protected:
  [[nodiscard]] DType dtype() const { return GetParam(); }
  [[nodiscard]] double near() const { return tolerance(dtype()); }
  [[nodiscard]] Tensor draw(const Dimensions& shape, uint32_t seed = 1) const {
    return random_tensor(shape, dtype(), seed);
  }
};

}  // namespace heddle::linalg_internal
