// Forms of Schur and Hessenberg, and general eigenvalues, by the properties of their products.
#include "heddle/linalg/schur.h"

#include <algorithm>
#include <complex>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/linalg/functions.h"
#include "heddle/linalg/internal/testing.h"
#include "heddle/linalg/solving.h"
#include "heddle/linalg/spectra.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/ops/movement/indexing.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

DType complex_of(DType dtype) { return real_dtype(dtype) == f32 ? c64 : c128; }

class SchurForms : public OfDType {
 protected:
  // Each matrix size and batch once.
  template <class Check>
  void each(Check check) const {
    uint32_t seed = 1;
    for (const Dimensions& shape :
         std::vector<Dimensions>{{1, 1}, {2, 2}, {5, 5}, {0, 0}, {0, 3, 3}, {2, 3, 4, 4}, {17, 17}})
      check(random_tensor(shape, dtype(), seed++));
  }
  // Whether z t z^H is a, and z^H z one.
  void expect_factors(const Tensor& a, const Tensor& t, const Tensor& z) const {
    EXPECT_LE(distance(matmul(matmul(z, t), adjoint_of(z)), a.astype(t.dtype())), near())
        << to_string(a.shape());
    const Tensor one = eye(a.dim(-1), a.dim(-1), 0, t.dtype());
    EXPECT_LE(distance(matmul(adjoint_of(z), z), broadcast_to(one, a.shape().dimensions())),
              near());
  }
};
INSTANTIATE_TEST_SUITE_P(All, SchurForms, testing::Values(f32, f64, c64, c128),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST_P(SchurForms, HessenbergIsZeroBelowTheFirstDiagonalUnder) {
  each([&](const Tensor& a) {
    const Hessenberg found = hessenberg(a);
    expect_factors(a, found.h, found.q);
    EXPECT_EQ(distance(found.h, triu(found.h, -1)), 0);
  });
}

TEST_P(SchurForms, SchurIsTriangularAndUnitary) {
  each([&](const Tensor& a) {
    const Schur real = schur(a), complex = schur(a, SchurForm::kComplex);
    EXPECT_EQ(real.t.dtype(), dtype());
    EXPECT_EQ(complex.t.dtype(), complex_of(dtype()));
    expect_factors(a, real.t, real.z);
    expect_factors(a, complex.t, complex.z);
    EXPECT_EQ(distance(complex.t, triu(complex.t)), 0);
    const Schur turned = rsf2csf(real.t, real.z);
    expect_factors(a, turned.t, turned.z);
    EXPECT_EQ(distance(turned.t, triu(turned.t)), 0);
  });
}

TEST_P(SchurForms, EigenpairsAreOfTheMatrix) {
  each([&](const Tensor& a) {
    const Eig found = eig(a);
    const Tensor v = found.eigenvectors, w = found.eigenvalues;
    EXPECT_EQ(w.dtype(), complex_of(dtype()));
    EXPECT_LE(distance(matmul(a.astype(w.dtype()), v), v * expand_dims(w, -2)), 4 * near());
    EXPECT_LE(
        distance(vector_norm(v, 2, {-2}), full(w.shape().dimensions(), 1.0, real_dtype(dtype()))),
        near());
    EXPECT_LE(distance(eigvals(a), w), 4 * near());
    if (a.size() == 0) return;
    const Tensor greatest = argmax(abs(v), -2, /*keep_dims=*/true);  // of each column
    EXPECT_EQ(max(abs(imag(take_along_axis(v, greatest, -2)))).item<double>(), 0);
  });
}

TEST_P(SchurForms, SqrtmSquaredIsTheMatrix) {
  each([&](const Tensor& a) {
    const Tensor s = sqrtm(a);
    EXPECT_EQ(s.dtype(), complex_of(dtype()));
    EXPECT_LE(distance(matmul(s, s), a.astype(s.dtype())), 20 * near()) << to_string(a.shape());
    if (a.size() == 0) return;
    EXPECT_GE(min(real(eigvals(s))).item<double>(), -near());  // the principal root
  });
}

TEST_P(SchurForms, FunmOfAnExponentialIsExpm) {
  each([&](const Tensor& a) {
    const Tensor found = funm(a, [](const Tensor& w) { return exp(w); });
    const Tensor known = expm(a);
    const double size = a.size() == 0 ? 1 : max(abs(known)).item<double>();
    EXPECT_LE(distance(found, known.astype(found.dtype())), 100 * near() * size)
        << to_string(a.shape());
  });
}

TEST(SchurForms, FunmTakesAFunctionByItsName) {
  const Tensor a = array<double>({{1, 2}, {0, 3}});
  EXPECT_LE(distance(funm(a, exp), funm(a, [](const Tensor& w) { return exp(w); })), 0);
  Tensor (*none)(Operand) = nullptr;
  EXPECT_THAT(error_of([&] { funm(a, none); }), HasSubstr("funm: the function is a null"));
  EXPECT_THAT(error_of([&] { funm(a, [](const Tensor&) { return Tensor(); }); }),
              HasSubstr("funm: the result of its function has no value"));
}

TEST_P(SchurForms, SolveSylvesterSolves) {
  for (const Dimensions& batch : std::vector<Dimensions>{{}, {2, 3}, {0}}) {
    for (const auto& [m, n] :
         std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {5, 2}, {1, 3}, {0, 2}}) {
      const Tensor a = random_tensor(with_axes(batch, {m, m}), dtype(), 3);
      const Tensor b = random_tensor({n, n}, dtype(), 4) + 5.0 * eye(n, n, 0, dtype());
      const Tensor c = random_tensor(with_axes(batch, {m, n}), dtype(), 5);
      const Tensor x = solve_sylvester(a, b, c);
      EXPECT_LE(distance(matmul(a, x) + matmul(x, b), c), 10 * near());
    }
  }
}

