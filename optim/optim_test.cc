// Optimizers against the formulas of their papers in plain C++, schedules at their corners, and
// L-BFGS on functions whose minimum is known.
#include <cmath>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/optim/lbfgs.h"
#include "heddle/optim/optimizers.h"
#include "heddle/testing.h"
#include "heddle/trace/ops/contractions.h"
#include "heddle/trace/ops/creation.h"
#include "heddle/trace/ops/elementwise.h"
#include "heddle/trace/ops/indexing.h"
#include "heddle/trace/ops/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/run/program_lines_test.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

struct Params {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Params::w), field("b", &Params::b));
};

Params start(DType dtype = f64) {
  return {array<double>({0.5, -2, 3}).astype(dtype), full({2, 2}, 0.25, dtype)};
}
// The gradient of sum(w^3) / 3 + 2 sum(b): that of the second leaf is constant.
Params slope(const Params& p) { return {p.w * p.w, full_like(p.b, 2)}; }

template <class Optimizer>
Params after(int steps, const Optimizer& optimizer, Params p = start()) {
  auto state = optimizer.init(p);
  for (int i = 0; i < steps; ++i) std::tie(p, state) = optimizer.update(slope(p), state, p);
  EXPECT_EQ(state.step.template item<int>(), steps);
  return p;
}

// step(p, g, number): the new p of one element.
template <class Step>
void expect_as(const Params& got, int steps, const Step& make, double tolerance = 1e-12) {
  const auto run = [&](double p, auto gradient) {
    auto step = make();
    for (int i = 0; i < steps; ++i) p = step(p, gradient(p), i);
    return p;
  };
  std::vector<double> w;
  for (double p : {0.5, -2.0, 3.0}) w.push_back(run(p, [](double x) { return x * x; }));
  EXPECT_THAT(doubles(got.w), Pointwise(DoubleNear(tolerance), w));
  const double b = run(0.25, [](double) { return 2.0; });
  EXPECT_THAT(doubles(got.b), Pointwise(DoubleNear(tolerance), std::vector<double>(4, b)));
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

TEST(Optim, SgdIsItsFormula) {
  expect_as(after(5, optim::sgd({.learning_rate = 0.01})), 5,
            [] { return [](double p, double g, int) { return p - 0.01 * g; }; });
}

TEST(Optim, MomentumIsItsFormula) {
  for (bool nesterov : {false, true}) {
    expect_as(after(5, optim::momentum({.learning_rate = 0.01, .nesterov = nesterov})), 5, [&] {
      return [v = 0.0, nesterov](double p, double g, int) mutable {
        v = 0.9 * v + g;
        return p - 0.01 * (nesterov ? g + 0.9 * v : v);
      };
    });
  }
}

auto adam_of(double decay) {
  return [=] {
    return [=, m = 0.0, v = 0.0](double p, double g, int i) mutable {
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double first = m / (1 - std::pow(0.9, i + 1));
      const double second = v / (1 - std::pow(0.999, i + 1));
      return p - 0.01 * (first / (std::sqrt(second) + 1e-8) + decay * p);
    };
  };
}

TEST(Optim, AdamAndAdamWAreTheirFormulas) {
  expect_as(after(7, optim::adam({.learning_rate = 0.01})), 7, adam_of(0));
  expect_as(after(7, optim::adamw({.learning_rate = 0.01, .weight_decay = 0.1})), 7, adam_of(0.1));
  EXPECT_EQ(optim::adamw({.learning_rate = 1}).options.weight_decay, 1e-4);
}

TEST(Optim, LionIsItsFormula) {
  expect_as(after(5, optim::lion({.learning_rate = 0.01})), 5, [] {
    return [m = 0.0](double p, double g, int) mutable {
      const double by = sign_of(0.9 * m + 0.1 * g) + 1e-3 * p;
      m = 0.99 * m + 0.01 * g;
      return p - 0.01 * by;
    };
  });
}

TEST(Optim, LeavesKeepTheirDtype) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    const Params p = after(3, optim::adam({.learning_rate = 0.01}), start(dtype));
    EXPECT_EQ(p.w.dtype(), dtype);
    const double tolerance = dtype == f64 ? 1e-12 : dtype == f32 ? 1e-6 : 0.02;
    expect_as(p, 3, adam_of(0), tolerance);
  }
}

