// Every sample of the reference table, which is jax.random's, against ours. Integers and bits must
// be equal; floats too, but for those behind logarithms and the like, which XLA rounds otherwise
// than the interpreter and machine code: they may differ by what `allowed_ulps` says.
#include "heddle/tests/random/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/registry.h"
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
using AllowedOf = std::map<std::string, Allowed>;
const AllowedOf& of_interpreter() {
  static const AllowedOf kAllowed = {
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
      // Their vectors are the reference LAPACK's, which rounds otherwise than JAX's OpenBLAS.
      {"multivariate_normal_eigh", {9, 9, 0, 0}},
      {"multivariate_normal_svd", {4, 19, 0, 0}},
      {"normal_complex", {1, 9, 0, 0}},
      {"orthogonal", {3.5, 8.5, 0, 0}},
      {"orthogonal_complex", {1.5, 3, 0, 0}},
      {"orthogonal_wide", {1.3, 2.5, 0, 0}},
  };
  return kAllowed;
}

// Machine code has functions of its own: where they are further away.
const AllowedOf& of_cpu() {
  static const AllowedOf kAllowed = {
      {"cauchy", {1, 1, 0, 0}},           {"f", {7, 5, 0, 0}},     {"gumbel", {1, 1, 1, 0}},
      {"normal_complex", {1, 9.5, 0, 0}}, {"wald", {18, 2, 3, 0}},
  };
  return kAllowed;
}

double allowed_ulps(const AllowedOf& allowed, const Row& row) {
  auto found = allowed.find(row.function);
  if (found == allowed.end()) return 0;
  const Allowed& a = found->second;
  return row.dtype == f32 ? a.f32 : row.dtype == f64 ? a.f64 : row.dtype == f16 ? a.f16 : a.bf16;
}

void expect_near(const char* backend) {
  const DefaultDevice on(*runtime::find_device(backend).value());
  const bool is_cpu = std::string_view(backend) == "cpu";
  std::map<std::pair<std::string, DType>, double> seen;
  for (const Row& row : rows_of(rounded_samplers())) {
    Literal got = sampled(rounded_samplers(), row);
    double ulps = distance(got, row);
    double& most = seen[{row.function, row.dtype}];
    most = std::max(most, ulps);
    const double allowed = allowed_ulps(of_interpreter(), row);
    EXPECT_LE(ulps, is_cpu ? std::max(allowed, allowed_ulps(of_cpu(), row)) : allowed)
        << describe(row) << " on " << backend;
  }
  for (const auto& [what, ulps] : seen) {
    testing::Test::RecordProperty(base::cat(what.first, "_", to_string(what.second)),
                                  base::cat(ulps));
  }
}

TEST(RandomReference, OtherFloatsAreNear) { expect_near("interpreter"); }
TEST(RandomReference, OtherFloatsAreNearInMachineCode) { expect_near("cpu"); }

}  // namespace
}  // namespace heddle::random_test
