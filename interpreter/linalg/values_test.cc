// Eigenvalues and singular values by what they must satisfy, for each element type, over batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "heddle/interpreter/linalg/internal/testing.h"

namespace heddle::interpreter::linalg {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace linalg::testing;  // NOLINT: the helpers of these tests

template <class T>
using Values = OfField<T>;
TYPED_TEST_SUITE(Values, Fields);

template <class T>
Matrix<T> complexified(const Matrix<T>& a) {
  return a;
}
Matrix<Complex> complexified(const Matrix<double>& a) {
  return with_corner(Matrix<Complex>(a.rows(), a.columns()), a);
}

std::vector<double> numbers(const Literal& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.element_count(); ++i) out.push_back(x.to_double(i));
  return out;
}

constexpr std::string_view kSvdRoutines[] = {"gesdd", "gesvd"};

template <class T>
struct Svd {
  Matrix<T> u;
  std::vector<double> s;
  Matrix<T> vh;
  int64_t info = 0;
};
template <class T>
Svd<T> svd(const Matrix<T>& a, bool full, std::string_view routine) {
  const DType dtype = dtype_of<T>();
  const int64_t m = a.rows(), n = a.columns(), size = std::min(m, n);
  const Literal out =
      call(target_of(kLetter<T>, routine), {literal_of<T>(dtype, {a})},
           base::cat("(", dtype, "[1,", m, ",", n, "], f64[1,", size, "], ", dtype, "[1,", m, ",",
                     full ? m : size, "], ", dtype, "[1,", full ? n : size, ",", n, "], s32[1])"),
           full ? "{mode = 65 : ui8}" : "{mode = 83 : ui8}");
  return {read_matrix<T>(out.element(2), 0), numbers(out.element(1)),
          read_matrix<T>(out.element(3), 0), out.element(4).to_int64(0)};
}

template <class T>
struct HermitianEigen {
  Matrix<T> vectors;
  std::vector<double> values;
  int64_t info = 0;
};
template <class T>
HermitianEigen<T> hermitian_eigen(const Matrix<T>& a, bool lower) {
  const DType dtype = dtype_of<T>();
  const int64_t n = a.rows();
  const Literal out =
      call(target_of(kLetter<T>, std::is_same_v<T, double> ? "syevd" : "heevd"),
           {literal_of<T>(dtype, {a})},
           base::cat("(", dtype, "[1,", n, ",", n, "], f64[1,", n, "], s32[1])"),
           base::cat("{mode = 86 : ui8, uplo = ", int{lower ? 'L' : 'U'}, " : ui8}"));
  return {read_matrix<T>(out.element(0), 0), numbers(out.element(1)), out.element(2).to_int64(0)};
}

// The types of eigenvalues among results: two of parts, or one.
template <class T>
std::string values_type(int64_t n) {
  const std::string one = base::cat(dtype_of<T>(), "[1,", n, "]");
  return std::is_same_v<T, double> ? base::cat(one, ", ", one) : one;
}

template <class T>
struct Schur {
  Matrix<T> t, z;
  int64_t info = 0;
};
template <class T>
Schur<T> schur(const Matrix<T>& a) {
  const Literal given = literal_of<T>(dtype_of<T>(), {a});
  const Literal out = call(target_of(kLetter<T>, "gees"), {given},
                           base::cat("(", given.shape(), ", ", given.shape(), ", ",
                                     values_type<T>(a.rows()), ", s32[1], s32[1])"),
                           "{mode = 86 : ui8, sort = 78 : ui8}");
  return {read_matrix<T>(out.element(0), 0), read_matrix<T>(out.element(1), 0),
          out.element(std::is_same_v<T, double> ? 5 : 4).to_int64(0)};
}

struct Eigenpairs {
  std::vector<Complex> values;
  Matrix<Complex> left, right;
  int64_t info = 0;
};
template <class T>
Eigenpairs eigenpairs(const Matrix<T>& a) {
  const int64_t n = a.rows();
  const std::string vectors = base::cat("c128[1,", n, ",", n, "]");
  const Literal out =
      call(target_of(kLetter<T>, "geev"), {literal_of<T>(dtype_of<T>(), {a})},
           base::cat("(", values_type<T>(n), ", ", vectors, ", ", vectors, ", s32[1])"),
           "{compute_left = 86 : ui8, compute_right = 86 : ui8}");
  std::vector<Complex> values;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, double>)
      values.emplace_back(out.element(0).to_double(i), out.element(1).to_double(i));
    if constexpr (std::is_same_v<T, Complex>)
      values.push_back(out.element(0).values<Complex>()[static_cast<size_t>(i)]);
  }
  const int64_t next = std::is_same_v<T, double> ? 2 : 1;
  return {values, read_matrix<Complex>(out.element(next), 0),
          read_matrix<Complex>(out.element(next + 1), 0), out.element(next + 2).to_int64(0)};
}

