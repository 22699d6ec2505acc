// Optimizers against the formulas of their papers in plain C++, schedules at their corners, and
// L-BFGS on functions whose minimum is known.
#include <cmath>
#include <limits>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/optim/lbfgs.h"
#include "heddle/optim/optimizers.h"
#include "heddle/testing.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/reduction/reductions.h"
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

// Squares of small gradients of f16 underflow, and so does eps.
TEST(Optim, SmallGradientsOfF16Count) {
  const auto stepped = [](const auto& optimizer) {
    const Tensor p = ones({3}, f16), slopes = array({0.0F, 1e-3F, -1e-6F}).astype(f16);
    const auto state = optimizer.init(p);
    EXPECT_EQ(state.mean.dtype(), f32);
    return optimizer.update(slopes, state, p).first.astype(f32).template to_vector<float>();
  };
  const std::vector<float> want = {1, 0.9, 1.1}, decayed = {0.99, 0.89, 1.09};
  EXPECT_THAT(stepped(optim::adam({.learning_rate = 0.1})), Pointwise(FloatNear(2e-3), want));
  EXPECT_THAT(stepped(optim::lion({.learning_rate = 0.1})), Pointwise(FloatNear(2e-3), want));
  EXPECT_THAT(stepped(optim::adamw({.learning_rate = 0.1, .weight_decay = 0.1})),
              Pointwise(FloatNear(2e-3), decayed));
  const auto adam = optim::adam({.learning_rate = 0.1});
  auto state = adam.init(ones({3}, f16));
  state.mean = zeros({3}, f16);
  EXPECT_THAT(error_of([&] { (void)adam.update(ones({3}, f16), state, ones({3}, f16)); }),
              HasSubstr("mean is f16[3]; it must be f32[3], beside the f16 of params"));
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
      ContainsRegex("^optim::sgd: learning_rate is f32\\[2\\]; it must be a scalar of a floating "
                    "dtype \\[optim_test.cc:[0-9]+\\]$"));
  EXPECT_THAT(error_of([] { (void)optim::lion({.learning_rate = Tensor()}); }),
              StartsWith("optim::lion: learning_rate has no value"));
  EXPECT_THAT(error_of([] { (void)optim::lion({.learning_rate = optim::Schedule()}); }),
              StartsWith("optim::lion: the learning_rate is a null pointer to a function, or an "
                         "empty std::function"));
}

TEST(Optim, GradientsThatAreNotLikeTheParametersAreErrors) {
  const auto adam = optim::adam({.learning_rate = 0.1});
  const Params p = start();
  EXPECT_THAT(
      error_of([&] {
        (void)adam.update({p.w, zeros({2}, f64)}, adam.init(p), p);
      }),
      ContainsRegex(
          "^optim::adam: gradients.b is f64\\[2\\]; it must be f64\\[2,2\\], as params.b is "
          "\\[optim_test.cc:[0-9]+\\]$"));
  const auto adamw = optim::adamw({.learning_rate = 0.1});
  EXPECT_THAT(error_of([&] {
                (void)adamw.update({p.w, zeros({2}, f64)}, adamw.init(p), p);
              }),
              StartsWith("optim::adamw: gradients.b is f64[2]"));
  using Leaves = std::vector<Tensor>;
  const Leaves one{p.w}, two{p.w, p.w};
  EXPECT_THAT(error_of([&] { (void)adam.update(two, adam.init(one), one); }),
              StartsWith("optim::adam: gradients has 2 leaves; params has 1: params[0]; give a "
                         "tree like params"));
  EXPECT_THAT(error_of([&] { (void)adam.update(one, adam.init(two), one); }),
              StartsWith("optim::adam: state.mean has 2 leaves; params has 1"));
  const Leaves whole{ones({2}, s32)};
  EXPECT_THAT(error_of([&] { (void)adam.update(whole, adam.init(whole), whole); }),
              HasSubstr("params[0] is s32[2]; it must have a floating dtype"));
}

