// The behaviours that JAX's lax_control_flow_test checks about derivatives of loops and branches,
// by their numbers in the list of docs/behaviours.md: what of A, D, E and F needs no vmap, and
// while_loop with max_steps. Those of I are in jax_loop_derivatives_test.cc.
#include <cmath>
#include <functional>
#include <random>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

using grad_internal::some;
using grad_internal::values;

double value(const Tensor& x) { return x.item<double>(); }

size_t count_of(const std::string& text, const std::string& word) {
  const std::regex pattern(word);
  return static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern),
                                           std::sregex_iterator()));
}

// A. and D.

TEST(Jax, N030_ReverseModeOfWhileIsRefusedAndLinearizeWorks) {
  auto square = [](Tensor x) { return x * x; };
  auto loop = [&](Tensor x) { return while_loop([](Tensor y) { return y < 9.0; }, square, x); };
  auto fori = [&](Tensor x) {
    const Tensor n = scalar(3);
    return fori_loop(
        0, n, [&](Tensor, Tensor y) { return square(y); }, x);
  };
  auto in_cond = [&](Tensor x) { return cond(x > 0.0, fori, square, x); };
  auto in_scan = [&](Tensor x) {
    auto step = [&](Tensor y, None) { return std::pair(fori(y), None{}); };
    return scan(step, x, None{}, {.length = 1}).first;
  };
  auto check = [&](auto fn, double slope) {
    EXPECT_THAT(error_of([&] { (void)grad(fn)(scalar(2.0)); }),
                HasSubstr("has no reverse derivative"));
    EXPECT_EQ(value(linearize(fn, scalar(2.0)).second(scalar(1.0))), slope);
  };
  check(loop, 32);  // x^4
  check(fori, 1024);
  check(in_cond, 1024);
  check(in_scan, 1024);
}

TEST(Jax, N071_ForwardModeOfForiToOrder2) {
  auto f = [](Tensor x) {
    const Tensor n = scalar(4);
    return fori_loop(
        0, n, [](Tensor i, Tensor y) { return sin(y) * (i.astype(f64) + 1.0); }, x);
  };
  check_grads(f, std::tuple(scalar(0.3)), {.reverse = false});
}

// E. and F.

TEST(Jax, N094_BranchesWithNewConstantsHaveTangents) {
  auto f = [](Tensor x) {
    return cond(
        x < 1.0, [](Tensor x) { return x * 3.0 + 0.25; }, [](Tensor x) { return x; }, x);
  };
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(0.5)), std::tuple(scalar(2.0))).second), 6);
}

auto two_ways(Tensor x) {
  return cond(
      x < 2.0, [](Tensor x) { return pow(x, 2.0) * 3.0; }, [](Tensor x) { return sin(x) * x; }, x);
}

TEST(Jax, N095_GradOfCondSelectsNothing) {
  auto p = trace(grad([](Tensor x) { return two_ways(x); }), scalar(1.0));
  EXPECT_THAT(p.hlo_text(), Not(HasSubstr(" select(pred[]")));
  EXPECT_EQ(count_of(p.hlo_text(), " conditional\\("), 2u);
}

TEST(Jax, N099_CondToOrder2) {
  for (double x : {1.3, 3.1}) check_grads(two_ways, std::tuple(scalar(x)), {.reverse = false});
}

TEST(Jax, N100_SwitchTangents) {
  for (int i : {0, 1, 2}) {
    auto f = [&](Tensor x) {
      return switch_case(scalar(i),
                         std::tuple([](Tensor x) { return sin(x); }, [](Tensor x) { return x * x; },
                                    [](Tensor x) { return exp(x); }),
                         x);
    };
    check_grads(f, std::tuple(scalar(0.7)));
  }
}

TEST(Jax, N101_TangentsWhereABranchIsConstant) {
  auto f = [](Tensor x) {
    return cond(
        x < 2.0, [](Tensor) { return scalar(5.0); }, [](Tensor x) { return x * x; }, x);
  };
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(1.0)), std::tuple(scalar(1.0))).second), 0);
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(3.0)), std::tuple(scalar(1.0))).second), 6);
}

TEST(Jax, N102_CondGradOfBothModes) {
  for (double x : {1.3, 3.1}) check_grads(two_ways, std::tuple(scalar(x)));
}

TEST(Jax, N103_CondGradOfArrays) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        sum(p) < 0.0, [](Tensor x) { return x * x; }, [](Tensor x) { return sin(x); }, x);
  };
  for (double shift : {-3.0, 3.0}) check_grads(f, std::tuple(some({3}) + shift, some({3}, 1)));
}

TEST(Jax, N104_CondGradOfArraysWhereABranchIsConstant) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        sum(p) < 0.0, [](Tensor x) { return x * x; }, [](Tensor x) { return ones_like(x); }, x);
  };
  for (double shift : {-3.0, 3.0}) check_grads(f, std::tuple(some({3}) + shift, some({3}, 1)));
}

