#include "heddle/grad/grad.h"

#include <cmath>
#include <map>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/grad/custom.h"
#include "heddle/grad/implicit.h"
#include "heddle/grad/jacobian.h"
#include "heddle/grad/support_test.h"
#include "heddle/numpy/aliases.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/sorting.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/cond.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/windows/windows.h"
#include "heddle/trace/run/exchange.h"
#include "heddle/trace/run/program.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

Tensor numbers(std::vector<double> values) { return array(values); }
double value(const Tensor& x) { return x.item<double>(); }

TEST(Grad, OfASquareIsTwice) {
  auto f = [](Tensor x) { return sum(x * x); };
  EXPECT_THAT(values(grad(f)(numbers({1, 2, 3}))), ElementsAre(2, 4, 6));
}

TEST(Grad, ByName) { EXPECT_NEAR(value(grad(sin)(scalar(1.0))), std::cos(1.0), 1e-15); }

TEST(Derivatives, TakeNumbers) {
  const auto cube = [](Tensor x) { return x * x * x; };
  EXPECT_EQ(value(vjp(cube, 2.0).second(1.0)), 12);
  EXPECT_EQ(value(linearize(cube, 2.0).second(1.0)), 12);
  EXPECT_EQ(value(jvp(cube, std::tuple(2.0), std::tuple(1.0)).second), 12);
  check_grads(cube, std::tuple(2.0));
  const auto scaled = [](Tensor x, Tensor y) { return x * sum(y); };
  EXPECT_EQ(value(linearize(scaled, 2.0, numbers({1, 2})).second(1.0, numbers({1, 1}))), 7);
  EXPECT_THAT(error_of([&] { (void)vjp(cube, 2.0).second(1.0f); }),
              StartsWith("vjp: cotangent is f32[]; it must be f64[]"));
}

TEST(Grad, HasTheTreeOfItsArgument) {
  auto f = [](const Cell& c, Tensor x) { return sum(matmul(x, c.w) + c.b); };
  const Cell g = grad(f)(Cell{some({3, 2}), some({2})}, some({4, 3}));
  EXPECT_EQ(g.w.shape(), Shape(f64, {3, 2}));
  EXPECT_THAT(values(g.b), ElementsAre(4, 4));
}

TEST(Grad, InTheOrderInWhichArgumentsAreChosen) {
  const auto f = [](Tensor a, Tensor b, Tensor c) { return sum(a) * 2.0 + sum(b) * 3.0 + sum(c); };
  const auto [c, a] = grad(f, argnums<2, 0>)(some({3}), some({2}), some({1}));
  EXPECT_THAT(values(c), ElementsAre(1));
  EXPECT_THAT(values(a), ElementsAre(2, 2, 2));
}

TEST(Grad, OfNaNIsNaN) {
  const Tensor g = grad([](Tensor x) { return max(x); })(numbers({1, NAN, 2}));
  for (double each : values(g)) EXPECT_TRUE(std::isnan(each));
}

TEST(Grad, ByChosenArguments) {
  auto f = [](Tensor x, Tensor n, Tensor y) { return x * x * y + n.astype(f64); };
  const Tensor x = scalar(3.0), n = scalar(2), y = scalar(5.0);
  EXPECT_EQ(value(grad(f, argnums<2>)(x, n, y)), 9);
  const auto [dx, dy] = grad(f, argnums<0, 2>)(x, n, y);
  EXPECT_EQ(value(dx), 30);
  EXPECT_EQ(value(dy), 9);
}

TEST(Grad, HasAux) {
  auto f = [](Tensor x) { return std::pair(x * x, std::map<std::string, Tensor>{{"x", x}}); };
  const auto [result, g] = value_and_grad(f)(scalar(3.0));
  EXPECT_EQ(value(result.first), 9);
  EXPECT_EQ(value(result.second.at("x")), 3);
  EXPECT_EQ(value(g), 6);
  EXPECT_EQ(value(grad(f)(scalar(3.0)).second.at("x")), 3);
}

TEST(Grad, OfGrad) {
  auto f = [](Tensor x) { return x * x * x; };
  EXPECT_EQ(value(grad(grad(f))(scalar(2.0))), 12);
  EXPECT_EQ(value(grad(grad(grad(f)))(scalar(2.0))), 6);
}

