// The .checkpoint of loops: the same gradients, for less memory and one more run of the steps.
#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor some(int64_t size, double seed = 0) {
  return sin(cos(arange(size, f64) * 1.7 + seed) * 9.3 + seed);
}

struct Case {
  int64_t length;
  bool reverse;
  std::optional<Checkpoint> checkpoint;
};

// The gradients by the carry, the xs and what the step captures.
std::vector<double> gradients(const Case& c) {
  const auto loss = [&](const Tensor& init, const Tensor& xs, const Tensor& rate) {
    const auto step = [&](Tensor h, Tensor x) {
      const Tensor next = sin(h) * x + rate * h;
      return std::pair(next, std::pair(next * x, None{}));
    };
    const auto [last, ys] =
        scan(step, init, xs, {.reverse = c.reverse, .checkpoint = c.checkpoint});
    return sum(last * last) + sum(ys.first * ys.first);
  };
  const auto [by_init, by_xs, by_rate] = grad(loss, argnums<0, 1, 2>)(
      some(3), reshape(some(c.length * 3, 1), {c.length, 3}), scalar(0.7));
  std::vector<double> all = doubles(by_init);
  for (double each : doubles(by_xs)) all.push_back(each);
  all.push_back(by_rate.item<double>());
  return all;
}

TEST(ScanCheckpoint, GivesTheSameGradients) {
  for (int64_t length : {0, 1, 2, 23}) {
    for (bool reverse : {false, true}) {
      const std::vector<double> plain = gradients({length, reverse, std::nullopt});
      for (const Checkpoint& checkpoint :
           {every(1), every(4), every(5), every(22), every(23), every(100), sqrt_steps(),
            recursive(1), recursive(3), recursive(9)}) {
        EXPECT_THAT(gradients({length, reverse, checkpoint}), Pointwise(DoubleNear(1e-12), plain))
            << length << " steps, " << checkpoint.number();
      }
    }
  }
}

TEST(ScanCheckpoint, ChangesNothingOfTheScanItself) {
  const auto run = [](std::optional<Checkpoint> checkpoint) {
    return trace(
        [&](const Tensor& xs) {
          return scan([](Tensor c, Tensor x) { return std::pair(c * x, c); }, scalar(1.0), xs,
                      {.checkpoint = checkpoint});
        },
        some(9));
  };
  EXPECT_EQ(doubles(run(every(2))(some(9)).second), doubles(run({})(some(9)).second));
  EXPECT_EQ(run(every(2)).compile().cost().flops, run({}).compile().cost().flops);
}

bool is_native(const Program& program) {
  const int64_t before = cpu::statistics().native;
  (void)program.compile("cpu");
  return cpu::statistics().native > before;
}
bool has_code_generator() {
  static double number = 17.25;  // another program each time
  ++number;
  return is_native(trace([](const Tensor& x) { return x + number; }, some(17)));
}

// A recurrent step of some width, 10,000 times.
runtime::ProgramCost cost_of_gradient(std::optional<Checkpoint> checkpoint) {
  const auto loss = [&](const Tensor& init) {
    const auto step = [](Tensor h, Tensor x) {
      for (int i = 0; i < 4; ++i) h = sin(h) * x + h * 0.5;
      return std::pair(h, None{});
    };
    return sum(scan(step, init, some(10000), {.checkpoint = checkpoint}).first);
  };
  return trace(grad(loss), ones({64}, f64)).compile("cpu").cost();
}

TEST(ScanCheckpoint, SqrtStepsOfTenThousandKeepThreePercentForHalfTheOperationsMore) {
  if (!has_code_generator()) GTEST_SKIP() << "no LLVM";
  const runtime::ProgramCost plain = cost_of_gradient({}), less = cost_of_gradient(sqrt_steps());
  // The table of docs/derivatives.md.
  for (const auto& [name, cost] : {std::pair("plain", plain),
                                   {"sqrt_steps()", less},
                                   {"recursive(3)", cost_of_gradient(recursive(3))}})
    std::printf("%-14s %lld bytes, %.3g operations\n", name,
                static_cast<long long>(*cost.scratch_bytes), *cost.flops);
  EXPECT_LT(static_cast<double>(*less.scratch_bytes),
            0.03 * static_cast<double>(*plain.scratch_bytes));
  EXPECT_LT(*less.flops, 1.5 * *plain.flops);
}

// Bodies of other kinds, 10,000 times; their input is an argument, which no way back keeps.
using Checkpointed = Tensor (*)(const Tensor&, const Tensor&, std::optional<Checkpoint>);

