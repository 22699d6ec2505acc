// custom_jvp and custom_vjp: whose derivative is used where, and what they refuse.
#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/text.h"
#include "heddle/testing.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

double value(const Tensor& x) { return x.item<double>(); }

// x^2, whose slope is said to be 100 x: so it is seen whose rule is used.
auto marked() {
  return custom_jvp([](const Tensor& x) { return x * x; },
                    [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
                      const Tensor& at = std::get<0>(x);
                      return std::pair(at * at, 100.0 * at * std::get<0>(dx));
                    });
}
auto marked_backwards() {
  return custom_vjp([](const Tensor& x) { return x * x; },
                    [](const Tensor& x) { return std::pair(x * x, x); },
                    [](const Tensor& x, const Tensor& ct) { return 100.0 * x * ct; });
}

TEST(CustomJvp, IsUsedInBothModesAndOrders) {
  const auto f = marked();
  const Tensor x = scalar(3.0), one = scalar(1.0);
  EXPECT_EQ(value(f(x)), 9);
  EXPECT_EQ(value(grad(f)(x)), 300);
  EXPECT_EQ(value(jvp(f, std::tuple(x), std::tuple(one)).second), 300);
  EXPECT_EQ(value(linearize(f, x).second(one)), 300);
  EXPECT_EQ(value(vjp(f, x).second(one)), 300);
  EXPECT_EQ(value(grad(grad(f))(x)), 100) << "the rule itself is differentiated";
  EXPECT_EQ(value(jvp(grad(f), std::tuple(x), std::tuple(one)).second), 100);
}

TEST(CustomJvp, InLoopsBranchesAndCompiledFunctions) {
  const auto f = marked();
  const Tensor x = scalar(1.5);
  const auto twice = [&](const Tensor& v) {
    return fori_loop(
        0, 2, [&](Tensor, Tensor y) { return f(y); }, v);
  };
  // d f(f(x)) = 100 f(x) * 100 x.
  EXPECT_NEAR(value(grad(twice)(x)), 100 * 2.25 * 100 * 1.5, 1e-9);
  EXPECT_NEAR(value(jvp(twice, std::tuple(x), std::tuple(scalar(1.0))).second),
              100 * 2.25 * 100 * 1.5, 1e-9);
  const auto branch = [&](const Tensor& v) {
    return cond(
        v > 0.0, f, [](Tensor y) { return y; }, v);
  };
  EXPECT_EQ(value(grad(branch)(x)), 150);
  EXPECT_EQ(value(grad(branch)(-x)), 1);
  EXPECT_EQ(value(grad(checkpoint(f))(x)), 150);
  EXPECT_EQ(value(compile(grad(f))(x)), 150);
  const auto sums = [&](const Tensor& xs) {
    return sum(map([&](const Tensor& v) { return f(v); }, xs));
  };
  EXPECT_THAT(doubles(grad(sums)(array<double>({1, 2}))), testing::ElementsAre(100, 200));
}

TEST(CustomJvp, OnEitherSideOfVmap) {
  const Tensor xs = array<double>({1, 2});
  const auto check = [&](auto f) {
    EXPECT_THAT(doubles(vmap(f)(xs)), testing::ElementsAre(1, 4));
    EXPECT_THAT(doubles(vmap(grad(f))(xs)), testing::ElementsAre(100, 200));
    const auto total = [&](const Tensor& v) { return sum(vmap(f)(v)); };
    EXPECT_THAT(doubles(grad(total)(xs)), testing::ElementsAre(100, 200));
  };
  check(marked());
  check(marked_backwards());
}

