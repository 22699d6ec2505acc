// Factors, by the properties of their products: each dtype, batches, all aspects and sizes.
#include "heddle/linalg/factors.h"

#include "heddle/base/support_test.h"
#include "heddle/linalg/internal/testing.h"
#include "heddle/linalg/solving.h"
#include "heddle/linalg/spectra.h"
#include "heddle/numpy/sorting.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

class Factors : public OfDType {};
INSTANTIATE_TEST_SUITE_P(All, Factors, testing::Values(f32, f64, c64, c128),
                         [](const auto& each) { return std::string(to_string(each.param)); });

// Whether the columns are orthonormal.
double unitarity(const Tensor& q) {
  const Dimensions batch(q.shape().dimensions().begin(), q.shape().dimensions().end() - 2);
  const Tensor one = eye(q.dim(-1), q.dim(-1), 0, q.dtype());
  return distance(matmul(adjoint_of(q), q),
                  broadcast_to(one, with_axes(batch, {q.dim(-1), q.dim(-1)})));
}

const std::vector<Dimensions> kShapes = {{1, 1}, {4, 4}, {5, 3}, {3, 5}, {2, 4, 3}, {2, 3, 2, 2}};

TEST_P(Factors, CholeskyTimesItsAdjointIsA) {
  for (const Dimensions& batch : {Dimensions{}, Dimensions{2, 3}}) {
    const Tensor a = positive_tensor(batch, 4, dtype());
    const Tensor l = cholesky(a), u = cholesky(a, {.upper = true});
    EXPECT_LE(distance(matmul(l, adjoint_of(l)), a), near() * 10);
    EXPECT_LE(distance(matmul(adjoint_of(u), u), a), near() * 10);
    EXPECT_EQ(distance(l, tril(l)), 0);
    // It reads the lower triangle only.
    EXPECT_LE(distance(cholesky(tril(a), {.symmetrize_input = false}), l), near());
  }
  EXPECT_EQ(cholesky(draw({0, 0})).shape(), Shape(dtype(), {0, 0}));
}