TEST(Optim, ALeafWithoutAValueIsNamed) {
  const Params p = start(), half{p.w, Tensor()};
  const auto adamw = optim::adamw({.learning_rate = 0.1});
  auto state = adamw.init(p);
  EXPECT_THAT(error_of([&] { (void)adamw.init(half); }),
              AllOf(StartsWith("optim::adamw: params.b has no value"), EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)adamw.update(half, state, p); }),
              StartsWith("optim::adamw: gradients.b has no value"));
  EXPECT_THAT(error_of([&] { (void)adamw.update(p, {}, p); }),
              StartsWith("optim::adamw: state.step has no value"));
  state.square.w = Tensor();
  EXPECT_THAT(error_of([&] { (void)adamw.update(p, state, p); }),
              StartsWith("optim::adamw: state.square.w has no value"));
  EXPECT_THAT(error_of([&] { (void)optim::clip_by_value(half, 1); }),
              StartsWith("optim::clip_by_value: gradients.b has no value"));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Optim, OptionsOutsideOfTheirRangesAreErrors) {
  const std::string below_1 = "; it must be 0 or greater, and less than 1";
  const std::string not_negative = "; it must be finite, and 0 or greater";
  EXPECT_THAT(error_of([] { (void)optim::sgd({.learning_rate = kNan}); }),
              AllOf(StartsWith("optim::sgd: learning_rate is nan" + not_negative + " ["),
                    EndsWith(here())));
  EXPECT_THAT(error_of([] { (void)optim::sgd({.learning_rate = -0.1}); }),
              StartsWith("optim::sgd: learning_rate is -0.1" + not_negative));
  EXPECT_THAT(error_of([] { (void)optim::momentum({.learning_rate = 1, .decay = 1.5}); }),
              StartsWith("optim::momentum: decay is 1.5; it must be in 0 .. 1"));
  EXPECT_THAT(error_of([] { (void)optim::adam({.learning_rate = 1, .b1 = 1}); }),
              StartsWith("optim::adam: b1 is 1" + below_1));
  EXPECT_THAT(error_of([] { (void)optim::adam({.learning_rate = 1, .b2 = -0.5}); }),
              StartsWith("optim::adam: b2 is -0.5" + below_1));
  EXPECT_THAT(error_of([] { (void)optim::adam({.learning_rate = 1, .eps = -1e-8}); }),
              StartsWith("optim::adam: eps is -1e-08" + not_negative));
  EXPECT_THAT(error_of([] { (void)optim::adamw({.learning_rate = 1, .eps_root = kInfinity}); }),
              StartsWith("optim::adamw: eps_root is inf" + not_negative));
  EXPECT_THAT(error_of([] { (void)optim::adam({.learning_rate = 1, .weight_decay = 0.1}); }),
              StartsWith("optim::adam: weight_decay is 0.1; adam has none: write adamw, or"));
  EXPECT_THAT(error_of([] { (void)optim::adamw({.learning_rate = 1, .weight_decay = -1}); }),
              StartsWith("optim::adamw: weight_decay is -1" + not_negative));
  EXPECT_THAT(error_of([] { (void)optim::lion({.learning_rate = kInfinity}); }),
              StartsWith("optim::lion: learning_rate is inf" + not_negative));
  EXPECT_THAT(error_of([] { (void)optim::lion({.learning_rate = 1, .b2 = kNan}); }),
              StartsWith("optim::lion: b2 is nan" + below_1));
}

TEST(Optim, OptionsAtTheirBoundsAreTaken) {
  const Params p = start();
  const auto zero = optim::adam({.learning_rate = 0, .b1 = 0, .b2 = 0});
  EXPECT_EQ(doubles(zero.update(slope(p), zero.init(p), p).first.w), doubles(p.w));
  expect_as(after(3, optim::momentum({.learning_rate = 0.01, .decay = 1})), 3, [] {
    return [v = 0.0](double p, double g, int) mutable { return p - 0.01 * (v += g); };
  });
}

