#include "heddle/transform/lapack/expand.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "heddle/interpreter/evaluate.h"
#include "heddle/transform/lapack/support_test.h"

namespace heddle::transform {
namespace {

using Complex = std::complex<double>;

// One call on its operands.
hlo::Module program(const std::string& target, const std::vector<Literal>& operands,
                    const std::string& result, const std::string& config) {
  std::string text = "HloModule m\nENTRY main {\n", names;
  for (size_t i = 0; i < operands.size(); ++i) {
    base::append(text, "  a", i, " = ", operands[i].shape(), " parameter(", i, ")\n");
    base::append(names, i == 0 ? "" : ", ", "a", i);
  }
  base::append(text, "  ROOT r = ", result, " custom-call(", names, "), custom_call_target=\"",
               target, "\", api_version=API_VERSION_TYPED_FFI, backend_config=", config, "\n}\n");
  return parsed(text);
}

// The results by the loops, and by the evaluator's own LAPACK.
Literal by_loops(const std::string& target, const std::vector<Literal>& operands,
                 const std::string& result, const std::string& config, bool unrolls = false) {
  return interpreter::evaluate(expanded(program(target, operands, result, config), unrolls),
                               operands)
      .value();
}
Literal by_evaluator(const std::string& target, const std::vector<Literal>& operands,
                     const std::string& result, const std::string& config) {
  return interpreter::evaluate(program(target, operands, result, config), operands).value();
}

Complex number(const Literal& x, size_t i) {
  if (x.shape().dtype() == c128) return x.values<Complex>()[i];
  if (x.shape().dtype() == c64) return Complex(x.values<std::complex<float>>()[i]);
  return x.to_double(static_cast<int64_t>(i));
}

void set(Literal& x, size_t i, Complex value) {
  const DType dtype = x.shape().dtype();
  if (dtype == f32) x.mutable_values<float>()[i] = static_cast<float>(value.real());
  if (dtype == f64) x.mutable_values<double>()[i] = value.real();
  if (dtype == c64) x.mutable_values<std::complex<float>>()[i] = std::complex<float>(value);
  if (dtype == c128) x.mutable_values<Complex>()[i] = value;
}

Literal random_literal(DType dtype, std::vector<int64_t> sizes, uint32_t seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  Literal out(Shape(dtype, std::move(sizes)));
  for (size_t i = 0; i < static_cast<size_t>(out.element_count()); ++i) {
    const double re = normal(bits);
    set(out, i, {re, normal(bits)});
  }
  return out;
}

// Matrix number `at` of a batch, or a vector as a diagonal.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<Complex> values;
  Complex& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  Complex operator()(int64_t i, int64_t j) const {
    return values[static_cast<size_t>(i * columns + j)];
  }
};

Matrix matrix_of(const Literal& x, int64_t at) {
  const Shape& shape = x.shape();
  const int64_t m = shape.dimension(shape.rank() - 2), n = shape.dimension(shape.rank() - 1);
  Matrix out{m, n, {}};
  for (int64_t i = 0; i < m * n; ++i)
    out.values.push_back(number(x, static_cast<size_t>(at * m * n + i)));
  return out;
}

// [m,n] with row `at` of x on its diagonal.
Matrix diagonal_of(const Literal& x, int64_t at, int64_t m, int64_t n) {
  Matrix out{m, n, std::vector<Complex>(static_cast<size_t>(m * n))};
  const int64_t size = x.shape().dimension(x.shape().rank() - 1);
  for (int64_t i = 0; i < size; ++i) out(i, i) = number(x, static_cast<size_t>(at * size + i));
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.columns, std::vector<Complex>(static_cast<size_t>(a.rows * b.columns))};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

Matrix adjoint(const Matrix& a) {
  Matrix out{a.columns, a.rows, std::vector<Complex>(a.values.size())};
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) out(j, i) = std::conj(a(i, j));
  }
  return out;
}

// The Frobenius norm of a - b; NaN where one is.
double distance(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += std::norm(a.values[i] - b.values[i]);
  return std::sqrt(sum);
}
double size_of(const Matrix& a) {
  return distance(a, {a.rows, a.columns, std::vector<Complex>(a.values.size())});
}