// JAX's 116.
TEST(Jax, N116_CustomJvpWhoseTangentUsesASwitchTransposes) {
  const auto f = custom_jvp(
      [](const Tensor& x, const Tensor&) { return x * x; },
      [](std::tuple<Tensor, Tensor> x, std::tuple<Tensor, Tensor> dx) {
        const auto& [at, which] = x;
        const auto times = [&, slope = std::get<0>(dx)](double number) {
          return [=](const Tensor& v) { return number * v * slope; };
        };
        return std::pair(at * at, switch_case(which, std::tuple(times(10), times(20)), at));
      });
  const auto slope = [&](int which) {
    return value(grad([&](const Tensor& x) { return f(x, scalar(which)); })(scalar(3.0)));
  };
  EXPECT_EQ(slope(0), 30);
  EXPECT_EQ(slope(1), 60);
}

TEST(CustomJvp, MakesAFormulaSafe) {
  // log(1 + exp(x)): its own derivative is inf / inf from 710 on.
  const auto softplus =
      custom_jvp([](const Tensor& x) { return log1p(exp(x)); },
                 [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
                   const Tensor y = logaddexp(std::get<0>(x), 0);
                   return std::pair(y, logistic(std::get<0>(x)) * std::get<0>(dx));
                 });
  EXPECT_EQ(value(grad(softplus)(scalar(1000.0))), 1);
  check_grads(softplus, std::tuple(scalar(0.3)));
}

TEST(CustomJvp, OfTreesWithIntegers) {
  using Pair = std::pair<Tensor, Tensor>;
  const auto scale = custom_jvp(
      [](const Pair& x, const Tensor& n) { return Pair(x.first * n.astype(f64), x.second); },
      [](std::tuple<Pair, Tensor> x, std::tuple<Pair, Tensor> dx) {
        const auto& [v, n] = x;
        const Pair& d = std::get<0>(dx);
        EXPECT_EQ(std::get<1>(dx).dtype(), s32);
        return std::pair(Pair(v.first * n.astype(f64), v.second), Pair(d.first * 7.0, d.second));
      });
  const auto loss = [&](const Pair& x) {
    const Pair y = scale(x, scalar(3));
    return y.first + y.second * 2.0;
  };
  const Pair at(scalar(1.0), scalar(1.0));
  EXPECT_EQ(value(loss(at)), 5);
  EXPECT_EQ(value(grad(loss)(at).first), 7);
  EXPECT_EQ(value(grad(loss)(at).second), 2);
}

TEST(CustomVjp, IsUsedInReverseMode) {
  const auto f = marked_backwards();
  const Tensor x = scalar(3.0);
  EXPECT_EQ(value(f(x)), 9);
  EXPECT_EQ(value(grad(f)(x)), 300);
  EXPECT_EQ(value(vjp(f, x).second(scalar(2.0))), 600);
  EXPECT_EQ(value(grad(grad(f))(x)), 100);
  const auto twice = [&](const Tensor& v) {
    return fori_loop(
        0, 2, [&](Tensor, Tensor y) { return f(y); }, v);
  };
  EXPECT_NEAR(value(grad(twice)(scalar(1.5))), 100 * 2.25 * 100 * 1.5, 1e-9);
  const auto branch = [&](const Tensor& v) {
    return cond(
        v > 0.0, f, [](Tensor y) { return y; }, v);
  };
  EXPECT_EQ(value(grad(branch)(x)), 300);
  EXPECT_EQ(value(grad(checkpoint(f))(x)), 300);
}

TEST(CustomVjp, ClipsTheGradientOfATree) {
  using Pair = std::pair<Tensor, Tensor>;
  const auto clipped = custom_vjp([](const Pair& x) { return x; },
                                  [](const Pair& x) { return std::pair(x, None{}); },
                                  [](None, const Pair& ct) { return optim::clip_by_value(ct, 1); });
  const auto loss = [&](const Pair& x) {
    const Pair y = clipped(x);
    return 5.0 * y.first + 0.5 * y.second;
  };
  const Pair slope = grad(loss)(Pair(scalar(1.0), scalar(1.0)));
  EXPECT_EQ(value(slope.first), 1);
  EXPECT_EQ(value(slope.second), 0.5);
}

