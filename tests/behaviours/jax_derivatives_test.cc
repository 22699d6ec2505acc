// The behaviours that JAX's lax_control_flow_test checks about derivatives of loops and branches,
// by their numbers in the list of docs/behaviours.md: what of B, D, E, F and I needs no vmap.
#include <cmath>
#include <random>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/tests/support/loops_of.h"

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
  std::mt19937 engine(1);
  for (int round = 0; round < 16; ++round) {
    std::vector<std::vector<int>>
        picks;  // of each branch: which input each output is; 3: a product
    for (int b = 0; b < 2; ++b) {
      picks.emplace_back();
      for (int o = 0; o < 3; ++o) picks.back().push_back(static_cast<int>(engine() % 4));
    }
    auto branch = [](std::vector<int> pick) {
      return [pick](List x) {
        List out;
        for (int i : pick) out.push_back(i < 3 ? x[static_cast<size_t>(i)] : x[0] * x[1]);
        return out;
      };
    };
    using Branch = decltype(branch(picks[0]));
    for (int i : {0, 1}) {
      auto f = [&](List x) {
        return switch_case(scalar(i), std::vector<Branch>{branch(picks[0]), branch(picks[1])}, x);
      };
      check_grads(f, std::tuple(List{scalar(0.3), scalar(0.7), scalar(-0.4)}), {.order = 1});
    }
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

// I.

const ScanOptions kScans[] = {
    {}, {.unroll = 2}, {.unroll = ScanOptions::kUnrollAll}, {.reverse = true}};

// A step that reads all it can: carry, x and what it captures.
template <class Use>
void for_each_scan(Use use) {
  for (const ScanOptions& options : kScans) {
    use([&](Tensor c, Tensor xs, Tensor d) {
      auto step = [&](Tensor c, Tensor x) {
        const Tensor b = sum(cos(x * d)) * sin(c) * 0.5;
        return std::pair(sin(c * b), b + c * x[0]);
      };
      return scan(step, c, xs, options);
    });
  }
}

TEST(Jax, N148_ScanTangentsToOrder2) {
  for_each_scan([](auto f) {
    check_grads(f, std::tuple(some({}), some({5, 2}, 1), some({2}, 2)), {.reverse = false});
  });
}

TEST(Jax, N149_ScanLinearize) {
  for_each_scan([](auto f) {
    const Tensor c = some({}), xs = some({5, 2}, 1), d = some({2}, 2);
    const auto pushed = linearize(f, c, xs, d).second(d[0], xs * 0.5, d);
    const auto dual = jvp(f, std::tuple(c, xs, d), std::tuple(d[0], xs * 0.5, d)).second;
    EXPECT_NEAR(value(pushed.first), value(dual.first), 1e-15);
    EXPECT_THAT(values(pushed.second), Pointwise(DoubleNear(1e-15), values(dual.second)));
  });
}

TEST(Jax, N150_ScanGradToOrder2) {
  for_each_scan([](auto f) {
    check_grads(f, std::tuple(some({}), some({5, 2}, 1), some({2}, 2)));
  });
}

TEST(Jax, N151_ReverseOverReverse) {
  for_each_scan([](auto f) {
    auto loss = [=](Tensor c, Tensor xs, Tensor d) { return sum(f(c, xs, d).second); };
    auto slope = [=](Tensor c, Tensor xs, Tensor d) {
      return sum(square(grad(loss, argnums<2>)(c, xs, d)));
    };
    check_grads(slope, std::tuple(some({}), some({3, 2}, 1), some({2}, 2)), {.order = 1});
  });
}

TEST(Jax, N152_ToyRnn) {
  auto loss = [](std::pair<Tensor, Tensor> w, Tensor xs, Tensor targets) {
    auto step = [&](Tensor h, Tensor x) {
      h = tanh(matmul(w.first, h) + matmul(w.second, x));
      return std::pair(h, h);
    };
    return sum(square(targets - scan(step, zeros({3}, f64), xs).second));
  };
  const std::pair w(some({3, 3}), some({3, 2}, 1));
  check_grads(loss, std::tuple(w, some({4, 2}, 2), some({4, 3}, 3)));
  const Program program = trace(grad(loss), w, some({4, 2}), some({4, 3}));
  EXPECT_EQ(loops_of(program), (Loops{.loops = 2}));  // one forward, one back
  EXPECT_EQ(loops_of(program.lowered()), (Loops{.loops = 2}));
}

// What the test above counts as dead.
TEST(Jax, N152_DeadOutputsAreSeen) {
  const auto squares = [](Tensor xs) {
    return scan([](Tensor c, Tensor x) { return std::pair(c + x, square(c)); }, scalar(0.0), xs);
  };
  const auto scans = [&](auto fn) { return loops_of(trace(fn, some({4}))); };
  EXPECT_EQ(scans([&](Tensor xs) { return squares(xs).second; }), (Loops{.loops = 1}));
  EXPECT_EQ(scans([&](Tensor xs) { return squares(xs).first; }),
            (Loops{.loops = 1, .dead_outputs = 1}));
  const auto pairs = [](Tensor x) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](State s) { return s.first < 9.0; },
                      [](State s) { return State(s.first + 1.0, s.second * s.first); },
                      State(x, x));
  };
  const auto whiles = [&](auto fn) { return loops_of(trace(fn, scalar(1.0))); };
  EXPECT_EQ(whiles([&](Tensor x) { return pairs(x).second; }), (Loops{.loops = 1}));
  EXPECT_EQ(whiles([&](Tensor x) { return pairs(x).first; }),
            (Loops{.loops = 1, .dead_outputs = 1}));
}