Tensor last_of_rnn(const Tensor& w, const Tensor& xs, std::optional<Checkpoint> checkpoint) {
  const auto step = [&](Tensor h, Tensor x) { return std::pair(tanh(matmul(h, w) + x), None{}); };
  return sum(scan(step, ones({16}, f64), xs, {.checkpoint = checkpoint}).first);
}
Tensor last_of_tanh(const Tensor& h, const Tensor& xs, std::optional<Checkpoint> checkpoint) {
  const auto step = [](Tensor h, Tensor x) { return std::pair(tanh(h * x + 0.1), None{}); };
  return sum(scan(step, h, xs, {.checkpoint = checkpoint}).first);
}
Tensor last_of_lorenz(const Tensor& start, const Tensor& dts,
                      std::optional<Checkpoint> checkpoint) {
  const auto speed = [](const Tensor& u) {
    const Tensor x = u[0], y = u[1], z = u[2];
    return stack({10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3 * z});
  };
  const auto step = [&](Tensor u, Tensor dt) {
    const Tensor a = speed(u), b = speed(u + a * dt * 0.5), c = speed(u + b * dt * 0.5);
    return std::pair(u + (a + 2.0 * b + 2.0 * c + speed(u + c * dt)) * dt / 6.0, None{});
  };
  return sum(scan(step, start, dts, {.checkpoint = checkpoint}).first);
}
// Reads an element of the captured tensor in each step.
Tensor last_of_reads(const Tensor& table, const Tensor& xs, std::optional<Checkpoint> checkpoint) {
  const auto step = [&](std::pair<Tensor, Tensor> s, Tensor x) {
    const Tensor next = sin(s.first) * table[s.second] + x;
    return std::pair(std::pair(next, (s.second + 7) % 100), None{});
  };
  return scan(step, std::pair(scalar(0.5), scalar(0)), xs, {.checkpoint = checkpoint}).first.first;
}

// A level more is a run of the steps more. It leaves less than 3 % of the bytes.
TEST(ScanCheckpoint, TakesOneRunForEachLevelAndFewBytesWhateverTheStep) {
  if (!has_code_generator()) GTEST_SKIP() << "no LLVM";
  const std::tuple<const char*, Checkpointed, Dimensions> bodies[] = {
      {"RNN", last_of_rnn, {16, 16}},
      {"tanh", last_of_tanh, {64}},
      {"Lorenz", last_of_lorenz, {3}},
      {"x[i]", last_of_reads, {100}}};
  for (const auto& [name, last, shape] : bodies) {
    const Tensor x = placeholder(shape, f64), xs = placeholder({10000}, f64);
    const auto run = [&, last = last](std::optional<Checkpoint> checkpoint) {
      return [=](const Tensor& x, const Tensor& xs) { return last(x, xs, checkpoint); };
    };
    const auto cost = [&](std::optional<Checkpoint> checkpoint) {
      return trace(grad(run(checkpoint)), x, xs).compile("cpu").cost();
    };
    const double forward = *trace(run({}), x, xs).compile("cpu").cost().flops;
    const runtime::ProgramCost plain = cost({}), two = cost(sqrt_steps()),
                               three = cost(recursive(3));
    std::printf("%-7s %9lld bytes, %.2f %% and %.2f %%; %.2f and %.2f runs more\n", name,
                static_cast<long long>(*plain.scratch_bytes),
                100.0 * *two.scratch_bytes / *plain.scratch_bytes,
                100.0 * *three.scratch_bytes / *plain.scratch_bytes,
                (*two.flops - *plain.flops) / forward, (*three.flops - *plain.flops) / forward);
    EXPECT_LT(*two.scratch_bytes, *plain.scratch_bytes * 3 / 100) << name;
    EXPECT_LT(*three.scratch_bytes, *plain.scratch_bytes * 3 / 100) << name;
    EXPECT_LT(*two.flops - *plain.flops, 1.1 * forward) << name;
    EXPECT_LT(*three.flops - *plain.flops, 2.2 * forward) << name;
  }
}

TEST(ScanCheckpoint, OfLayers) {
  const Tensor layers = reshape(some(6 * 4, 2), {6, 4}), x = some(4);
  const auto loss = [&](std::optional<Checkpoint> checkpoint) {
    return [=](const Tensor& w) {
      return sum(scan_layers([](Tensor layer, Tensor h) { return tanh(h * layer) + h; }, w, x,
                             {.checkpoint = checkpoint}));
    };
  };
  EXPECT_THAT(doubles(grad(loss(every(2)))(layers)),
              Pointwise(DoubleNear(1e-13), doubles(grad(loss({}))(layers))));
}