TEST(Optim, TheRateMayBeATensorOrASchedule) {
  const auto halving = [](const Tensor& step) { return exp(-std::log(2.0) * step.astype(f32)); };
  expect_as(after(4, optim::sgd({.learning_rate = halving})), 4,
            [] { return [](double p, double g, int i) { return p - std::exp2(-i) * g; }; });
  const auto program = trace(
      [](const Params& p, const Tensor& rate) {
        const auto sgd = optim::sgd({.learning_rate = rate});
        return sgd.update(slope(p), sgd.init(p), p).first;
      },
      start(), scalar(0.0));
  expect_as(program(start(), scalar(0.1)), 1,
            [] { return [](double p, double g, int) { return p - 0.1 * g; }; });
  EXPECT_THAT(
      error_of([] { (void)optim::sgd({.learning_rate = ones({2})}); }),
      ContainsRegex("the learning rate is f32\\[2\\]; it must be a scalar of a floating dtype "
                    "\\[optim_test.cc:[0-9]+\\]"));
}

TEST(Optim, GradientsThatAreNotLikeTheParametersAreErrors) {
  const auto adam = optim::adam({.learning_rate = 0.1});
  const Params p = start();
  EXPECT_THAT(
      error_of([&] {
        (void)adam.update({p.w, zeros({2}, f64)}, adam.init(p), p);
      }),
      ContainsRegex("^optim::adam: gradients.b is f64\\[2\\]; the parameter is f64\\[2,2\\] "
                    "\\[optim_test.cc:[0-9]+\\]$"));
  const auto adamw = optim::adamw({.learning_rate = 0.1});
  EXPECT_THAT(error_of([&] {
                (void)adamw.update({p.w, zeros({2}, f64)}, adamw.init(p), p);
              }),
              StartsWith("optim::adamw: gradients.b is f64[2]"));
  using Leaves = std::vector<Tensor>;
  const Leaves one{p.w}, two{p.w, p.w};
  EXPECT_THAT(error_of([&] { (void)adam.update(two, adam.init(one), one); }),
              StartsWith("optim::adam: the gradients have 2 leaves; the parameters have 1"));
  const Leaves whole{ones({2}, s32)};
  EXPECT_THAT(error_of([&] { (void)adam.update(whole, adam.init(whole), whole); }),
              HasSubstr("params[0] is s32[2]; parameters have a floating dtype"));
}

TEST(Optim, RecordsTheLineOfTheUser) {
  const auto schedule = optim::warmup_cosine(1, 4, 12);
  const auto step = [&](const Params& p, const optim::AdamState<Params>& state, const Params& g) {
    return optim::adamw({.learning_rate = schedule})
        .update(optim::clip_by_global_norm(g, 1), state, p);
  };
  const Params p = start();
  const Program program = trace(step, p, optim::adam({.learning_rate = 1}).init(p), p);
  EXPECT_THAT(lines_outside("optim_test.cc", program), testing::IsEmpty());
}

