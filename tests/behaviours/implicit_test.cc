// Solutions of equations: custom_linear_solve, custom_root, and linear_transpose.
#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

Tensor matrix(const Tensor& m) { return matmul(m, transpose(m)) + 2.0 * eye(3, f64); }

// As many steps as it takes: nothing that reverse mode could go through.
template <class Matvec>
Tensor conjugate_gradients(const Matvec& a, const Tensor& b) {
  using State = std::tuple<Tensor, Tensor, Tensor>;
  const auto goes_on = [](const State& s) { return sum(square(std::get<1>(s))) > 1e-26; };
  const auto step = [&](const State& s) {
    const auto& [x, r, p] = s;
    const Tensor ap = a(p), alpha = sum(r * r) / sum(p * ap);
    const Tensor left = r - alpha * ap;
    return State{x + alpha * p, left, left + sum(left * left) / sum(r * r) * p};
  };
  return std::get<0>(while_loop(goes_on, step, State{zeros_like(b), b, b}));
}

Tensor solved(const Tensor& m, const Tensor& b) {
  const Tensor a = matrix(m);
  return custom_linear_solve(
      [&](Tensor v) { return matmul(a, v); }, b,
      [](auto matvec, Tensor right) { return conjugate_gradients(matvec, right); },
      {.symmetric = true});
}

TEST(CustomLinearSolve, HasTheDerivativesOfTheEquation) {
  const Tensor m = some({3, 3}), b = some({3}, 2);
  const auto direct = [](Tensor m, Tensor b) { return linalg::solve(matrix(m), b); };
  EXPECT_THAT(values(solved(m, b)), Pointwise(DoubleNear(1e-10), values(direct(m, b))));
  const auto loss = [](auto fn) {
    return [fn](Tensor m, Tensor b) { return sum(square(fn(m, b)) * arange(3, f64)); };
  };
  const auto [gm, gb] = grad(loss(solved), argnums<0, 1>)(m, b);
  const auto [dm, db] = grad(loss(direct), argnums<0, 1>)(m, b);
  EXPECT_THAT(values(gm), Pointwise(DoubleNear(1e-9), values(dm)));
  EXPECT_THAT(values(gb), Pointwise(DoubleNear(1e-9), values(db)));
  check_grads(loss(solved), std::tuple(m, b));
}

TEST(CustomLinearSolve, TransposesAMatrixThatIsNotSymmetric) {
  const auto solve = [](Tensor m, Tensor b) {
    const Tensor a = m + 3.0 * eye(3, f64);
    return custom_linear_solve(
        [&](Tensor v) { return matmul(a, v); }, b,
        [&](auto, Tensor right) { return linalg::solve(stop_gradient(a), right); },
        [&](auto vecmat, Tensor right) {
          // Jacobi's steps on the transpose, until they rest.
          const Tensor diagonal_part = diagonal(stop_gradient(a));
          const auto step = [&](Tensor, Tensor x) {
            return x + (right - vecmat(x)) / diagonal_part;
          };
          return fori_loop(0, 200, step, zeros_like(right));
        });
  };
  const auto loss = [&](Tensor m, Tensor b) { return sum(square(solve(m, b)) * arange(3, f64)); };
  check_grads(loss, std::tuple(0.3 * some({3, 3}), some({3}, 2)));
}

TEST(CustomLinearSolve, GoesThroughVmapAndScan) {
  const Tensor ms = some({4, 3, 3}), b = some({3}, 2);
  const auto loss = [&](Tensor m) { return sum(square(solved(m, b))); };
  const Tensor all = vmap(grad(loss))(ms);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_THAT(values(all[i]), Pointwise(DoubleNear(1e-9), values(grad(loss)(ms[i]))));
  const auto rolled = [&](Tensor m) {
    const auto step = [&](Tensor h, None) { return std::pair(solved(m, h), None{}); };
    return sum(scan(step, b, None{}, {.length = 3}).first);
  };
  check_grads(rolled, std::tuple(ms[0]));
}