TEST(ScanCheckpoint, HasSecondDerivatives) {
  const auto loss = [](const Tensor& x) {
    return sum(scan([](Tensor c, Tensor v) { return std::pair(sin(c) * v, None{}); }, x, some(7),
                    {.checkpoint = every(3)})
                   .first);
  };
  check_grads(loss, std::tuple(some(2)), {.order = 2});
}

TEST(ScanCheckpoint, NumbersBelowOneAreErrors) {
  const auto run = [](const Checkpoint& checkpoint) {
    return error_of([&] {
      (void)scan([](Tensor c, Tensor) { return std::pair(c, None{}); }, scalar(0.0), ones({2}, f64),
                 {.checkpoint = checkpoint});
    });
  };
  EXPECT_THAT(run(every(0)), StartsWith("scan: checkpoint is every(0); its number must be 1"));
  EXPECT_THAT(run(recursive(-1)), HasSubstr("checkpoint is recursive(-1)"));
}

// Other loops
// --------------------------------------------------------------------------------

// At most 23 steps of a loop that ends by itself, after 17 steps of its first element.
Tensor run_while(const Tensor& x, const Tensor& rate, std::optional<Checkpoint> checkpoint) {
  using State = std::pair<Tensor, Tensor>;
  return while_loop(
             [](const State& s) { return s.second < 17; },
             [&](const State& s) { return State(sin(s.first) * x + rate * s.first, s.second + 1); },
             State(x, scalar(0)), {.max_steps = 23, .checkpoint = checkpoint})
      .first;
}
// At most 23 steps until the carry is small, and what they give.
Tensor run_until(const Tensor& x, const Tensor& rate, std::optional<Checkpoint> checkpoint) {
  const auto found =
      scan_until([&](Tensor h, Tensor v) { return std::pair(sin(h) * v * rate, h * v); },
                 [](const Tensor& h) { return sum(h * h) < 0.01; }, x,
                 reshape(some(23 * 3, 1), {23, 3}), {.checkpoint = checkpoint});
  return found.carry + sum(found.ys * found.ys, {0});
}
Tensor run_fori(const Tensor& x, const Tensor& rate, std::optional<Checkpoint> checkpoint) {
  return fori_loop(
      2, 25, [&](Tensor i, Tensor h) { return sin(h) * x + rate * h * (i.astype(f64) / 9.0); }, x,
      {.checkpoint = checkpoint});
}

struct Loop {
  const char* name;
  Tensor (*run)(const Tensor&, const Tensor&, std::optional<Checkpoint>);
};
const Loop kLoops[] = {{"while", run_while}, {"until", run_until}, {"fori", run_fori}};

TEST(LoopCheckpoint, GivesTheSameValuesAndGradients) {
  const Tensor x = some(3), rate = scalar(0.7);
  for (const Loop& loop : kLoops) {
    const auto all = [&](std::optional<Checkpoint> checkpoint) {
      const auto loss = [&](const Tensor& x, const Tensor& rate) {
        return sum(square(loop.run(x, rate, checkpoint)));
      };
      const auto [value, by] = value_and_grad(loss, argnums<0, 1>)(x, rate);
      return doubles(concat({reshape(value, {1}), std::get<0>(by), reshape(std::get<1>(by), {1})}));
    };
    const std::vector<double> plain = all({});
    for (const Checkpoint& checkpoint :
         {every(1), every(4), every(17), every(23), every(99), sqrt_steps(), recursive(3)}) {
      EXPECT_THAT(all(checkpoint), Pointwise(DoubleNear(1e-12), plain))
          << loop.name << " " << checkpoint.number();
    }
  }
}

TEST(LoopCheckpoint, OfAWhileStaysInLanesAndInSecondDerivatives) {
  const Tensor rate = scalar(0.7), xs = reshape(some(6, 2), {2, 3});
  const auto loss = [&](std::optional<Checkpoint> checkpoint) {
    return [=](const Tensor& x) { return sum(square(run_while(x, rate, checkpoint))); };
  };
  const auto in_lanes = [&](auto fn) { return doubles(vmap(grad(fn))(xs)); };
  EXPECT_THAT(in_lanes(loss(every(5))), Pointwise(DoubleNear(1e-12), in_lanes(loss({}))));
  const auto of_lanes = [&](auto fn) {
    return doubles(grad([=](const Tensor& v) { return sum(vmap(fn)(v)); })(xs));
  };
  EXPECT_THAT(of_lanes(loss(every(5))), Pointwise(DoubleNear(1e-12), of_lanes(loss({}))));
  const auto curvature = [&](auto fn) { return doubles(hessian(fn)(xs[0])); };
  EXPECT_THAT(curvature(loss(every(5))), Pointwise(DoubleNear(1e-10), curvature(loss({}))));
}

