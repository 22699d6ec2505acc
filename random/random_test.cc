// Keys, shapes, types and errors, moments of samples, and keys carried by a scan. That values are
// those of jax.random is shown in tests/random.
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/random/continuous.h"
#include "heddle/random/discrete.h"
#include "heddle/random/keys.h"
#include "heddle/random/multivariate.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

std::vector<uint32_t> words(const Tensor& t) { return t.to_vector<uint32_t>(); }

TEST(RandomKeys, AreTheBitsOfTheSeed) {
  EXPECT_THAT(words(random::key(7)), ElementsAre(0, 7));
  EXPECT_THAT(words(random::key(int64_t{3} << 32 | 5)), ElementsAre(3, 5));
  EXPECT_THAT(words(random::key(-1)), ElementsAre(UINT32_MAX, UINT32_MAX));
  EXPECT_THAT(words(random::key(scalar<int32_t>(-1))), ElementsAre(0, UINT32_MAX));
  EXPECT_THAT(words(random::key(scalar<int64_t>(-2))), ElementsAre(UINT32_MAX, UINT32_MAX - 1));
}

// The published test vector of threefry2x32 with 20 rounds for key and counter 0. source: Random123
// (J. K. Salmon et al.), kat_vectors
TEST(RandomKeys, HashAsPublished) {
  EXPECT_THAT(words(random::split(random::key(0), 1)), ElementsAre(0x6b200159u, 0x99ba4efeu));
}

TEST(RandomKeys, SplitsGiveTheSameKeysInEveryForm) {
  for (bool partitionable : {true, false}) {
    random::Options options{.partitionable = partitionable};
    Tensor rows = random::split(random::key(3), 3, options);
    auto [a, b, c] = random::split<3>(random::key(3), options);
    std::vector<uint32_t> all = words(rows);
    EXPECT_THAT(words(a), ElementsAre(all[0], all[1]));
    EXPECT_THAT(words(b), ElementsAre(all[2], all[3]));
    EXPECT_THAT(words(c), ElementsAre(all[4], all[5]));
  }
}

TEST(RandomKeys, SplitIntoAShape) {
  const Tensor keys = random::split(random::key(3), {2, 3});
  EXPECT_EQ(keys.shape(), Shape(u32, {2, 3, 2}));
  EXPECT_EQ(words(keys), words(random::split(random::key(3), 6)));
  EXPECT_EQ(random::split(random::key(3), {4}).shape(), Shape(u32, {4, 2}));
  EXPECT_EQ(random::split(random::key(3), {0, 3}).shape(), Shape(u32, {0, 3, 2}));
  EXPECT_ANY_THROW(random::split(random::key(3), {2, -1}));
  EXPECT_ANY_THROW(random::split(random::key(3), {int64_t{1} << 40, int64_t{1} << 40}));
}

TEST(RandomKeys, FoldedNumbersGiveDifferentKeys) {
  std::set<std::vector<uint32_t>> seen;
  for (int i = 0; i < 20; ++i) seen.insert(words(random::fold_in(random::key(3), i)));
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_EQ(words(random::fold_in(random::key(3), 5)),
            words(random::fold_in(random::key(3), scalar<int32_t>(5))));
}

// Each step's numbers are those of the same keys split outside.
TEST(Random, KeysAreCarriedByAScan) {
  auto step = [](Tensor key, None) {
    auto [next, now] = random::split<2>(key);
    return std::pair(next, random::normal(now, {3}));
  };
  auto [last, ys] = scan(step, random::key(1), None{}, {.length = 4});
  std::vector<float> expected;
  Tensor key = random::key(1);
  for (int i = 0; i < 4; ++i) {
    auto [next, now] = random::split<2>(key);
    for (float x : random::normal(now, {3}).to_vector<float>()) expected.push_back(x);
    key = next;
  }
  EXPECT_EQ(ys.to_vector<float>(), expected);
  EXPECT_EQ(words(last), words(key));
}

TEST(Random, DropoutInAScan) {
  auto step = [](Tensor key, Tensor x) {
    auto [next, now] = random::split<2>(key);
    Tensor keep = random::bernoulli(now, 0.75, {1000});
    return std::pair(next, where(keep, x / 0.75, 0.0));
  };
  Tensor ys = scan(step, random::key(2), ones({8, 1000})).second;
  EXPECT_NEAR(mean(ys).item<float>(), 1, 4 * std::sqrt(1.0 / 3 / 8000));
}