// How far columns are from orthonormal.
double unitarity(const Matrix& a) {
  Matrix one{a.columns, a.columns,
             std::vector<Complex>(static_cast<size_t>(a.columns * a.columns))};
  for (int64_t i = 0; i < a.columns; ++i) one(i, i) = 1;
  return distance(product(adjoint(a), a), one);
}

double epsilon_of(DType dtype) {
  return real_part(dtype) == f32 ? std::numeric_limits<float>::epsilon()
                                 : std::numeric_limits<double>::epsilon();
}

bool all_nan(const Matrix& a) {
  return std::ranges::all_of(a.values, [](Complex x) { return std::isnan(x.real()); });
}

std::string letter_of(DType dtype) {
  if (dtype == f32) return "s";
  if (dtype == f64) return "d";
  return dtype == c64 ? "c" : "z";
}

// Hermitian parts of random matrices.
Literal random_hermitian(DType dtype, int64_t batch, int64_t n, uint32_t seed) {
  Literal out = random_literal(dtype, {batch, n, n}, seed);
  for (int64_t at = 0; at < batch; ++at) {
    const Matrix a = matrix_of(out, at), b = adjoint(a);
    for (size_t i = 0; i < a.values.size(); ++i)
      set(out, static_cast<size_t>(at) * a.values.size() + i, (a.values[i] + b.values[i]) / 2.0);
  }
  return out;
}

std::string eigh_target(DType dtype) {
  return base::cat("lapack_", letter_of(dtype), is_complex(dtype) ? "heevd" : "syevd", "_ffi");
}
std::string eigh_result(const Shape& a) {
  const Shape values(real_part(a.dtype()), {a.dimension(0), a.dimension(1)});
  return base::cat("(", a, ", ", values, ", s32[", a.dimension(0), "])");
}
Literal eigh_by_loops(const Literal& a, char uplo = 'L', char mode = 'V') {
  return by_loops(eigh_target(a.shape().dtype()), {a}, eigh_result(a.shape()),
                  base::cat("{mode = ", int{mode}, " : ui8, uplo = ", int{uplo}, " : ui8}"));
}

// a v = v w with orthonormal v and ascending w, to the rounding of matrices of a's size.
void expect_eigenpairs(const Literal& a, const Literal& out) {
  const int64_t n = a.shape().dimension(1);
  for (int64_t at = 0; at < a.shape().dimension(0); ++at) {
    SCOPED_TRACE(base::cat(a.shape(), " matrix ", at));
    const Matrix x = matrix_of(a, at), v = matrix_of(out.element(0), at),
                 w = diagonal_of(out.element(1), at, n, n);
    const double unit = epsilon_of(a.shape().dtype()) * static_cast<double>(n + 4);
    EXPECT_LE(distance(product(x, v), product(v, w)), 4 * unit * size_of(x));
    EXPECT_LE(unitarity(v), 4 * unit);
    for (int64_t i = 1; i < n; ++i) EXPECT_LE(w(i - 1, i - 1).real(), w(i, i).real());
    EXPECT_EQ(out.element(2).to_int64(at), 0);
  }
}

class LoopsOf : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Numbers, LoopsOf, ::testing::Values(f32, f64, c64, c128),
                         [](const auto& info) { return base::cat(info.param); });

TEST_P(LoopsOf, EighFindsEigenpairsOfEverySize) {
  for (int64_t n : {1, 2, 3, 4, 5, 8, 13, 24}) {
    const Literal a = random_hermitian(GetParam(), 2, n, static_cast<uint32_t>(n));
    expect_eigenpairs(a, eigh_by_loops(a));
  }
}

TEST_P(LoopsOf, EighFindsLapacksEigenvalues) {
  const Literal a = random_hermitian(GetParam(), 3, 7, 1);
  const Literal want = by_evaluator(eigh_target(GetParam()), {a}, eigh_result(a.shape()),
                                    "{mode = 78 : ui8, uplo = 76 : ui8}");
  const Literal got = eigh_by_loops(a, 'L', 'N');
  for (int64_t i = 0; i < 21; ++i) {
    EXPECT_NEAR(got.element(1).to_double(i), want.element(1).to_double(i),
                20 * epsilon_of(GetParam()));
  }
}

