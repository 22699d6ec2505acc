// Rules of custom_jvp and of custom_root that have loops and effects.
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/grad/custom.h"
#include "heddle/grad/grad.h"
#include "heddle/grad/implicit.h"
#include "heddle/grad/jacobian.h"
#include "heddle/grad/support_test.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/sequences.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/cond.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/ops/control/debug.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/reduction/reductions.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

Tensor numbers(std::vector<double> values) { return array(values); }

// A function with a loop and a branch whose values its tangents read.
Tensor looped(const Tensor& x) {
  const auto step = [&](Tensor h, Tensor each) {
    const auto bend = [&] { return sin(h * each); };
    const Tensor next = cond(h < 0.9, bend, [&] { return h * h - each; });
    return std::pair(next, next * each);
  };
  const auto [last, ys] = scan(step, x[0], x);
  return cummax(ys) * last;
}

TEST(CustomJvp, ARuleWithLoopsHasReverseMode) {
  using One = std::tuple<Tensor>;
  const auto rule = [](const One& x, const One& dx) { return jvp(looped, x, dx); };
  const Tensor x = numbers({0.8, 1.1, -0.4, 0.7});
  const auto f = [](Tensor x) { return sum(sin(looped(x))); };
  const auto own = [&](Tensor x) { return sum(sin(custom_jvp(looped, rule)(x))); };
  EXPECT_THAT(values(grad(own)(x)), Pointwise(DoubleNear(1e-14), values(grad(f)(x))));
  EXPECT_THAT(values(hessian(own)(x)), Pointwise(DoubleNear(1e-13), values(hessian(f)(x))));
}

TEST(CustomJvp, ARuleWithAWhileInAScanHasReverseMode) {
  using One = std::tuple<Tensor>;
  const auto powers = [](Tensor x) {
    const auto step = [](Tensor h, Tensor each) {
      const auto goes_on = [](const std::pair<Tensor, Tensor>& s) { return s.first < 3; };
      const auto once = [&](const std::pair<Tensor, Tensor>& s) {
        return std::pair(s.first + 1, s.second * sin(each));
      };
      const Tensor next =
          while_loop(goes_on, once, std::pair(zeros({}, s32), h), {.max_steps = 5}).second;
      return std::pair(next + each, next);
    };
    return scan(step, x[0], x).second;
  };
  const auto rule = [&](const One& x, const One& dx) { return jvp(powers, x, dx); };
  const Tensor x = numbers({0.8, 1.1, -0.4, 0.7});
  const auto f = [&](Tensor x) { return sum(sin(powers(x))); };
  const auto own = [&](Tensor x) { return sum(sin(custom_jvp(powers, rule)(x))); };
  EXPECT_THAT(values(grad(own)(x)), Pointwise(DoubleNear(1e-14), values(grad(f)(x))));
}

TEST(CustomJvp, ARuleThatIsNotLinearIsRefused) {
  using One = std::tuple<Tensor>;
  const auto told = [](const auto& of_tangent) {
    const auto rule = [&](const One& x, const One& dx) {
      return std::pair(std::get<0>(x), of_tangent(std::get<0>(dx)));
    };
    return error_of([&] { return grad(custom_jvp([](Tensor x) { return x; }, rule))(2.0); });
  };
  const std::string repair =
      "; take vjp() at a point, or make the rule of a custom_jvp linear in the tangents "
      "[custom_rules_test.cc:";
  EXPECT_THAT(
      told([](Tensor dx) { return dx * dx; }),
      StartsWith("grad: multiply: has no reverse derivative: both of its operands depend on "
                 "the argument" +
                 repair));
  EXPECT_THAT(told([](Tensor dx) { return sin(dx); }),
              StartsWith("grad: sine: has no reverse derivative: it is not linear" + repair));
}

TEST(CustomJvp, ARuleWithLoopsThatIsNotLinearIsRefused) {
  using One = std::tuple<Tensor>;
  const auto rule = [](const One& x, const One& dx) {
    const auto [y, dy] = jvp(looped, x, dx);
    return std::pair(y, dy * dy);
  };
  const auto own = [&](Tensor x) { return sum(custom_jvp(looped, rule)(x)); };
  EXPECT_THAT(error_of([&] {
                return grad(own)(numbers({0.8, 1.1}));
              }),
              HasSubstr("has no reverse derivative"));
}

