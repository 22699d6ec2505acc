#include "heddle/tests/random/samplers.h"

#include "heddle/heddle.h"

namespace heddle::random_test {
namespace {

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

// Weights 1, 1/2, 1/3, ..
Tensor falling(int64_t n, DType dtype) { return (1.0 / (arange(n) + 1).astype(f32)).astype(dtype); }

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

Tensor small_grid() { return reshape(arange(12), {4, 3}); }

}  // namespace

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
      {"choice_weighted_64",
       [](const Row& r, Tensor k) {
         return choice(k, 64, r.shape, {.p = falling(64, r.dtype), .options = r.options});
       }},
      {"choice_weighted_1000",
       [](const Row& r, Tensor k) {
         return choice(k, 1000, r.shape, {.p = falling(1000, r.dtype), .options = r.options});
       }},
      {"multinomial_40",
       [](const Row& r, Tensor k) {
         return multinomial(k, 500, falling(40, r.dtype) / 4.5, {}, r.options);
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
       [](const Row& r, Tensor k) { return orthogonal(k, 4, r.shape, r.dtype, {}, r.options); }},
      {"orthogonal_wide",
       [](const Row& r, Tensor k) { return orthogonal(k, 2, r.shape, r.dtype, 5, r.options); }},
      {"orthogonal_complex",
       [](const Row& r, Tensor k) {
         return parts_of(orthogonal(k, 3, r.shape, complex_of(r.dtype), {}, r.options));
       }},
  };
  return kSamplers;
}

std::vector<Row> rows_of(const std::map<std::string, Sampler>& samplers, const std::string& table) {
  std::vector<Row> rows;
  for (Row& row : read_reference(table))
    if (samplers.count(row.function)) rows.push_back(std::move(row));
  return rows;
}

Literal sampled(const std::map<std::string, Sampler>& samplers, const Row& row) {
  return samplers.at(row.function)(row, random::key(row.seed)).to_literal();
}

}  // namespace heddle::random_test