TEST(Grad, InATrace) {
  auto f = [](Tensor x) { return grad([&](Tensor y) { return x * y * y; })(x); };  // 2 x^2
  auto p = trace(f, scalar(3.0));
  EXPECT_EQ(value(p(scalar(3.0))), 18);
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 12);  // captured values have derivatives too
}

TEST(Grad, InTheStepOfAScan) {
  // Newton's method for the root of x^3 - a.
  auto f = [](Tensor a) {
    auto step = [&](Tensor x, None) {
      auto g = [&](Tensor t) { return t * t * t - a; };
      auto [y, slope] = value_and_grad(g)(x);
      return std::pair(x - y / slope, None{});
    };
    return scan(step, scalar(1.5), None{}, {.length = 20}).first;
  };
  EXPECT_NEAR(value(f(scalar(8.0))), 2, 1e-14);
  EXPECT_NEAR(value(grad(f)(scalar(8.0))), 1 / 12.0, 1e-14);  // a^(-2/3) / 3
}

TEST(Grad, StopsWhereItIsTold) {
  auto f = [](Tensor x) { return x * stop_gradient(x); };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 3);
  EXPECT_EQ(value(grad(grad(f))(scalar(3.0))), 0);
}

TEST(Grad, OfArgmaxIsOfWhatItPicks) {
  auto f = [](Tensor x) { return max(x) + sum(x * (arange(3) == argmax(x)).astype(f64)); };
  EXPECT_THAT(values(grad(f)(numbers({1, 3, 2}))), ElementsAre(0, 2, 0));
}

TEST(Grad, OfTiesIsShared) {
  auto f = [](Tensor x) { return max(x); };
  EXPECT_THAT(values(grad(f)(numbers({3, 1, 3}))), ElementsAre(0.5, 0, 0.5));
  auto g = [](Tensor x, Tensor y) { return maximum(x, y); };
  EXPECT_EQ(value(grad(g)(scalar(1.0), scalar(1.0))), 0.5);
}

TEST(Grad, OfAProductWithZeros) {
  auto f = [](Tensor x) { return prod(x); };
  EXPECT_THAT(values(grad(f)(numbers({2, 0, 3, 4, 5}))), ElementsAre(0, 120, 0, 0, 0));
}

TEST(Jvp, GivesValueAndTangent) {
  auto f = [](Tensor x, Tensor y) { return std::pair(x * y, x + y); };
  const auto [y, dy] =
      jvp(f, std::tuple(scalar(2.0), scalar(3.0)), std::tuple(scalar(1.0), None{}));
  EXPECT_EQ(value(y.first), 6);
  EXPECT_EQ(value(dy.first), 3);
  EXPECT_EQ(value(dy.second), 1);
}

TEST(Jvp, OfAWhile) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y < 100.0; }, [](Tensor y) { return y * y; }, x);
  };
  const auto [y, dy] = jvp(f, std::tuple(scalar(2.0)), std::tuple(scalar(1.0)));  // x^8
  EXPECT_EQ(value(y), 256);
  EXPECT_EQ(value(dy), 1024);
  const auto linear = linearize(f, scalar(2.0));
  EXPECT_EQ(value(linear.second(scalar(1.0))), 1024);
}

TEST(Vjp, PullsBackAnyNumberOfTimes) {
  auto f = [](Tensor x, Tensor n) { return std::pair(sin(x), n + 1); };
  const auto [y, pull] = vjp(f, scalar(1.0), scalar(2));
  for (double u : {1.0, 2.0}) {
    const auto [dx, dn] = pull(std::pair(scalar(u), scalar(0)));
    EXPECT_NEAR(value(dx), u * std::cos(1.0), 1e-15);
    EXPECT_EQ(dn.item<int>(), 0);
  }
}

TEST(LinearTranspose, TakesAnyNumberOfArguments) {
  const Tensor x = scalar(1.0);
  const auto of_three = [](Tensor a, Tensor b, Tensor c) { return 2 * a + 3 * b + 4 * c; };
  const auto [a, b, c] = linear_transpose(of_three, x, x, x)(x);
  EXPECT_THAT(values(stack({a, b, c})), ElementsAre(2, 3, 4));
  const auto of_four = [=](Tensor a, Tensor b, Tensor c, Tensor d) {
    return of_three(a, b, d - c);
  };
  const auto [e, f, g, h] = linear_transpose(of_four, x, x, x, x)(x);
  EXPECT_THAT(values(stack({e, f, g, h})), ElementsAre(2, 3, -4, 4));
}