TEST(Random, RejectionRunsInsideAScan) {
  auto step = [](Tensor key, Tensor a) {
    auto [next, now] = random::split<2>(key);
    return std::pair(next, random::gamma(now, a, {5}));
  };
  Tensor ys = scan(step, random::key(2), array<float>({0.5f, 3.0f})).second;
  auto [next, now] = random::split<2>(random::key(2));
  std::vector<float> first = random::gamma(now, 0.5, {5}).to_vector<float>();
  EXPECT_EQ(ys[0].to_vector<float>(), first);
}

TEST(Random, SamplesAreOneProgramAndNoUpload) {
  Tensor key = random::key(5);
  random::normal(key, {4});
  Counters before = counters();
  random::normal(key, {4});
  Counters done = counters() - before;
  EXPECT_EQ(done.executions, 1);
  EXPECT_EQ(done.compiles, 0);
  EXPECT_EQ(done.upload_bytes, 0);
}

// Mean and variance of 20000 samples, within 5 standard errors.
struct Moments {
  const char* name;
  Tensor sample;
  double mean, variance, kurtosis;  // of the distribution; kurtosis is 3 for a normal one
};

TEST(Random, MomentsAreTheDistributions) {
  using namespace random;
  constexpr int64_t kCount = 20000;
  Tensor k = key(11);
  const Moments kAll[] = {
      {"uniform", uniform(k, {kCount}, f32, -1.0, 3.0), 1, 16.0 / 12, 1.8},
      {"normal", normal(k, {kCount}), 0, 1, 3},
      {"exponential", exponential(k, {kCount}), 1, 1, 9},
      {"gumbel", gumbel(k, {kCount}), 0.5772157, M_PI * M_PI / 6, 5.4},
      {"laplace", laplace(k, {kCount}), 0, 2, 6},
      {"logistic", random::logistic(k, {kCount}), 0, M_PI * M_PI / 3, 4.2},
      {"gamma", random::gamma(k, 2.5, {kCount}), 2.5, 2.5, 3 + 6 / 2.5},
      {"gamma below 1", random::gamma(k, 0.5, {kCount}), 0.5, 0.5, 15},
      {"beta", beta(k, 2.0, 3.0, {kCount}), 0.4, 0.04, 2.36},
      {"poisson", poisson(k, 4.0, {kCount}).astype(f32), 4, 4, 3.25},
      {"poisson of high rate", poisson(k, 50.0, {kCount}).astype(f32), 50, 50, 3.02},
      {"binomial", binomial(k, 20.0, 0.3, {kCount}), 6, 4.2, 2.94},
      {"binomial by rejection", binomial(k, 100.0, 0.6, {kCount}), 60, 24, 2.98},
      {"geometric", geometric(k, 0.25, {kCount}).astype(f32), 4, 12, 9.08},
      {"randint", randint(k, {kCount}, 0, 10).astype(f32), 4.5, 8.25, 1.78},
      {"rademacher", rademacher(k, {kCount}, f32), 0, 1, 1},
      {"triangular", triangular(k, 0.0, 1.0, 2.0, {kCount}), 1, 1.0 / 6, 2.4},
      {"wald", wald(k, 1.0, {kCount}), 1, 1, 18},
      {"rayleigh", rayleigh(k, 1.0, {kCount}), 1.2533141, 0.4292037, 3.245},
      {"t", random::t(k, 10.0, {kCount}), 0, 1.25, 4},
      {"maxwell", maxwell(k, {kCount}), 1.5957691, 0.4535209, 3.108},
  };
  for (const Moments& m : kAll) {
    double n = kCount;
    EXPECT_NEAR(mean(m.sample).item<float>(), m.mean, 5 * std::sqrt(m.variance / n)) << m.name;
    EXPECT_NEAR(var(m.sample).item<float>(), m.variance,
                5 * m.variance * std::sqrt((m.kurtosis - 1 + 1e-3) / n))
        << m.name;
  }
}

