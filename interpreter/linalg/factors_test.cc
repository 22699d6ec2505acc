// Factors and solutions by what they must satisfy, for each element type, over batches.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/hlo/calls/lapack.h"
#include "heddle/interpreter/linalg/internal/fortran.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/solve.h"
#include "heddle/interpreter/linalg/internal/testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter::linalg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace linalg::testing;  // NOLINT: the helpers of these tests

template <class T>
using Factors = OfField<T>;
TYPED_TEST_SUITE(Factors, Fields);

template <class T>
Matrix<T> positive_definite(int64_t n, uint32_t seed) {
  const Matrix<T> b = random_matrix<T>(n, n, seed);
  Matrix<T> a = product(b, adjoint(b));
  for (int64_t i = 0; i < n; ++i) a(i, i) += 1.0;
  return a;
}

TYPED_TEST(Factors, CholeskyTimesItsAdjointIsA) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    for (bool lower : {true, false}) {
      std::vector<Matrix<T>> batch;
      for (uint32_t i = 0; i < kBatch; ++i) batch.push_back(positive_definite<T>(5, i));
      const Literal a = literal_of(letter.dtype, batch);
      const Literal l =
          op_testing::evaluate(Opcode::kCholesky, {a}, CholeskyAttrs{lower}, a.shape());
      for (int64_t at = 0; at < kBatch; ++at) {
        const Matrix<T> factor = read_matrix<T>(l, at);
        EXPECT_EQ(distance(factor, triangle(factor, lower)),
                  0);  // XLA's zeros in the other triangle
        const Matrix<T> again =
            lower ? product(factor, adjoint(factor)) : product(adjoint(factor), factor);
        EXPECT_LE(distance(again, read_matrix<T>(a, at)), 10 * tolerance(letter.dtype, 5));
      }
    }
  }
}

TYPED_TEST(Factors, CholeskyReadsOneTriangle) {
  using T = TypeParam;
  const DType dtype = letters<T>()[1].dtype;
  const Matrix<T> whole = positive_definite<T>(4, 1);
  for (bool lower : {true, false}) {
    const Literal a = literal_of<T>(dtype, {whole}),
                  half = literal_of<T>(dtype, {triangle(whole, lower)});
    EXPECT_EQ(op_testing::evaluate(Opcode::kCholesky, {half}, CholeskyAttrs{lower}, a.shape()),
              op_testing::evaluate(Opcode::kCholesky, {a}, CholeskyAttrs{lower}, a.shape()));
  }
}

TEST(Cholesky, OfWhatIsNotPositiveDefiniteIsNaN) {
  const Literal a = Literal::from<float>(Shape(f32, {2, 2, 2}), {1, 2, 2, 1, 4, 2, 2, 5});
  const Literal l = op_testing::evaluate(Opcode::kCholesky, {a}, CholeskyAttrs{true}, a.shape());
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(l.values<float>()[i]));
  EXPECT_THAT(l.values<float>().subspan(4), ElementsAre(2, 0, 1, 2));
}

TEST(Cholesky, OfNothingIsNothing) {
  const Shape shape(f32, {2, 0, 0});
  EXPECT_EQ(op_testing::evaluate(Opcode::kCholesky, {Literal(shape)}, CholeskyAttrs{}, shape)
                .element_count(),
            0);
  const Shape half(bf16, {0, 3, 3});
  EXPECT_EQ(op_testing::evaluate(Opcode::kCholesky, {Literal(half)}, CholeskyAttrs{}, half)
                .element_count(),
            0);
}

// What op(a) is, from the triangle and the diagonal that are read.
template <class T>
Matrix<T> applied(const Triangular& form, const Matrix<T>& a) {
  Matrix<T> out = triangle(a, form.lower);
  for (int64_t i = 0; form.unit_diagonal && i < a.rows(); ++i) out(i, i) = T(1);
  if (form.transposed == Transposed::kNo) return out;
  out = adjoint(out);
  for (T& x : out.values()) x = form.transposed == Transposed::kYes ? conjugate(x) : x;
  return out;
}

std::vector<Triangular> all_forms() {
  std::vector<Triangular> out;
  for (bool left : {true, false}) {
    for (bool lower : {true, false}) {
      for (bool unit : {true, false}) {
        for (Transposed transposed : {Transposed::kNo, Transposed::kYes, Transposed::kConjugate}) {
          out.push_back({left, lower, unit, transposed});
        }
      }
    }
  }
  return out;
}