TEST_P(LoopsOf, EighReadsOneTriangle) {
  const Literal a = random_hermitian(GetParam(), 1, 5, 3);
  for (char uplo : {'L', 'U'}) {
    Literal half = a;
    for (size_t i = 0; i < 5; ++i) {
      for (size_t j = 0; j < 5; ++j) {
        if (uplo == 'L' ? j > i : i > j) set(half, i * 5 + j, 77);
      }
    }
    expect_eigenpairs(a, eigh_by_loops(half, uplo));
  }
}

// Equal eigenvalues, no rotation at all, and sizes whose squares overflow or vanish.
TEST_P(LoopsOf, EighOfMatricesThatAreSpecial) {
  const double largest = real_part(GetParam()) == f32 ? 1e37 : 1e300;
  Literal a(Shape(GetParam(), {6, 4, 4}));
  for (size_t i = 0; i < 4; ++i) {
    set(a, 16 + i * 5, 1);                                     // the identity
    set(a, 32 + i * 5, 4.0 - static_cast<double>(i));          // in descending order
    for (size_t j = 0; j < 4; ++j) set(a, 48 + i * 4 + j, 1);  // of rank 1
    for (size_t j = 0; j < 4; ++j) set(a, 64 + i * 4 + j, largest);
    for (size_t j = 0; j < 4; ++j) set(a, 80 + i * 4 + j, 1 / largest);
  }
  expect_eigenpairs(a, eigh_by_loops(a));
}

TEST_P(LoopsOf, EighOfMatricesThatAreNotFiniteIsNan) {
  Literal a = random_hermitian(GetParam(), 3, 4, 9);
  set(a, 4, std::numeric_limits<double>::quiet_NaN());
  set(a, 32, std::numeric_limits<double>::infinity());
  const Literal out = eigh_by_loops(a);
  EXPECT_EQ(out.element(2).to_int64(0), 1);
  EXPECT_EQ(out.element(2).to_int64(1), 0);
  EXPECT_EQ(out.element(2).to_int64(2), 1);
  for (int64_t at : {0, 2}) {
    EXPECT_TRUE(all_nan(matrix_of(out.element(0), at)));
    EXPECT_TRUE(std::isnan(out.element(1).to_double(at * 4)));
  }
  EXPECT_FALSE(all_nan(matrix_of(out.element(0), 1)));
}

struct SvdCase {
  int64_t m, n;
  char mode;
};
std::string svd_result(const Shape& a, char mode) {
  const int64_t b = a.dimension(0), m = a.dimension(1), n = a.dimension(2), k = std::min(m, n);
  return base::cat("(", a, ", ", Shape(real_part(a.dtype()), {b, k}), ", ",
                   Shape(a.dtype(), {b, m, mode == 'A' ? m : k}), ", ",
                   Shape(a.dtype(), {b, mode == 'A' ? n : k, n}), ", s32[", b, "])");
}
Literal svd_by_loops(const Literal& a, char mode) {
  return by_loops(base::cat("lapack_", letter_of(a.shape().dtype()), "gesdd_ffi"), {a},
                  svd_result(a.shape(), mode), base::cat("{mode = ", int{mode}, " : ui8}"));
}

// a = u s vh with orthonormal columns of u and rows of vh, and descending s.
void expect_svd(const Literal& a, const Literal& out) {
  const Shape& shape = a.shape();
  const int64_t k = std::min(shape.dimension(1), shape.dimension(2));
  for (int64_t at = 0; at < shape.dimension(0); ++at) {
    SCOPED_TRACE(base::cat(shape, " matrix ", at));
    const Matrix x = matrix_of(a, at), u = matrix_of(out.element(2), at),
                 vh = matrix_of(out.element(3), at),
                 s = diagonal_of(out.element(1), at, u.columns, vh.rows);
    const double unit = epsilon_of(shape.dtype()) * static_cast<double>(x.rows + x.columns + 4);
    EXPECT_LE(distance(product(product(u, s), vh), x), 4 * unit * size_of(x));
    EXPECT_LE(unitarity(u), 4 * unit);
    EXPECT_LE(unitarity(adjoint(vh)), 4 * unit);
    EXPECT_GE(s(k - 1, k - 1).real(), 0);
    for (int64_t i = 1; i < k; ++i) EXPECT_GE(s(i - 1, i - 1).real(), s(i, i).real());
    EXPECT_EQ(out.element(4).to_int64(at), 0);
  }
}

