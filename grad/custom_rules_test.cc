// Rules of custom_jvp and of custom_root that have loops and effects.
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
#include "heddle/trace/ops/indexing.h"

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

}  // namespace
}  // namespace heddle