TEST_P(SchurForms, TridiagonalEigenpairs) {
  if (is_complex(dtype())) {
    EXPECT_THAT(error_of([&] {
                  eigh_tridiagonal(random_tensor({3}, dtype()), random_tensor({2}, dtype()));
                }),
                HasSubstr("both must be real"));
    return;
  }
  for (const Dimensions& batch : std::vector<Dimensions>{{}, {2}}) {
    for (int64_t n : {0, 1, 2, 6}) {
      const Tensor d = random_tensor(with_axes(batch, {n}), dtype(), 6);
      const Tensor e = random_tensor(with_axes(batch, {std::max<int64_t>(n - 1, 0)}), dtype(), 7);
      const Eigh found = eigh_tridiagonal(d, e);
      ASSERT_EQ(found.eigenvalues.shape(), d.shape());
      for (int64_t i = 0; i < n; ++i) {  // row i of a v = v w
        const auto entry = [&](const Tensor& x, int64_t at) { return take(x, at, -1); };
        Tensor row = expand_dims(entry(d, i), -1) * take(found.eigenvectors, i, -2);
        if (i > 0)
          row = row + expand_dims(entry(e, i - 1), -1) * take(found.eigenvectors, i - 1, -2);
        if (i + 1 < n)
          row = row + expand_dims(entry(e, i), -1) * take(found.eigenvectors, i + 1, -2);
        EXPECT_LE(distance(row, take(found.eigenvectors, i, -2) * found.eigenvalues), near());
      }
    }
  }
}

TEST(SchurForms, ASingularMatrixWithoutARootGivesNan) {
  const Tensor none = sqrtm(array<double>({0, 1, 0, 0}, {2, 2}));
  EXPECT_TRUE(all(is_nan(abs(none))).item<bool>());
  const Tensor zero = sqrtm(zeros({3, 3}, f64));
  EXPECT_EQ(max(abs(zero)).item<double>(), 0);
}

TEST(SchurForms, NanGivesNanInItsMatrixAlone) {
  const Tensor a = array<double>({NAN, 1, 2, 3, 4, 1, 1, 3}, {2, 2, 2});
  for (const Tensor& x :
       {schur(a).t, schur(a, SchurForm::kComplex).z, eig(a).eigenvectors, sqrtm(a)}) {
    const Tensor bad = all(is_nan(abs(x)), {.axes = {1, 2}});
    EXPECT_THAT(bad.to_vector<bool>(), ElementsAre(true, false));
  }
}

TEST(Roots, AreThoseOfThePolynomial) {
  const auto found =
      roots(array<double>({2, -6, 4, 0})).to_vector<std::complex<double>>();  // 2 x (x - 1) (x - 2)
  std::vector<double> parts;
  for (const std::complex<double>& root : found) {
    EXPECT_EQ(root.imag(), 0);
    parts.push_back(root.real());
  }
  std::sort(parts.begin(), parts.end());
  EXPECT_THAT(parts, ElementsAre(0, testing::DoubleNear(1, 1e-14), testing::DoubleNear(2, 1e-14)));
  const auto shorter = roots(array<float>({0, 0, 1, 0, 4})).to_vector<std::complex<float>>();
  ASSERT_EQ(shorter.size(), 4U);
  EXPECT_NEAR(std::abs(shorter[0]), 2, 1e-6);
  EXPECT_EQ(shorter[0], std::conj(shorter[1]));
  EXPECT_TRUE(std::isnan(shorter[2].real()) && std::isnan(shorter[3].real()));
  EXPECT_TRUE(all(is_nan(real(roots(array<float>({0, 0, 0}))))).item<bool>());
  EXPECT_EQ(roots(array<float>({3})).size(), 0);
  EXPECT_EQ(roots(zeros({0}, f32)).size(), 0);
}

TEST(SchurForms, ErrorsNameTheOp) {
  const Tensor flat = zeros({2, 3}, f64), square = zeros({2, 2}, f64);
  const Tensor narrow = zeros({2, 2}, f32);
  EXPECT_THAT(error_of([&] { householder_product(square, zeros({1}, f32)); }),
              HasSubstr("householder_product: taus is f32[1]; must be of f64 as a"));
  EXPECT_THAT(error_of([&] { solve_sylvester(square, square, narrow); }),
              HasSubstr("solve_sylvester: c is f32[2,2]; must be of f64 as a"));
  EXPECT_THAT(error_of([&] { schur(flat); }), HasSubstr("schur: a is f64[2,3]; its last two axes"));
  EXPECT_THAT(error_of([&] {
                eig(zeros({2, 2}, s32));
              }),
              HasSubstr("eig: a is s32[2,2]; must be of f32"));
  EXPECT_THAT(error_of([&] { solve_sylvester(square, square, flat); }),
              HasSubstr("solve_sylvester: c is f64[2,3]; its matrices must be 2 x 2"));
  EXPECT_THAT(error_of([&] { funm(square, [](const Tensor& w) { return sum(w); }); }),
              HasSubstr("funm: fn gives c128[]; must give c128[2]"));
  EXPECT_THAT(error_of([&] { funm(square, nullptr); }), HasSubstr("funm: the function is a null"));
  EXPECT_THAT(error_of([&] { householder_product(flat, zeros({1}, f64)); }),
              HasSubstr("must be [.., m, n] and [.., k]"));
  EXPECT_THAT(error_of([&] {
                rsf2csf(square, zeros({3, 3}, f64));
              }),
              HasSubstr("rsf2csf: z is f64[3,3]"));
  EXPECT_THAT(error_of([&] { roots(square); }),
              HasSubstr("roots: p is f64[2,2]; it must be a vector"));
}

}  // namespace
}  // namespace heddle::linalg