// Its constant term stays in every mode that applies a linear part.
TEST(CustomJvp, AnAffineRuleWithLoopsKeepsItsConstant) {
  using One = std::tuple<Tensor>;
  const auto of_zero = [](const Tensor& x) {  // of the rule's scan: it begins with 0.5
    const auto step = [](Tensor h, Tensor each) { return std::pair(h * each + 0.25, h); };
    return scan(step, zeros_like(x[0]) + 0.5, x).second;
  };
  const auto rule = [&](const One& x, const One& dx) {
    const auto [y, dy] = jvp(looped, x, dx);
    return std::pair(y, dy + of_zero(std::get<0>(x)));
  };
  const auto inside = [&](const One& x, const One& dx) {  // the constant is made in the same loop
    const auto step = [](Tensor h, const std::pair<Tensor, Tensor>& each) {
      const Tensor next = h * each.first + each.second + 0.125;
      return std::pair(next, next);
    };
    const std::pair both(std::get<0>(x), std::get<0>(dx));
    return std::pair(looped(std::get<0>(x)), scan(step, zeros({}, f64), both).second);
  };
  const Tensor x = numbers({0.8, 1.1, -0.4, 0.7}), v = numbers({1, -2, 0.5, 3});
  const auto check = [&](const auto& own) {
    const auto [y, dy] = jvp(own, One(x), One(v));
    const auto push = linearize(own, x).second;
    EXPECT_THAT(values(push(v)), Pointwise(DoubleNear(1e-14), values(dy)));
    const Tensor constant = jvp(own, One(x), One(v * 0.0)).second;
    EXPECT_GT(values(max(abs(constant)))[0], 0.1);
    EXPECT_THAT(values(push(v * 0.0)), Pointwise(DoubleNear(1e-14), values(constant)));
    const auto total = [&](Tensor x) { return sum(own(x) * v); };
    double slope = 0, wanted = values(sum((dy - constant) * v))[0];
    for (double each : values(grad(total)(x) * v)) slope += each;
    EXPECT_NEAR(slope, wanted, 1e-13);
  };
  check(custom_jvp(looped, rule));
  check(custom_jvp(looped, inside));
}

// What is linear for certain is not computed a second time for its value at 0.
TEST(CustomJvp, ALinearRuleHasNoLoopForAConstant) {
  using One = std::tuple<Tensor>;
  const auto rule = [](const One& x, const One& dx) { return jvp(looped, x, dx); };
  const Tensor x = numbers({0.8, 1.1, -0.4, 0.7});
  const auto scans = [&](const auto& fn) {
    return count_of(trace(grad([&](Tensor x) { return sum(fn(x)); }), x).hlo_text(), " scan(");
  };
  EXPECT_EQ(scans(custom_jvp(looped, rule)), scans(looped));
}

TEST(CustomJvp, ARuleWithLoopsAndDebugPrintsHasReverseMode) {
  using One = std::tuple<Tensor>;
  const auto told = [](const Tensor& x) {
    const auto step = [](Tensor h, Tensor each) {
      debug_print("h {}", h);
      const Tensor next = sin(h * each);
      return std::pair(next, next * each);
    };
    return scan(step, x[0], x).second;
  };
  const auto plain = [](const Tensor& x) {
    const auto step = [](Tensor h, Tensor each) {
      const Tensor next = sin(h * each);
      return std::pair(next, next * each);
    };
    return scan(step, x[0], x).second;
  };
  const auto rule = [&](const One& x, const One& dx) {
    const auto [y, dy] = jvp(told, x, dx);
    debug_print("y {}", y[0]);
    debug_print("dy {}", dy[0]);
    return std::pair(y, dy);
  };
  const auto own = custom_jvp(plain, rule);
  const Tensor x = numbers({0.8, 1.1, -0.4});
  const auto total = [](const auto& fn) { return [fn](Tensor x) { return sum(square(fn(x))); }; };
  std::string text;
  const DebugSink before = set_debug_sink([&](std::string_view lines) { text += lines; });
  const Tensor slope = grad(total(own))(x);
  slope.wait();
  set_debug_sink(before);
  EXPECT_THAT(values(slope), Pointwise(DoubleNear(1e-14), values(grad(total(plain))(x))));
  // The values once each; tangents are not computed on the way back.
  EXPECT_EQ(count_of(text, "h 0."), 3u) << text;
  EXPECT_EQ(count_of(text, "y "), 1u) << text;
  EXPECT_EQ(count_of(text, "dy "), 0u) << text;
}