template <class T>
Literal triangular_coefficients(DType dtype, uint32_t seed) {
  std::vector<Matrix<T>> batch;
  for (uint32_t i = 0; i < kBatch; ++i) {
    batch.push_back(random_matrix<T>(4, 4, seed + i));
    for (int64_t k = 0; k < 4; ++k) batch.back()(k, k) += 3.0;
  }
  return literal_of(dtype, batch);
}

template <class T>
void expect_solution(const Triangular& form, const Literal& a, const Literal& b, const Literal& x) {
  for (int64_t at = 0; at < kBatch; ++at) {
    const Matrix<T> op = applied(form, read_matrix<T>(a, at)), solution = read_matrix<T>(x, at);
    const Matrix<T> again = form.left ? product(op, solution) : product(solution, op);
    EXPECT_LE(distance(again, read_matrix<T>(b, at)), 10 * tolerance(a.shape().dtype(), 4));
  }
}

// Of solve(letter, form, a, b), for every form.
template <class T, class Solve>
void expect_solutions(const Solve& solve) {
  for (const Letter& letter : letters<T>()) {
    const Literal a = triangular_coefficients<T>(letter.dtype, 7);
    for (const Triangular& form : all_forms()) {
      const Literal b =
          random_literal<T>(letter.dtype, kBatch, form.left ? 4 : 3, form.left ? 3 : 4, 11);
      expect_solution<T>(form, a, b, solve(letter, form, a, b));
    }
  }
}

TYPED_TEST(Factors, TriangularSolveInEveryForm) {
  expect_solutions<TypeParam>(
      [](const Letter&, const Triangular& form, const Literal& a, const Literal& b) {
        constexpr TransposeA kTransposes[] = {TransposeA::kNoTranspose, TransposeA::kTranspose,
                                              TransposeA::kAdjoint};
        const TriangularSolveAttrs attrs{form.left, form.lower, form.unit_diagonal,
                                         kTransposes[static_cast<int>(form.transposed)]};
        return op_testing::evaluate(Opcode::kTriangularSolve, {a, b}, attrs, b.shape());
      });
}

// Beyond the size up to which the order of sums is LAPACK's.
TYPED_TEST(Factors, LargeTriangularSystemsInEveryForm) {
  using T = TypeParam;
  const int64_t n = 70;
  Matrix<T> a = random_matrix<T>(n, n, 7);
  for (int64_t k = 0; k < n; ++k) a(k, k) += static_cast<double>(n);
  for (Triangular form : all_forms()) {
    Matrix<T> coefficients = a;
    for (T& x : coefficients.values()) x /= form.unit_diagonal ? 100.0 : 1.0;
    const Matrix<T> b = random_matrix<T>(form.left ? n : 3, form.left ? 3 : n, 11);
    Matrix<T> x = b;
    solve_triangular(form, coefficients, x);
    const Matrix<T> op = applied(form, coefficients);
    EXPECT_LE(distance(form.left ? product(op, x) : product(x, op), b), tolerance(f64, n));
  }
}

TYPED_TEST(Factors, TrsmInEveryForm) {
  expect_solutions<TypeParam>([](const Letter& letter, const Triangular& form, const Literal& a,
                                 const Literal& b) {
    const char transposed = "NTC"[static_cast<int>(form.transposed)];
    const std::string config = base::cat("{diag = ", int{form.unit_diagonal ? 'U' : 'N'},
                                         " : ui8, side = ", int{form.left ? 'L' : 'R'},
                                         " : ui8, trans_x = ", int{transposed},
                                         " : ui8, uplo = ", int{form.lower ? 'L' : 'U'}, " : ui8}");
    return call(target_of(letter.letter, "trsm"), {a, b}, to_string(b.shape()), config);
  });
}

TYPED_TEST(Factors, PotrfLeavesTheOtherTriangle) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    for (auto [n, lower] :
         {std::pair<int64_t, bool>{4, true}, {4, false}, {70, true}, {70, false}}) {
      const Matrix<T> whole = positive_definite<T>(n, 3);
      const Literal a = literal_of<T>(letter.dtype, {whole, whole});
      const Literal out =
          call(target_of(letter.letter, "potrf"), {a}, base::cat("(", a.shape(), ", s32[2])"),
               base::cat("{uplo = ", int{lower ? 'L' : 'U'}, " : ui8}"));
      EXPECT_THAT(out.element(1).values<int32_t>(), ElementsAre(0, 0));
      const Matrix<T> given = read_matrix<T>(a, 0), got = read_matrix<T>(out.element(0), 1);
      for (int64_t i = 1; i < n; ++i)
        EXPECT_EQ(lower ? got(0, i) : got(i, 0), lower ? given(0, i) : given(i, 0));
      const Matrix<T> factor = triangle(got, lower);
      const Matrix<T> again =
          lower ? product(factor, adjoint(factor)) : product(adjoint(factor), factor);
      EXPECT_LE(distance(again, given), 10 * tolerance(letter.dtype, n));
    }
  }
}