// Residuals of all of 10,000 steps are one array; of blocks, one of each number of steps.
TEST(LoopCheckpoint, KeepsTheStepsOfABlockAndNotAll) {
  using Make = std::function<Tensor(const Tensor&, std::optional<Checkpoint>)>;
  const auto many = [](Tensor h) {
    for (int i = 0; i < 4; ++i) h = sin(h) * h + h * 0.5;
    return h;
  };
  const std::pair<const char*, Make> loops[] = {
      {"while_loop",
       [&](const Tensor& init, std::optional<Checkpoint> checkpoint) {
         return while_loop([](Tensor h) { return sum(h) < 1e9; }, many, init,
                           {.max_steps = 10000, .checkpoint = checkpoint});
       }},
      {"scan_until",
       [&](const Tensor& init, std::optional<Checkpoint> checkpoint) {
         return scan_until([&](Tensor h, None) { return std::pair(many(h), None{}); },
                           [](Tensor h) { return sum(h) > 1e9; }, init, None{},
                           {.length = 10000, .checkpoint = checkpoint})
             .carry;
       }},
      {"fori_loop", [&](const Tensor& init, std::optional<Checkpoint> checkpoint) {
         return fori_loop(0, 10000, [&](Tensor, Tensor h) { return many(h); }, init,
                          {.checkpoint = checkpoint});
       }}};
  for (const auto& [name, make] : loops) {
    const auto gradient = [&, &make = make](std::optional<Checkpoint> checkpoint) {
      return trace(grad([&](const Tensor& init) { return sum(make(init, checkpoint)); }),
                   ones({64}, f64));
    };
    const Program plain = gradient({}), less = gradient(sqrt_steps());
    EXPECT_THAT(plain.hlo_text(), HasSubstr("f64[10000,64]")) << name;
    EXPECT_THAT(less.hlo_text(), Not(HasSubstr("f64[10000,64]"))) << name;
    EXPECT_THAT(less.hlo_text(), HasSubstr("f64[100,64]")) << name;
    if (!has_code_generator()) continue;
    const auto bytes = [](const Program& program) {
      return static_cast<double>(*program.compile("cpu").cost().scratch_bytes);
    };
    std::printf("%-10s plain %.0f bytes, sqrt_steps() %.0f\n", name, bytes(plain), bytes(less));
    EXPECT_LT(bytes(less), 0.05 * bytes(plain)) << name;
  }
}

TEST(LoopCheckpoint, ThatWouldDoNothingIsAnError) {
  const auto below = [](Tensor x) { return x < 9.0; };
  const auto next = [](Tensor x) { return x + 1.0; };
  EXPECT_THAT(
      error_of([&] { while_loop(below, next, scalar(0.0), {.checkpoint = every(4)}); }),
      AllOf(StartsWith("while_loop: checkpoint is every(4) and there is no max_steps; only a loop "
                       "with max_steps has the reverse derivative that it is for, give it or leave "
                       "checkpoint out"),
            EndsWith(here())));
  EXPECT_THAT(error_of([&] {
                while_loop(below, next, scalar(0.0), {.max_steps = 3, .checkpoint = every(0)});
              }),
              HasSubstr("while_loop: checkpoint is every(0); its number must be 1 or more"));
  const auto step = [](Tensor, Tensor x) { return x + 1.0; };
  EXPECT_THAT(
      error_of([&] { fori_loop(0, scalar(3), step, scalar(0.0), {.checkpoint = sqrt_steps()}); }),
      HasSubstr("fori_loop: checkpoint is recursive(2) and a bound is a tensor; only a "
                "loop between C++ integers has the reverse derivative that it is for, "
                "give those or leave it out"));
}

TEST(Checkpoint, RunsAsMachineCode) {
  const auto body = checkpoint([](const Tensor& x) { return sin(x) * x; });
  const auto program = trace(grad([&](const Tensor& x) { return sum(body(body(x))); }), some(5));
  if (!has_code_generator()) GTEST_SKIP() << "no LLVM";
  EXPECT_TRUE(is_native(program));
}

}  // namespace
}  // namespace heddle
