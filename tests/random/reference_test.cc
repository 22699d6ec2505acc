// Every sample of the reference table, which is jax.random's, against ours. Integers and bits must
// be equal; floats too, but for those behind logarithms and the like, which XLA rounds otherwise
// than the interpreter: they may differ by what `allowed_ulps` says.
#include "heddle/tests/random/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "heddle/hlo/literal.h"
#include "heddle/tests/random/samplers.h"

namespace heddle::random_test {
namespace {

TEST(RandomReference, EveryRowHasASampler) {
  size_t rows = rows_of(exact_samplers()).size() + rows_of(rounded_samplers()).size();
  EXPECT_EQ(rows, read_reference("tests/random/reference.txt").size());
  EXPECT_GT(rows, 500u);
}

TEST(RandomReference, BitsIntegersAndUniformFloatsAreEqual) {
  for (const Row& row : rows_of(exact_samplers()))
    EXPECT_EQ(bits_of(sampled(exact_samplers(), row)), row.bits) << describe(row);
}

// The greatest distances in the table, rounded up; functions that are not listed have none.
struct Allowed {
  double f32, f64, f16, bf16;
};
double allowed_ulps(const std::string& function, DType dtype) {
  static const std::map<std::string, Allowed> kAllowed = {
      {"ball", {1, 0, 0, 0}},
      {"beta", {1, 1, 0, 0}},
      {"chain", {2, 0, 0, 0}},
      {"chisquare", {1, 5, 0, 0}},
      {"dirichlet", {1, 2, 0, 0}},
      {"exponential", {1, 17, 0, 0}},
      {"f", {5, 5, 0, 0}},
      {"gamma", {3, 4, 0, 0}},
      {"generalized_normal", {2, 0, 0, 0}},
      {"gumbel", {1, 0, 1, 0}},
      {"laplace", {1, 39, 0, 0}},
      {"loggamma", {3, 60, 0, 0}},
      {"logistic", {2, 17, 1, 0}},
      {"lognormal", {1, 1, 0, 0}},
      {"maxwell", {1, 5, 0, 1}},
      {"normal", {2, 1, 0, 0}},
      {"pareto", {2, 10, 1, 0}},
      {"rayleigh", {1, 0, 0, 0}},
      {"t", {2, 15, 0, 0}},
      {"truncated_normal", {4, 2, 2, 0}},
      {"uniform_range", {2, 2, 2, 0}},
      {"wald", {12, 2, 3, 0}},
      {"weibull_min", {1, 43, 0, 0}},
      {"ball_wide", {0, 0.5, 0, 0}},
      {"double_sided_maxwell", {2, 9, 0, 1}},
      {"generalized_normal_wide", {0, 2, 0, 0}},
      {"gumbel_high", {1, 37, 0, 0}},
      {"gumbel_highest", {1, 37, 0, 0}},
      {"multivariate_normal", {1, 9, 0, 0}},
      {"multivariate_normal_eigh", {7, 9, 0, 0}},
      {"multivariate_normal_svd", {4, 11, 0, 0}},
      {"normal_complex", {1, 9, 0, 0}},
      {"orthogonal", {3.5, 8.5, 0, 0}},
      {"orthogonal_complex", {1.5, 3, 0, 0}},
      {"orthogonal_wide", {1.3, 2.5, 0, 0}},
  };
  auto found = kAllowed.find(function);
  if (found == kAllowed.end()) return 0;
  const Allowed& a = found->second;
  return dtype == f32 ? a.f32 : dtype == f64 ? a.f64 : dtype == f16 ? a.f16 : a.bf16;
}

TEST(RandomReference, OtherFloatsAreNear) {
  std::map<std::pair<std::string, DType>, double> seen;
  for (const Row& row : rows_of(rounded_samplers())) {
    Literal got = sampled(rounded_samplers(), row);
    double ulps = distance(got, row);
    double& most = seen[{row.function, row.dtype}];
    most = std::max(most, ulps);
    EXPECT_LE(ulps, allowed_ulps(row.function, row.dtype)) << describe(row);
  }
  for (const auto& [what, ulps] : seen)
    RecordProperty(base::cat(what.first, "_", to_string(what.second)), base::cat(ulps));
}

}  // namespace
}  // namespace heddle::random_test