// The backward of each of two equal calls runs by itself: the sum of what it gives of two
// cotangents need not be what it gives of their sum.
TEST(CustomVjp, EqualCallsStayTwo) {
  const auto f = custom_vjp([](const Tensor& x) { return x * 1.0; },
                            [](const Tensor& x) { return std::pair(x * 1.0, None{}); },
                            [](None, const Tensor& ct) { return clip(ct, -0.25, 0.25); });
  const auto twice = [=](const Tensor& x) { return 0.25 * f(x) + 0.125 * f(x) + f(x); };
  constexpr double kSlope = 0.625;
  const auto all = [](const Tensor& x) { return value(sum(x)); };
  const Tensor x = scalar(0.5), xs = ones({4}, f64);
  EXPECT_EQ(value(grad(twice)(x)), kSlope);
  EXPECT_EQ(value(grad(checkpoint(twice))(x)), kSlope);
  EXPECT_EQ(value(grad(compile(twice))(x)), kSlope);
  EXPECT_EQ(value(grad([&](const Tensor& v) { return cond(v > 0.0, twice, twice, v); })(x)),
            kSlope);
  EXPECT_EQ(all(vmap(grad(twice))(xs)), 4 * kSlope);
  EXPECT_EQ(all(grad([&](const Tensor& v) { return sum(vmap(twice)(v)); })(xs)), 4 * kSlope);
  EXPECT_EQ(all(grad([&](const Tensor& v) { return sum(map(twice, v)); })(xs)), 4 * kSlope);
  const auto steps = [&](const Tensor& v) {
    return scan([&](const Tensor& c, const Tensor& e) { return std::pair(c + twice(e), None{}); },
                scalar(0.0), v)
        .first;
  };
  EXPECT_EQ(all(grad(steps)(xs)), 4 * kSlope);
  EXPECT_EQ(value(grad([&](const Tensor& v) {
              return fori_loop(
                  0, 1, [&](const Tensor&, const Tensor& c) { return twice(c); }, v);
            })(x)),
            kSlope);
  // Two equal loops.
  const auto loop = [&](const Tensor& v) {
    return scan([&](const Tensor& c, const Tensor& e) { return std::pair(c + f(e), None{}); },
                scalar(0.0), v)
        .first;
  };
  const auto loops = [&](const Tensor& v) { return 0.25 * loop(v) + 0.125 * loop(v) + loop(v); };
  EXPECT_EQ(all(grad(checkpoint(loops))(xs)), 4 * kSlope);
}

TEST(CustomVjp, HasNoJacobianForAllStepsAtOnce) {
  const auto f = custom_vjp([](const Tensor& x) { return x * 1.0; },
                            [](const Tensor& x) { return std::pair(x * 1.0, None{}); },
                            [](None, const Tensor& ct) { return clip(ct, -0.25, 0.25); });
  const auto end = [&](const Tensor& x) {
    return scan([&](const Tensor& c, const Tensor& e) { return std::pair(f(c) + e, None{}); }, x,
                ones({3}, f64), {.parallel_backward = true})
        .first;
  };
  EXPECT_THAT(
      error_of([&] { (void)grad(end)(scalar(0.5)); }),
      HasSubstr("parallel_backward: a step calls a custom_vjp, whose backward need not be "
                "linear, and has no Jacobian; leave the option out, or write a custom_jvp"));
}

TEST(CustomVjp, OfSeveralArgumentsAndWhatItCaptures) {
  const Tensor rate = scalar(10.0);
  const auto f = custom_vjp(
      [&](const Tensor& a, const Tensor& b) { return a * b * rate; },
      [&](const Tensor& a, const Tensor& b) { return std::pair(a * b * rate, std::pair(a, b)); },
      [&](const std::pair<Tensor, Tensor>& kept, const Tensor& ct) {
        return std::tuple(kept.second * ct * rate, kept.first * ct * rate);
      });
  const auto [by_a, by_b] = grad(f, argnums<0, 1>)(scalar(2.0), scalar(3.0));
  EXPECT_EQ(value(by_a), 30);
  EXPECT_EQ(value(by_b), 20);
}

