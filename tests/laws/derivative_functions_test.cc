// Derivatives of the catalogue's functions.
#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

using grad_internal::some;

TEST(Derivatives, OfFunctions) {
  check_grads([](Tensor x) { return sum(cumsum(x) * cumprod(x)); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return sum(sort(x) * arange(5, f64)); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return logsumexp(x); }, std::tuple(some({5})));
  check_grads([](Tensor x) { return sum(nn::softmax(x) * arange(5, f64)); }, std::tuple(some({5})));
  check_grads(
      [](Tensor x) {
        return sum(square(x.at(arange(3)).set(x[Slice{2, 5}])));
      },
      std::tuple(some({5})));
  check_grads(
      [](Tensor x) {
        return sum(square(x[array<int>({0, 2, 2})]));
      },
      std::tuple(some({5})));
  const Tensor a = some({3, 3});
  check_grads([](Tensor x) { return sum(linalg::cholesky(matmul(x, transpose(x)) + eye(3, f64))); },
              std::tuple(a));
  check_grads([](Tensor x) { return sum(special::lgamma(x)) + sum(special::erfc(x)); },
              std::tuple(some({4}) + 2.0));
}

TEST(Derivatives, OfComplexFunctionsOnAllSidesOfTheirCuts) {
  const std::pair<const char*, Tensor (*)(Operand)> functions[] = {
      {"acosh", acosh}, {"acos", acos}, {"asin", asin},   {"asinh", asinh},
      {"atanh", atanh}, {"atan", atan}, {"sqrt", sqrt},   {"log", log},
      {"log1p", log1p}, {"tanh", tanh}, {"rsqrt", rsqrt},
  };
  const Tensor re = array<double>({-2, -2, 2, 2, 0.3, -0.3}),
               im = array<double>({0.1, -0.1, 0.1, -0.1, 1.5, -1.5});
  for (const auto& [name, fn] : functions) {
    SCOPED_TRACE(name);
    const auto loss = [fn = fn](Tensor re, Tensor im) {
      const Tensor y = fn(complex(re, im));
      return sum(real(y) * arange(6, f64)) + sum(square(imag(y)));
    };
    check_grads(loss, std::tuple(re, im), {.order = 1});
  }
}

// The tangent of the loop that rejects would be biased.
TEST(Derivatives, OfGammaSamplesAreImplicit) {
  const Tensor a = array<double>({0.3, 1.2, 7, 40});
  const auto draw = [](Tensor a) { return random::gamma(random::key(5), a, {4}, f64); };
  const auto [z, dz] = jvp(draw, std::tuple(a), std::tuple(ones({4}, f64)));
  const std::vector<double> want = special::random_gamma_grad(a, z).to_vector<double>();
  EXPECT_EQ(dz.to_vector<double>(), want);
  const auto total = [&](Tensor a) { return sum(draw(a)); };
  EXPECT_EQ(grad(total)(a).to_vector<double>(), want);
  const auto log_draw = [](Tensor a) { return random::loggamma(random::key(5), a, {4}, f64); };
  const auto [log_z, log_dz] = jvp(log_draw, std::tuple(a), std::tuple(ones({4}, f64)));
  const Tensor size = exp(log_z);
  EXPECT_EQ(log_dz.to_vector<double>(),
            (special::random_gamma_grad(a, size) / size).to_vector<double>());
}

// Along the path of a quantile, at which a sample moves as its first derivative says, that changes
// as the second one does, and so on.
TEST(Derivatives, OfGammaSamplesAreImplicitAtEveryOrder) {
  const Tensor a = array<double>({0.3, 1.2, 7, 40});
  const auto draw = [](Tensor a) { return random::gamma(random::key(5), a, {4}, f64); };
  const auto slope = [](Tensor a, Tensor z) { return special::random_gamma_grad(a, z); };
  const auto first = grad([&](Tensor a) { return sum(draw(a)); });
  const auto second = grad([&](Tensor a) { return sum(first(a)); });
  const Tensor z = draw(a), dz = slope(a, z);
  constexpr double kStep = 1e-4;
  const Tensor want =
      (slope(a + kStep, z + dz * kStep) - slope(a - kStep, z - dz * kStep)) / (2 * kStep);
  const auto near = [](const Tensor& got, const Tensor& want, double tolerance) {
    EXPECT_THAT((got / want).to_vector<double>(), Each(DoubleNear(1, tolerance)));
  };
  near(second(a), want, 1e-5);
  const Tensor one = ones({4}, f64);
  near(jvp(first, std::tuple(a), std::tuple(one)).second, second(a), 1e-12);
  const auto total = [&](Tensor a) { return sum(second(a)); };
  near(grad(total)(a), jvp(second, std::tuple(a), std::tuple(one)).second, 1e-12);
  // jax.jacfwd(jax.jacfwd(lambda a: jax.random.gamma(jax.random.key(0), a)))(2.5)
  const auto sample = [](Tensor a) { return random::gamma(random::key(0), a, {}, f64); };
  EXPECT_NEAR(grad(grad(sample))(scalar(2.5)).item<double>(), 0.02487395322063537, 1e-12);
}

TEST(Derivatives, KeysAndCountersInTheCarry) {
  auto f = [](Tensor x) {
    auto step = [](std::tuple<Tensor, Tensor, Tensor> s, None) {
      auto [key, n, y] = s;
      auto keys = random::split(key);
      y = y * random::uniform(keys[0], {}, f64, 0.5, 1.0) + n.astype(f64);
      return std::pair(std::tuple(keys[1], n + 1, y), None{});
    };
    return std::get<2>(
        scan(step, std::tuple(random::key(0), scalar(0), x), None{}, {.length = 4}).first);
  };
  check_grads(f, std::tuple(scalar(0.3)));
}

TEST(Derivatives, OfWhatIsNotNeededAreNotAskedFor) {
  auto f = [](Tensor x) {
    auto [values, vectors] = linalg::eigh(x);
    (void)values;
    return sum(x);
  };
  EXPECT_THAT(grad(f)(some({2, 2})).to_vector<double>(), ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace heddle