// Of a vector that neither overflows nor vanishes.
template <class T>
double norm_of(std::span<const T> x) {
  double sum = 0;
  for (const T& each : x) sum += std::norm(each);
  return std::sqrt(sum);
}

TYPED_TEST(Values, SvdPutTogetherIsA) {
  using T = TypeParam;
  // Square, tall, slender enough for a QR factor first, and each on its side; past the sizes that
  // sweep in one piece.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1},
                      {2, 2},
                      {5, 5},
                      {6, 5},
                      {5, 6},
                      {9, 3},
                      {3, 9},
                      {30, 30},
                      {7, 1},
                      {1, 7}}) {
    for (bool full : {false, true}) {
      const Matrix<T> a = random_matrix<T>(m, n, static_cast<uint32_t>(m * 10 + n));
      for (std::string_view routine : kSvdRoutines) {
        const Svd<T> found = svd(a, full, routine);
        EXPECT_EQ(found.info, 0);
        EXPECT_TRUE(std::is_sorted(found.s.rbegin(), found.s.rend()));
        EXPECT_GE(found.s.back(), 0);
        EXPECT_LE(unitarity(found.u), 1e-13);
        EXPECT_LE(unitarity(adjoint(found.vh)), 1e-13);
        const Matrix<T> middle = testing::diagonal<T>(found.s, found.u.columns(), found.vh.rows());
        EXPECT_LE(distance(product(product(found.u, middle), found.vh), a), 1e-13)
            << m << "x" << n << full;
      }
    }
  }
}

TYPED_TEST(Values, SvdOfDeficientAndExtremeMatrices) {
  using T = TypeParam;
  const Matrix<T> column = random_matrix<T>(6, 1, 1), row = random_matrix<T>(1, 6, 2),
                  tall = adjoint(row);
  for (double factor : {1.0, 0.0, 1e-300, 1e300}) {
    Matrix<T> a = product(column, row);
    for (T& x : a.values()) x *= factor;
    const Svd<T> found = svd(a, true, "gesdd");
    EXPECT_EQ(found.info, 0);
    EXPECT_LE(unitarity(found.u), 1e-14);
    EXPECT_NEAR(found.s[0] / (factor == 0 ? 1 : factor),
                factor == 0 ? 0 : norm_of(column.column(0)) * norm_of(tall.column(0)), 1e-14);
    for (size_t i = 1; i < 6; ++i) EXPECT_LE(found.s[i], 1e-15 * found.s[0]);
  }
}

TYPED_TEST(Values, SvdOfOneHugeElement) {
  using T = TypeParam;
  Matrix<T> a = random_matrix<T>(64, 64, 1);
  a(0, 3) = 1e300;
  for (std::string_view routine : kSvdRoutines) {
    const Svd<T> found = svd(a, false, routine);
    EXPECT_EQ(found.info, 0);
    EXPECT_NEAR(found.s[0] / 1e300, 1, 1e-14);
  }
}

TYPED_TEST(Values, GesddOverABatch) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    const Literal a = random_literal<T>(letter.dtype, 3, 4, 3, 6);
    const DType real = real_part(letter.dtype);
    const Literal out = call(target_of(letter.letter, "gesdd"), {a},
                             base::cat("(", a.shape(), ", ", real, "[3,3], ", letter.dtype,
                                       "[3,4,3], ", letter.dtype, "[3,3,3], s32[3])"),
                             "{mode = 83 : ui8}");
    EXPECT_THAT(out.element(4).values<int32_t>(), Each(0));
    for (int64_t at = 0; at < 3; ++at) {
      std::vector<double> s;
      for (int64_t i = 0; i < 3; ++i) s.push_back(out.element(1).to_double(at * 3 + i));
      const Matrix<T> again =
          product(product(read_matrix<T>(out.element(2), at), testing::diagonal<T>(s, 3, 3)),
                  read_matrix<T>(out.element(3), at));
      EXPECT_LE(distance(again, read_matrix<T>(a, at)), tolerance(letter.dtype, 4));
    }
  }
}

