// Against results of scipy.linalg, numpy.linalg and jax.numpy.linalg.
#include "heddle/linalg/structured.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/linalg/factors.h"
#include "heddle/linalg/functions.h"
#include "heddle/linalg/internal/testing.h"
#include "heddle/linalg/solving.h"
#include "heddle/numpy/matrices.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/support_test.h"

namespace heddle::linalg {
namespace {

using linalg_internal::distance;
using linalg_internal::positive_tensor;
using linalg_internal::random_tensor;

auto near(double x) { return DoubleNear(x, 1e-13); }
Tensor square2() { return array<double>({4, 1, 2, 3}, {2, 2}); }

TEST(Structured, BlocksOnTheDiagonal) {
  Tensor m = block_diag({ones({1, 2}), full({2, 1}, 3), array<float>({5, 6})});
  EXPECT_EQ(m.shape(), Shape(f32, {4, 5}));
  EXPECT_THAT(ints(m), ElementsAre(1, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 5, 6));
  EXPECT_THAT(ints(block_diag({scalar<int>(2)})), ElementsAre(2));
  EXPECT_THAT(error_of([] { block_diag({}); }), HasSubstr("block_diag: has no blocks"));
}

TEST(Structured, ConstantAlongDiagonals) {
  Tensor c = array<int>({1, 2, 3});
  EXPECT_THAT(ints(toeplitz(c, array<int>({1, 4, 5, 6}))),
              ElementsAre(1, 4, 5, 6, 2, 1, 4, 5, 3, 2, 1, 4));
  Tensor z = toeplitz(complex(array<float>({1, 2}), array<float>({1, 3})));
  EXPECT_THAT(doubles(imag(z)), ElementsAre(1, -3, 3, 1));
  EXPECT_THAT(ints(hankel(c, array<int>({3, 4}))), ElementsAre(1, 2, 2, 3, 3, 4));
  EXPECT_THAT(ints(hankel(c)), ElementsAre(1, 2, 3, 2, 3, 0, 3, 0, 0));
  EXPECT_THAT(ints(circulant(c)), ElementsAre(1, 3, 2, 2, 1, 3, 3, 2, 1));
  EXPECT_THAT(error_of([] {
                toeplitz(ones({2, 2}));
              }),
              HasSubstr("toeplitz: column is f32[2,2]; it must be a vector of 1 elements or more"));
}

TEST(Structured, NamedMatrices) {
  EXPECT_THAT(doubles(companion(array<double>({2, -10, 31}))), ElementsAre(5, -15.5, 1, 0));
  EXPECT_THAT(doubles(leslie(array<double>({1, 2, 3}), array<double>({0.5, 0.25}))),
              ElementsAre(1, 2, 3, 0.5, 0, 0, 0, 0.25, 0));
  EXPECT_THAT(doubles(hilbert(2, f64)), ElementsAre(1, 0.5, 0.5, near(1.0 / 3)));
  EXPECT_THAT(ints(hadamard(4)), ElementsAre(1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, 1));
  EXPECT_EQ(hilbert(0).size(), 0);
  EXPECT_THAT(error_of([] { hadamard(3); }),
              HasSubstr("hadamard: n is 3; it must be a power of 2"));
  EXPECT_THAT(error_of([] { leslie(ones({2}), ones({2})); }),
              HasSubstr("leslie: survival is f32[2]; fertility is f32[2]"));
}

TEST(Products, ChainsTakeTheCheapOrder) {
  Tensor a = random_tensor({2, 5}, f64, 1), b = random_tensor({5, 3}, f64, 2),
         c = random_tensor({3, 4}, f64, 3), v = random_tensor({4}, f64, 4);
  EXPECT_LT(distance(multi_dot({a, b, c}), matmul(a, matmul(b, c))), 1e-13);
  EXPECT_LT(distance(multi_dot({a[0], b, c, v}), matmul(a[0], matmul(b, matmul(c, v)))), 1e-13);
  EXPECT_THAT(error_of([&] {
                multi_dot({a, c});
              }),
              HasSubstr("multi_dot: matrix 1 is f64[3,4]; it must be a matrix"));
  EXPECT_THAT(error_of([&] { multi_dot({a}); }), HasSubstr("multi_dot: has 1 matrices"));
}

TEST(Products, TracesAndVectors) {
  EXPECT_THAT(ints(trace(reshape(arange(12), {2, 2, 3}))), ElementsAre(4, 16));
  EXPECT_EQ(trace(reshape(arange(6), {2, 3}), 1).item<int>(), 6);
  Tensor z = complex(array<float>({1, 2}), array<float>({1, 0}));
  Tensor y = complex(array<float>({1, 2, 3, 0}), array<float>({0, 0, 0, 4}));
  EXPECT_THAT(doubles(real(vecdot(z, reshape(y, {2, 2})))), ElementsAre(5, 3));
  EXPECT_THAT(doubles(imag(vecdot(z, reshape(y, {2, 2})))), ElementsAre(-1, 5));
  EXPECT_THAT(doubles(matvec(square2(), array<double>({1, 2}))), ElementsAre(6, 8));
  Tensor rows = vecmat(z, square2().astype(c64));
  EXPECT_THAT(doubles(real(rows)), ElementsAre(8, 7));
  EXPECT_THAT(doubles(imag(rows)), ElementsAre(-4, -1));
  EXPECT_THAT(error_of([] { matvec(ones({2}), ones({2})); }),
              HasSubstr("matvec: a is f32[2]; it must have rank 2 or more"));
  EXPECT_THAT(error_of([] { vecdot(1.0, 2.0); }),
              HasSubstr("vecdot: x is f32[]; it must have rank 1"));
}

TEST(Products, PolarFactors) {
  Polar f = polar(square2());
  EXPECT_THAT(doubles(f.u), ElementsAre(near(0.9899494936611667), near(-0.14142135623730956),
                                        near(0.14142135623730964), near(0.9899494936611668)));
  EXPECT_THAT(doubles(f.p), ElementsAre(near(4.2426406871192865), near(1.4142135623730947),
                                        near(1.414213562373095), near(2.8284271247461907)));
  Tensor wide = random_tensor({2, 2, 4}, c128);
  Polar w = polar(wide);
  EXPECT_LT(distance(matmul(w.u, w.p), wide), 1e-13);
}

TEST(Norms, ByVectorAndMatrix) {
  Tensor x = array<double>({3, 4, 0, 5}, {2, 2});
  EXPECT_THAT(doubles(vector_norm(x, 1, {1})), ElementsAre(7, 5));
  EXPECT_THAT(vector_norm(x).item<double>(), near(std::sqrt(50)));
  EXPECT_EQ(vector_norm(x, INFINITY, kAllAxes, true).shape(), Shape(f64, {1, 1}));
  EXPECT_THAT(doubles(vector_norm(ones({2, 3, 2}, f64), 1, {0, -1})), ElementsAre(4, 4, 4));
  EXPECT_THAT(matrix_norm(square2(), MatrixNorm::kNuclear).item<double>(),
              near(7.0710678118654755));
  EXPECT_THAT(error_of([] { matrix_norm(ones({2})); }), HasSubstr("matrix_norm: x is f32[2]"));
}

TEST(Norms, Conditions) {
  Tensor a = square2();
  EXPECT_THAT(cond(a).item<double>(), near(2.6180339887498945));
  EXPECT_THAT(cond(a, 1).item<double>(), near(3));
  EXPECT_THAT(cond(a, -1).item<double>(), near(2));
  EXPECT_THAT(cond(a, -2).item<double>(), near(0.3819660112501052));
  EXPECT_THAT(cond(a, INFINITY).item<double>(), near(3));
  EXPECT_THAT(cond(a, MatrixNorm::kFrobenius).item<double>(), near(3));
  EXPECT_THAT(cond(a, MatrixNorm::kNuclear).item<double>(), near(5));
  EXPECT_THAT(error_of([] { cond(ones({2, 3}), 1); }), HasSubstr("linalg::cond: a is f32[2,3]"));
}

TEST(Solving, FromFactorsThatThereAre) {
  for (DType dtype : {f64, c128}) {
    Tensor a = positive_tensor({2}, 3, dtype), b = random_tensor({2, 3, 2}, dtype, 5);
    Tensor x = solve(a, b), l = cholesky(a);
    EXPECT_LT(distance(lu_solve(lu(a), b), x), 1e-12);
    EXPECT_LT(distance(cho_solve(l, b), x), 1e-12);
    EXPECT_LT(distance(cho_solve(cholesky(a, {.upper = true}), b, false), x), 1e-12);
  }
  EXPECT_THAT(error_of([] {
                cho_solve(ones({2, 2}), ones({3}));
              }),
              HasSubstr("cho_solve: b is f32[3]; must have 2 rows, as a, f32[2,2], has"));
}

TEST(Solving, EquationsOfTensors) {
  Tensor d = reshape(diag(array<double>({2, 4, 5, 8})), {2, 2, 2, 2});
  EXPECT_THAT(doubles(tensorsolve(d, array<double>({2, 4, 10, 16}, {2, 2}))),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(doubles(tensorinv(d)),
              ElementsAre(0.5, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, near(0.2), 0, 0, 0, 0, 0.125));
  EXPECT_EQ(tensorinv(ones({6, 2, 3}), 1).shape(), Shape(f32, {2, 3, 6}));
  EXPECT_THAT(error_of([&] { tensorinv(d, 3); }),
              HasSubstr("tensorinv: a is f64[2,2,2,2] and axes 3"));
  EXPECT_THAT(error_of([&] { tensorsolve(d, ones({3}, f64)); }),
              HasSubstr("tensorsolve: a is f64[2,2,2,2]; b is f64[3]"));
}

TEST(Solving, PolynomialsNearestToPoints) {
  Tensor x = array<double>({0, 1, 2, 3}), y = array<double>({1, 3, 2, 5});
  EXPECT_THAT(doubles(polyfit(x, y, 2)), ElementsAre(near(0.25), near(0.35), near(1.35)));
  EXPECT_EQ(polyfit(x, random_tensor({4, 2}, f64), 1).shape(), Shape(f64, {2, 2}));
  EXPECT_THAT(doubles(polyfit(x, y, 0)), ElementsAre(near(2.75)));
  EXPECT_THAT(error_of([&] { polyfit(x, y, -1); }),
              HasSubstr("polyfit: x is f64[4], y f64[4] and degree -1"));
}

TEST(Conditions, OfSingularMatrices) {
  const Tensor singular = ones({2, 2}, f64), zero = zeros({2, 2}, f64);
  EXPECT_EQ(cond(singular, 1).item<double>(), INFINITY);
  EXPECT_EQ(cond(singular, MatrixNorm::kFrobenius).item<double>(), INFINITY);
  EXPECT_GT(cond(singular, 2).item<double>(), 1e15);
  EXPECT_EQ(cond(zero, -2).item<double>(), INFINITY);
  const Tensor given = array<double>({1, NAN, 0, 1, 1, 1, 1, 1}, {2, 2, 2});
  const std::vector<double> both = doubles(cond(given, 1));
  EXPECT_TRUE(std::isnan(both[0]));
  EXPECT_EQ(both[1], INFINITY);
  const Tensor wide = array<double>({1, 2, 3, 4, 5, 7}, {2, 3});
  EXPECT_NEAR(cond(wide, 2).item<double>() * cond(wide, -2).item<double>(), 1, 1e-12);
  EXPECT_NEAR(cond(wide, 2).item<double>(), 17.52, 0.005);
  EXPECT_THAT(error_of([&] { cond(wide, 1); }), HasSubstr("cond: a is f64[2,3]"));
}

TEST(Norms, OverNoElements) {
  constexpr double kFar = INFINITY;
  EXPECT_EQ(vector_norm(zeros({0}), INFINITY).item<double>(), 0);
  const Tensor none = zeros({0, 2}), also = zeros({2, 0});
  const std::vector<int64_t> axes = {-2, -1};
  for (const double order : {1.0, -1.0, 2.0, kFar}) {
    const Tensor out = norm(none, {.order = order, .axes = axes});
    EXPECT_EQ(out.item<double>(), 0) << order;
  }
  for (const double order : {1.0, 2.0, kFar, -kFar}) {
    const Tensor out = norm(also, {.order = order, .axes = axes});
    EXPECT_EQ(out.item<double>(), 0) << order;
  }
  const std::string text = ": order is that of a least size, of no elements of x";
  EXPECT_THAT(error_of([] { vector_norm(zeros({0}), -INFINITY); }),
              HasSubstr("vector_norm" + text));
  for (const double order : {-kFar, -2.0})
    EXPECT_THAT(error_of([&] { norm(none, {.order = order, .axes = axes}); }),
                HasSubstr("norm" + text));
}

TEST(Triangles, SolvedAsScipyHasThem) {
  const Tensor a = array<double>({2, 1, 4, 5}, {2, 2}), b = array<double>({3, 7});
  const auto of = [&](const SolveTriangular& how) { return doubles(solve_triangular(a, b, how)); };
  EXPECT_THAT(of({}), ElementsAre(near(0.8), near(1.4)));
  EXPECT_THAT(of({.lower = true}), ElementsAre(near(1.5), near(0.2)));
  EXPECT_THAT(of({.lower = true, .unit_diagonal = true}), ElementsAre(near(3), near(-5)));
  EXPECT_THAT(of({.transpose_a = true}), ElementsAre(near(1.5), near(1.1)));
  EXPECT_THAT(of({.lower = true, .transpose_a = true, .unit_diagonal = true}),
              ElementsAre(near(-25), near(7)));
  const Tensor columns = solve_triangular(a, eye(2, 2, 0, f64));
  EXPECT_LT(distance(matmul(triu(a), columns), eye(2, 2, 0, f64)), 1e-15);
  EXPECT_THAT(error_of([&] { solve_triangular(a, ones({3}, f64)); }),
              HasSubstr("solve_triangular: b is f64[3]; must have 2 rows"));
}

TEST(Solving, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor a = square2(), batch = ones({3, 2, 2}, f64), pairs = ones({2, 2, 1}, f64);
  const auto starts = [](const std::string& name) {
    return testing::StartsWith("linalg::" + name + ": ");
  };
  EXPECT_THAT(error_of([&] { lu_solve(Lu{}, a); }), HasSubstr("lu_solve: factors.lu has no value"));
  EXPECT_THAT(error_of([&] { lu_solve(lu(batch), pairs); }), starts("lu_solve"));
  EXPECT_THAT(error_of([&] { cho_solve(batch, pairs); }), starts("cho_solve"));
  EXPECT_THAT(error_of([&] { multi_dot({a, ones({2, 2})}); }), starts("multi_dot"));
  EXPECT_THAT(error_of([] { linalg::trace(ones({2})); }), starts("trace"));
  EXPECT_THAT(error_of([&] { vector_norm(a, NAN, {0}); }), starts("vector_norm"));
  EXPECT_THAT(error_of([&] { toeplitz(ones({2}), arange(2)); }), starts("toeplitz"));
  EXPECT_THAT(error_of([&] { hankel(ones({2}), arange(2)); }), starts("hankel"));
  EXPECT_THAT(error_of([&] { block_diag({ones({2}), arange(2)}); }), starts("block_diag"));
}

}  // namespace
}  // namespace heddle::linalg