TEST(Potrf, SaysWhichPivotIsNotPositive) {
  const Literal a = Literal::from<float>(Shape(f32, {2, 3, 3}),
                                         {1, 0, 0, 0, -1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, NAN});
  const Literal out = call("lapack_spotrf_ffi", {a}, "(f32[2,3,3], s32[2])", "{uplo = 76 : ui8}");
  EXPECT_THAT(out.element(1).values<int32_t>(), ElementsAre(2, 3));
}

// Beyond the first block, too.
TYPED_TEST(Factors, PotrfStopsAtTheFirstBadPivot) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    for (double bad : {-1.0, 0.0, double{NAN}}) {
      Matrix<T> a = positive_definite<T>(70, 3);
      for (int64_t i = 0; i < 70; ++i) a(i, 49) = a(49, i) = i == 49 ? T(bad) : T(0);
      const Literal out =
          call(target_of(letter.letter, "potrf"), {literal_of<T>(letter.dtype, {a})},
               base::cat("(", letter.dtype, "[1,70,70], s32[1])"), "{uplo = 76 : ui8}");
      EXPECT_EQ(out.element(1).to_int64(0), 50);
    }
  }
}

TYPED_TEST(Factors, GetrfOfAnyShapeGivesPLU) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5},
                        {6, 3},
                        {3, 6},
                        {1, 1},
                        {70, 70},
                        {90, 40},
                        {40, 90},
                        {3, 90}}) {
      const int64_t k = std::min(m, n);
      const Literal a = random_literal<T>(letter.dtype, kBatch, m, n, 5);
      const Literal out =
          call(target_of(letter.letter, "getrf"), {a},
               base::cat("(", a.shape(), ", s32[", kBatch, ",", k, "], s32[", kBatch, "])"));
      for (int64_t at = 0; at < kBatch; ++at) {
        const Matrix<T> lu = read_matrix<T>(out.element(0), at);
        Matrix<T> l = triangle(columns_of(lu, 0, k), true);
        for (int64_t i = 0; i < k; ++i) l(i, i) = T(1);
        Matrix<T> permuted = read_matrix<T>(a, at);
        for (int64_t i = 0; i < k; ++i) {
          const int64_t pivot = out.element(1).to_int64(at * k + i) - 1;
          for (int64_t j = 0; j < n; ++j) std::swap(permuted(i, j), permuted(pivot, j));
          // Chosen by |re| + |im|, which is within a factor of sqrt(2) of the size.
          for (int64_t row = i + 1; row < m; ++row) EXPECT_LE(std::abs(l(row, i)), 1.4143);
        }
        EXPECT_LE(distance(product(l, triangle(rows_of(lu, 0, k), false)), permuted),
                  10 * tolerance(letter.dtype, std::max(m, n)));
        EXPECT_EQ(out.element(2).to_int64(at), 0);
      }
    }
  }
}

TEST(Getrf, OfASingularMatrixSaysWhere) {
  const Literal a = Literal::from<double>(Shape(f64, {2, 2}), {1, 2, 2, 4});
  const Literal out = call("lapack_dgetrf_ffi", {a}, "(f64[2,2], s32[2], s32[])");
  EXPECT_EQ(out.element(2).to_int64(0), 2);
  EXPECT_THAT(out.element(0).values<double>(), ElementsAre(2, 4, 0.5, 0));
  EXPECT_THAT(out.element(1).values<int32_t>(), ElementsAre(2, 2));
}

// Where all pivots of a column are zero it goes on.
TEST(Getrf, OfALargeSingularMatrixSaysWhere) {
  Matrix<double> a = random_matrix<double>(60, 60, 5);
  for (int64_t j : {37, 50}) std::ranges::fill(a.column(j), 0.0);
  const Literal out = call("lapack_dgetrf_ffi", {literal_of<double>(f64, {a})},
                           "(f64[1,60,60], s32[1,60], s32[1])");
  EXPECT_EQ(out.element(2).to_int64(0), 38);
  EXPECT_EQ(out.element(1).to_int64(37), 38);
  EXPECT_NE(read_matrix<double>(out.element(0), 0)(59, 59), 0);
}

TEST(Getrf, TakesComplexPivotsByTheSumOfTheirParts) {
  const Literal a = Literal::from<Complex>(Shape(c128, {2, 1}), {Complex(5, 0), Complex(3, 3)});
  const Literal out = call("lapack_zgetrf_ffi", {a}, "(c128[2,1], s32[1], s32[])");
  EXPECT_EQ(out.element(1).to_int64(0), 2);
}