TYPED_TEST(Values, HermitianVectorsTurnAToItsValues) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 6, 40}) {
    for (bool lower : {true, false}) {
      const Matrix<T> a = random_matrix<T>(n, n, static_cast<uint32_t>(n));
      const HermitianEigen<T> found = hermitian_eigen(a, lower);
      EXPECT_EQ(found.info, 0);
      EXPECT_TRUE(std::is_sorted(found.values.begin(), found.values.end()));
      EXPECT_LE(unitarity(found.vectors), 1e-13);
      const Matrix<T> right = product(found.vectors, testing::diagonal<T>(found.values, n, n));
      EXPECT_LE(distance(product(hermitian(a, lower), found.vectors), right), 1e-13) << n;
    }
  }
}

TYPED_TEST(Values, HermitianValuesThatRepeat) {
  using T = TypeParam;
  const HermitianEigen<T> found = hermitian_eigen(Matrix<T>::identity(5, 5), true);
  EXPECT_THAT(found.values, Each(1));
  EXPECT_EQ(distance(found.vectors, Matrix<T>::identity(5, 5)), 0);
}

TYPED_TEST(Values, SyevdOverABatchReadsItsTriangle) {
  using T = TypeParam;
  const std::string_view routine = std::is_same_v<T, double> ? "syevd" : "heevd";
  for (const Letter& letter : letters<T>()) {
    const Literal a = random_literal<T>(letter.dtype, 2, 4, 4, 6);
    const Literal out =
        call(target_of(letter.letter, routine), {a},
             base::cat("(", a.shape(), ", ", real_part(letter.dtype), "[2,4], s32[2])"),
             "{mode = 86 : ui8, uplo = 85 : ui8}");
    for (int64_t at = 0; at < 2; ++at) {
      const Matrix<T> v = read_matrix<T>(out.element(0), at);
      Matrix<T> right = v;
      for (int64_t j = 0; j < 4; ++j) {
        for (T& x : right.column(j)) x *= out.element(1).to_double(at * 4 + j);
      }
      EXPECT_LE(distance(product(hermitian(read_matrix<T>(a, at), false), v), right),
                tolerance(letter.dtype, 4));
    }
  }
}

TYPED_TEST(Values, SchurFormIsSimilarToA) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 4, 7, 30}) {
    const Matrix<T> a = random_matrix<T>(n, n, static_cast<uint32_t>(n + 100));
    const Schur<T> found = schur(a);
    EXPECT_EQ(found.info, 0);
    EXPECT_LE(unitarity(found.z), 1e-13);
    EXPECT_LE(distance(product(product(found.z, found.t), adjoint(found.z)), a), 1e-13) << n;
    for (int64_t j = 0; j + 1 < n; ++j) {
      for (int64_t i = j + 2; i < n; ++i) EXPECT_EQ(found.t(i, j), T(0));
      if (found.t(j + 1, j) == T(0)) continue;
      EXPECT_TRUE((std::is_same_v<T, double>));  // blocks: of real matrices alone, and standardised
      EXPECT_EQ(found.t(j, j), found.t(j + 1, j + 1));
      EXPECT_LT(real_of(found.t(j + 1, j)) * real_of(found.t(j, j + 1)), 0);
      if (j + 2 < n) {
        EXPECT_EQ(found.t(j + 2, j + 1), T(0));
      }
    }
  }
}

template <class T>
void expect_eigenpairs(const Matrix<T>& a, double limit) {
  const int64_t n = a.rows();
  const Eigenpairs found = eigenpairs(a);
  EXPECT_EQ(found.info, 0);
  const Matrix<Complex> whole = complexified(a), conjugated = adjoint(whole);
  for (int64_t j = 0; j < n; ++j) {
    const Complex w = found.values[static_cast<size_t>(j)];
    const Matrix<Complex> right = columns_of(found.right, j, 1),
                          left = columns_of(found.left, j, 1);
    Matrix<Complex> scaled = right, scaled_left = left;
    for (Complex& x : scaled.values()) x *= w;
    for (Complex& x : scaled_left.values()) x *= std::conj(w);
    EXPECT_LE(distance(product(whole, right), scaled), limit) << "right " << j << " of " << n;
    EXPECT_LE(distance(product(conjugated, left), scaled_left), limit)
        << "left " << j << " of " << n;
    EXPECT_NEAR(norm_of(right.column(0)), 1, 1e-14);
    EXPECT_NEAR(norm_of(left.column(0)), 1, 1e-14);
  }
}