TEST(Jax, N105_CondGradOfCapturedValues) {
  for (bool way : {true, false}) {
    auto f = [&](Tensor x) {
      return cond(
          scalar(way), [&] { return x * x; }, [&] { return sin(x) * 2.0; });
    };
    check_grads(f, std::tuple(scalar(0.7)));
  }
}

TEST(Jax, N106_SwitchGradToOrder2) {
  for (int i : {0, 1, 2}) {
    auto f = [&](Tensor x, Tensor y) {
      return switch_case(scalar(i),
                         std::tuple([](Tensor x, Tensor y) { return x * y; },
                                    [](Tensor x, Tensor y) { return sin(x) + y * y; },
                                    [](Tensor, Tensor y) { return y; }),
                         x, y);
    };
    check_grads(f, std::tuple(some({2}), some({2}, 1)));
  }
}

TEST(Jax, N107_SwitchGradWithRandomForwarding) {
  using List = std::vector<Tensor>;
  using Picks = std::vector<size_t>;  // which input each output is; 3: a product
  const auto branch = [](const Picks& picks) {
    return [picks](List x) {
      List out;
      for (size_t i : picks) out.push_back(i < 3 ? x[i] : x[0] * x[1]);
      return out;
    };
  };
  const List at{scalar(0.3), scalar(0.7), scalar(-0.4)};
  std::mt19937 engine(1);
  for (size_t round = 0; round < 64; ++round) {
    const Picks first = {round % 4, round / 4 % 4, round / 16};  // all that there are
    const std::vector branches{branch(first), branch({engine() % 4, engine() % 4, engine() % 4}),
                               branch({engine() % 4, engine() % 4, engine() % 4})};
    for (size_t i = 0; i < branches.size(); ++i) {
      const Tensor index = scalar(static_cast<int>(i));
      const auto f = [&](List x) { return switch_case(index, branches, x); };
      const auto total = [](const List& ys) { return ys[0] * 2.0 + ys[1] * ys[1] + sin(ys[2]); };
      const List have = grad([&](List x) { return total(f(x)); })(at);
      const List want = grad([&](List x) { return total(branches[i](x)); })(at);
      for (size_t k = 0; k < at.size(); ++k) EXPECT_NEAR(value(have[k]), value(want[k]), 1e-14);
      if (round % 8 == i) check_grads(f, std::tuple(at), {.order = 1});
    }
  }
}

// A C++ number has the tensor's dtype, as JAX's weakly typed ones have.
TEST(Jax, N108_SwitchGradWhereABranchIsANumber) {
  const Tensor at = scalar(0.6);
  const std::vector<std::function<Tensor(Tensor)>> branches{
      [](Tensor x) { return x * x; }, [](Tensor x) { return full_like(x, 3.0); },
      [](Tensor x) { return where(x > 0.0, 2.0 * x, 1.0); }};
  const double slopes[] = {1.2, 0, 2};
  for (int i = 0; i < 3; ++i) {
    const auto f = [&, i](Tensor x) { return switch_case(scalar(i), branches, x); };
    EXPECT_EQ(f(at).dtype(), f64);
    EXPECT_DOUBLE_EQ(value(grad(f)(at)), slopes[i]) << i;
    EXPECT_DOUBLE_EQ(value(grad(compile(f))(at)), slopes[i]) << i;
  }
}

TEST(Jax, N111_LinearizeOfCond) {
  for (double x : {1.3, 3.1}) {
    const auto [y, push] = linearize(two_ways, scalar(x));
    EXPECT_EQ(value(push(scalar(2.0))), 2 * value(grad(two_ways)(scalar(x))));
  }
}

TEST(Jax, N112_LinearizeOfSwitch) {
  for (int i : {0, 1, 2}) {
    auto f = [&](Tensor x) {
      return switch_case(scalar(i),
                         std::tuple([](Tensor x) { return sin(x); }, [](Tensor x) { return x * x; },
                                    [](Tensor) { return scalar(1.0); }),
                         x);
    };
    const double slopes[] = {std::cos(0.7), 1.4, 0};
    EXPECT_NEAR(value(linearize(f, scalar(0.7)).second(scalar(1.0))), slopes[i], 1e-15);
  }
}

TEST(Jax, N113_LinearizeOfCondOfArrays) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        sum(p) < 0.0, [](Tensor x) { return x * x; }, [](Tensor x) { return sin(x); }, x);
  };
  const Tensor p = some({3}) - 3.0, x = some({3}, 1), v = some({3}, 2);
  EXPECT_THAT(values(linearize(f, p, x).second(p, v)),
              Pointwise(DoubleNear(1e-15), values(2.0 * x * v)));
}