TEST(CustomLinearSolve, SaysWhatIsWrong) {
  const Tensor b = some({3});
  const auto solve = [](auto, Tensor right) { return right / 2.0; };
  const auto twice = [&](Tensor b) {
    return sum(custom_linear_solve([](Tensor v) { return 2.0 * v; }, b, solve));
  };
  EXPECT_THAT(values(jvp(twice, std::tuple(b), std::tuple(ones_like(b))).second), ElementsAre(1.5));
  EXPECT_THAT(error_of([&] { return grad(twice)(b); }),
              HasSubstr("custom_linear_solve: has no reverse derivative: give it a "
                        "transpose_solve, or .symmetric = true"));
  EXPECT_THAT(error_of([&] {
                return custom_linear_solve([](Tensor v) { return sin(v); }, b, solve,
                                           [](auto, Tensor right) { return right; });
              }),
              HasSubstr("custom_linear_solve: sine: has no reverse derivative: it is not linear"));
  EXPECT_THAT(
      error_of([&] { return custom_linear_solve([](Tensor v) { return v * v; }, b, solve); }),
      HasSubstr("custom_linear_solve: multiply: has no reverse derivative: both of its "
                "operands depend on the argument"));
  EXPECT_THAT(error_of([&] {
                const std::function<Tensor(Tensor)> none;
                return custom_linear_solve(none, b, solve);
              }),
              HasSubstr("custom_linear_solve: the matvec"));
  EXPECT_THAT(error_of([&] {
                return custom_linear_solve([](Tensor v) { return 2.0 * v + 1.0; }, b, solve);
              }),
              HasSubstr("a term does not depend on the argument"));
  EXPECT_THAT(
      error_of([&] { return custom_linear_solve([](Tensor v) { return sum(v); }, b, solve); }),
      HasSubstr("what matvec gives is f64[]; it must be f64[3]"));
}

// By Newton's steps until they rest.
template <class F>
Tensor newton(const F& f, const Tensor& guess) {
  const auto step = [&](Tensor x) {
    const auto [y, slope] = jvp(f, std::tuple(x), std::tuple(ones_like(x)));
    return x - y / slope;
  };
  return while_loop([&](Tensor x) { return abs(f(x)) > 1e-13; }, step, guess);
}

TEST(CustomRoot, HasTheDerivativesOfTheEquation) {
  const auto cube_root = [](Tensor a) {
    return custom_root([&](Tensor x) { return x * x * x - a; }, scalar(1.0),
                       [](auto f, Tensor guess) { return newton(f, guess); },
                       [](auto g, Tensor y) { return y / g(scalar(1.0)); });
  };
  EXPECT_NEAR(cube_root(scalar(8.0)).item<double>(), 2, 1e-12);
  EXPECT_NEAR(grad(cube_root)(scalar(8.0)).item<double>(), 1.0 / 12, 1e-12);
  EXPECT_NEAR(grad(grad(cube_root))(scalar(8.0)).item<double>(), -2.0 / 9 / 32, 1e-12);
  check_grads(cube_root, std::tuple(scalar(3.0)), {.order = 3});
  EXPECT_THAT(values(vmap(grad(cube_root))(array<double>({1, 8, 27}))),
              Pointwise(DoubleNear(1e-12), {1.0 / 3, 1.0 / 12, 1.0 / 27}));
}

TEST(CustomRoot, OfSystems) {
  // x with tanh(m x) + 2 x = b, by steps that are no derivative's.
  const auto fixed = [](Tensor m, Tensor b) {
    const auto f = [&](Tensor x) { return tanh(matmul(m, x)) + 2.0 * x - b; };
    const auto steps = [&](auto g, Tensor guess) {
      return fori_loop(
          0, 100, [&](Tensor, Tensor x) { return x - g(x) / 2.0; }, guess);
    };
    return custom_root(f, zeros_like(b), steps,
                       [](auto g, Tensor y) { return linalg::solve(jacfwd(g)(zeros_like(y)), y); });
  };
  const auto loss = [&](Tensor m, Tensor b) { return sum(square(fixed(m, b)) * arange(3, f64)); };
  check_grads(loss, std::tuple(0.5 * some({3, 3}), some({3}, 2)));
}

TEST(LinearTranspose, IsTheTranspose) {
  const Tensor a = some({2, 3});
  const auto product = [&](Tensor x) { return matmul(a, x); };
  const auto back = linear_transpose(product, placeholder({3}, f64));
  EXPECT_THAT(values(back(array<double>({1, 2}))),
              Pointwise(DoubleNear(1e-15), values(matmul(transpose(a), array<double>({1, 2})))));
  // A running sum is summed from the end, by the same loop.
  const auto running = [](Tensor x) {
    return scan([](Tensor s, Tensor x) { return std::pair(s + x, s + x); }, scalar(0.0), x).second;
  };
  EXPECT_THAT(values(linear_transpose(running, zeros({3}, f64))(array<double>({1, 2, 3}))),
              ElementsAre(6, 5, 3));
  const auto both = [](Tensor x, Tensor y) { return 2.0 * x - y; };
  const auto [x, y] = linear_transpose(both, scalar(0.0), scalar(0.0))(scalar(3.0));
  EXPECT_THAT(values(x), ElementsAre(6));
  EXPECT_THAT(values(y), ElementsAre(-3));
}