TEST(Jacobian, IsTheMatrix) {
  const Tensor a = some({3, 2});
  auto f = [&](Tensor x) { return matmul(a, x); };
  const Tensor x = some({2}, 1);
  EXPECT_THAT(values(jacrev(f)(x)), Pointwise(DoubleNear(1e-15), values(a)));
  EXPECT_THAT(values(jacfwd(f)(x)), Pointwise(DoubleNear(1e-15), values(a)));
}

TEST(Hessian, OfAQuadraticForm) {
  const Tensor a = numbers({2, 1, 1, 3});
  auto f = [&](Tensor x) { return 0.5 * sum(x * matmul(reshape(a, {2, 2}), x)); };
  EXPECT_THAT(values(hessian(f)(some({2}))), Pointwise(DoubleNear(1e-14), values(a)));
}

// Loops
// --------------------------------------------------------------------------------

Tensor rnn_loss(const Cell& cell, Tensor h0, Tensor xs) {
  auto step = [&](Tensor h, Tensor x) {
    h = tanh(matmul(concat({x, h}, -1), cell.w) + cell.b);
    return std::pair(h, h);
  };
  auto [last, ys] = scan(step, h0, xs);
  return mean(square(last)) + mean(ys);
}

TEST(GradOfScan, RnnWithCapturedWeights) {
  check_grads(rnn_loss,
              std::tuple(Cell{some({5, 3}), some({3})}, some({2, 3}, 1), some({6, 2, 2}, 2)));
}

TEST(GradOfScan, IsThatOfTheLoopWrittenOut) {
  const Cell cell{some({5, 3}), some({3})};
  const Tensor h0 = some({2, 3}, 1), xs = some({4, 2, 2}, 2);
  auto written_out = [](const Cell& cell, Tensor h, Tensor xs) {
    std::vector<Tensor> ys;
    for (int64_t i = 0; i < 4; ++i) {
      h = tanh(matmul(concat({xs[i], h}, -1), cell.w) + cell.b);
      ys.push_back(h);
    }
    return mean(square(h)) + mean(stack(ys));
  };
  const Cell a = grad(rnn_loss)(cell, h0, xs), b = grad(written_out)(cell, h0, xs);
  EXPECT_THAT(values(a.w), Pointwise(DoubleNear(1e-15), values(b.w)));
  EXPECT_THAT(values(a.b), Pointwise(DoubleNear(1e-15), values(b.b)));
}

TEST(GradOfScan, ReverseUnrolledAndEmpty) {
  for (const ScanOptions& options : {ScanOptions{.reverse = true}, ScanOptions{.unroll = 2},
                                     ScanOptions{.unroll = ScanOptions::kUnrollAll}}) {
    auto f = [&](Tensor h, Tensor xs) {
      auto [last, ys] =
          scan([](Tensor h, Tensor x) { return std::pair(sin(h) * x, h + x); }, h, xs, options);
      return last + sum(ys * ys);
    };
    check_grads(f, std::tuple(scalar(0.4), some({5})));
  }
  auto none = [](Tensor h, Tensor xs) {
    return scan([](Tensor h, Tensor x) { return std::pair(h * x, x); }, h, xs).first;
  };
  EXPECT_EQ(value(grad(none)(scalar(2.0), zeros({0}, f64))), 1);
}

TEST(GradOfScan, LstmWithTreeCarry) {
  auto f = [](const Cell& cell, std::pair<Tensor, Tensor> state, Tensor xs) {
    auto step = [&](std::pair<Tensor, Tensor> s, Tensor x) {
      const Tensor all = matmul(concat({x, s.first}, -1), cell.w) + cell.b;
      auto part = [&](int64_t i) { return all[{Ellipsis{}, Slice{3 * i, 3 * i + 3}}]; };
      const Tensor c = logistic(part(0)) * s.second + logistic(part(1)) * tanh(part(2));
      const Tensor h = logistic(part(3)) * tanh(c);
      return std::pair(std::pair(h, c), None{});
    };
    return sum(scan(step, state, xs).first.first);
  };
  check_grads(f, std::tuple(Cell{some({5, 12}), some({12}, 3)},
                            std::pair(some({2, 3}, 1), some({2, 3}, 2)), some({4, 2, 2}, 4)));
}