// Of more than 25 rows LAPACK cuts in two: along the cut's vector, every eigenvector is negative. A
// matrix that is tridiagonal already shows its own.
TEST(HermitianEigen, LargeOnesHaveTheSignsOfTheCut) {
  const int64_t n = 30;
  for (double coupling : {1.0, -1.0}) {
    Matrix<double> a(n, n);
    for (int64_t i = 0; i < n; ++i) {
      a(i, i) = static_cast<double>(i % 7);
      if (i + 1 < n) a(i + 1, i) = a(i, i + 1) = coupling;
    }
    const HermitianEigen<double> found = hermitian_eigen(a, true);
    EXPECT_LE(distance(product(a, found.vectors),
                       product(found.vectors, testing::diagonal<double>(found.values, n, n))),
              1e-13);
    for (int64_t j = 0; j < n; ++j)
      EXPECT_LT(found.vectors(14, j) + coupling * found.vectors(15, j), 0) << j;
  }
}

// gesdd divides from 26 on, gesvd never does.
TYPED_TEST(Values, LargeSvdPutTogetherIsA) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{40, 40}, {40, 30}, {30, 40}, {90, 30}}) {
    const Matrix<T> a = random_matrix<T>(m, n, 3);
    for (std::string_view routine : kSvdRoutines) {
      const Svd<T> found = svd(a, false, routine);
      const int64_t k = std::min(m, n);
      EXPECT_EQ(found.info, 0);
      EXPECT_LE(unitarity(found.u), 1e-13);
      EXPECT_LE(unitarity(adjoint(found.vh)), 1e-13);
      EXPECT_LE(
          distance(product(product(found.u, testing::diagonal<T>(found.s, k, k)), found.vh), a),
          1e-13);
    }
  }
}

TYPED_TEST(Values, EigenvectorsOnBothSides) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 4, 8, 25})
    expect_eigenpairs(random_matrix<T>(n, n, static_cast<uint32_t>(n)), 1e-12);
}

TEST(Eigenpairs, OfTriangularPermutedAndBadlyScaledMatrices) {
  Matrix<double> upper(4, 4), lower(4, 4), scaled = random_matrix<double>(4, 4, 5), rotation(3, 3);
  for (int64_t j = 0; j < 4; ++j) {
    for (int64_t i = 0; i <= j; ++i) upper(i, j) = lower(j, i) = static_cast<double>(1 + i + 2 * j);
  }
  for (int64_t i = 0; i < 4; ++i) {
    scaled(i, 3) *= 1e6;
    scaled(3, i) *= 1e-6;
  }
  rotation(0, 1) = rotation(1, 2) = rotation(2, 0) = 1;
  expect_eigenpairs(upper, 1e-12);
  expect_eigenpairs(lower, 1e-12);
  expect_eigenpairs(rotation, 1e-13);
  expect_eigenpairs(scaled, 1e-7);
  expect_eigenpairs(Matrix<double>::identity(3, 3), 0);
  expect_eigenpairs(Matrix<double>(2, 2), 0);
}

TEST(Eigenpairs, ComplexValuesOfARealMatrixComeInPairs) {
  Matrix<double> a(2, 2);
  a(0, 1) = -2;
  a(1, 0) = 2;
  const Eigenpairs found = eigenpairs(a);
  EXPECT_LE(std::abs(found.values[0] - Complex(0, 2)), 1e-15);
  EXPECT_EQ(found.values[1], std::conj(found.values[0]));
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(found.right(i, 0), std::conj(found.right(i, 1)));
}

TEST(Geev, GivesWhatIsAskedFor) {
  const Literal a = Literal::from<double>(Shape(f64, {1, 2, 2}), {0, 1, -1, 0});
  const Literal out =
      call("lapack_dgeev_ffi", {a}, "(f64[1,2], f64[1,2], c128[1,2,2], c128[1,2,2], s32[1])",
           "{compute_left = 78 : ui8, compute_right = 86 : ui8}");
  EXPECT_THAT(out.element(0).values<double>(), ElementsAre(0, 0));
  EXPECT_THAT(out.element(1).values<double>(), ElementsAre(1, -1));
  EXPECT_THAT(out.element(2).values<Complex>(), Each(Complex(0)));
  EXPECT_NEAR(std::abs(out.element(3).values<Complex>()[0]), std::sqrt(0.5), 1e-15);
  const Literal c = Literal::from<std::complex<float>>(Shape(c64, {1, 1}), {{2, 3}});
  const Literal one = call("lapack_cgeev_ffi", {c}, "(c64[1], c64[1,1], c64[1,1], s32[])",
                           "{compute_left = 86 : ui8, compute_right = 86 : ui8}");
  EXPECT_EQ(one.element(0).values<std::complex<float>>()[0], std::complex<float>(2, 3));
  EXPECT_EQ(one.element(2).values<std::complex<float>>()[0], std::complex<float>(1));
}