TEST(Random, ShapesOfParameters) {
  Tensor key = random::key(0);
  EXPECT_EQ(random::gamma(key, ones({2, 3})).shape(), Shape(f32, {2, 3}));
  EXPECT_EQ(random::beta(key, ones({3}), ones({2, 1})).shape(), Shape(f32, {2, 3}));
  EXPECT_EQ(random::dirichlet(key, ones({3}), {4}).shape(), Shape(f32, {4, 3}));
  EXPECT_EQ(random::categorical(key, zeros({2, 5})).shape(), Shape(s32, {2}));
  EXPECT_EQ(random::categorical(key, zeros({2, 5}), 0, {7, 5}).shape(), Shape(s32, {7, 5}));
  EXPECT_EQ(random::choice(key, zeros({4, 6}), {2, 2}, {.axis = 1}).shape(), Shape(f32, {4, 2, 2}));
  EXPECT_EQ(random::normal(key, {0, 3}).shape(), Shape(f32, {0, 3}));
  EXPECT_EQ(random::bernoulli(key, 0.5, {2}).dtype(), pred);
}

TEST(Random, PermutationsKeepTheElements) {
  Tensor order = random::permutation(random::key(4), 50);
  std::vector<int> seen = order.to_vector<int>();
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 50u);
  std::vector<int> once =
      random::choice(random::key(4), 50, {50}, {.replace = false}).to_vector<int>();
  EXPECT_EQ(std::set<int>(once.begin(), once.end()).size(), 50u);
}