constexpr SvdCase kSvdCases[] = {{1, 1, 'A'}, {2, 2, 'A'},  {3, 3, 'S'},  {5, 3, 'A'},  {5, 3, 'S'},
                                 {3, 5, 'A'}, {3, 5, 'S'},  {6, 1, 'A'},  {1, 6, 'S'},  {1, 6, 'A'},
                                 {9, 9, 'A'}, {4, 11, 'A'}, {17, 6, 'A'}, {20, 20, 'S'}};

TEST_P(LoopsOf, SvdFactorsMatricesOfEveryForm) {
  for (const SvdCase& each : kSvdCases) {
    const Literal a = random_literal(GetParam(), {2, each.m, each.n}, 5);
    expect_svd(a, svd_by_loops(a, each.mode));
  }
}

TEST_P(LoopsOf, SvdFindsLapacksValues) {
  for (const SvdCase& each : kSvdCases) {
    const Literal a = random_literal(GetParam(), {2, each.m, each.n}, 6);
    const Literal want = by_evaluator(base::cat("lapack_", letter_of(GetParam()), "gesdd_ffi"), {a},
                                      svd_result(a.shape(), 'S'), "{mode = 83 : ui8}");
    const Literal got = svd_by_loops(a, 'N');
    const int64_t k = std::min(each.m, each.n);
    const double unit = epsilon_of(GetParam()) * static_cast<double>(each.m + each.n + 4);
    for (int64_t i = 0; i < 2 * k; ++i) {
      EXPECT_NEAR(got.element(1).to_double(i), want.element(1).to_double(i),
                  unit * want.element(1).to_double(i - i % k));
    }
  }
}

// Ranks 0, 1 and 2, and sizes whose squares overflow or vanish.
TEST_P(LoopsOf, SvdOfMatricesThatLackRank) {
  const double largest = real_part(GetParam()) == f32 ? 1e37 : 1e300;
  for (const SvdCase& each : {SvdCase{4, 4, 'A'}, SvdCase{6, 4, 'A'}, SvdCase{4, 7, 'S'}}) {
    Literal a(Shape(GetParam(), {5, each.m, each.n}));
    const auto size = static_cast<size_t>(each.m * each.n);
    for (size_t i = 0; i < size; ++i) {
      const auto row = static_cast<double>(i / static_cast<size_t>(each.n));
      const auto column = static_cast<double>(i % static_cast<size_t>(each.n));
      set(a, size + i, 1);
      set(a, 2 * size + i, {row + column, 1 + row});
      set(a, 3 * size + i, largest);
      set(a, 4 * size + i, 1 / largest);
    }
    expect_svd(a, svd_by_loops(a, each.mode));
  }
}

TEST_P(LoopsOf, SvdOfMatricesThatAreNotFiniteIsNan) {
  Literal a = random_literal(GetParam(), {2, 4, 3}, 9);
  set(a, 4, std::numeric_limits<double>::quiet_NaN());
  const Literal out = svd_by_loops(a, 'S');
  EXPECT_EQ(out.element(4).to_int64(0), 1);
  EXPECT_EQ(out.element(4).to_int64(1), 0);
  for (int64_t i : {2, 3}) EXPECT_TRUE(all_nan(matrix_of(out.element(i), 0)));
  EXPECT_TRUE(std::isnan(out.element(1).to_double(0)));
}

TEST(Loops, SvdOfAnEmptyMatrixHasIdentities) {
  const Literal out = svd_by_loops(Literal(Shape(f32, {2, 3, 0})), 'A');
  EXPECT_EQ(unitarity(matrix_of(out.element(2), 1)), 0);
  EXPECT_EQ(out.element(2).shape(), Shape(f32, {2, 3, 3}));
}