TEST(Jax, N153_GradThroughAScanWhoseStepCallsGradWithACounter) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      const Tensor g = grad([](Tensor y) { return y * y * y; })(s.second);
      return std::pair(std::pair(s.first + 1, s.second - 0.1 * g), None{});
    };
    return scan(step, std::pair(scalar(0), x), None{}, {.length = 3}).first.second;
  };
  check_grads(f, std::tuple(scalar(0.5)));
}

TEST(Jax, N154_JacfwdThroughAScanWhoseStepCallsGrad) {
  auto f = [](Tensor x) {
    auto step = [](Tensor y, None) {
      return std::pair(y - 0.1 * grad([](Tensor z) { return sum(z * z * z); })(y), None{});
    };
    return scan(step, x, None{}, {.length = 2}).first;
  };
  auto p = trace(jacfwd(f), some({3}));
  const Tensor x = some({3});
  EXPECT_THAT(values(p(x)), Pointwise(DoubleNear(1e-14), values(jacrev(f)(x))));
}

TEST(Jax, N155_GradWithAKeyInTheCarry) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      auto keys = random::split(s.first);
      return std::pair(std::pair(keys[0], s.second * random::normal(keys[1], {}, f64)), None{});
    };
    return scan(step, std::pair(random::key(0), x), None{}, {.length = 3}).first.second;
  };
  EXPECT_NEAR(value(grad(f)(scalar(2.0))), value(f(scalar(2.0))) / 2, 1e-14);
}

TEST(Jax, N156_GradWhereACarryIsResetToAConstant) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.first + s.second, scalar(0.0)), None{});
    };
    return scan(step, std::pair(x, x), None{}, {.length = 2}).first.first;
  };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 2);
}

TEST(Jax, N157_ACarryThatBecomesConstantHasATangent) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.second * 2.0, scalar(1.0)), None{});
    };
    auto last = scan(step, std::pair(x, x), None{}, {.length = 1}).first;
    return last.first + last.second;
  };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 2);
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(3.0)), std::tuple(scalar(1.0))).second), 2);
}

TEST(Jax, N158_AnInvariantResidualIsNotStacked) {
  auto f = [](Tensor x) {
    auto step = [&](Tensor c, None) { return std::pair(c + exp(x) * 3.0, None{}); };
    return scan(step, scalar(0.0), None{}, {.length = 5}).first;
  };
  auto p = trace(grad(f), scalar(1.0));
  EXPECT_EQ(count_of(p.lowered().hlo_text(), " dynamic-update-slice\\("), 0u);
  EXPECT_NEAR(value(p(scalar(1.0))), 15 * std::exp(1.0), 1e-13);
}

