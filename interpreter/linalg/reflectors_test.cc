// QR, with and without pivots, and the reductions to Hessenberg and tridiagonal form, by what they
// must satisfy.
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/interpreter/linalg/internal/testing.h"

namespace heddle::interpreter::linalg {
namespace {

using namespace linalg::testing;  // NOLINT: the helpers of these tests

template <class T>
using Reflectors = OfField<T>;
TYPED_TEST_SUITE(Reflectors, Fields);

TYPED_TEST(Reflectors, GeqrfAndOrgqrGiveQR) {
  using T = TypeParam;
  const std::string_view orgqr = std::is_same_v<T, double> ? "orgqr" : "ungqr";
  for (const Letter& letter : letters<T>()) {
    for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {6, 3}, {3, 1}, {100, 60}}) {
      const Literal a = random_literal<T>(letter.dtype, kBatch, m, n, 9);
      const std::string tau = base::cat(letter.dtype, "[", kBatch, ",", n, "]");
      const Literal out =
          call(target_of(letter.letter, "geqrf"), {a}, base::cat("(", a.shape(), ", ", tau, ")"));
      const Literal q = call(target_of(letter.letter, orgqr), {out.element(0), out.element(1)},
                             to_string(a.shape()));
      for (int64_t at = 0; at < kBatch; ++at) {
        const Matrix<T> r = triangle(rows_of(read_matrix<T>(out.element(0), at), 0, n), false);
        EXPECT_LE(unitarity(read_matrix<T>(q, at)), tolerance(letter.dtype, m));
        EXPECT_LE(distance(product(read_matrix<T>(q, at), r), read_matrix<T>(a, at)),
                  tolerance(letter.dtype, m));
        for (int64_t i = 0; i < n; ++i) EXPECT_EQ(imag_of(r(i, i)), 0);
      }
    }
  }
}

// Q c, Q^H c, c Q and c Q^H are what products with all of Q are.
TYPED_TEST(Reflectors, OrmqrMultipliesByQ) {
  using T = TypeParam;
  const bool is_real = std::is_same_v<T, double>;
  for (const Letter& letter : letters<T>()) {
    const Literal a = random_literal<T>(letter.dtype, kBatch, 5, 5, 9);
    const std::string tau = base::cat(letter.dtype, "[", kBatch, ",5]");
    const Literal out =
        call(target_of(letter.letter, "geqrf"), {a}, base::cat("(", a.shape(), ", ", tau, ")"));
    const Literal all = call(target_of(letter.letter, is_real ? "orgqr" : "ungqr"),
                             {out.element(0), out.element(1)}, to_string(a.shape()));
    for (int form = 0; form < 4; ++form) {
      const bool left = form < 2, transpose = form % 2 == 1;
      const Literal c = random_literal<T>(letter.dtype, kBatch, left ? 5 : 2, left ? 2 : 5, 4);
      const Literal got = call(target_of(letter.letter, is_real ? "ormqr" : "unmqr"),
                               {out.element(0), out.element(1), c}, to_string(c.shape()),
                               base::cat("{left = ", left ? "true" : "false",
                                         ", transpose = ", transpose ? "true" : "false", "}"));
      for (int64_t at = 0; at < kBatch; ++at) {
        const Matrix<T> q = read_matrix<T>(all, at), x = read_matrix<T>(c, at);
        const Matrix<T> factor = transpose ? adjoint(q) : q;
        EXPECT_LE(distance(read_matrix<T>(got, at), left ? product(factor, x) : product(x, factor)),
                  tolerance(letter.dtype, 5));
      }
    }
  }
}

TEST(Geqrf, HasTheSignsOfHouseholder) {
  const Literal a = Literal::from<double>(Shape(f64, {2, 2}), {3, 1, 4, 1});
  const Literal out = call("lapack_dgeqrf_ffi", {a}, "(f64[2,2], f64[2])");
  EXPECT_DOUBLE_EQ(out.element(0).to_double(0),
                   -5);  // of the sign opposite to the column's first element
  EXPECT_DOUBLE_EQ(out.element(0).to_double(2), 0.5);  // v = (1, 4 / (3 + 5))
  EXPECT_DOUBLE_EQ(out.element(1).to_double(0), 1.6);  // (-5 - 3) / -5
  EXPECT_DOUBLE_EQ(out.element(1).to_double(1), 0);    // nothing to eliminate
}