TEST(GradOfScan, RungeKutta) {
  auto f = [](Tensor p, Tensor y0) {
    auto slope = [&](Tensor y) {
      return stack({p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]});
    };
    auto step = [&](Tensor y, None) {
      const double h = 0.1;
      const Tensor k1 = slope(y), k2 = slope(y + k1 * (h / 2)), k3 = slope(y + k2 * (h / 2)),
                   k4 = slope(y + k3 * h);
      y = y + (k1 + 2.0 * k2 + 2.0 * k3 + k4) * (h / 6);
      return std::pair(y, y);
    };
    return sum(square(scan(step, y0, None{}, {.length = 10}).second));
  };
  check_grads(f, std::tuple(numbers({0.5, 0.3, 0.2, 0.6}), numbers({1.0, 0.5})));
}

TEST(GradOfScan, Nested) {
  auto f = [](Tensor w, Tensor xs) {
    auto outer = [&](Tensor h, Tensor row) {
      auto inner = [&](Tensor c, Tensor x) {
        c = sin(c * w + x * h);
        return std::pair(c, c * h);
      };
      auto [c, ys] = scan(inner, h, row);
      return std::pair(c + mean(ys), c);
    };
    auto [last, cs] = scan(outer, scalar(0.3), xs);
    return last + sum(cs * cs);
  };
  check_grads(f, std::tuple(scalar(0.7), some({3, 4})));
}

TEST(GradOfScan, CondInside) {
  auto f = [](Tensor w, Tensor xs) {
    auto step = [&](Tensor h, Tensor x) {
      h = cond(
          x > 0.0, [&] { return sin(h * w) + x; }, [&] { return h * exp(x); });
      return std::pair(h, h);
    };
    auto [last, ys] = scan(step, scalar(0.3), xs);
    return last + sum(ys * ys);
  };
  check_grads(f, std::tuple(scalar(0.7), some({6})));
}

TEST(GradOfScan, CarryThatIsReset) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.first * s.second, scalar(2.0)), None{});
    };
    return scan(step, std::pair(x, x), None{}, {.length = 3}).first.first;
  };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 24);  // x x 2 2
}

TEST(GradOfFori, BetweenIntegersGoesBackwards) {
  auto f = [](Tensor x) {
    return fori_loop(
        0, 5, [](Tensor, Tensor y) { return y * y; }, x);
  };
  EXPECT_NEAR(value(grad(f)(scalar(1.01))), 32 * std::pow(1.01, 31), 1e-12);
}

TEST(GradOfCond, EitherBranch) {
  auto f = [](Tensor x) {
    return cond(
        x > 0.0, [](Tensor x) { return sqrt(x) * x; }, [](Tensor x) { return x * x; }, x);
  };
  EXPECT_NEAR(value(grad(f)(scalar(4.0))), 3, 1e-14);
  EXPECT_NEAR(value(grad(f)(scalar(-4.0))), -8, 1e-14);
  check_grads(f, std::tuple(scalar(0.7)));
  auto g = [](Tensor i, Tensor x) {
    auto one = [](Tensor) { return scalar(1.0); };
    return switch_case(
        i, std::tuple([](Tensor x) { return sin(x); }, one, [](Tensor x) { return x; }), x);
  };
  EXPECT_EQ(value(grad(g, argnums<1>)(scalar(1), scalar(3.0))), 0);
  EXPECT_EQ(value(grad(g, argnums<1>)(scalar(2), scalar(3.0))), 1);
}

TEST(GradOfAssociativeScan, OfAffineMaps) {
  auto f = [](Tensor a, Tensor b) {
    auto combine = [](std::pair<Tensor, Tensor> l, std::pair<Tensor, Tensor> r) {
      return std::pair(l.first * r.first, l.second * r.first + r.second);
    };
    return sum(square(associative_scan(combine, std::pair(a, b)).second));
  };
  check_grads(f, std::tuple(some({7}), some({7}, 2)));
}

// What is kept for the way back
// --------------------------------------------------------------------------------

TEST(Residuals, AnInvariantWeightIsNotStacked) {
  auto f = [](Tensor w, Tensor h, Tensor xs) {
    return sum(
        scan([&](Tensor h, Tensor x) { return std::pair(tanh(matmul(w, h)) + x, None{}); }, h, xs)
            .first);
  };
  auto p = trace(grad(f), some({4, 4}), some({4}), some({9, 4}));
  EXPECT_THAT(p.hlo_text(), Not(HasSubstr("f64[9,4,4]")));
}