TEST(CustomVjp, HasNoForwardMode) {
  const auto f = marked_backwards();
  const Tensor x = scalar(3.0);
  EXPECT_THAT(error_of([&] { (void)jvp(f, std::tuple(x), std::tuple(x)); }),
              AllOf(StartsWith("jvp: heddle.custom_vjp: has no derivative: "),
                    HasSubstr("a custom_vjp has reverse mode only; write a custom_jvp for both")));
  EXPECT_THAT(error_of([&] { (void)linearize(f, x).second(x); }),
              HasSubstr("a function in it has a custom_vjp, which has reverse mode only"));
}

TEST(CustomVjp, IsCheckedInReverseModeAlone) {
  const auto rule = [](double factor) {
    return custom_vjp([](const Tensor& x) { return sum(sin(x)); },
                      [](const Tensor& x) { return std::pair(sum(sin(x)), x); },
                      [factor](const Tensor& x, const Tensor& ct) { return factor * ct * cos(x); });
  };
  const std::tuple at(array<double>({0.3, -1.2, 2.0}));
  EXPECT_THAT(error_of([&] { check_grads(rule(1), at); }),
              HasSubstr("write a custom_jvp for both; reverse mode alone is checked with "
                        "{.forward = false}"));
  check_grads(rule(1), at, {.forward = false});
  EXPECT_THAT(error_of([&] { check_grads(rule(1.01), at, {.forward = false}); }),
              StartsWith("check_grads: reverse mode of the function and the central difference "
                         "differ by "));
  EXPECT_THAT(error_of([&] { check_grads(rule(1), at, {.reverse = false, .forward = false}); }),
              HasSubstr("forward and reverse are both off"));
}

TEST(CustomDerivative, OfACapturedTensorIsRefused) {
  const auto loss = [](const Tensor& w) {
    const auto f = custom_jvp([&](const Tensor& x) { return w * x; },
                              [&](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
                                return std::pair(w * std::get<0>(x), w * std::get<0>(dx));
                              });
    return f(scalar(2.0));
  };
  EXPECT_EQ(value(loss(scalar(3.0))), 6);
  EXPECT_THAT(
      error_of([&] { (void)grad(loss)(scalar(3.0)); }),
      HasSubstr("captures a tensor that has tangents, of which its derivative says nothing; "
                "pass it as an argument"));
}

TEST(CustomDerivative, RulesOfOtherTypesAreErrors) {
  const auto f = custom_jvp([](const Tensor& x) { return x * x; },
                            [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
                              return std::pair(std::get<0>(x), sum(std::get<0>(dx)));
                            });
  EXPECT_THAT(error_of([&] { (void)f(ones({2})); }),
              StartsWith("custom_jvp: the rule's tangent is f32[]; it must be f32[2]"));
  const auto g = custom_vjp([](const Tensor& x) { return sum(x); },
                            [](const Tensor& x) { return std::pair(sum(x), None{}); },
                            [](None, const Tensor& ct) { return ct; });
  EXPECT_THAT(error_of([&] { (void)g(ones({2})); }),
              StartsWith("custom_vjp: the cotangent of arg0 is f32[]; it must be f32[2]"));
}

TEST(CustomDerivative, IsGoneFromWhatIsCompiled) {
  const Program program = trace(marked(), scalar(1.0));
  EXPECT_THAT(program.hlo_text(), HasSubstr("heddle.custom_jvp"));
  EXPECT_THAT(program.lowered().hlo_text(), Not(HasSubstr("custom-call")));
  EXPECT_EQ(hlo::parse_text(program.hlo_text()).value().entry_computation().instructions.size(),
            program.module().entry_computation().instructions.size());
}

}  // namespace
}  // namespace heddle