TEST_P(LoopsOf, TridiagonalSystemsAreSolvedAsLapackDoes) {
  const DType dtype = GetParam();
  for (int64_t n : {1, 2, 3, 6}) {
    std::vector<Literal> operands;
    for (uint32_t i = 0; i < 3; ++i) operands.push_back(random_literal(dtype, {4, n}, i));
    operands.push_back(random_literal(dtype, {4, n, 2}, 8));
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) set(operands[1], i, 0);  // must pivot
    if (n > 1) set(operands[0], static_cast<size_t>(n) + 1, 0);                  // need not
    const std::string target = base::cat("lapack_", letter_of(dtype), "gtsv_ffi");
    const std::string line = base::cat(Shape(dtype, {4, n}));
    const std::string result =
        base::cat("(", line, ", ", line, ", ", line, ", ", operands[3].shape(), ", s32[4])");
    const Literal want = by_evaluator(target, operands, result, "{}"),
                  got = by_loops(target, operands, result, "{}");
    for (int64_t k = 0; k < 5; ++k) {
      const Literal &x = got.element(k), &y = want.element(k);
      for (size_t i = 0; i < static_cast<size_t>(x.element_count()); ++i) {
        const double size = std::max(1.0, std::abs(number(y, i)));
        EXPECT_LE(std::abs(number(x, i) - number(y, i)), 2000 * epsilon_of(dtype) * size)
            << "n " << n << " result " << k << " element " << i;
      }
    }
  }
}

TEST_P(LoopsOf, LuIsLapacks) {
  const DType dtype = GetParam();
  for (const SvdCase& each : {SvdCase{1, 1}, SvdCase{5, 5}, SvdCase{6, 3}, SvdCase{3, 6},
                              SvdCase{8, 8}, SvdCase{9, 9}, SvdCase{12, 4}, SvdCase{4, 12}}) {
    const Literal a = random_literal(dtype, {3, each.m, each.n}, 5);
    const std::string result =
        base::cat("(", a.shape(), ", s32[3,", std::min(each.m, each.n), "], s32[3])");
    const std::string target = base::cat("lapack_", letter_of(dtype), "getrf_ffi");
    const Literal want = by_evaluator(target, {a}, result, "{}");
    for (bool unrolls : {false, true}) {
      const Literal got = by_loops(target, {a}, result, "{}", unrolls);
      for (int64_t k = 0; k < 3; ++k) {
        const Literal &x = got.element(k), &y = want.element(k);
        for (size_t i = 0; i < static_cast<size_t>(x.element_count()); ++i)
          EXPECT_LE(std::abs(number(x, i) - number(y, i)), 100 * epsilon_of(dtype));
      }
    }
  }
}

TEST_P(LoopsOf, OrmqrMultipliesAsLapackDoes) {
  const DType dtype = GetParam();
  const std::string target =
      base::cat("lapack_", letter_of(dtype), is_complex(dtype) ? "unmqr" : "ormqr", "_ffi");
  for (int form = 0; form < 4; ++form) {
    const bool left = form < 2;
    const std::string config = base::cat("{left = ", left ? "true" : "false",
                                         ", transpose = ", form % 2 == 1 ? "true" : "false", "}");
    const Literal c = random_literal(
        dtype, left ? std::vector<int64_t>{2, 6, 3} : std::vector<int64_t>{2, 3, 6}, 2);
    const std::vector<Literal> operands = {random_literal(dtype, {2, 6, 4}, 3),
                                           random_literal(dtype, {2, 4}, 4), c};
    const Literal want = by_evaluator(target, operands, to_string(c.shape()), config),
                  got = by_loops(target, operands, to_string(c.shape()), config);
    for (int64_t at : {0, 1}) {
      const Matrix x = matrix_of(want, at);
      EXPECT_LE(distance(matrix_of(got, at), x), 100 * epsilon_of(dtype) * size_of(x));
    }
  }
}