TEST(Residuals, AnInputIsNotStackedAgain) {
  auto f = [](Tensor h, Tensor xs) {
    return scan([](Tensor h, Tensor x) { return std::pair(h * x, None{}); }, h, xs).first;
  };
  auto p = trace([&](Tensor h, Tensor xs) { return grad(f, argnums<0>)(h, xs); }, scalar(0.5),
                 some({9}));
  EXPECT_THAT(p.hlo_text(), Not(HasSubstr("(f64[9]")));  // no output of a loop: dh needs xs alone
}

TEST(Residuals, TheSecondCallTransformsAndCompilesNothing) {
  const Cell cell{some({5, 3}), some({3})};
  const Tensor h0 = some({2, 3}, 1), xs = some({4, 2, 2}, 2);
  auto g = grad(rnn_loss);
  (void)g(cell, h0, xs);
  const Counters before = counters();
  (void)g(cell, h0, xs);
  const Counters done = counters() - before;
  EXPECT_EQ(done.lowerings, 0);
  EXPECT_EQ(done.compiles, 0);
  EXPECT_EQ(done.uploads, 0);
}

// Errors
// --------------------------------------------------------------------------------

TEST(GradError, OfNoScalar) {
  EXPECT_THAT(
      error_of([] { return grad([](Tensor x) { return x; })(some({3})); }),
      HasSubstr("grad: the function gives f64[3]; it must give a scalar of floats, take its "
                "sum() or mean(), or use vjp"));
  const auto square = [](Tensor x) { return x * x; };
  EXPECT_THAT(error_of([&] { return grad(square)(complex(scalar(1.0), scalar(2.0))); }),
              StartsWith("grad: the function gives c128[]; it must give a scalar of floats, take "
                         "real() or abs() of it ["));
}

TEST(GradError, OfIntegers) {
  auto f = [](const Cell& c) { return sum(c.w); };
  EXPECT_THAT(error_of([&] {
                return grad(f)(Cell{some({3}), scalar(1)});
              }),
              HasSubstr("grad: arg0.b is s32[], which has no derivative"));
}

TEST(GradError, OfAJacobianSaysWhatIsNotReal) {
  const auto f = [](Tensor x) { return x.astype(c128); };
  EXPECT_THAT(error_of([&] { return jacrev(f)(numbers({1})); }),
              StartsWith("jacrev: the result is c128[1]; it must be real"));
  EXPECT_THAT(error_of([&] { return jacfwd(f)(array<int>({1})); }),
              StartsWith("jacfwd: arg0 is s32"));
  EXPECT_THAT(error_of([&] { return jacrev(f)(array<int>({1})); }),
              StartsWith("jacrev: arg0 is s32"));
  EXPECT_THAT(error_of([&] { return hessian(f)(numbers({1})); }),
              StartsWith("hessian: the function gives c128[1]; it must give a scalar of floats"));
  EXPECT_THAT(error_of([&] { return hessian(f)(array<int>({1})); }),
              StartsWith("hessian: arg0 is s32[1], which has no derivative"));
}

TEST(GradError, OfACheckOfNothing) {
  const auto f = [](Tensor x) { return x * 2; };
  EXPECT_THAT(error_of([&] {
                check_grads(f, std::tuple(array<int>({1, 2})));
              }),
              StartsWith("check_grads: no argument has floats, so that there is nothing to check"));
  const auto g = [](Tensor x) { return argmax(x, 0); };
  EXPECT_THAT(error_of([&] {
                check_grads(g, std::tuple(numbers({1, 2})));
              }),
              StartsWith("check_grads: the function gives no floats, so that there is nothing"));
}

TEST(GradError, OfACheckOfNoOrder) {
  const auto f = [](Tensor x) { return x * x; };
  EXPECT_THAT(error_of([&] { check_grads(f, std::tuple(scalar(1.0)), {.order = 0}); }),
              StartsWith("check_grads: order is 0; it must be 1 or more"));
}