TEST(Random, ErrorsSayWhatToDo) {
  Tensor key = random::key(0);
  EXPECT_THAT(error_of([] { random::normal(zeros({2}), {3}); }),
              HasSubstr("random::normal: key is f32[2]; it must be u32[2], of random::key(seed)"));
  EXPECT_THAT(error_of([&] { random::normal(key, {3}, s32); }),
              HasSubstr("random::normal: dtype is s32; it must be f16, bf16, f32 or f64"));
  EXPECT_THAT(error_of([&] { random::split(key, -1); }),
              HasSubstr("random::split: count is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([&] { random::bits(key, {3}, s32); }),
              HasSubstr("random::bits: dtype is s32; it must be u8, u16, u32 or u64"));
  EXPECT_THAT(error_of([&] { random::gamma(key, ones({2}, f64)); }),
              HasSubstr("a is f64[2]; the sample is f32, cast the parameter"));
  EXPECT_THAT(error_of([&] { random::gamma(key, ones({2}), {3}); }), HasSubstr("random::gamma"));
  EXPECT_THAT(error_of([&] { random::choice(key, 3, {4}, {.replace = false}); }),
              HasSubstr("random::choice: 4 draws without replacement from 3 elements"));
  EXPECT_THAT(error_of([] { random::key(1.5); }),
              HasSubstr("random::key: seed is the C++ number 1.5; it must be an integer"));
  EXPECT_THAT(error_of([&] { random::normal(key, {3}, s32); }),
              HasSubstr("random::normal: dtype is s32; it must be f16, bf16, f32 or f64 ["));
  EXPECT_THAT(
      error_of([&] { random::choice(key, scalar(3), {2}); }),
      HasSubstr("random::choice: x is s32[]; it must have an axis to choose from; a count"));
  EXPECT_THAT(error_of([&] { random::choice(key, 2.5, {2}); }),
              HasSubstr("random::choice: x is the C++ number 2.5; it must be a count"));
  EXPECT_THAT(error_of([&] { random::bernoulli(key, arange(3)); }),
              HasSubstr("random::bernoulli: p is s32[3]; it must be of f16, bf16, f32 or f64, cast "
                        "it with astype(f32)"));
}

TEST(Random, RefusesNumbersOutOfRange) {
  const Tensor key = random::key(0);
  EXPECT_THAT(error_of([&] { random::bernoulli(key, 2.0); }),
              HasSubstr("random::bernoulli: p is 2.0; it must be in 0 .. 1"));
  EXPECT_THAT(error_of([&] { random::geometric(key, -0.5); }),
              HasSubstr("random::geometric: p is -0.5; it must be in 0 .. 1"));
  EXPECT_THAT(error_of([&] { random::randint(key, {3}, 10, 0); }),
              HasSubstr("random::randint: low is 10 and high 0; low must be less"));
  EXPECT_THAT(
      error_of([&] { random::truncated_normal(key, 2.0, 1.0, {3}); }),
      HasSubstr("random::truncated_normal: lower is 2.0 and upper 1.0; lower must be less"));
  EXPECT_TRUE(random::bernoulli(key, 1).item<bool>());
  EXPECT_THAT(error_of([&] { random::key(ones({2}, s32)); }),
              HasSubstr("random::key: seed is s32[2]; it must be an integer scalar"));
}

// The name of each function, a call with a number outside of its domain, and what it must be.
TEST(Random, RefusesNumbersOutOfTheDomainOfADistribution) {
  const Tensor key = random::key(0);
  const Tensor odds = full({2}, 0.5);
  const std::vector<std::pair<std::string, std::function<void()>>> mistakes = {
      {"uniform: low is 1 and high -1; low must be less",
       [&] { random::uniform(key, {3}, f32, 1, -1); }},
      {"lognormal: sigma is -1.0; it must be 0 or more", [&] { random::lognormal(key, -1.0); }},
      {"double_sided_maxwell: scale is -1.0; it must be 0 or more",
       [&] { random::double_sided_maxwell(key, 0.0, -1.0); }},
      {"pareto: b is 0.0; it must be more than 0", [&] { random::pareto(key, 0.0); }},
      {"rayleigh: scale is -1.0; it must be 0 or more", [&] { random::rayleigh(key, -1.0); }},
      {"weibull_min: scale is -1.0; it must be 0 or more",
       [&] { random::weibull_min(key, -1.0, 1.0); }},
      {"weibull_min: concentration is 0.0; it must be more than 0",
       [&] { random::weibull_min(key, 1.0, 0.0); }},
      {"triangular: left is 1.0 and right 1.0; left must be less",
       [&] { random::triangular(key, 1.0, 1.0, 1.0); }},
      {"triangular: left is 0.0 and mode -1.0; left must be less, or equal",
       [&] { random::triangular(key, 0.0, -1.0, 1.0); }},
      {"triangular: mode is 2.0 and right 1.0; mode must be less, or equal",
       [&] { random::triangular(key, 0.0, 2.0, 1.0); }},
      {"wald: mean is 0.0; it must be more than 0", [&] { random::wald(key, 0.0); }},
      {"gamma: a is -1.0; it must be 0 or more", [&] { random::gamma(key, -1.0, {3}); }},
      {"loggamma: a is -1.0; it must be 0 or more", [&] { random::loggamma(key, -1.0); }},
      {"beta: a is 0.0; it must be more than 0", [&] { random::beta(key, 0.0, 1.0); }},
      {"beta: b is -2.0; it must be more than 0", [&] { random::beta(key, 1.0, -2.0); }},
      {"chisquare: df is 0.0; it must be more than 0", [&] { random::chisquare(key, 0.0); }},
      {"f: dfnum is -1.0; it must be more than 0", [&] { random::f(key, -1.0, 1.0); }},
      {"f: dfden is -1.0; it must be more than 0", [&] { random::f(key, 1.0, -1.0); }},
      {"t: df is 0.0; it must be more than 0", [&] { random::t(key, 0.0); }},
      {"generalized_normal: p is 0.0; it must be more than 0",
       [&] { random::generalized_normal(key, 0.0); }},
      {"ball: p is -1.0; it must be more than 0", [&] { random::ball(key, 2, -1.0); }},
      {"geometric: p is 0.0; it must be in 0 .. 1, and not 0",
       [&] { random::geometric(key, 0.0); }},
      {"poisson: lam is -1.0; it must be 0 or more", [&] { random::poisson(key, -1.0); }},
      {"binomial: n is -1.0; it must be 0 or more", [&] { random::binomial(key, -1.0, 0.5); }},
      {"binomial: p is 1.5; it must be in 0 .. 1", [&] { random::binomial(key, 3.0, 1.5); }},
      {"multinomial: n is -1.0; it must be 0 or more",
       [&] { random::multinomial(key, -1.0, odds); }},
  };
  for (const auto& [said, call] : mistakes)
    EXPECT_THAT(error_of(call), HasSubstr("random::" + said));
  EXPECT_EQ(random::poisson(key, 0.0).item<int>(), 0);
  EXPECT_EQ(random::gamma(key, 0.0).item<float>(), 0);
  EXPECT_EQ(random::lognormal(key, 0.0).item<float>(), 1);
  EXPECT_EQ(random::triangular(key, 0.0, 0.0, 1.0, {3}).shape(), Shape(f32, {3}));
}

}  // namespace
}  // namespace heddle