TEST(CustomRoot, ATangentSolveWithLoopsHasReverseMode) {
  const auto root = [](Tensor b) {
    const auto f = [&](const Tensor& x) { return x + x * x * x - b; };
    const auto solve = [](const auto& f, const Tensor& guess) {
      return fori_loop(
          0, 200, [&](Tensor, Tensor x) { return x - f(x) * 0.25; }, guess);
    };
    // Each step computes the slope again, from a value that the loop carries.
    const auto tangent_solve = [](const auto& g, const Tensor& y) {
      using Pair = std::pair<Tensor, Tensor>;
      const Tensor slope = g(ones({2}, f64));
      const auto step = [&](Tensor, Pair now) {
        return Pair(now.first * 0.5, now.second + y * now.first);
      };
      return fori_loop(0, 60, step, Pair(0.5 / slope, zeros({2}, f64))).second;
    };
    return custom_root(f, zeros({2}, f64), solve, tangent_solve);
  };
  check_grads(root, std::tuple(numbers({0.3, 0.7})));
}

TEST(GradError, OfAnotherStructure) {
  using List = std::vector<Tensor>;
  using Map = std::map<std::string, Tensor>;
  const Tensor x = numbers({1, 2});
  const auto to_map = [](Tensor v) { return Map{{"a", v}, {"b", v * v}}; };
  const auto pull = vjp(to_map, x).second;
  EXPECT_THAT(error_of([&] {
                (void)pull(Map{{"a", x}, {"c", x}});
              }),
              StartsWith("vjp: cotangent has key 'c'; it must be a map with the keys {a, b}, as "
                         "the result is"));
  const auto to_list = [](const List& v) { return List{v[0] * v[1], v[0]}; };
  const auto pull_list = vjp(to_list, List{x, x}).second;
  EXPECT_THAT(error_of([&] { (void)pull_list(List{x}); }),
              StartsWith("vjp: cotangent is a vector of 1; it must be a vector of 2, as the "
                         "result is"));
  const auto push = linearize(to_list, List{x, x}).second;
  EXPECT_THAT(error_of([&] {
                (void)push(List{x, x, x});
              }),
              StartsWith("linearize: tangent 0 is a vector of 3; it must be a vector of 2, as its "
                         "argument is"));
}

TEST(GradError, OfARuleThatGivesAnotherStructure) {
  using List = std::vector<Tensor>;
  using Map = std::map<std::string, Tensor>;
  const Tensor x = numbers({1, 2});
  const auto product = [](const List& v) { return v[0] * v[1]; };
  const auto keep = [&](const List& v) { return std::pair(product(v), v); };
  const auto one = [](const List& v, Tensor ct) { return List{v[1] * ct}; };
  EXPECT_THAT(error_of([&] {
                (void)custom_vjp(product, keep, one)(List{x, x});
              }),
              StartsWith("custom_vjp: the cotangent is a vector of 1; it must be a vector of 2, "
                         "as the argument is"));
  const auto named = [](Tensor v) { return Map{{"a", v}}; };
  const auto rule = [](std::tuple<Tensor> v, std::tuple<Tensor> dv) {
    return std::pair(Map{{"a", std::get<0>(v)}}, Map{{"b", std::get<0>(dv)}});
  };
  EXPECT_THAT(error_of([&] { (void)custom_jvp(named, rule)(x); }),
              StartsWith("custom_jvp: the rule's tangent has key 'b'; it must be a map with the "
                         "keys {a}, as what the function gives is"));
}

}  // namespace
}  // namespace heddle