TEST(GradError, OfAWhile) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y < 100.0; }, [](Tensor y) { return y * y; }, x);
  };
  const std::string error = error_of([&] { return grad(f)(scalar(2.0)); });
  EXPECT_THAT(error, HasSubstr("grad: while: has no reverse derivative: the number of its steps is "
                               "not known before it runs; write while_loop(.., {.max_steps = "
                               "n}), use scan or fori_loop between C++ integers, or forward mode "
                               "(jvp)"));
  EXPECT_THAT(error, HasSubstr("grad_test.cc:"));
}

// A Function's trace is kept, but not if it has values of a trace around it.
TEST(Grad, OfAFunctionThatReadsAnOuterTrace) {
  Tensor held;
  int runs = 0;
  const Function loss("loss", [&](Tensor y) {
    ++runs;
    return sum(held * y);
  });
  const auto gradient_with = [&](const Tensor& factor) {
    return trace(
        [&](Tensor outer, Tensor y) {
          held = outer * 2;
          return grad(loss)(y);
        },
        factor, factor)(factor, factor);
  };
  EXPECT_EQ(gradient_with(array<double>({1, 2})).to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(gradient_with(array<double>({3, 5})).to_vector<double>(), (std::vector<double>{6, 10}));
  EXPECT_EQ(runs, 2);
  held = array<double>({7, 8});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(grad(loss)(array<double>({1, 1})).to_vector<double>(), (std::vector<double>{7, 8}));
  EXPECT_EQ(runs, 3);
}

TEST(Reduce, ByAnyAssociativeFunctionHasDerivatives) {
  // (a, b), (c, d) -> the map x -> a x + b and then x -> c x + d.
  const auto both = [](Tensor x, Tensor y) {
    const auto then = [](std::span<const Tensor> v) {
      return std::vector<Tensor>{v[0] * v[2], v[1] * v[2] + v[3]};
    };
    const std::vector<Tensor> all = reduce({x, y}, {scalar(1.0), scalar(0.0)}, then, {1});
    const Tensor &a = all[0], &b = all[1];
    return sum(a * a) + sum(sin(b));
  };
  const auto plain = [](Tensor x, Tensor y) {
    Tensor a = ones({2}, f64), b = zeros({2}, f64);
    for (int64_t i = 0; i < x.shape().dimension(1); ++i) {
      const Tensor c = x[{Slice(), i}];
      a = a * c;
      b = b * c + y[{Slice(), i}];
    }
    return sum(a * a) + sum(sin(b));
  };
  for (const int64_t n : {0, 1, 2, 3, 7}) {
    const Tensor x = some({2, n}), y = some({2, n}, 1);
    const auto of_both = argnums<0, 1>;
    const auto got = grad(both, of_both)(x, y), want = grad(plain, of_both)(x, y);
    EXPECT_THAT(values(std::get<0>(got)), Pointwise(DoubleNear(1e-12), values(std::get<0>(want))));
    EXPECT_THAT(values(std::get<1>(got)), Pointwise(DoubleNear(1e-12), values(std::get<1>(want))));
  }
  check_grads(both, std::tuple(some({2, 5}), some({2, 5}, 1)));
  const auto norm = [](Tensor x) {
    const auto hypot = [](const Tensor& a, const Tensor& b) { return sqrt(a * a + b * b); };
    return sum(reduce(x, 0.0, hypot, {0, 2}));
  };
  const Tensor x = some({3, 2, 2});
  const Tensor want = x / sqrt(sum(x * x, {.axes = {0, 2}, .keep_dims = true}));
  EXPECT_THAT(values(grad(norm)(x)), Pointwise(DoubleNear(1e-12), values(want)));
}

// x y + x + y, in windows of two rows and three columns with places between and zeros around.
TEST(ReduceWindow, ByAnyAssociativeFunctionHasDerivatives) {
  const auto combine = [](const Tensor& x, const Tensor& y) { return x * y + x + y; };
  const Windows windows{.sizes = {2, 3}, .strides = {1, 2}, .padding = {{0, 1}, {1, 1}}};
  const auto f = [&](Tensor x) { return sum(sin(reduce_window(x, 0.0, combine, windows))); };
  // 1 + x y + x + y = (1 + x) (1 + y)
  const auto by_products = [&](Tensor x) {
    const Tensor inside = pad(x + 1.0, 1.0, {{0, 1}, {1, 1}});
    Tensor all = zeros({}, f64);
    for (int64_t i = 0; i + 2 <= inside.dim(0); ++i) {
      for (int64_t j = 0; j + 3 <= inside.dim(1); j += 2)
        all = all + sin(prod(inside[{Slice{i, i + 2}, Slice{j, j + 3}}]) - 1.0);
    }
    return all;
  };
  const Tensor x = some({4, 5});
  EXPECT_NEAR(value(f(x)), value(by_products(x)), 1e-13);
  EXPECT_THAT(values(grad(f)(x)), Pointwise(DoubleNear(1e-12), values(grad(by_products)(x))));
  EXPECT_THAT(values(hessian(f)(x)), Pointwise(DoubleNear(1e-11), values(hessian(by_products)(x))));
  EXPECT_EQ(grad(f)(zeros({0, 5}, f64)).shape(), Shape(f64, {0, 5}));
  check_grads([&](Tensor v) { return reduce_window(v, 0.0, combine, windows); }, std::tuple(x));
}

// Two updates of place 1, one of place 3, none of the others, and one outside: written out.
TEST(AtMultiply, HasTheDerivativesOfItsProducts) {
  const Tensor places = array({1, 3, 1, 9}), w = numbers({1, -2, 3, 5});
  const auto scattered = [&](Tensor x, Tensor u) {
    return sum(w * sin(x.at({places}).multiply(u)));
  };
  const auto written = [&](Tensor x, Tensor u) {
    const Tensor all = concat({reshape(x[0], {1}), reshape(x[1] * u[0] * u[2], {1}),
                               reshape(x[2], {1}), reshape(x[3] * u[1], {1})});
    return sum(w * sin(all));
  };
  const Tensor x = numbers({0.5, 2, -1, 0.7});
  for (const Tensor& u : {numbers({1.5, -0.3, 0.8, 7}), numbers({0, 0, 0, 0}),
                          numbers({0, 2, 3, NAN}), numbers({0.5, 1, 2, INFINITY})}) {
    const auto [dx, du] = grad(scattered, argnums<0, 1>)(x, u);
    const auto [wanted_x, wanted_u] = grad(written, argnums<0, 1>)(x, u);
    EXPECT_THAT(values(dx), Pointwise(DoubleNear(1e-14), values(wanted_x)));
    EXPECT_THAT(values(du), Pointwise(DoubleNear(1e-14), values(wanted_u)));
    const auto second = [&](const auto& f) {
      return hessian([&](Tensor v) { return f(x, v); })(u);
    };
    EXPECT_THAT(values(second(scattered)), Pointwise(DoubleNear(1e-13), values(second(written))));
  }
}

TEST(AtDivide, HasTheDerivativesOfItsQuotients) {
  const Tensor places = array({0, 0, 1}), x = numbers({3, -2}), u = numbers({1.5, -0.4, 0.8});
  const auto scattered = [&](Tensor v, Tensor by) {
    return sum(square(v.at({places}).divide(by)));
  };
  const auto written = [&](Tensor v, Tensor by) {
    return square(v[0] / by[0] / by[1]) + square(v[1] / by[2]);
  };
  const auto [dx, du] = grad(scattered, argnums<0, 1>)(x, u);
  const auto [wanted_x, wanted_u] = grad(written, argnums<0, 1>)(x, u);
  EXPECT_THAT(values(dx), Pointwise(DoubleNear(1e-11), values(wanted_x)));
  EXPECT_THAT(values(du), Pointwise(DoubleNear(1e-11), values(wanted_u)));
}

TEST(AtMultiply, OfRowsThatAreTakenTwice) {
  const Tensor rows = array({2, 0, 2}), x = some({3, 4}), u = some({3, 4});
  const auto scattered = [&](Tensor by) { return sum(square(x.at({rows}).multiply(by))); };
  const auto written = [&](Tensor by) {
    return sum(square(stack({x[0] * by[1], x[1], x[2] * by[0] * by[2]})));
  };
  EXPECT_THAT(values(grad(scattered)(u)), Pointwise(DoubleNear(1e-12), values(grad(written)(u))));
}

TEST(AtSubtract, IsTheSumOfTheNegative) {
  const Tensor rows = array({2, 0, 2}), x = some({3, 4}), u = some({3, 4});
  const auto taken = [&](Tensor by) { return sum(square(x.at({rows}).subtract(by))); };
  const auto added = [&](Tensor by) { return sum(square(x.at({rows}).add(-by))); };
  EXPECT_EQ(values(grad(taken)(u)), values(grad(added)(u)));
}

}  // namespace
}  // namespace heddle