TEST(LinearTranspose, GoesThroughBarriersByLeaves) {
  const auto f = [](Tensor a, Tensor b) {
    const auto [x, y] = optimization_barrier(std::pair(a, b));
    return 2.0 * x + 3.0 * y;
  };
  const auto [a, b] = linear_transpose(f, scalar(0.0), scalar(0.0))(scalar(1.0));
  EXPECT_THAT(values(a), ElementsAre(2));
  EXPECT_THAT(values(b), ElementsAre(3));
  const auto second = [](Tensor a, Tensor b) {
    return optimization_barrier(std::pair(a, b)).second * 1.0;
  };
  const auto [none, one] = linear_transpose(second, scalar(0.0), scalar(0.0))(scalar(1.0));
  EXPECT_THAT(values(none), ElementsAre(0));
  EXPECT_THAT(values(one), ElementsAre(1));
}

TEST(LinearTranspose, NamesTermsThatDoNotDependOnTheArgument) {
  const Tensor x = some({2}), p = x > 0.0;
  const auto refused = [&](auto fn) { return error_of([&] { (void)linear_transpose(fn, x); }); };
  const auto is_refused = HasSubstr("so that the function is not linear");
  EXPECT_THAT(refused([](Tensor x) { return concat({x, ones({2}, f64)}); }), is_refused);
  EXPECT_THAT(refused([&](Tensor x) { return where(p, x, 1.0); }), is_refused);
  EXPECT_EQ(refused([&](Tensor x) { return where(p, x, 0.0); }), "no error");
  EXPECT_EQ(refused([&](Tensor x) { return concat({x, zeros({2}, f64)}); }), "no error");
  EXPECT_THAT(refused([](Tensor x) { return std::pair(x, scalar(1.0)); }), is_refused);
  const auto running = [](double start) {
    return [start](Tensor x) {
      return scan([](Tensor s, Tensor x) { return std::pair(s + x, s + x); }, scalar(start), x)
          .second;
    };
  };
  EXPECT_THAT(refused(running(1)), is_refused);
  EXPECT_EQ(refused(running(0)), "no error");
  const auto counted = [](Tensor x) {
    const auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.first + 1, s.second * s.first.astype(f64)), None{});
    };
    return scan(step, std::pair(scalar(0), x), None{}, {.length = 3}).first.second;
  };
  EXPECT_EQ(refused(counted), "no error");
}

// Equal functions are one trace; each has its own line all the same.
TEST(LinearTranspose, ErrorsHaveTheLineOfTheFunctionThatWasGiven) {
  const Tensor x = some({2});
  const auto first = [](Tensor x) { return x * x; };
  EXPECT_THAT(error_of([&] { return linear_transpose(first, x); }), HasSubstr("implicit_test.cc:"));
  const std::string line = base::cat("implicit_test.cc:", __LINE__ + 1);
  const auto second = [](Tensor x) { return x * x; };
  EXPECT_THAT(error_of([&] { return linear_transpose(second, x); }), HasSubstr(line));
  const auto raised = [](Tensor x) { return linalg::sqrtm(x); };
  const std::string own = base::cat("implicit_test.cc:", __LINE__ - 1);
  const auto loss = [&](Tensor x) { return sum(real(raised(x))); };
  EXPECT_THAT(error_of([&] { return grad(loss)(eye(2, f64)); }), HasSubstr(own));
}