TYPED_TEST(Factors, GtsvSolvesWithAndWithoutSwaps) {
  using T = TypeParam;
  for (const Letter& letter : letters<T>()) {
    for (int64_t n : {1, 2, 3, 6}) {
      const Literal below = random_literal<T>(letter.dtype, 1, kBatch, n, 1),
                    above = random_literal<T>(letter.dtype, 1, kBatch, n, 2);
      const Literal middle = random_literal<T>(letter.dtype, 1, kBatch, n, 3);
      const Literal b = random_literal<T>(letter.dtype, kBatch, n, 2, 4);
      const Shape rows(letter.dtype, {kBatch, n});
      const std::string diagonal = to_string(rows);
      const Literal out =
          call(target_of(letter.letter, "gtsv"),
               {below.reshaped(rows), middle.reshaped(rows), above.reshaped(rows), b},
               base::cat("(", diagonal, ", ", diagonal, ", ", diagonal, ", ", b.shape(), ", s32[",
                         kBatch, "])"));
      for (int64_t at = 0; at < kBatch; ++at) {
        const Matrix<T> l = read_matrix<T>(below, 0), d = read_matrix<T>(middle, 0),
                        u = read_matrix<T>(above, 0);
        Matrix<T> a(n, n);
        for (int64_t i = 0; i < n; ++i) {
          a(i, i) = d(at, i);
          if (i > 0) a(i, i - 1) = l(at, i);
          if (i + 1 < n) a(i, i + 1) = u(at, i);
        }
        const Matrix<T> x = read_matrix<T>(out.element(3), at);
        double size = 1;
        for (const T& each : x.values()) size = std::max(size, std::abs(each));
        EXPECT_LE(distance(product(a, x), read_matrix<T>(b, at)),
                  size * tolerance(letter.dtype, n));
        EXPECT_EQ(out.element(4).to_int64(at), 0);
      }
    }
  }
}

TEST(LapackTargets, TakeNothingToo) {
  const Literal none(Shape(f32, {0, 3, 3})), empty(Shape(f32, {2, 0, 0}));
  EXPECT_EQ(call("lapack_spotrf_ffi", {none}, "(f32[0,3,3], s32[0])", "{uplo = 76 : ui8}")
                .element(0)
                .element_count(),
            0);
  EXPECT_THAT(call("lapack_spotrf_ffi", {empty}, "(f32[2,0,0], s32[2])", "{uplo = 76 : ui8}")
                  .element(1)
                  .values<int32_t>(),
              ElementsAre(0, 0));
  EXPECT_EQ(call("lapack_sgetrf_ffi", {Literal(Shape(f32, {0, 4}))}, "(f32[0,4], s32[0], s32[])")
                .element(0)
                .element_count(),
            0);
  EXPECT_EQ(call("lapack_sgeqrf_ffi", {Literal(Shape(f32, {4, 0}))}, "(f32[4,0], f32[0])")
                .element(0)
                .element_count(),
            0);
}

// Each target that the check knows has a function, and no other one has.
TEST(LapackTargets, AreThoseThatAreChecked) {
  for (const std::string& target : lapack_targets()) EXPECT_TRUE(find_lapack(target)) << target;
  for (const char* target : {"potrf", "lapack_spotrf", "lapack_sQr_ffi", "lapack_sungqr_ffi"})
    EXPECT_FALSE(find_lapack(target)) << target;
}

std::string error_of(std::string_view target, const std::vector<Literal>& arguments,
                     std::string_view result, std::string_view config) {
  return base::message_of(try_call(target, arguments, result, config).status());
}