TYPED_TEST(Reflectors, Geqp3OrdersByNorms) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    const Literal a = random_literal<T>(letter.dtype, 1, 5, 4, 2);
    const Literal jpvt = Literal::from<int32_t>(Shape(s32, {1, 4}), {0, 0, 1, 0});
    const Literal out = call(target_of(letter.letter, "geqp3"), {a, jpvt},
                             base::cat("(", a.shape(), ", s32[1,4], ", letter.dtype, "[1,4])"));
    const Matrix<T> packed = read_matrix<T>(out.element(0), 0);
    const Literal product = call(
        target_of(letter.letter, std::is_same_v<T, double> ? "ormqr" : "unmqr"),
        {out.element(0), out.element(2), literal_of<T>(letter.dtype, {triangle(packed, false)})},
        to_string(a.shape()), "{left = true, transpose = false}");
    const Matrix<T> again = read_matrix<T>(product, 0);
    EXPECT_EQ(out.element(1).to_int64(0), 3);  // the fixed one
    for (int64_t j = 0; j < 4; ++j) {
      const Matrix<T> column = columns_of(read_matrix<T>(a, 0), out.element(1).to_int64(j) - 1, 1);
      EXPECT_LE(distance(columns_of(again, j, 1), column), tolerance(letter.dtype, 5));
      if (j > 1) {
        EXPECT_LE(std::abs(packed(j, j)), std::abs(packed(j - 1, j - 1)) * 1.0001);
      }
    }
  }
}

// geqp3's packed form, the columns' order counted from 0, and tau.
template <class T>
struct PivotedQR {
  Matrix<T> packed;
  std::vector<int64_t> order;
  Literal tau;
};
template <class T>
PivotedQR<T> pivoted_qr(const Matrix<T>& a, const std::vector<int32_t>& fixed) {
  const DType dtype = dtype_of<T>();
  const int64_t m = a.rows(), n = a.columns();
  const Literal out =
      call(target_of(kLetter<T>, "geqp3"),
           {literal_of<T>(dtype, {a}), Literal::from<int32_t>(Shape(s32, {1, n}), fixed)},
           base::cat("(", dtype, "[1,", m, ",", n, "], s32[1,", n, "], ", dtype, "[1,",
                     std::min(m, n), "])"));
  std::vector<int64_t> order;
  for (int64_t j = 0; j < n; ++j) order.push_back(out.element(1).to_int64(j) - 1);
  return {read_matrix<T>(out.element(0), 0), order, out.element(2)};
}

// Of tall and wide matrices, with no column fixed, some, and more than there are rows.
TYPED_TEST(Reflectors, PivotedQRPutTogetherIsA) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 4}, {3, 7}, {1, 4}, {70, 60}, {0, 3}}) {
    for (int64_t front : {0, 2, 3}) {
      const Matrix<T> a = random_matrix<T>(m, n, 6);
      std::vector<int32_t> fixed(static_cast<size_t>(n));
      for (int64_t j = 0; j < front; ++j) fixed[static_cast<size_t>(n - 1 - j)] = 1;
      const PivotedQR<T> found = pivoted_qr(a, fixed);
      const int64_t k = std::min(m, n);
      const Literal reflectors = literal_of<T>(dtype_of<T>(), {columns_of(found.packed, 0, k)});
      const Literal q = call(target_of(kLetter<T>, std::is_same_v<T, double> ? "orgqr" : "ungqr"),
                             {reflectors, found.tau}, to_string(reflectors.shape()));
      const Matrix<T> r = triangle(rows_of(found.packed, 0, k), false),
                      again = product(read_matrix<T>(q, 0), r);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = found.order[static_cast<size_t>(j)];
        EXPECT_EQ(fixed[static_cast<size_t>(from)] != 0, j < front);
        EXPECT_LE(distance(columns_of(again, j, 1), columns_of(a, from, 1)), tolerance(f64, m));
        if (j > front && j < m) {
          EXPECT_LE(std::abs(r(j, j)), std::abs(r(j - 1, j - 1)) * 1.0001);
        }
      }
    }
  }
}

// Powers of two change exponents alone: squares of such elements overflow, or vanish.
TYPED_TEST(Reflectors, ReductionsOfExtremeMatricesAreScaledOnes) {
  using T = TypeParam;
  const int64_t n = 6;
  const Matrix<T> a = hermitian(random_matrix<T>(n, n, 4), true);
  const DType dtype = dtype_of<T>();
  const auto reduced = [&](const Matrix<T>& x, std::string_view routine) {
    if (routine == "geqp3") {
      const PivotedQR<T> found = pivoted_qr(x, std::vector<int32_t>(static_cast<size_t>(n)));
      return std::pair(found.packed, found.tau);
    }
    const bool is_qr = routine == "geqrf", is_sytrd = routine.ends_with("trd");
    const Literal out =
        call(target_of(kLetter<T>, routine), {literal_of<T>(dtype, {x})},
             base::cat("(", dtype, "[1,6,6], ", is_sytrd ? "f64[1,6], f64[1,5], " : "", dtype,
                       is_qr ? "[1,6])" : "[1,5], s32[1])"),
             is_qr      ? "{}"
             : is_sytrd ? "{uplo = 76 : ui8}"
                        : "{high = 6 : i32, low = 1 : i32}");
    return std::pair(read_matrix<T>(out.element(0), 0), out.element(is_sytrd ? 3 : 1));
  };
  for (double factor : {0x1p-700, 0x1p700}) {
    Matrix<T> scaled = a;
    for (T& x : scaled.values()) x *= factor;
    for (std::string_view routine :
         {"geqrf", "geqp3", "gehrd", std::is_same_v<T, double> ? "sytrd" : "hetrd"}) {
      const auto [plain, tau] = reduced(a, routine);
      const auto [extreme, extreme_tau] = reduced(scaled, routine);
      // Rows of the other factor below the diagonal.
      const int64_t shift = routine.starts_with("geq") ? 0 : 1;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
          const double by = i <= j + shift ? factor : 1;
          EXPECT_LE(std::abs(extreme(i, j) - plain(i, j) * by), 1e-14 * by) << routine;
        }
      }
      EXPECT_LE(distance(read_matrix<T>(extreme_tau, 0), read_matrix<T>(tau, 0)), 1e-14);
    }
  }
}

