// Equations, determinants, functions of matrices and norms: identities, known values, singular and
// empty matrices, errors, and a Kalman filter whose step solves equations inside a scan.
#include "heddle/linalg/solving.h"

#include <array>

#include "heddle/base/support_test.h"
#include "heddle/linalg/functions.h"
#include "heddle/linalg/internal/testing.h"
#include "heddle/linalg/spectra.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/tree.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

class Solving : public OfDType {
 protected:
  // Far from singular.
  [[nodiscard]] Tensor regular(const Dimensions& shape) const {
    return draw(shape) + 4 * eye(shape.back(), shape.back(), 0, dtype());
  }
};
INSTANTIATE_TEST_SUITE_P(All, Solving, testing::Values(f32, f64, c64, c128),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST_P(Solving, SolutionsSolve) {
  for (const Dimensions& shape : {Dimensions{1, 1}, Dimensions{4, 4}, Dimensions{2, 3, 5, 5}}) {
    const Tensor a = regular(shape);
    const Tensor b = draw(with_axes(Dimensions(shape.begin(), shape.end() - 1), {3}), 2);
    EXPECT_LE(distance(matmul(a, solve(a, b)), b), near());
    EXPECT_LE(distance(matmul(solve(swapaxes(a, -2, -1), b), ones({3, 1}, dtype())),
                       matmul(matmul(swapaxes(inv(a), -2, -1), b), ones({3, 1}, dtype()))),
              near());
  }
  const Tensor b = draw({4}, 3);
  const Tensor x = solve(regular({2, 4, 4}), b);
  EXPECT_EQ(x.shape(), Shape(dtype(), {2, 4}));
  EXPECT_LE(distance(squeeze(matmul(regular({2, 4, 4}), expand_dims(x, -1)), {-1}),
                     broadcast_to(b, {2, 4})),
            near());
  EXPECT_EQ(solve(draw({0, 0}), draw({0, 2})).shape(), Shape(dtype(), {0, 2}));
  EXPECT_EQ(solve(regular({3, 1, 2, 2}), draw({4, 2, 1})).shape(), Shape(dtype(), {3, 4, 2, 1}));
}

TEST_P(Solving, DeterminantsMultiply) {
  const Tensor a = draw({3, 4, 4}), b = draw({3, 4, 4}, 2);
  EXPECT_LE(distance(det(matmul(a, b)), det(a) * det(b)), near() * 100);
  const auto [sign, logarithm] = slogdet(a);
  EXPECT_LE(distance(sign * exp(logarithm).astype(dtype()), det(a)), near() * 10);
  EXPECT_EQ(logarithm.dtype(), real_dtype(dtype()));
  EXPECT_EQ(distance(det(draw({2, 0, 0})), ones({2}, dtype())), 0);
  EXPECT_EQ(distance(slogdet(draw({0, 0})).logabsdet, zeros({}, real_dtype(dtype()))), 0);
}

TEST(Determinant, OfPermutationsIsTheirSign) {
  // The cycle of n is a product of n - 1 exchanges.
  for (int64_t n = 1; n <= 6; ++n) {
    const Tensor cycle = roll(eye(n, n, 0, f64), 1, 0);
    EXPECT_EQ(det(cycle).item<double>(), n % 2 == 1 ? 1 : -1);
  }
}

TEST(Solve, OfSingularMatricesIsNotFinite) {
  const Tensor a = ones({2, 2}, f64);
  EXPECT_EQ(det(a).item<double>(), 0);
  EXPECT_EQ(slogdet(a).sign.item<double>(), 0);
  EXPECT_EQ(slogdet(a).logabsdet.item<double>(), -INFINITY);
  EXPECT_FALSE(any(is_finite(solve(a, array<double>({1, 2})))).item<bool>());
  EXPECT_FALSE(any(is_finite(inv(zeros({2, 2}, f64)))).item<bool>());
}

// t x of the tridiagonal t, for x[.., n, k].
Tensor tridiagonal_product(const Tensor& l, const Tensor& d, const Tensor& u, const Tensor& x) {
  const int64_t n = d.dim(-1);
  const std::vector<Padding> none(static_cast<size_t>(x.rank()) - 2);
  const auto moved = [&](int64_t by) {
    std::vector<Padding> padding = none;
    padding.push_back({.low = by, .high = -by});
    padding.push_back({});
    return pad(x, padding);
  };
  const Tensor place = arange(n);
  const auto columns = [](const Tensor& a) { return expand_dims(a, -1); };
  return columns(where(place > 0, l, 0)) * moved(1) + columns(d) * x +
         columns(where(place < n - 1, u, 0)) * moved(-1);
}

TEST_P(Solving, TridiagonalEquationsExchangeRows) {
  for (const int64_t n : {1, 2, 3, 8}) {
    const Tensor l = draw({2, n}), u = draw({2, n}, 2), b = draw({2, n, 3}, 3);
    for (const double d : {0.0, 0.3, 5.0}) {
      if (d == 0 && n % 2 == 1) continue;  // singular
      const Tensor middle = full({2, n}, d).astype(dtype());
      const Tensor x = tridiagonal_solve(l, middle, u, b);
      EXPECT_LE(distance(tridiagonal_product(l, middle, u, x), b), near() * 100) << n << " " << d;
    }
  }
  const Tensor l = draw({4}), d = full({3, 4}, 4.0).astype(dtype()), b = draw({4}, 2);
  const Tensor rows = tridiagonal_solve(l, d[0], l, b);
  EXPECT_EQ(rows.shape(), Shape(dtype(), {4}));
  const Tensor all = tridiagonal_solve(broadcast_to(l, {3, 4}), d, broadcast_to(l, {3, 4}), b);
  EXPECT_LE(distance(all, broadcast_to(rows, {3, 4})), near());
  EXPECT_EQ(tridiagonal_solve(draw({0}), draw({0}), draw({0}), draw({0, 2})).shape(),
            Shape(dtype(), {0, 2}));
  EXPECT_THAT(error_of([&] { tridiagonal_solve(draw({3}), d[0], l, b); }),
              HasSubstr("linalg::tridiagonal_solve: lower is "));
  EXPECT_THAT(error_of([&] { tridiagonal_solve(l, d[0], l, draw({3})); }),
              HasSubstr("must have 4 rows, as diagonal, "));
}

TEST_P(Solving, LeastSquaresLeaveAnOrthogonalResidual) {
  for (const Dimensions& shape : {Dimensions{6, 3}, Dimensions{3, 6}, Dimensions{2, 5, 4}}) {
    const Tensor a = draw(shape);
    const Tensor b = draw(with_axes(Dimensions(shape.begin(), shape.end() - 1), {2}), 2);
    const Lstsq found = lstsq(a, b);
    const Tensor left = matmul(a, found.x) - b;
    const Tensor normal = matmul(adjoint_of(a), left);
    EXPECT_LE(distance(normal, zeros_like(normal)), near() * 10);
    EXPECT_LE(distance(found.residuals, sum(square(abs(left)), {.axes = {-2}})), near());
    EXPECT_LE(distance(found.x, matmul(pinv(a), b)), near() * 10);
    EXPECT_THAT(found.rank.to_vector<int>(), Each(std::min(a.dim(-2), a.dim(-1))));
  }
  EXPECT_EQ(lstsq(draw({0, 2}), draw({0})).x.shape(), Shape(dtype(), {2}));
}

TEST_P(Solving, PinvIsMooreAndPenroses) {
  // Of rank 2, so that singular values are dropped.
  const Tensor a = matmul(draw({2, 5, 2}), draw({2, 2, 4}, 2));
  const Tensor p = pinv(a);
  EXPECT_EQ(p.shape(), Shape(dtype(), {2, 4, 5}));
  EXPECT_LE(distance(matmul(matmul(a, p), a), a), near() * 10);
  EXPECT_LE(distance(matmul(matmul(p, a), p), p), near() * 10);
  EXPECT_LE(distance(adjoint_of(matmul(a, p)), matmul(a, p)), near() * 10);
  EXPECT_LE(distance(adjoint_of(matmul(p, a)), matmul(p, a)), near() * 10);
  EXPECT_THAT(lstsq(a, draw({2, 5, 1}), 1e-4).rank.to_vector<int>(), ElementsAre(2, 2));
  EXPECT_EQ(pinv(draw({0, 3})).shape(), Shape(dtype(), {3, 0}));
}

TEST_P(Solving, MatrixRankCountsSingularValues) {
  const Tensor a = matmul(draw({2, 5, 2}), draw({2, 2, 4}, 2));
  EXPECT_THAT(matrix_rank(a).to_vector<int>(), ElementsAre(2, 2));
  EXPECT_THAT(matrix_rank(draw({4, 3})).to_vector<int>(), ElementsAre(3));
  EXPECT_THAT(matrix_rank(zeros({3, 4}, dtype())).to_vector<int>(), ElementsAre(0));
  EXPECT_THAT(matrix_rank(eye(3, 3, 0, dtype()), 2).to_vector<int>(), ElementsAre(0));
}

TEST_P(Solving, PowersMultiply) {
  const Tensor a = regular({2, 3, 3}) / 4;
  EXPECT_LE(distance(matrix_power(a, 5), matmul(a, matmul(matmul(a, a), matmul(a, a)))), near());
  EXPECT_LE(distance(matmul(matrix_power(a, -3), matrix_power(a, 3)), matrix_power(a, 0)),
            near() * 10);
  EXPECT_EQ(distance(matrix_power(a, 1), a), 0);
}

TEST_P(Solving, ExponentialOfANilpotentMatrixEnds) {
  const Tensor n = triu(draw({3, 3}), 1);
  EXPECT_LE(distance(expm(n), eye(3, 3, 0, dtype()) + n + matmul(n, n) / 2.0), near());
}

TEST_P(Solving, ExponentialOfADiagonalMatrixIsItsElements) {
  // Norms from none to many squarings, in one batch.
  const Tensor d = array<double>({{0, 0, 0}, {0.01, -0.02, 0}, {1, -3, 2}, {-40, 30, -5}});
  const Tensor one = eye(3, 3, 0, f64);
  const Tensor a = (expand_dims(d, -1) * one).astype(dtype());
  const Tensor expected = (expand_dims(exp(d), -1) * one).astype(dtype());
  const Tensor relative = where(one == 1.0, broadcast_to(expand_dims(exp(d), -1), {4, 3, 3}), 1.0);
  EXPECT_LE(distance(expm(a) / relative.astype(dtype()), expected / relative.astype(dtype())),
            near());
  // e^a e^-a = 1, and of an eigenvector.
  const Tensor b = draw({2, 4, 4});
  const Tensor unit = matmul(expm(b), expm(-b));
  EXPECT_LE(distance(unit, broadcast_to(eye(4, 4, 0, dtype()), {2, 4, 4})), near() * 100);
  EXPECT_EQ(expm(draw({0, 0})).shape(), Shape(dtype(), {0, 0}));
  const Tensor huge = full({2, 2}, 1e30, dtype());  // no digit would be left: not 0
  EXPECT_TRUE(all(is_nan(expm(huge))).template item<bool>());
  EXPECT_LE(distance(expm(draw({1, 1})), exp(draw({1, 1}))), near());
}

TEST(Exponential, OfWhatIsNotFiniteEnds) {
  EXPECT_THAT(expm(array<double>({{NAN, 0}, {0, 1}})).to_vector<double>(),
              testing::Contains(IsNan()));
}

TEST(Norm, HasNumpysOrders) {
  const Tensor v = array<double>({3, 0, -4});
  EXPECT_EQ(norm(v).item<double>(), 5);
  EXPECT_EQ(norm(v, {.order = 1}).item<double>(), 7);
  EXPECT_EQ(norm(v, {.order = 0}).item<double>(), 2);
  EXPECT_EQ(norm(v, {.order = INFINITY}).item<double>(), 4);
  EXPECT_EQ(norm(v, {.order = -INFINITY}).item<double>(), 0);
  EXPECT_THAT(norm(v, {.order = 3}).item<double>(), DoubleNear(std::cbrt(91.0), 1e-14));
  const Tensor a = array<double>({{1, -2, 3}, {4, 5, -6}});
  EXPECT_EQ(norm(a, {.order = 1}).item<double>(), 9);
  EXPECT_EQ(norm(a, {.order = -1}).item<double>(), 5);
  EXPECT_EQ(norm(a, {.order = INFINITY}).item<double>(), 15);
  EXPECT_EQ(norm(a, {.order = -INFINITY}).item<double>(), 6);
  EXPECT_THAT(norm(a, {.order = MatrixNorm::kFrobenius}).item<double>(),
              DoubleNear(std::sqrt(91.0), 1e-14));
}

TEST_P(Solving, NormsOfMatricesAreOfSingularValues) {
  const Tensor a = draw({3, 2, 4});  // matrices of axes 2 and 0
  const Tensor s = svdvals(transpose(a, {1, 2, 0}));
  const std::vector<int64_t> axes = {2, 0};
  EXPECT_LE(distance(norm(a, {.order = 2, .axes = axes}), max(s, {.axes = {-1}})), near());
  EXPECT_LE(distance(norm(a, {.order = -2, .axes = axes}), min(s, {.axes = {-1}})), near());
  EXPECT_LE(
      distance(norm(a, {.order = MatrixNorm::kNuclear, .axes = axes}), sum(s, {.axes = {-1}})),
      near());
  EXPECT_LE(distance(norm(a, {.order = MatrixNorm::kFrobenius, .axes = axes}),
                     sqrt(sum(square(s), {.axes = {-1}}))),
            near());
  EXPECT_EQ(norm(a, {.order = 2, .axes = axes, .keep_dims = true}).shape(),
            Shape(real_dtype(dtype()), {1, 2, 1}));
  EXPECT_EQ(norm(a, {.order = 1, .axes = axes, .keep_dims = true}).shape(),
            Shape(real_dtype(dtype()), {1, 2, 1}));
  EXPECT_LE(distance(norm(a), sqrt(sum(square(abs(a))))), near());
}

TEST(SolvingErrors, NameTheOperand) {
  EXPECT_THAT(error_of([] {
                solve(zeros({2, 2}), zeros({3, 1}));
              }),
              HasSubstr("solve: b is f32[3,1]; must have 2 rows, as a, f32[2,2], has"));
  EXPECT_THAT(error_of([] {
                det(zeros({2, 3}));
              }),
              HasSubstr("linalg::det: a is f32[2,3]; its last two axes must have the same size"));
  EXPECT_THAT(error_of([] {
                norm(zeros({2, 2, 2}), {.order = 2});
              }),
              HasSubstr("norm: x is f32[2,2,2] and 3 axes are reduced; an order takes one"));
  EXPECT_EQ(norm(array<float>({3, 4}), 2).item<float>(), 5);
  EXPECT_EQ(norm(array<float>({{3, 4}, {0, 7}}), 1, 0).to_vector<float>()[1], 11);
  EXPECT_EQ(norm(eye(3), MatrixNorm::kNuclear).item<float>(), 3);
  EXPECT_THAT(error_of([] { norm(zeros({2}), {.order = MatrixNorm::kNuclear}); }),
              HasSubstr("norm: order is of no norm of vectors of x, f32[2]; must be a number"));
  EXPECT_THAT(error_of([] {
                norm(zeros({2, 2}), {.order = 3});
              }),
              HasSubstr("norm: order is of no norm of matrices of x, f32[2,2]; must be 1, -1"));
  EXPECT_THAT(error_of([] {
                expm(zeros({2, 2}, bf16));
              }),
              HasSubstr("expm: a is bf16[2,2]; must be of f32, f64, c64 or c128"));
}

// A position and its speed, both observed with noise.
struct State {
  Tensor mean, covariance;  // [2], [2, 2]
  static constexpr auto kFields =
      fields(field("mean", &State::mean), field("covariance", &State::covariance));
};

using Matrix2 = std::array<double, 4>;
Matrix2 times(const Matrix2& a, const Matrix2& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

TEST(Solve, StepsAKalmanFilterInAScan) {
  const int64_t count = 20;
  const Tensor ys = random_tensor({count, 2}, f64);
  const Tensor f = array<double>({{1, 0.5}, {0, 1}}), one = eye(2, 2, 0, f64);
  const auto step = [&](const State& s, const Tensor& y) {
    const Tensor mean = matmul(f, s.mean);
    const Tensor p = matmul(matmul(f, s.covariance), transpose(f)) + 0.1 * one;
    const Tensor gain = transpose(solve(p + 0.5 * one, p));
    const State next{mean + matmul(gain, y - mean), p - matmul(gain, p)};
    return std::pair(next, next.mean);
  };
  const auto [last, path] = scan(step, State{zeros({2}, f64), one}, ys);

  const std::vector<double> y = ys.to_vector<double>(), means = path.to_vector<double>();
  std::array<double, 2> m = {0, 0};
  Matrix2 c = {1, 0, 0, 1};
  for (size_t t = 0; t < static_cast<size_t>(count); ++t) {
    m = {m[0] + 0.5 * m[1], m[1]};
    Matrix2 p = times(times({1, 0.5, 0, 1}, c), {1, 0, 0.5, 1});
    p[0] += 0.1, p[3] += 0.1;
    const double a = p[0] + 0.5, d = p[3] + 0.5, area = a * d - p[1] * p[2];
    const Matrix2 gain = times(p, {d / area, -p[1] / area, -p[2] / area, a / area});
    const double dx = y[2 * t] - m[0], dv = y[2 * t + 1] - m[1];
    m = {m[0] + gain[0] * dx + gain[1] * dv, m[1] + gain[2] * dx + gain[3] * dv};
    const Matrix2 taken = times(gain, p);
    for (size_t i = 0; i < 4; ++i) c[i] = p[i] - taken[i];
    EXPECT_NEAR(means[2 * t], m[0], 1e-12);
    EXPECT_NEAR(means[2 * t + 1], m[1], 1e-12);
  }
  EXPECT_LE(distance(last.covariance, array<double>({{c[0], c[1]}, {c[2], c[3]}})), 1e-12);
}

}  // namespace
}  // namespace heddle::linalg