TEST(LapackTargets, SayWhatIsWrong) {
  const Literal a(Shape(f32, {2, 3}));
  EXPECT_EQ(error_of("lapack_spotrf_ffi", {a}, "(f32[2,3], s32[])", "{uplo = 76 : ui8}"),
            "custom-call: lapack_spotrf_ffi: operand 0 is f32[2,3]; its last two dimensions must "
            "be equal");
  EXPECT_EQ(error_of("lapack_dgetrf_ffi", {a}, "(f64[2,3], s32[2], s32[])", "{}"),
            "custom-call: lapack_dgetrf_ffi: operand 0 is f32[2,3]; must be of f64 and of rank 2 "
            "or more");
  EXPECT_EQ(error_of("lapack_sgetrf_ffi", {a}, "(f32[2,3], s32[3], s32[])", "{}"),
            "custom-call: lapack_sgetrf_ffi: result is declared as (f32[2,3], s32[3], s32[]); its "
            "operands give (f32[2,3], s32[2], s32[])");
  EXPECT_THAT(
      error_of("lapack_spotrf_ffi", {Literal(Shape(f32, {2, 2}))}, "(f32[2,2], s32[])",
               "{uplo = 65 : ui8}"),
      HasSubstr("backend_config has uplo = 65; must be the number of one of the letters LU"));
  EXPECT_THAT(
      error_of("lapack_spotrf_ffi", {Literal(Shape(f32, {2, 2}))}, "(f32[2,2], s32[])", "{}"),
      HasSubstr("backend_config has no entry uplo"));
  EXPECT_THAT(error_of("lapack_sorgqr_ffi", {Literal(Shape(f32, {2, 3})), Literal(Shape(f32, {2}))},
                       "f32[2,3]", "{}"),
              HasSubstr("at least as many rows as columns"));
}

// What LAPACK itself refuses would end the process.
TEST(Gehrd, RowsThatAreNoRange) {
  for (const auto& [n, low, high, must] : {std::tuple{2, 2, 1, "in [1, 2], low not above high"},
                                           {2, 0, 2, "in [1, 2], low not above high"},
                                           {2, 1, 3, "in [1, 2], low not above high"},
                                           {0, 1, -1, "1 and 0"}}) {
    EXPECT_EQ(error_of("lapack_dgehrd_ffi", {Literal(Shape(f64, {n, n}))},
                       base::cat("(f64[", n, ",", n, "], f64[", std::max(n - 1, 0), "], s32[])"),
                       base::cat("{high = ", high, " : i32, low = ", low, " : i32}")),
              base::cat("custom-call: lapack_dgehrd_ffi: low is ", low, " and high ", high,
                        "; must be ", must));
  }
  EXPECT_EQ(error_of("lapack_dgehrd_ffi", {Literal(Shape(f64, {0, 0}))},
                     "(f64[0,0], f64[0], s32[])", "{high = 0 : i32, low = 1 : i32}"),
            "");
}

TEST(LapackTargets, WhatLapackRefusesDoesNotEndTheProcess) {
  const Int n = 2, low = 2, high = 1;
  Matrix<double> a(n, n);
  std::vector<double> tau(1), work(100);
  Int info = 0;
  call_fortran(lapack()->gehrd.of<double>(), n, low, high, a, stride_of(a), tau, work,
               size_of(work), info);
  EXPECT_EQ(info, -3);
  EXPECT_EQ(take_refusal(), "DGEHRD, argument 3");
  EXPECT_EQ(take_refusal(), "");
}

TEST(LapackTargets, AMissingLibraryIsAnError) {
  const Status status = load_lapack("libno_lapack.so.3").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(
      std::string(status.message()),
      ::testing::AllOf(::testing::StartsWith("LAPACK could not be loaded: libno_lapack.so.3: "),
                       ::testing::EndsWith("; install it (Debian: liblapack3)")));
  EXPECT_THAT(std::string(load_lapack("libc.so.6").status().message()),
              HasSubstr("undefined symbol: sgees_"));
}

// A start costs no LAPACK, whose libraries take 0.4 ms to load.
TEST(LapackTargets, NoProgramIsLinkedWithLapack) {
  const Lapack& found = lapack().value();
  void* const loaded = dlopen("liblapack.so.3", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(reinterpret_cast<void*>(found.geev.d), dlsym(loaded, "dgeev_"));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "dgeev_"), nullptr);
}

// Rows and columns are counted in 32 bits, and so is what a routine works in.
TEST(LapackTargets, WorkspaceIsCountedIn32Bits) {
  const Literal wide(Shape(f64, {0, 2'147'483'647}));
  EXPECT_EQ(error_of("lapack_dgeqrf_ffi", {wide}, "(f64[0,2147483647], f64[0])", "{}"),
            "custom-call: lapack_dgeqrf_ffi: operand 0 is f64[0,2147483647]; LAPACK counts its "
            "workspace in 32 bits");
}

TEST(Gees, DoesNotSort) {
  EXPECT_EQ(error_of("lapack_sgees_ffi", {Literal(Shape(f32, {1, 1}))},
                     "(f32[1,1], f32[1,1], f32[1], f32[1], s32[], s32[])",
                     "{mode = 86 : ui8, sort = 83 : ui8}"),
            "custom-call: lapack_sgees_ffi: backend_config has sort = S, and the call does not say "
            "which eigenvalues come first; must be N (jaxlib refuses S too)");
}

}  // namespace
}  // namespace heddle::interpreter::linalg