TEST(Optim, Clipping) {
  const Params p{array<double>({3, 0, 0}), full({2, 2}, -2, f64)};
  EXPECT_DOUBLE_EQ(optim::global_norm(p).item<double>(), 5);
  const Params half = optim::clip_by_global_norm(p, 2.5);
  EXPECT_THAT(doubles(half.w), Pointwise(DoubleNear(1e-15), std::vector<double>{1.5, 0, 0}));
  EXPECT_EQ(doubles(optim::clip_by_global_norm(p, 6).b), doubles(p.b));
  EXPECT_EQ(doubles(optim::clip_by_value(p, 1).w), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(doubles(optim::clip_by_value(p, 1).b), std::vector<double>(4, -1));
  const Params nothing{zeros({3}, f64), zeros({2, 2}, f64)};
  EXPECT_EQ(doubles(optim::clip_by_global_norm(nothing, 1).w), std::vector<double>(3, 0));
  EXPECT_THAT(error_of([&] { (void)optim::clip_by_global_norm(p, 0); }),
              AllOf(StartsWith("optim::clip_by_global_norm: greatest_norm is 0; it must be"),
                    HasSubstr("[optim_test.cc:")));
}

void expect_rates(const optim::Schedule& schedule, std::map<int, double> at) {
  for (const auto& [step, rate] : at)
    EXPECT_NEAR(schedule(scalar(step)).item<float>(), rate, 1e-6) << "step " << step;
}

TEST(Schedules, AtTheirCorners) {
  expect_rates(optim::constant(0.5), {{0, 0.5}, {100, 0.5}});
  expect_rates(optim::linear(1, 0.5, 10), {{0, 1}, {5, 0.75}, {10, 0.5}, {1000, 0.5}});
  expect_rates(optim::exponential_decay(2, 10, 0.5), {{0, 2}, {5, std::sqrt(2.0)}, {20, 0.5}});
  expect_rates(optim::exponential_decay(2, 10, 0.5, true), {{0, 2}, {9, 2}, {10, 1}, {29, 0.5}});
  expect_rates(optim::cosine_decay(2, 10, 0.1), {{0, 2}, {5, 1.1}, {10, 0.2}, {99, 0.2}});
  expect_rates(optim::warmup_cosine(1, 4, 12, 0.2),
               {{0, 0}, {2, 0.5}, {4, 1}, {8, 0.6}, {12, 0.2}, {50, 0.2}});
  expect_rates(optim::warmup_cosine(1, 0, 8), {{0, 1}, {4, 0.5}, {8, 0}});
  expect_rates(optim::piecewise_constant(1, {{3, 0.5}, {6, 0.1}}),
               {{0, 1}, {2, 1}, {3, 0.5}, {6, 0.05}});
  EXPECT_THAT(error_of([] { (void)optim::linear(1, 0, 0); }),
              StartsWith("optim::linear: steps is 0; it must be at least 1"));
  EXPECT_THAT(error_of([] { (void)optim::warmup_cosine(1, 5, 5); }),
              HasSubstr("steps - warmup is 0"));
}

// (1 - x)^2 + 100 (y - x^2)^2 of each pair: 0 where all are 1.
Tensor rosenbrock(const Tensor& v) {
  const Tensor x = v[Slice{0, v.dim(0) - 1}], y = v[Slice{1, v.dim(0)}];
  return sum(square(1 - x) + 100 * square(y - x * x));
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksFunction) {
  for (int64_t size : {2, 10}) {
    const auto found = optim::lbfgs(rosenbrock, full({size}, -1.2, f64), {.max_steps = 500});
    EXPECT_TRUE(found.converged.item<bool>());
    EXPECT_LT(found.slope.item<double>(), 1e-9);
    EXPECT_THAT(doubles(found.x), Pointwise(DoubleNear(1e-8), std::vector<double>(size, 1)));
    EXPECT_LT(found.evaluations.item<int>(), 60 * size);
  }
}

TEST(Lbfgs, OfATreeInATrace) {
  // Least squares: the normal equations give the minimum.
  const Tensor m = array<double>({2, 1, 0, 3, 1, 1}, {3, 2}), y = array<double>({1, 2, 3});
  const auto loss = [&](const Params& p) {
    return sum(square(matmul(m, p.w) + p.b - y)) + 0.1 * (sum(square(p.w)) + sum(square(p.b)));
  };
  const Params zero{zeros({2}, f64), zeros({3}, f64)};
  const auto program = trace([&](const Params& p) { return optim::lbfgs(loss, p); }, zero);
  const auto found = program(zero);
  EXPECT_TRUE(found.converged.item<bool>());
  const Params at = grad(loss)(found.x);
  EXPECT_LT(max(abs(at.w)).item<double>(), 1e-9);
  EXPECT_LT(max(abs(at.b)).item<double>(), 1e-9);
}

TEST(Lbfgs, TheWholeFamilyOfCases) {
  const auto bowl = [](const Tensor& x) { return sum(square(x - 3)); };
  const auto there = optim::lbfgs(bowl, full({4}, 3));
  EXPECT_EQ(there.steps.item<int>(), 0);
  EXPECT_TRUE(there.converged.item<bool>());
  const auto scalar_one = optim::lbfgs(bowl, scalar(10.0f));
  EXPECT_NEAR(scalar_one.x.item<float>(), 3, 1e-5);
  EXPECT_EQ(optim::lbfgs(bowl, zeros({0})).value.item<float>(), 0);
  EXPECT_EQ(optim::lbfgs(bowl, zeros({2}), {.max_steps = 0}).steps.item<int>(), 0);
  const auto short_memory =
      optim::lbfgs(rosenbrock, zeros({2}, f64), {.memory = 1, .max_steps = 900});
  EXPECT_THAT(doubles(short_memory.x), Pointwise(DoubleNear(1e-6), std::vector<double>{1, 1}));
  // log is NaN left of 0: a step there is too far, and is halved.
  const auto barrier = [](const Tensor& x) { return sum(x - log(x)); };
  EXPECT_THAT(doubles(optim::lbfgs(barrier, full({2}, 0.01, f64)).x),
              Pointwise(DoubleNear(1e-8), std::vector<double>{1, 1}));
  // Without a minimum it ends after max_steps, or when no step goes down, and says so.
  const auto slide = optim::lbfgs([](const Tensor& x) { return -sum(x); }, zeros({1}));
  EXPECT_FALSE(slide.converged.item<bool>());
}

TEST(Lbfgs, MistakesAreErrors) {
  const auto bowl = [](const Tensor& x) { return sum(x * x); };
  EXPECT_THAT(
      error_of([&] { (void)optim::lbfgs(bowl, ones({2}), {.memory = 0}); }),
      AllOf(StartsWith("optim::lbfgs: memory is 0; it must be at least 1"), EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)optim::lbfgs(bowl, ones({2}, bf16)); }),
              HasSubstr("start has bf16[2] beside bf16[2]; all of it must be f32, or all f64"));
}

}  // namespace
}  // namespace heddle