TEST(Jax, N159_SeveralInvariantResiduals) {
  auto f = [](Tensor x, Tensor y) {
    auto step = [&](Tensor c, None) { return std::pair(c * sin(x) * cos(y) + exp(x * y), None{}); };
    return scan(step, scalar(0.5), None{}, {.length = 4}).first;
  };
  check_grads(f, std::tuple(scalar(0.3), scalar(0.8)));
}

TEST(Jax, N160_XsAreReadAgainAndNotCopied) {
  auto f = [](Tensor c, Tensor xs) {
    return scan([](Tensor c, Tensor x) { return std::pair(c * x, None{}); }, c, xs).first;
  };
  auto p =
      trace([&](Tensor c, Tensor xs) { return vjp(f, c, xs).second(c); }, scalar(1.0), some({5}));
  // Of the forward loop the carries alone are stacked.
  EXPECT_THAT(p.hlo_text(), HasSubstr("(f64[5]{0}, f64[]) scan("));
  EXPECT_THAT(p.hlo_text(), Not(HasSubstr("(f64[5]{0}, f64[5]{0}, f64[]) scan(")));
}

TEST(Jax, N162_RandomMixesOfForwardedValues) {
  using List = std::vector<Tensor>;
  std::mt19937 engine(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<unsigned> pick;
    for (int i = 0; i < 4; ++i) pick.push_back(engine() % 4);
    auto f = [&](Tensor w, List c, List xs) {
      auto step = [&](List c, List x) {
        const List from = {c[0], c[1], x[0], w};
        const List next = {from[pick[0]] * from[pick[1]], sin(from[pick[2]])};
        return std::pair(next, List{from[pick[3]], from[pick[0]] * from[pick[3]]});
      };
      return scan(step, c, xs);
    };
    check_grads(f,
                std::tuple(scalar(0.7), List{scalar(0.3), scalar(0.4)}, List{some({4}), some({4})}),
                {.order = 1});
  }
}

TEST(Jax, N163_WhileTangentsToOrder2) {
  auto f = [](Tensor x) {
    return while_loop([](std::pair<Tensor, Tensor> s) { return s.first < 4; },
                      [](std::pair<Tensor, Tensor> s) {
                        return std::pair(s.first + 1, sin(s.second) * 2.0);
                      },
                      std::pair(scalar(0), x))
        .second;
  };
  check_grads(f, std::tuple(scalar(0.4)), {.reverse = false});
}

TEST(Jax, N164_WhileTangentsThatBeginInTheLoop) {
  auto f = [](Tensor x) {
    auto body = [&](std::tuple<Tensor, Tensor, Tensor> s) {
      auto [i, a, b] = s;
      return std::tuple(i + 1, x * 2.0, a + b);
    };
    auto last = while_loop([](std::tuple<Tensor, Tensor, Tensor> s) { return std::get<0>(s) < 3; },
                           body, std::tuple(scalar(0), scalar(1.0), scalar(1.0)));
    return std::get<2>(last);
  };
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(5.0)), std::tuple(scalar(1.0))).second), 4);
}

TEST(Jax, N165_WhileLinearize) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y < 50.0; }, [](Tensor y) { return y * y; }, x);
  };
  EXPECT_EQ(value(linearize(f, scalar(2.0)).second(scalar(3.0))), 3 * 1024);
}

TEST(Jax, N166_ACheckpointedLoopThatSwapsItsCarriesLinearizes) {
  const auto loop = checkpoint([](Tensor x) {
    auto body = [](std::tuple<Tensor, Tensor, Tensor> s) {
      auto [i, a, b] = s;
      return std::tuple(i + 1, b, sin(a) + b);
    };
    return std::get<2>(
        while_loop([](std::tuple<Tensor, Tensor, Tensor> s) { return std::get<0>(s) < 5; }, body,
                   std::tuple(scalar(0), x, x * x), {.max_steps = 8}));
  });
  const Tensor x = scalar(0.3);
  const double slope = value(jvp(loop, std::tuple(x), std::tuple(scalar(1.0))).second);
  EXPECT_NEAR(value(linearize(loop, x).second(scalar(1.0))), slope, 1e-14);
  EXPECT_NEAR(value(grad(loop)(x)), slope, 1e-14);
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
