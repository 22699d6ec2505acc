// Every sample of the reference table, which is jax.random's, against ours. Integers and bits must
// be equal; floats too, but for those behind logarithms and the like, which XLA rounds otherwise
// than the interpreter: they may differ by what `allowed_ulps` says.
#include "heddle/tests/random/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "heddle/hlo/literal.h"

namespace heddle::random_test {
namespace {

using Sampler = std::function<Tensor(const Row&, Tensor)>;

// An array of the row's shape and `dtype`, filled with the values over and over.
Tensor grid(const Row& row, std::vector<double> values, DType dtype) {
  std::vector<double> all(static_cast<size_t>(Shape(f64, row.shape).element_count()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  return array(all, row.shape).astype(dtype);
}

Tensor alphas(const Row& row) { return grid(row, {0.3, 1.0, 2.5, 11.0, 0.05}, row.dtype); }

Tensor draw_chain(const Row& row, Tensor key) {
  auto step = [&](Tensor carried, None) {
    auto [next, now] = random::split<2>(carried, row.options);
    return std::pair(next, random::normal(now, row.shape, row.dtype, row.options));
  };
  return scan(step, key, None{}, {.length = 3}).second;
}

// low .. high as tensors, of the least and greatest values of a dtype.
Tensor randint_all(const Row& row, Tensor key) {
  int64_t bits = bit_width(row.dtype);
  Tensor ones = bitwise_not(zeros({}, row.dtype));
  Tensor top = is_unsigned(row.dtype) ? ones : shift_right_logical(ones, 1);
  Tensor least =
      is_unsigned(row.dtype) ? zeros({}, row.dtype) : shift_left(full({}, 1, row.dtype), bits - 1);
  return random::randint(key, row.shape, least, top, row.dtype, row.options);
}

// Probabilities of outcomes, in rows; one outcome cannot occur.
Tensor odds(const Row& row) {
  return array<double>({{0.1, 0.2, 0.3, 0.4}, {0.5, 0.0, 0.25, 0.25}}).astype(row.dtype);
}

Tensor parts_of(const Tensor& z) { return stack({real(z), imag(z)}, -1); }
DType complex_of(DType dtype) { return dtype == f64 ? c128 : c64; }

random::Options in_mode(const Row& row, random::Mode mode) {
  return {.partitionable = row.options.partitionable, .mode = mode};
}

Sampler multivariate_normal_by(random::CovarianceRoot root) {
  return [root](const Row& r, Tensor k) {
    Tensor mean = array<double>({1.0, -2.0, 0.5}).astype(r.dtype);
    Tensor covariance =
        array<double>({{2.0, 0.5, -0.25}, {0.5, 1.0, 0.125}, {-0.25, 0.125, 3.0}}).astype(r.dtype);
    return random::multivariate_normal(k, mean, covariance, r.shape, r.options, root);
  };
}

const Tensor& small_grid() {
  static const Tensor kGrid = reshape(arange(12), {4, 3});
  return kGrid;
}

const std::map<std::string, Sampler>& exact_samplers() {
  using namespace random;
  static const std::map<std::string, Sampler> kSamplers = {
      {"key", [](const Row&, Tensor k) { return k; }},
      {"split", [](const Row& r, Tensor k) { return split(k, 3, r.options); }},
      {"fold_in", [](const Row&, Tensor k) { return fold_in(k, 12345); }},
      {"bits", [](const Row& r, Tensor k) { return bits(k, r.shape, r.dtype, r.options); }},
      {"randint",
       [](const Row& r, Tensor k) { return randint(k, r.shape, 3, 100, r.dtype, r.options); }},
      {"randint_all", randint_all},
      {"randint_past",
       [](const Row& r, Tensor k) { return randint(k, r.shape, 0, 256, r.dtype, r.options); }},
      {"permutation",
       [](const Row& r, Tensor k) { return permutation(k, 20, 0, false, r.options); }},
      {"permutation_rows",
       [](const Row& r, Tensor k) { return permutation(k, small_grid(), 0, false, r.options); }},
      {"permutation_each",
       [](const Row& r, Tensor k) { return permutation(k, small_grid(), 1, true, r.options); }},
      {"choice",
       [](const Row& r, Tensor k) { return choice(k, 10, r.shape, {.options = r.options}); }},
      {"choice_once",
       [](const Row& r, Tensor k) {
         return choice(k, 10, r.shape, {.replace = false, .options = r.options});
       }},
      {"choice_weighted",
       [](const Row& r, Tensor k) {
         return choice(k, 4, r.shape,
                       {.p = array<float>({0.1f, 0.2f, 0.3f, 0.4f}), .options = r.options});
       }},
      {"choice_weighted_once",
       [](const Row& r, Tensor k) {
         return choice(k, 5, r.shape,
                       {.replace = false,
                        .p = array<float>({0.1f, 0.2f, 0.3f, 0.15f, 0.25f}),
                        .options = r.options});
       }},
      {"bernoulli", [](const Row& r, Tensor k) { return bernoulli(k, 0.3, r.shape, r.options); }},
      {"rademacher",
       [](const Row& r, Tensor k) { return rademacher(k, r.shape, r.dtype, r.options); }},
      {"rademacher_wide",
       [](const Row& r, Tensor k) { return rademacher(k, r.shape, r.dtype, r.options); }},
      {"categorical",
       [](const Row& r, Tensor k) {
         Tensor p = array<float>({{0.1f, 0.2f, 0.7f}, {0.3f, 0.3f, 0.4f}});
         return categorical(k, log(p), -1, {8, 2}, r.options);
       }},
      {"geometric",
       [](const Row& r, Tensor k) { return geometric(k, 0.3, r.shape, r.dtype, r.options); }},
      {"poisson",
       [](const Row& r, Tensor k) {
         Tensor rates = grid(r, {0.5, 3.0, 9.5, 12.0, 40.0, 0.0, 700.0}, f32);
         return poisson(k, rates, r.shape, r.dtype, r.options);
       }},
      {"binomial",
       [](const Row& r, Tensor k) {
         Tensor n = grid(r, {5.0, 40.0, 3.0, 100.0}, r.dtype);
         return binomial(k, n, grid(r, {0.1, 0.5, 0.9, 0.25}, r.dtype), r.shape, r.dtype,
                         r.options);
       }},
      {"uniform",
       [](const Row& r, Tensor k) { return uniform(k, r.shape, r.dtype, 0.0, 1.0, r.options); }},
      {"bernoulli_high",
       [](const Row& r, Tensor k) { return bernoulli(k, 0.3, r.shape, in_mode(r, Mode::kHigh)); }},
      {"bernoulli_rare",
       [](const Row& r, Tensor k) { return bernoulli(k, 1e-3, r.shape, in_mode(r, Mode::kHigh)); }},
      {"categorical_high",
       [](const Row& r, Tensor k) {
         Tensor p = array<float>({{0.1f, 0.2f, 0.7f}, {0.3f, 0.3f, 0.4f}});
         return categorical(k, log(p), -1, {8, 2}, in_mode(r, Mode::kHigh));
       }},
      {"categorical_once",
       [](const Row& r, Tensor k) {
         Tensor p = array<float>({{0.1f, 0.2f, 0.3f, 0.4f}, {0.25f, 0.25f, 0.3f, 0.2f}});
         return categorical(k, log(p), -1, {3, 2}, r.options, /*replace=*/false);
       }},
      {"choice_weighted_once_high",
       [](const Row& r, Tensor k) {
         return choice(k, 5, r.shape,
                       {.replace = false,
                        .p = array<float>({0.1f, 0.2f, 0.3f, 0.15f, 0.25f}),
                        .options = in_mode(r, Mode::kHigh)});
       }},
      {"multinomial",
       [](const Row& r, Tensor k) {
         return multinomial(k, array<double>({7.0, 120.0}).astype(r.dtype), odds(r), {}, r.options);
       }},
      {"multinomial_wide",
       [](const Row& r, Tensor k) {
         return multinomial(k, 30, odds(r)[0], {6, 4}, r.options);
       }},
  };
  return kSamplers;
}

const std::map<std::string, Sampler>& rounded_samplers() {
  using namespace random;
  static const std::map<std::string, Sampler> kSamplers = {
      {"uniform_range",
       [](const Row& r, Tensor k) { return uniform(k, r.shape, r.dtype, -3.0, 5.5, r.options); }},
      {"normal", [](const Row& r, Tensor k) { return normal(k, r.shape, r.dtype, r.options); }},
      {"chain", draw_chain},
      {"truncated_normal",
       [](const Row& r, Tensor k) {
         return truncated_normal(k, -0.5, 2.0, r.shape, r.dtype, r.options);
       }},
      {"lognormal",
       [](const Row& r, Tensor k) { return lognormal(k, 0.5, r.shape, r.dtype, r.options); }},
      {"exponential",
       [](const Row& r, Tensor k) { return exponential(k, r.shape, r.dtype, r.options); }},
      {"gumbel", [](const Row& r, Tensor k) { return gumbel(k, r.shape, r.dtype, r.options); }},
      {"laplace", [](const Row& r, Tensor k) { return laplace(k, r.shape, r.dtype, r.options); }},
      {"logistic",
       [](const Row& r, Tensor k) { return random::logistic(k, r.shape, r.dtype, r.options); }},
      {"cauchy", [](const Row& r, Tensor k) { return cauchy(k, r.shape, r.dtype, r.options); }},
      {"maxwell", [](const Row& r, Tensor k) { return maxwell(k, r.shape, r.dtype, r.options); }},
      {"pareto",
       [](const Row& r, Tensor k) { return pareto(k, 3.0, r.shape, r.dtype, r.options); }},
      {"rayleigh",
       [](const Row& r, Tensor k) { return rayleigh(k, 2.0, r.shape, r.dtype, r.options); }},
      {"weibull_min",
       [](const Row& r, Tensor k) {
         return weibull_min(k, 2.0, 1.5, r.shape, r.dtype, r.options);
       }},
      {"triangular",
       [](const Row& r, Tensor k) {
         return triangular(k, -1.0, 0.25, 2.0, r.shape, r.dtype, r.options);
       }},
      {"wald", [](const Row& r, Tensor k) { return wald(k, 1.5, r.shape, r.dtype, r.options); }},
      {"gamma",
       [](const Row& r, Tensor k) { return gamma(k, alphas(r), r.shape, r.dtype, r.options); }},
      {"loggamma",
       [](const Row& r, Tensor k) { return loggamma(k, alphas(r), r.shape, r.dtype, r.options); }},
      {"beta",
       [](const Row& r, Tensor k) { return beta(k, alphas(r), 1.5, r.shape, r.dtype, r.options); }},
      {"chisquare",
       [](const Row& r, Tensor k) { return chisquare(k, alphas(r), r.shape, r.dtype, r.options); }},
      {"f", [](const Row& r, Tensor k) { return f(k, 4.0, 6.5, r.shape, r.dtype, r.options); }},
      {"t", [](const Row& r, Tensor k) { return t(k, 4.0, r.shape, r.dtype, r.options); }},
      {"dirichlet",
       [](const Row& r, Tensor k) {
         Tensor alpha = array<double>({0.5, 1.0, 3.0}).astype(r.dtype);
         return dirichlet(k, alpha, r.shape, r.dtype, r.options);
       }},
      {"generalized_normal",
       [](const Row& r, Tensor k) {
         return generalized_normal(k, 1.5, r.shape, r.dtype, r.options);
       }},
      {"ball", [](const Row& r, Tensor k) { return ball(k, 3, 2.0, r.shape, r.dtype, r.options); }},
      {"generalized_normal_wide",
       [](const Row& r, Tensor k) {
         return generalized_normal(k, 1.5, r.shape, r.dtype, r.options);
       }},
      {"ball_wide",
       [](const Row& r, Tensor k) { return ball(k, 3, 2.0, r.shape, r.dtype, r.options); }},
      {"gumbel_high",
       [](const Row& r, Tensor k) { return gumbel(k, r.shape, r.dtype, in_mode(r, Mode::kHigh)); }},
      {"gumbel_highest",
       [](const Row& r, Tensor k) {
         return gumbel(k, r.shape, r.dtype, in_mode(r, Mode::kHighest));
       }},
      {"normal_complex",
       [](const Row& r, Tensor k) {
         return parts_of(normal(k, r.shape, complex_of(r.dtype), r.options));
       }},
      {"double_sided_maxwell",
       [](const Row& r, Tensor k) {
         Tensor loc = array<double>({0.5, -1.0}).astype(r.dtype);
         return double_sided_maxwell(k, loc, 2.0, r.shape, r.dtype, r.options);
       }},
      {"multivariate_normal", multivariate_normal_by(CovarianceRoot::kCholesky)},
      {"multivariate_normal_eigh", multivariate_normal_by(CovarianceRoot::kEigh)},
      {"multivariate_normal_svd", multivariate_normal_by(CovarianceRoot::kSvd)},
      {"orthogonal",
       [](const Row& r, Tensor k) { return orthogonal(k, 4, r.shape, r.dtype, -1, r.options); }},
      {"orthogonal_wide",
       [](const Row& r, Tensor k) { return orthogonal(k, 2, r.shape, r.dtype, 5, r.options); }},
      {"orthogonal_complex",
       [](const Row& r, Tensor k) {
         return parts_of(orthogonal(k, 3, r.shape, complex_of(r.dtype), -1, r.options));
       }},
  };
  return kSamplers;
}

// Largest distance in ulps of the greater of |expected| and 1 (what is near 0 comes from
// cancelling).
double distance(const std::vector<double>& got, const std::vector<double>& expected, DType dtype) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    double size = std::max(1.0, std::abs(expected[i]));
    double ulp = std::ldexp(float_limits(dtype).epsilon, std::ilogb(size));
    double ulps = std::abs(got[i] - expected[i]) / ulp;
    worst = std::isnan(ulps) ? INFINITY : std::max(worst, ulps);
  }
  return worst;
}

std::vector<Row> rows_of(const std::map<std::string, Sampler>& samplers) {
  std::vector<Row> rows;
  for (Row& row : read_reference("tests/random/reference.txt"))
    if (samplers.count(row.function)) rows.push_back(std::move(row));
  return rows;
}

Literal sampled(const std::map<std::string, Sampler>& samplers, const Row& row) {
  return samplers.at(row.function)(row, random::key(row.seed)).to_literal();
}

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
      {"orthogonal", {3.5, 7.5, 0, 0}},
      {"orthogonal_complex", {1.5, 2, 0, 0}},
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
    ASSERT_EQ(got.element_count(), static_cast<int64_t>(row.bits.size())) << describe(row);
    double ulps =
        distance(floats_of(bits_of(got), row.dtype), floats_of(row.bits, row.dtype), row.dtype);
    double& most = seen[{row.function, row.dtype}];
    most = std::max(most, ulps);
    EXPECT_LE(ulps, allowed_ulps(row.function, row.dtype)) << describe(row);
  }
  for (const auto& [what, ulps] : seen)
    RecordProperty(cat(what.first, "_", to_string(what.second)), cat(ulps));
}

}  // namespace
}  // namespace heddle::random_test
