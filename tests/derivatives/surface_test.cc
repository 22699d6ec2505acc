// Every transform inside of every place where a function may run: it gives what it gives outside.
#include <functional>
#include <ostream>
#include <string>
#include <tuple>

#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

using grad_internal::expect_same;
using grad_internal::some;
using Pair = std::pair<Tensor, Tensor>;
using Map = std::function<Tensor(const Tensor&)>;  // f64[3] -> f64[3]

Tensor f(const Tensor& x) {
  return stack({x[0] * sin(x[1]), exp(-square(x[2])) * x[0], tanh(x[1] * x[2])});
}
Tensor loss(const Tensor& x) { return sum(f(x) * square(f(x)) * x); }

// A direction that depends on x.
Tensor along(const Tensor& x) { return cos(x * 2.0); }

// f with a derivative of its own, which is not that of f.
Tensor slope(const Tensor& x, const Tensor& dx) { return 3.0 * cos(x) * dx; }
const auto kOwnForward = custom_jvp(f, [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
  return Pair(f(std::get<0>(x)), slope(std::get<0>(x), std::get<0>(dx)));
});
const auto kOwnBackward = custom_vjp(
    f, [](const Tensor& x) { return Pair(f(x), x); }, slope);

// v with (2 + x^2) v = along(x), solved by what is no derivative's business.
Tensor linear_solution(const Tensor& x) {
  const auto matvec = [&](const Tensor& v) { return (2.0 + square(x)) * v; };
  const auto solve = [](const auto& product, const Tensor& b) { return b / product(ones_like(b)); };
  return custom_linear_solve(matvec, along(x), solve, {.symmetric = true});
}

// y with y^3 + 2 y = x, by Newton's method until it is close.
Tensor cube_root(const Tensor& x) {
  const auto residual = [&](const Tensor& y) { return y * square(y) + 2.0 * y - x; };
  const auto newton = [](const auto& residual, const Tensor& guess) {
    return while_loop([&](const Tensor& y) { return any(abs(residual(y)) > 1e-14); },
                      [&](const Tensor& y) { return y - residual(y) / (3.0 * square(y) + 2.0); },
                      guess);
  };
  return custom_root(residual, zeros_like(x), newton,
                     [](const auto& g, const Tensor& y) { return y / g(ones_like(y)); });
}

struct Transform {
  const char* name;
  Map run;
};
void PrintTo(const Transform& one, std::ostream* out) { *out << one.name; }

const Transform kTransforms[] = {
    {"grad", grad(loss)},
    {"value_and_grad",
     [](const Tensor& x) {
       const auto [value, slope] = value_and_grad(loss)(x);
       return value + slope;
     }},
    {"jvp",
     [](const Tensor& x) {
       const auto [y, dy] = jvp(f, std::tuple(x), std::tuple(along(x)));
       return y + dy;
     }},
    {"vjp",
     [](const Tensor& x) {
       const auto [y, pull] = vjp(f, x);
       return y + pull(along(x)) * pull(y);
     }},
    {"jacfwd", [](const Tensor& x) { return matmul(jacfwd(f)(x), along(x)); }},
    {"jacrev", [](const Tensor& x) { return matmul(jacrev(f)(x), along(x)); }},
    {"hessian", [](const Tensor& x) { return matmul(hessian(loss)(x), along(x)); }},
    {"linearize",
     [](const Tensor& x) {
       const auto [y, push] = linearize(f, x);
       return y + push(along(x)) * push(y);
     }},
    {"linear_transpose",
     [](const Tensor& x) {
       const auto linear = [&](const Tensor& v) { return cumsum(v * x) + 2.0 * v; };
       return linear_transpose(linear, x)(along(x));
     }},
    {"vmap",
     [](const Tensor& x) { return vmap([&](const Tensor& e) { return sum(f(x * e)); })(x); }},
    {"stop_gradient", grad([](const Tensor& x) { return sum(f(x) * stop_gradient(f(x))); })},
    {"custom_jvp",
     [](const Tensor& x) {
       const auto [y, dy] = jvp(kOwnForward, std::tuple(x), std::tuple(along(x)));
       return dy + grad([](const Tensor& x) { return sum(square(kOwnForward(x))); })(x);
     }},
    {"custom_vjp", grad([](const Tensor& x) { return sum(square(kOwnBackward(x))); })},
    {"checkpoint", grad([](const Tensor& x) { return loss(checkpoint(f)(checkpoint(f)(x))); })},
    {"custom_linear_solve", grad([](const Tensor& x) { return sum(square(linear_solution(x))); })},
    {"custom_root", grad([](const Tensor& x) { return sum(square(cube_root(x))); })},
};

struct Place {
  const char* name;
  Map (*around)(const Map& fn);  // fn as it runs there
};
void PrintTo(const Place& one, std::ostream* out) { *out << one.name; }

const Place kPlaces[] = {
    {"trace",
     [](const Map& fn) -> Map { return [fn](const Tensor& x) { return trace(fn, x)(x); }; }},
    {"scan",
     [](const Map& fn) -> Map {
       return [fn](const Tensor& x) {
         const auto step = [&](const Tensor& sum, const Tensor& x) {
           const Tensor y = fn(x);
           return Pair(sum + y, y);
         };
         const auto [sum, ys] = scan(step, zeros_like(x), stack({x, sin(x)}));
         return sum - ys[1];
       };
     }},
    {"cond",
     [](const Map& fn) -> Map {
       return [fn](const Tensor& x) {
         const auto other = [](const Tensor& x) { return -x; };
         return cond(x[0] > -9.0, fn, other, x) + cond(x[0] > 9.0, fn, other, x) + x;
       };
     }},
    {"while",
     [](const Map& fn) -> Map {
       return [fn](const Tensor& x) {
         const auto body = [&](const Pair& now) {
           return Pair(now.first + 1.0, fn(x * now.first));
         };
         return while_loop([](const Pair& now) { return now.first <= 1.0; }, body,
                           Pair(scalar(0.0), x))
             .second;
       };
     }},
    {"vmap",
     [](const Map& fn) -> Map {
       return [fn](const Tensor& x) { return vmap(fn)(stack({sin(x), x}))[1]; };
     }},
    {"compile", [](const Map& fn) -> Map { return compile(fn); }},
};

class Surface : public testing::TestWithParam<std::tuple<Transform, Place>> {};

TEST_P(Surface, IsTheSameThere) {
  const auto& [transform, place] = GetParam();
  const Map there = place.around(transform.run);
  const Tensor x = some({3}), want = transform.run(x);
  EXPECT_FALSE(any(isnan(want)).item<bool>());
  expect_same(there(x), want);
  expect_same(trace(there, x)(x), want);  // the place too is part of a program
}
INSTANTIATE_TEST_SUITE_P(
    Every, Surface, testing::Combine(testing::ValuesIn(kTransforms), testing::ValuesIn(kPlaces)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_in_" + std::get<1>(info.param).name;
    });

// The singular vectors that full_matrices adds have no derivative.
TEST(SurfaceOf, AuxNeedsNoDerivative) {
  const Tensor a = some({3, 2});
  const auto f = [](const Tensor& a) { return Pair(sum(square(a)), linalg::svd(a).u); };
  expect_same(grad(f)(a).first, 2.0 * a);
  expect_same(grad(f)(a).second, linalg::svd(a).u);
  expect_same(hessian(f)(a).first, reshape(2.0 * eye(6, f64), {3, 2, 3, 2}));
  expect_same(jacrev(f, has_aux)(a).first, 2.0 * a);
}

}  // namespace
}  // namespace heddle