TEST(LinearTranspose, NamesWhatIsNotLinear) {
  const Tensor x = some({2});
  EXPECT_THAT(
      error_of([&] { return linear_transpose([](Tensor x) { return exp(x); }, x); }),
      HasSubstr("linear_transpose: exponential: has no reverse derivative: it is not linear"));
  EXPECT_THAT(
      error_of([&] { return linear_transpose([](Tensor x) { return x * x; }, x); }),
      HasSubstr("linear_transpose: multiply: has no reverse derivative: both of its operands "
                "depend on the argument"));
  const auto rectified = [](Tensor x) { return where(x > 0.0, x, 0.0); };
  EXPECT_THAT(error_of([&] { return linear_transpose(rectified, x); }),
              StartsWith("linear_transpose: select: has no reverse derivative: operand 0, pred[2], "
                         "depends on the argument, so that the function is not linear; compute it "
                         "of what the function captures, or take vjp() at a point "
                         "[implicit_test.cc:"));
  EXPECT_THAT(
      error_of([&] { return linear_transpose([](Tensor x) { return x + 1.0; }, x); }),
      HasSubstr("linear_transpose: add: a term does not depend on the argument, so that the "
                "function is not linear; take the term out"));
  EXPECT_THAT(
      error_of([&] { return linear_transpose([](Tensor x) { return x; }, array<int>({1})); }),
      HasSubstr("linear_transpose: arg0 is s32[1]"));
}

// The step is linear; what ends the loop is not.
TEST(LinearTranspose, OfAScanThatTheArgumentEndsIsAnErrorOnItsLine) {
  const auto doubled = [](Tensor h, None) { return std::pair(h * 2.0, h); };
  const auto is_large = [](Tensor h) { return sum(h) > 5.0; };
  const std::string here = base::cat(" [implicit_test.cc:", __LINE__ + 2, "]");
  const auto f = [&](Tensor x) {
    return scan_until(doubled, is_large, x, None{}, {.length = 3}).carry;
  };
  EXPECT_EQ(error_of([&] { return linear_transpose(f, some({2})); }),
            "linear_transpose: conditional: has no reverse derivative: what chooses its branch, or "
            "ends a scan_until, depends on the argument, so that the function is not linear; "
            "compute it of what the function captures, or take vjp() at a point" +
                here);
}

// x 0.5^3 + x, by loops that carry more than what is linear in x.
TEST(LinearTranspose, OfLoopsThatCount) {
  using State = std::pair<Tensor, Tensor>;
  const auto goes_on = [](const State& s) { return s.first < 3; };
  const auto halve = [](const State& s) { return State(s.first + 1, s.second * 0.5); };
  const auto bounded = [&](Tensor x) {
    return while_loop(goes_on, halve, State(scalar(0), x), {.max_steps = 5}).second + x;
  };
  const auto until = [&](Tensor x) {
    const auto step = [&](const State& s, None) { return std::pair(halve(s), None{}); };
    const auto is_done = [&](const State& s) { return s.first == 3; };
    return scan_until(step, is_done, State(scalar(0), x), None{}, {.length = 5}).carry.second + x;
  };
  const auto counted = [&](Tensor x) {
    const auto step = [&](const State& s, None) { return std::pair(halve(s), None{}); };
    return scan(step, State(scalar(0), x), None{}, {.length = 3}).first.second + x;
  };
  const auto check = [&](const auto& f) {
    EXPECT_THAT(values(linear_transpose(f, zeros({2}, f64))(array<double>({1, -4}))),
                ElementsAre(1.125, -4.5));
  };
  check(bounded);
  check(until);
  check(counted);
}

TEST(LinearTranspose, OfLoopsThatAreNotLinearIsAnError) {
  const auto error = [](const auto& f) {
    return error_of([&] { (void)linear_transpose(f, scalar(1.0)); });
  };
  const auto loop = [](const auto& body, const WhileOptions& options) {
    return [=](Tensor x) {
      const auto goes_on = [](const std::pair<Tensor, Tensor>& s) { return s.first < 3; };
      const auto once = [&](const std::pair<Tensor, Tensor>& s) {
        return std::pair(s.first + 1, body(s.second));
      };
      return while_loop(goes_on, once, std::pair(scalar(0), x), options).second;
    };
  };
  const auto doubled = [](Tensor y) { return y * 2.0; };
  EXPECT_THAT(error(loop(doubled, {})), HasSubstr("write while_loop(.., {.max_steps = n})"));
  const std::string of_squares = error(loop([](Tensor y) { return y * y; }, {.max_steps = 5}));
  EXPECT_THAT(of_squares, StartsWith("linear_transpose: while: has no reverse derivative: its "
                                     "steps are not linear in the argument"));
  EXPECT_THAT(of_squares, Not(HasSubstr("max_steps")));
  const auto is_refused = HasSubstr("its steps are not linear in the argument");
  EXPECT_THAT(error(loop([](Tensor y) { return y + 1.0; }, {.max_steps = 5})), is_refused);
  EXPECT_THAT(error(loop([](Tensor y) { return y + floor(y); }, {.max_steps = 5})), is_refused);
}

}  // namespace
}  // namespace heddle