// I - tau v v^H.
template <class T>
Matrix<T> reflector(const Matrix<T>& v, T tau) {
  Matrix<T> h = product(v, adjoint(v));
  for (T& x : h.values()) x *= -tau;
  for (int64_t i = 0; i < h.rows(); ++i) h(i, i) += T(1);
  return h;
}

TYPED_TEST(Reflectors, GehrdIsSimilarToA) {
  using T = TypeParam;
  const int64_t n = 5;
  const DType dtype = dtype_of<T>();
  const Literal a = random_literal<T>(dtype, 1, n, n, 8);
  const Literal out = call(target_of(kLetter<T>, "gehrd"), {a},
                           base::cat("(", a.shape(), ", ", dtype, "[1,4], s32[1])"),
                           "{high = 5 : i32, low = 1 : i32}");
  Matrix<T> h = read_matrix<T>(out.element(0), 0), q = Matrix<T>::identity(n, n);
  for (int64_t k = 0; k + 1 < n; ++k) {
    Matrix<T> v(n, 1);
    v(k + 1, 0) = T(1);
    for (int64_t i = k + 2; i < n; ++i) std::swap(v(i, 0), h(i, k));
    q = product(q, reflector(v, read_matrix<T>(out.element(1), 0)(0, k)));
  }
  EXPECT_LE(unitarity(q), 1e-14);
  EXPECT_LE(distance(product(product(q, h), adjoint(q)), read_matrix<T>(a, 0)), 1e-14);
}

TYPED_TEST(Reflectors, SytrdIsSimilarToA) {
  using T = TypeParam;
  const Letter letter = letters<T>()[1];
  const int64_t n = 5;
  const Literal a = random_literal<T>(letter.dtype, 1, n, n, 8);
  const std::string vector = base::cat(letter.dtype, "[1,4]");
  const std::string_view routine = std::is_same_v<T, double> ? "sytrd" : "hetrd";
  for (char uplo : {'L', 'U'}) {
    const Literal packed =
        call(target_of(letter.letter, routine), {a},
             base::cat("(", a.shape(), ", f64[1,5], f64[1,4], ", vector, ", s32[1])"),
             base::cat("{uplo = ", int{uplo}, " : ui8}"));
    const Matrix<T> got = read_matrix<T>(packed.element(0), 0), given = read_matrix<T>(a, 0);
    const Matrix<T> taus = read_matrix<T>(packed.element(3), 0);
    // H(k): lower, rows k + 1 on, from column k, in this order; upper, rows up to k, from column
    // k + 1, the last one first.
    Matrix<T> z = Matrix<T>::identity(n, n);
    for (int64_t step = 0; step + 1 < n; ++step) {
      const int64_t k = uplo == 'L' ? step : n - 2 - step;
      Matrix<T> v(n, 1);
      v(uplo == 'L' ? k + 1 : k, 0) = T(1);
      for (int64_t i = k + 2; uplo == 'L' && i < n; ++i) v(i, 0) = got(i, k);
      for (int64_t i = 0; uplo == 'U' && i < k; ++i) v(i, 0) = got(i, k + 1);
      z = product(z, reflector(v, taus(0, k)));
    }
    Matrix<T> middle(n, n);
    for (int64_t i = 0; i < n; ++i) {
      middle(i, i) = packed.element(1).to_double(i);
      EXPECT_EQ(imag_of(got(i, i)), 0);
      if (i + 1 < n) middle(i, i + 1) = middle(i + 1, i) = packed.element(2).to_double(i);
    }
    EXPECT_LE(distance(product(product(z, middle), adjoint(z)), hermitian(given, uplo == 'L')),
              1e-14)
        << uplo;
  }
}

}  // namespace
}  // namespace heddle::interpreter::linalg