TEST(Loops, LuOfSmallMatricesHasNoneWhereItUnrolls) {
  const auto has_loop = [](int64_t n, bool unrolls) {
    const std::string result = base::cat("(f64[", n, ",", n, "], s32[", n, "], s32[])");
    const hlo::Module call =
        program("lapack_dgetrf_ffi", {Literal(Shape(f64, {n, n}))}, result, "{}");
    return print(expanded(call, unrolls)).find(" while(") != std::string::npos;
  };
  EXPECT_FALSE(has_loop(8, true));
  EXPECT_TRUE(has_loop(9, true));
  EXPECT_TRUE(has_loop(8, false));
}

TEST(Loops, LuTellsTheFirstPivotThatIsZero) {
  // The second column is the first one twice.
  const Literal a = Literal::from<double>(Shape(f64, {1, 3, 3}), {1, 2, 0, 2, 4, 0, 3, 6, 1});
  for (bool unrolls : {false, true}) {
    const Literal out =
        by_loops("lapack_dgetrf_ffi", {a}, "(f64[1,3,3], s32[1,3], s32[1])", "{}", unrolls);
    EXPECT_EQ(out.element(2).to_int64(0), 2);
  }
}

TEST_P(LoopsOf, OrmqrWithoutReflectorsIsC) {
  const DType dtype = GetParam();
  const std::string target =
      base::cat("lapack_", letter_of(dtype), is_complex(dtype) ? "unmqr" : "ormqr", "_ffi");
  const Literal c = random_literal(dtype, {2, 3, 3}, 2);
  const std::vector<Literal> operands = {Literal(Shape(dtype, {2, 3, 0})),
                                         Literal(Shape(dtype, {2, 0})), c};
  for (const char* config :
       {"{left = true, transpose = false}", "{left = false, transpose = true}"}) {
    EXPECT_EQ(by_evaluator(target, operands, to_string(c.shape()), config), c);
    EXPECT_EQ(by_loops(target, operands, to_string(c.shape()), config), c);
  }
}

TEST_P(LoopsOf, TrsmTakesAFactor) {
  const DType dtype = GetParam();
  const std::string target = base::cat("lapack_", letter_of(dtype), "trsm_ffi");
  Literal a = random_literal(dtype, {2, 3, 3}, 1);
  for (size_t i = 0; i < 18; ++i) set(a, i, number(a, i) + Complex(i % 4 == 0 ? 4 : 0));
  const std::vector<Literal> operands = {a, random_literal(dtype, {2, 3, 2}, 2),
                                         random_literal(dtype, {}, 3)};
  const std::string config =
      "{diag = 78 : ui8, side = 76 : ui8, trans_x = 67 : ui8, uplo = 76 : "
      "ui8}";
  const std::string result = to_string(operands[1].shape());
  const Literal want = by_evaluator(target, operands, result, config),
                got = by_loops(target, operands, result, config);
  for (int64_t at : {0, 1}) {
    const Matrix x = matrix_of(want, at);
    EXPECT_LE(distance(matrix_of(got, at), x), 100 * epsilon_of(dtype) * size_of(x));
  }
}

// isamax takes a NaN in the first place, and skips every other one.
TEST_P(LoopsOf, LuPassesOverNansAsLapackDoes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> kMatrices = {{0, 0, 0, nan, 1, 2, 3, 4, 5},
                                                      {nan, 1, 2, 3, 4, 5, 6, 7, 8},
                                                      {1, nan, 2, 3, 4, 5, 6, 7, 8},
                                                      {0, 0, 0, nan, nan, 1, nan, 2, 3}};
  const DType dtype = GetParam();
  const std::string target = base::cat("lapack_", letter_of(dtype), "getrf_ffi");
  for (const std::vector<double>& values : kMatrices) {
    Literal a(Shape(dtype, {3, 3}));
    for (size_t i = 0; i < values.size(); ++i) set(a, i, values[i]);
    const std::string result = base::cat("(", a.shape(), ", s32[3], s32[])");
    const Literal want = by_evaluator(target, {a}, result, "{}");
    for (bool unrolls : {false, true}) {
      const Literal got = by_loops(target, {a}, result, "{}", unrolls);
      EXPECT_EQ(got.element(1), want.element(1));
      EXPECT_EQ(got.element(2), want.element(2));
    }
  }
}

}  // namespace
}  // namespace heddle::transform
