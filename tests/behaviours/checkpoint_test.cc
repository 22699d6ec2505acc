// scan's .checkpoint: the same gradients, for less memory and one more run of the steps.
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

TEST(Checkpoint, RunsAsMachineCode) {
  const auto body = checkpoint([](const Tensor& x) { return sin(x) * x; });
  const auto program = trace(grad([&](const Tensor& x) { return sum(body(body(x))); }), some(5));
  if (!has_code_generator()) GTEST_SKIP() << "no LLVM";
  EXPECT_TRUE(is_native(program));
}

}  // namespace
}  // namespace heddle