TEST(Gees, GivesSchurVectors) {
  const Literal a = random_literal<double>(f64, 2, 4, 4, 12);
  const Literal out =
      call("lapack_dgees_ffi", {a}, "(f64[2,4,4], f64[2,4,4], f64[2,4], f64[2,4], s32[2], s32[2])",
           "{mode = 86 : ui8, sort = 78 : ui8}");
  for (int64_t at = 0; at < 2; ++at) {
    const Matrix<double> t = read_matrix<double>(out.element(0), at),
                         z = read_matrix<double>(out.element(1), at);
    EXPECT_LE(distance(product(product(z, t), adjoint(z)), read_matrix<double>(a, at)), 1e-14);
  }
  EXPECT_THAT(
      base::message_of(try_call("lapack_dgees_ffi", {a},
                                "(f64[2,4,4], f64[2,4,4], f64[2,4], f64[2,4], s32[2], s32[2])",
                                "{mode = 86 : ui8, sort = 83 : ui8}")
                           .status()),
      HasSubstr("must be N"));
}

// Whatever stands beside it in the batch is not touched.
TEST(LapackValues, OfNaNAreNaN) {
  const Literal a = Literal::from<float>(Shape(f32, {2, 2, 2}), {NAN, 1, 1, 2, 3, 0, 0, 4});
  const Literal values = call("lapack_ssyevd_ffi", {a}, "(f32[2,2,2], f32[2,2], s32[2])",
                              "{mode = 86 : ui8, uplo = 76 : ui8}");
  EXPECT_TRUE(std::isnan(values.element(1).to_double(0)));
  EXPECT_NE(values.element(2).to_int64(0), 0);
  EXPECT_EQ(values.element(1).to_double(2), 3);
  const Literal svd =
      call("lapack_sgesdd_ffi", {a}, "(f32[2,2,2], f32[2,2], f32[2,2,2], f32[2,2,2], s32[2])",
           "{mode = 65 : ui8}");
  EXPECT_TRUE(std::isnan(svd.element(1).to_double(1)));
  EXPECT_EQ(svd.element(1).to_double(2), 4);
}

TEST(LapackValues, WithoutSingularVectorsEitherSizeIsDeclared) {
  for (const char* result : {"(f32[1,3], f32[1], f32[1,1], f32[1,3], s32[])",
                             "(f32[1,3], f32[1], f32[1,1], f32[3,3], s32[])"}) {
    const Literal a = Literal::from<float>(Shape(f32, {1, 3}), {2, -1, 2});
    const Literal svd = call("lapack_sgesdd_ffi", {a}, result, "{mode = 78 : ui8}");
    EXPECT_NEAR(svd.element(1).to_double(0), 3, 1e-6);
  }
  const Literal a = Literal::from<float>(Shape(f32, {3, 1}), {2, -1, 2});
  for (const char* result : {"(f32[3,1], f32[1], f32[3,1], f32[1,1], s32[])",
                             "(f32[3,1], f32[1], f32[3,3], f32[1,1], s32[])"}) {
    const Literal svd = call("lapack_sgesdd_ffi", {a}, result, "{mode = 78 : ui8}");
    EXPECT_NEAR(svd.element(1).to_double(0), 3, 1e-6);
  }
}

TEST(LapackValues, OfNothing) {
  const Literal empty(Shape(f32, {2, 0, 0}));
  EXPECT_EQ(call("lapack_ssyevd_ffi", {empty}, "(f32[2,0,0], f32[2,0], s32[2])",
                 "{mode = 86 : ui8, uplo = 76 : ui8}")
                .element(1)
                .element_count(),
            0);
  const Literal none(Shape(f32, {0, 3}));
  const Literal svd = call("lapack_sgesdd_ffi", {none},
                           "(f32[0,3], f32[0], f32[0,0], f32[3,3], s32[])", "{mode = 65 : ui8}");
  EXPECT_THAT(svd.element(3).values<float>(), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_EQ(
      call("lapack_sgeev_ffi", {empty}, "(f32[2,0], f32[2,0], c64[2,0,0], c64[2,0,0], s32[2])",
           "{compute_left = 86 : ui8, compute_right = 86 : ui8}")
          .element(0)
          .element_count(),
      0);
}

}  // namespace
}  // namespace heddle::interpreter::linalg