TEST(Optim, StateLiesWhereTheParametersDo) {
  const Params p = device_put(start(), "interpreter:0");
  const runtime::DefaultDevice other(*runtime::find_device("cpu:0").value());
  const auto expect_there = [](const auto& tree) {
    for (const Tensor& leaf : flatten(tree)) EXPECT_EQ(device_of(leaf).name(), "interpreter:0");
  };
  const auto expect_runs = [&](const auto& optimizer) {
    const auto state = optimizer.init(p);
    expect_there(state);
    expect_there(optimizer.update(p, state, p));
  };
  expect_runs(optim::sgd({.learning_rate = 0.1}));
  expect_runs(optim::momentum({.learning_rate = optim::piecewise_constant(1, {{3, 0.5}})}));
  expect_runs(optim::adam({.learning_rate = optim::warmup_cosine(1, 2, 4), .b1 = 0}));
  expect_runs(optim::adamw({.learning_rate = [](const Tensor&) { return full({}, 0.1); }}));
  expect_runs(optim::lion({.learning_rate = optim::exponential_decay(1, 2, 0.5, true)}));
  expect_there(optim::clip_by_global_norm(p, 1));
  expect_there(optim::global_norm(p));
  expect_there(optim::lbfgs([](const Params& q) { return sum(q.w * q.w) + sum(q.b * q.b); }, p));
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
  EXPECT_EQ(doubles(optim::clip_by_global_norm(p, kInfinity).w), doubles(p.w));
  EXPECT_THAT(error_of([&] { (void)optim::clip_by_value(p, kNan); }),
              StartsWith("optim::clip_by_value: bound is nan; it must be greater than 0"));
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

TEST(Schedules, NumbersThatAreNotFiniteAreErrors) {
  EXPECT_THAT(
      error_of([] { (void)optim::constant(kNan); }),
      AllOf(StartsWith("optim::constant: value is nan; it must be finite"), EndsWith(here())));
  EXPECT_THAT(error_of([] { (void)optim::linear(1, kInfinity, 5); }),
              StartsWith("optim::linear: end is inf; it must be finite"));
  EXPECT_THAT(error_of([] { (void)optim::exponential_decay(1, 5, kInfinity); }),
              StartsWith("optim::exponential_decay: rate is inf; it must be finite, and greater"));
  EXPECT_THAT(error_of([] { (void)optim::cosine_decay(1, 5, kNan); }),
              StartsWith("optim::cosine_decay: alpha is nan"));
  EXPECT_THAT(error_of([] { (void)optim::warmup_cosine(kNan, 1, 5); }),
              StartsWith("optim::warmup_cosine: peak is nan"));
  EXPECT_THAT(error_of([] {
                (void)optim::piecewise_constant(1, {{7, kNan}});
              }),
              StartsWith("optim::piecewise_constant: the scale at 7 is nan; it must be finite"));
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
  const auto error_at = [&](optim::LbfgsOptions options) {
    return error_of([&] { (void)optim::lbfgs(bowl, ones({2}), options); });
  };
  EXPECT_THAT(error_of([&] { (void)optim::lbfgs(bowl, ones({2}), {.memory = 0}); }),
              AllOf(StartsWith("optim::lbfgs: memory is 0; it must be at least 1, and at most "),
                    EndsWith(here())));
  EXPECT_THAT(error_at({.max_steps = int64_t{1} << 32}),
              StartsWith("optim::lbfgs: max_steps is 4294967296; it must be at least 0, and at "
                         "most 2147483647"));
  EXPECT_THAT(error_at({.tolerance = kNan}),
              StartsWith("optim::lbfgs: tolerance is nan; it must be finite, and 0 or greater"));
  EXPECT_THAT(error_of([&] { (void)optim::lbfgs(bowl, ones({2}, bf16)); }),
              StartsWith("optim::lbfgs: start is bf16[2]; it must be f32 or f64"));
  const auto both = [](const Params& p) { return sum(p.w); };
  EXPECT_THAT(error_of([&] {
                (void)optim::lbfgs(both, Params{ones({2}), ones({3}, f64)});
              }),
              StartsWith("optim::lbfgs: start.b is f64[3] and start.w is f32[2]; all of it must"));
}

TEST(Lbfgs, ErrorsHaveTheLineOfTheUser) {
  const auto expect_here = [](const std::string& error, const std::string& begin) {
    EXPECT_THAT(error, AllOf(StartsWith(begin), HasSubstr("[optim_test.cc:")));
  };
  const auto of = [](const auto& fn) {
    return error_of([&] { (void)optim::lbfgs(fn, Params{ones({3}), ones({2})}); });
  };
  expect_here(of([](const Params& p) { return p.w; }),
              "optim::lbfgs: the function gives f32[3]; it must give a scalar of floats");
  expect_here(of([](const Params& p) { return sum(p.w).astype(f64); }),
              "optim::lbfgs: the function gives f64[]; it must give f32[], as start is");
  expect_here(of([](const Params& p) { return sum(p.w + p.b); }),
              "add: operands are f32[3] and f32[2]");
  const auto sum_of_w = [](const Params& p) { return sum(p.w); };
  expect_here(error_of([&] { (void)optim::lbfgs(sum_of_w, Params()); }),
              "optim::lbfgs: start.w has no value");
}

TEST(Lbfgs, RecordsTheLineOfTheUser) {
  const auto bowl = [](const Params& p) { return sum(p.w * p.w) + sum(p.b * p.b); };
  const Program program = trace([&](const Params& p) { return optim::lbfgs(bowl, p); }, start());
  EXPECT_THAT(lines_outside("optim_test.cc", program), testing::IsEmpty());
}

}  // namespace
}  // namespace heddle