TEST(Jax, N114_BranchesShareResidualSlots) {
  auto one = [](Tensor x) { return sin(exp(x)) * x; };        // exp(x), cos(exp(x)), sin(exp(x))
  auto two = [](Tensor x) { return tanh(sin(x) * cos(x)); };  // sin, cos, their product's slope
  // Of arrays that the branches of the values give, and of values that those of tangents take.
  auto slots = [](auto first, auto second) {
    auto f = [=](Tensor x) { return sum(cond(sum(x) > 0.0, first, second, x)); };
    const std::string text = trace(grad(f), some({7})).hlo_text();
    std::smatch m;  // the type of the first conditional
    EXPECT_TRUE(std::regex_search(text, m, std::regex("= (\\([^=]*) conditional\\(")));
    return count_of(m[1], "f64\\[7\\]");
  };
  EXPECT_EQ(slots(one, two), std::max(slots(one, one), slots(two, two)));
}

TEST(Jax, N117_ScanOfCondIsABoundedPower) {
  auto f = [](Tensor x) {
    auto step = [&](Tensor y, Tensor i) {
      y = cond(
          i < 1, [&] { return y * x; }, [&] { return y; });
      return std::pair(y, None{});
    };
    return scan(step, scalar(1.0), arange(5)).first;
  };
  EXPECT_EQ(value(linearize(f, scalar(3.0)).second(scalar(1.0))), 1);
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 1);
}

TEST(Jax, N119_VjpOfCondOfIdentityAndConstant) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        p > 0.0, [](Tensor x) { return x; }, [](Tensor) { return scalar(7.0); }, x);
  };
  for (double p : {1.0, -1.0}) {
    const auto [y, pull] = vjp(f, scalar(p), scalar(2.0));
    EXPECT_EQ(value(std::get<1>(pull(scalar(5.0)))), p > 0 ? 5 : 0);
  }
}

// ---- while_loop with max_steps: reverse mode too.

Tensor squared_until(Tensor limit, Tensor x, int64_t max_steps) {
  return while_loop([&](Tensor y) { return y < limit; }, [](Tensor y) { return y * y; }, x,
                    {.max_steps = max_steps});
}

TEST(BoundedWhile, HasGradientsOfAnyOrder) {
  const auto f = [](Tensor x) { return squared_until(scalar(100.0), x, 10); };  // x^16 at 1.5
  const Tensor x = scalar(1.5);
  EXPECT_NEAR(value(grad(f)(x)), 16 * std::pow(1.5, 15), 1e-9);
  EXPECT_NEAR(value(grad(grad(f))(x)), 16 * 15 * std::pow(1.5, 14), 1e-8);
  check_grads(f, std::tuple(x), {.order = 2});
}

TEST(BoundedWhile, EndsWithItsSteps) {
  const auto f = [](int64_t steps) {
    return [=](Tensor x) { return squared_until(scalar(1e300), x, steps); };
  };
  EXPECT_EQ(value(grad(f(0))(scalar(3.0))), 1);
  EXPECT_EQ(value(grad(f(1))(scalar(3.0))), 6);
  EXPECT_EQ(value(grad(f(2))(scalar(3.0))), 108);
}

TEST(BoundedWhile, EachLaneOfAMapHasItsOwnSteps) {
  const auto f = [](Tensor x) {
    return sum(map([](Tensor v) { return squared_until(scalar(100.0), v, 10); }, x));
  };
  EXPECT_THAT(values(grad(f)(array<double>({2, 50, 1000}))),
              Pointwise(DoubleNear(1e-9), std::vector<double>{8 * 128, 100, 1}));
}

TEST(BoundedWhile, EachLaneOfAVmapHasItsOwnSteps) {
  const auto f = [](Tensor x) {
    return sum(vmap([](Tensor v) { return squared_until(scalar(100.0), v, 10); })(x));
  };
  const Tensor x = array<double>({2, 50, 1000});
  EXPECT_THAT(values(grad(f)(x)),
              Pointwise(DoubleNear(1e-9), std::vector<double>{8 * 128, 100, 1}));
}

TEST(BoundedWhile, WhatItsFunctionsCaptureHasGradients) {
  // Newton's iteration for the root of a: its slope is that of the root where it has converged.
  const auto root = [](Tensor a) {
    return while_loop([&](Tensor y) { return abs(y * y - a) > 1e-13 * a; },
                      [&](Tensor y) { return (y + a / y) * 0.5; }, a, {.max_steps = 60});
  };
  EXPECT_NEAR(value(grad(root)(scalar(2.0))), 0.5 / std::sqrt(2.0), 1e-9);
}

TEST(BoundedWhile, StepsBehindTheEndAreNotComputed) {
  // One more step would be the root of a negative number: NaN times 0 is NaN.
  const auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y > 0.5; }, [](Tensor y) { return sqrt(y - 0.5); }, x,
                      {.max_steps = 30});
  };
  const double y = value(f(scalar(0.75)));
  EXPECT_EQ(y, 0.5);
  EXPECT_EQ(value(grad(f)(scalar(0.75))), 1);
}

}  // namespace
}  // namespace heddle