TEST(Cholesky, OfWhatIsNotPositiveIsNaN) {
  const Tensor a = stack({array<double>({{1, 2}, {2, 1}}), array<double>({{1, 1}, {1, 1}}),
                          zeros({2, 2}, f64), array<double>({{0, 0}, {0, 1}}), eye(2, f64)});
  const auto nan_below = ElementsAre(IsNan(), 0, IsNan(), IsNan());
  for (int i : {0, 1, 2, 3}) EXPECT_THAT(cholesky(a)[i].to_vector<double>(), nan_below) << i;
  EXPECT_THAT(cholesky(a)[4].to_vector<double>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(cholesky(a[0], {.upper = true}).to_vector<double>(),
              ElementsAre(IsNan(), IsNan(), 0, IsNan()));
  EXPECT_THAT(real(cholesky(zeros({1, 1}, c128))).to_vector<double>(), ElementsAre(IsNan()));
}

TEST_P(Factors, TriangularSolveSolves) {
  const Tensor a = draw({2, 3, 3}) + 4 * eye(3, 3, 0, dtype());
  const Tensor b = draw({2, 3, 5});
  for (int bits = 0; bits < 32; ++bits) {
    const TriangularOptions options{.left_side = (bits & 1) != 0,
                                    .lower = (bits & 2) != 0,
                                    .transpose_a = (bits & 4) != 0,
                                    .conjugate_a = (bits & 8) != 0,
                                    .unit_diagonal = (bits & 16) != 0};
    Tensor used = options.lower ? tril(a) : triu(a);
    if (options.unit_diagonal)
      used = (options.lower ? tril(a, -1) : triu(a, 1)) + eye(3, 3, 0, dtype());
    if (options.transpose_a) used = swapaxes(used, -2, -1);
    if (options.conjugate_a) used = swapaxes(adjoint_of(used), -2, -1);
    const Tensor right = options.left_side ? b : swapaxes(b, -2, -1);
    const Tensor x = triangular_solve(a, right, options);
    EXPECT_LE(distance(options.left_side ? matmul(used, x) : matmul(x, used), right), near() * 50)
        << bits;
  }
}

TEST(TriangularSolve, BroadcastsAndTakesVectors) {
  const Tensor a = array<double>({{2, 0}, {1, 4}});
  const Tensor b = array<double>({2, 9});
  const TriangularOptions lower{.left_side = true, .lower = true};
  EXPECT_THAT(triangular_solve(a, b, lower).to_vector<double>(), ElementsAre(1, 2));
  EXPECT_THAT(triangular_solve(a, b, {.lower = true}).to_vector<double>(),
              ElementsAre(-0.125, 2.25));
  EXPECT_EQ(triangular_solve(random_tensor({3, 1, 2, 2}, f64), random_tensor({4, 2, 5}, f64), lower)
                .shape(),
            Shape(f64, {3, 4, 2, 5}));
}

TEST_P(Factors, LuIsARowsExchanged) {
  for (const Dimensions& shape : kShapes) {
    const Tensor a = draw(shape);
    const Lu found = lu(a);
    const int64_t m = a.dim(-2), n = a.dim(-1), k = std::min(m, n);
    const Expr packed(found.lu);
    const Tensor l = tril(corner(packed, m, k).tensor(), -1) + eye(m, k, 0, dtype());
    const Tensor u = triu(corner(packed, k, n).tensor());
    const Tensor exchanged = take_along_axis(a, expand_dims(found.permutation, -1), -2);
    EXPECT_LE(distance(matmul(l, u), exchanged), near());
    EXPECT_EQ(found.pivots.dim(-1), k);
  }
  for (const Dimensions& shape : {Dimensions{0, 0}, Dimensions{3, 0}, Dimensions{0, 2}}) {
    const Lu none = lu(draw(shape));
    EXPECT_EQ(none.lu.shape(), Shape(dtype(), shape));
    EXPECT_EQ(none.permutation.shape(), Shape(s32, {shape[0]}));
  }
}

// Below the least normal number reciprocals of pivots are infinite. 4 rows are loops on cpu, and 40
// are a call.
TEST_P(Factors, OfDenormalNumbersAreFinite) {
  const bool is_f32 = real_dtype(dtype()) == f32;
  const double small = is_f32 ? 0x1p-128 : 0x1p-1024, root = is_f32 ? 0x1p64 : 0x1p512;
  for (const char* name : {"interpreter", "cpu"}) {
    const runtime::DefaultDevice device(*runtime::find_device(name).value());
    for (int64_t n : {4, 12, 40, 100}) {
      SCOPED_TRACE(base::cat(name, " ", n));
      const Tensor a = draw({n, n}) * small;
      const Lu found = lu(a);
      const Tensor l = tril(found.lu, -1) + eye(n, n, 0, dtype());
      const auto greater = [&](const Tensor& x) { return x * root * root; };
      EXPECT_LE(
          distance(matmul(l, greater(triu(found.lu))), greater(take(a, found.permutation, 0))),
          near());
      EXPECT_TRUE(all(isfinite(slogdet(a).logabsdet)).item<bool>());
      const Tensor one = ones({n}, dtype());
      EXPECT_LE(distance(solve(a, sum(a, 1)), one), 1e4 * near());
      const Tensor low = tril(a) + eye(n, n, 0, dtype()) * small * n;
      const Tensor b = matmul(low, ones({n, 1}, dtype()));
      const Tensor x = triangular_solve(low, b, {.left_side = true, .lower = true});
      EXPECT_LE(distance(x, ones({n, 1}, dtype())), 100 * near());
      const Tensor square = positive_tensor({}, n, dtype()) * small, c = cholesky(square);
      const Tensor half = c * root;
      EXPECT_LE(distance(matmul(half, adjoint_of(half)), greater(square)),
                near() * static_cast<double>(n * n));
    }
  }
}

// The reciprocal of 1e-39 is infinite.
TEST(Solve, ATinyPivotBesideAHugeNumber) {
  for (const char* name : {"interpreter", "cpu"}) {
    const runtime::DefaultDevice device(*runtime::find_device(name).value());
    for (float tiny : {1e-38F, 1e-39F}) {
      const Tensor a = array<float>({{tiny, 1e32F}, {0, 1}}), b = array<float>({tiny, 0});
      EXPECT_THAT(solve(a, b).to_vector<float>(), ElementsAre(1, 0)) << name << " " << tiny;
    }
  }
}

TEST(Lu, PivotsAreExchangesInTurn) {
  const Tensor pivots = array<int>({{2, 2, 2}, {0, 1, 2}});
  EXPECT_THAT(lu_pivots_to_permutation(pivots, 4).to_vector<int>(),
              ElementsAre(2, 0, 1, 3, 0, 1, 2, 3));
}

TEST_P(Factors, QrPutTogetherIsA) {
  for (const Dimensions& shape : kShapes) {
    for (bool full : {false, true}) {
      const Tensor a = draw(shape);
      const auto [q, r] = qr(a, full);
      EXPECT_EQ(q.dim(-1), full ? a.dim(-2) : std::min(a.dim(-2), a.dim(-1)));
      EXPECT_LE(unitarity(q), near());
      EXPECT_LE(distance(matmul(q, r), a), near());
      EXPECT_EQ(distance(triu(r), r), 0);
    }
  }
  EXPECT_EQ(qr(draw({3, 0}), true).q.shape(), Shape(dtype(), {3, 3}));
  EXPECT_EQ(qr(draw({0, 2})).r.shape(), Shape(dtype(), {0, 2}));
}

TEST_P(Factors, EighPutTogetherIsA) {
  for (const Dimensions& batch : {Dimensions{}, Dimensions{3}, Dimensions{2, 2}}) {
    const Tensor a = positive_tensor(batch, 4, dtype());
    for (bool lower : {false, true}) {
      const auto [w, v] = eigh(a, {.lower = lower});
      EXPECT_EQ(w.dtype(), real_dtype(dtype()));
      EXPECT_LE(unitarity(v), near());
      const Tensor scaled = v * expand_dims(w, -2).astype(dtype());
      EXPECT_LE(distance(matmul(scaled, adjoint_of(v)), a), near() * 10);
      EXPECT_LE(distance(eigvalsh(a, {.lower = lower}), w), near());
      // One triangle only.
      const Tensor half = lower ? tril(a) : triu(a);
      EXPECT_LE(distance(eigvalsh(half, {.lower = lower, .symmetrize_input = false}), w), near());
    }
  }
  EXPECT_EQ(eigh(draw({2, 0, 0})).eigenvalues.shape(), Shape(real_dtype(dtype()), {2, 0}));
}

TEST_P(Factors, SvdPutTogetherIsA) {
  for (const Dimensions& shape : kShapes) {
    for (bool full : {false, true}) {
      const Tensor a = draw(shape);
      const auto [u, s, vh] = svd(a, full);
      const int64_t k = s.dim(-1);
      EXPECT_EQ(u.dim(-1), full ? a.dim(-2) : k);
      EXPECT_EQ(vh.dim(-2), full ? a.dim(-1) : k);
      EXPECT_LE(unitarity(u), near());
      EXPECT_LE(unitarity(adjoint_of(vh)), near());
      const Tensor left = corner(Expr(u), a.dim(-2), k).tensor();
      const Tensor right = corner(Expr(vh), k, a.dim(-1)).tensor();
      const Tensor scaled = left * expand_dims(s, -2).astype(dtype());
      EXPECT_LE(distance(matmul(scaled, right), a), near());
      EXPECT_LE(distance(svdvals(a), s), near());
    }
  }
  EXPECT_EQ(svd(draw({0, 3})).vh.shape(), Shape(dtype(), {3, 3}));
  EXPECT_EQ(svdvals(draw({2, 0, 3})).shape(), Shape(real_dtype(dtype()), {2, 0}));
}

TEST(Spectra, OfWhatIsNotFiniteIsNaN) {
  const Tensor a = array<double>({{1, NAN}, {NAN, 1}});
  EXPECT_THAT(eigh(a).eigenvalues.to_vector<double>(), Each(IsNan()));
  EXPECT_THAT(svd(a).u.to_vector<double>(), Each(IsNan()));
  // Only one matrix of a batch.
  const Tensor both = stack({a, eye(2, 2, 0, f64)});
  EXPECT_THAT(svdvals(both).to_vector<double>(), ElementsAre(IsNan(), IsNan(), 1, 1));
}

TEST(FactorErrors, NameTheOperand) {
  EXPECT_THAT(error_of([] {
                cholesky(zeros({2, 3}));
              }),
              HasSubstr("cholesky: a is f32[2,3]; its last two axes must have the same size"));
  EXPECT_THAT(error_of([] { lu(zeros({3})); }),
              HasSubstr("lu: a is f32[3]; must have rank 2 or more"));
  EXPECT_THAT(error_of([] {
                svd(zeros({3, 3}, s32));
              }),
              HasSubstr("svd: a is s32[3,3]; must be of f32, f64, c64 or c128"));
  EXPECT_THAT(error_of([] {
                triangular_solve(zeros({2, 2}), zeros({3}), {.left_side = true});
              }),
              HasSubstr("triangular_solve: b is f32[3]; must have 2 rows, as a, f32[2,2], has"));
  EXPECT_THAT(error_of([] {
                triangular_solve(zeros({2, 2}), zeros({2}, f64));
              }),
              HasSubstr("triangular_solve: b is f64[2]; must be of f32 as a"));
  EXPECT_THAT(
      error_of([] {
        triangular_solve(zeros({2, 2, 2}), zeros({3, 2, 2}));
      }),
      HasSubstr("triangular_solve: the leading axes of the operands are f32[2] and f32[3]"));
  EXPECT_THAT(error_of([] { lu_pivots_to_permutation(zeros({3}, s32), 2); }),
              HasSubstr("lu_pivots_to_permutation: pivots are s32[3]; must be s32[.., k] with k at "
                        "most size, 2"));
}

}  // namespace
}  // namespace heddle::linalg
