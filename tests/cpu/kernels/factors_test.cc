// Factors and triangular systems that are kernels, beside the evaluator's.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

template <class T>
std::string type_name() {
  return sizeof(T) == 4 ? "f32" : "f64";
}
template <class T>
std::string target_of(std::string_view routine) {
  return cat("lapack_", sizeof(T) == 4 ? "s" : "d", routine, "_ffi");
}

template <class T>
std::string array(std::vector<int64_t> sizes) {
  std::string out = type_name<T>() + "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += cat(i > 0 ? "," : "", sizes[i]);
  return out + "]";
}

hlo::Module call_of(const std::vector<std::string>& operands, std::string_view result,
                    std::string_view call) {
  std::string text = "HloModule m\nENTRY e {\n";
  for (size_t i = 0; i < operands.size(); ++i)
    text += cat("  p", i, " = ", operands[i], " parameter(", i, ")\n");
  return hlo::parse_text(cat(text, "  ROOT r = ", result, " ", call, "\n}\n")).value();
}

// Numbers in [-1, 1], and more on the diagonal of each matrix.
template <class T>
Literal numbers(const Shape& shape, double diagonal, uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t rows = shape.dimension(shape.rank() - 2);
  const int64_t columns = shape.dimension(shape.rank() - 1);
  std::vector<T> out;
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    const auto x = static_cast<double>(static_cast<int64_t>(random() >> 40)) / 0x1p23 - 1;
    const bool is_diagonal = i / columns % rows == i % columns;
    out.push_back(static_cast<T>(is_diagonal ? x + diagonal : x));
  }
  return Literal::from<T>(shape, std::span<const T>(out));
}

template <class T>
constexpr double kClose = sizeof(T) == 4 ? 2e-4 : 1e-12;

void expect_evaluated(const hlo::Module& module, const std::vector<Literal>& arguments,
                      double share) {
  SCOPED_TRACE(hlo::print(module));
  const Literal want = interpreter::evaluate(module, arguments).value();
  const OnCpu program(module);
  EXPECT_EQ(difference(program.run(arguments), want, {.share = share}), "");
  EXPECT_EQ(difference(program.run(arguments, /*donated=*/true), want, {.share = share}), "");
}

template <class T>
hlo::Module lu_of(int64_t batch, int64_t rows, int64_t columns) {
  const std::string a = array<T>({batch, rows, columns});
  return call_of({a},
                 cat("(", a, ", s32[", batch, ",", std::min(rows, columns), "], s32[", batch, "])"),
                 cat("custom-call(p0), custom_call_target=\"", target_of<T>("getrf"),
                     "\", api_version=API_VERSION_TYPED_FFI, backend_config={}"));
}

template <class T>
void expect_lu() {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{13, 13},
                                      {16, 16},
                                      {17, 17},
                                      {32, 32},
                                      {40, 20},
                                      {20, 40},
                                      {20, 33},
                                      {1, 14},
                                      {14, 1},
                                      {65, 65},
                                      {130, 130},
                                      {200, 70}}) {
    for (const int64_t batch : {1, 3}) {
      const hlo::Module module = lu_of<T>(batch, rows, columns);
      const Shape& a = module.entry_computation().parameter_shape(0);
      expect_evaluated(module, {numbers<T>(a, 0, 7)}, kClose<T>);
    }
  }
}

TEST(Factors, LuHasPivotsOfLapack) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_lu<float>();
  expect_lu<double>();
}

TEST(Factors, LuTellsOfTheFirstPivotOfZero) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int64_t n : {13, 20, 40}) {
    for (const int64_t zero : {int64_t{0}, n / 2, n - 1}) {
      const hlo::Module module = lu_of<double>(1, n, n);
      const Shape& shape = module.entry_computation().parameter_shape(0);
      std::vector<double> a(static_cast<size_t>(n * n));
      for (int64_t i = 0; i < n; ++i) {
        if (i != zero) a[static_cast<size_t>(i * n + i)] = 2;
      }
      expect_evaluated(module, {Literal::from<double>(shape, std::span<const double>(a))}, 0);
    }
  }
}

TEST(Factors, LuOfTinyAndStrangePivots) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const int64_t n = 14;
  const hlo::Module module = lu_of<float>(1, n, n);
  const Shape& shape = module.entry_computation().parameter_shape(0);
  for (const float odd : {1e-40F, std::numeric_limits<float>::infinity()}) {
    std::vector<float> a(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i) a[static_cast<size_t>(i * n + i)] = 1;
    a[0] = odd;
    expect_evaluated(module, {Literal::from<float>(shape, std::span<const float>(a))}, 0);
  }
}

// a + a^T with a large diagonal.
template <class T>
Literal positive(const Shape& shape) {
  const int64_t n = shape.dimension(shape.rank() - 1);
  const Literal half = numbers<T>(shape, static_cast<double>(n), 3);
  const std::span<const T> from = half.values<T>();
  std::vector<T> out;
  for (int64_t at = 0; at < shape.element_count(); ++at) {
    const int64_t i = at / n % n, j = at % n, first = at - at % (n * n);
    out.push_back(from[static_cast<size_t>(at)] + from[static_cast<size_t>(first + j * n + i)]);
  }
  return Literal::from<T>(shape, std::span<const T>(out));
}

template <class T>
std::vector<hlo::Module> cholesky_of(int64_t batch, int64_t n, bool lower) {
  const std::string a = array<T>({batch, n, n});
  return {call_of({a}, a, cat("cholesky(p0), lower=", lower ? "true" : "false")),
          call_of({a}, cat("(", a, ", s32[", batch, "])"),
                  cat("custom-call(p0), custom_call_target=\"", target_of<T>("potrf"),
                      "\", api_version=API_VERSION_TYPED_FFI, backend_config={uplo = ",
                      static_cast<int>(lower ? 'L' : 'U'), " : ui8}"))};
}

template <class T>
void expect_cholesky() {
  for (const int64_t n : {13, 16, 17, 32, 50, 100, 150}) {
    for (const int64_t batch : {1, 3}) {
      for (const bool lower : {true, false}) {
        for (const hlo::Module& module : cholesky_of<T>(batch, n, lower)) {
          const Shape& shape = module.entry_computation().parameter_shape(0);
          expect_evaluated(module, {positive<T>(shape)}, kClose<T>);
        }
      }
    }
  }
}

TEST(Factors, CholeskyOfEitherTriangle) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_cholesky<float>();
  expect_cholesky<double>();
}

// The second matrix of three has no factor: its info, or its NaN, and the others' factors.
TEST(Factors, CholeskyOfOneThatIsNotPositive) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int64_t n : {13, 40}) {
    for (const double odd : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
      for (const hlo::Module& module : cholesky_of<double>(3, n, /*lower=*/true)) {
        const Shape& shape = module.entry_computation().parameter_shape(0);
        const Literal usual = positive<double>(shape);
        std::vector<double> a(usual.values<double>().begin(), usual.values<double>().end());
        a[static_cast<size_t>(n * n + (n - 2) * (n + 1))] = odd;
        expect_evaluated(module, {Literal::from<double>(shape, std::span<const double>(a))},
                         kClose<double>);
      }
    }
  }
}

struct System {
  int64_t batch, n, sides;
  bool left, lower, unit, transposed;
};

template <class T>
std::vector<hlo::Module> modules_of(const System& s) {
  const std::string a = array<T>({s.batch, s.n, s.n});
  const std::string b =
      s.left ? array<T>({s.batch, s.n, s.sides}) : array<T>({s.batch, s.sides, s.n});
  const auto letter = [](bool is_first, char first, char second) {
    return cat(static_cast<int>(is_first ? first : second), " : ui8");
  };
  const auto truth = [](bool is_true) { return is_true ? "true" : "false"; };
  return {call_of({a, b}, b,
                  cat("triangular-solve(p0, p1), left_side=", truth(s.left),
                      ", lower=", truth(s.lower), ", unit_diagonal=", truth(s.unit),
                      ", transpose_a=", s.transposed ? "TRANSPOSE" : "NO_TRANSPOSE")),
          call_of({a, b}, b,
                  cat("custom-call(p0, p1), custom_call_target=\"", target_of<T>("trsm"),
                      "\", api_version=API_VERSION_TYPED_FFI, backend_config={diag = ",
                      letter(s.unit, 'U', 'N'), ", side = ", letter(s.left, 'L', 'R'),
                      ", trans_x = ", letter(s.transposed, 'T', 'N'),
                      ", uplo = ", letter(s.lower, 'L', 'U'), "}"))};
}

// The diagonal of n keeps unit systems small too: their other elements are divided by n.
template <class T>
void expect_solved(const System& s) {
  for (const hlo::Module& module : modules_of<T>(s)) {
    const Shape& a_shape = module.entry_computation().parameter_shape(0);
    const Shape& b_shape = module.entry_computation().parameter_shape(1);
    const Literal a = numbers<T>(a_shape, static_cast<double>(s.n), 5);
    std::vector<T> scaled;
    for (const T& x : a.values<T>()) scaled.push_back(x / static_cast<T>(s.n));
    expect_evaluated(
        module, {Literal::from<T>(a_shape, std::span<const T>(scaled)), numbers<T>(b_shape, 0, 11)},
        kClose<T>);
  }
}

TEST(Factors, TriangularSystemsOfAllForms) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int64_t n : {13, 16, 17, 50}) {
    for (const int64_t sides : {int64_t{1}, int64_t{3}, int64_t{4}, n, int64_t{37}}) {
      for (int forms = 0; forms < 16; ++forms) {
        const System system = {.batch = 1 + 2 * (forms % 3 == 1),
                               .n = n,
                               .sides = sides,
                               .left = (forms & 1) != 0,
                               .lower = (forms & 2) != 0,
                               .unit = (forms & 4) != 0,
                               .transposed = (forms & 8) != 0};
        expect_solved<float>(system);
        expect_solved<double>(system);
      }
    }
  }
}

// Enough of each for all threads: many small matrices, and a large one.
TEST(Factors, OfManyMatricesAndOfALargeOne) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const auto& [batch, n] : {std::pair<int64_t, int64_t>{2000, 14}, {5, 200}, {1, 400}}) {
    const hlo::Module lu = lu_of<double>(batch, n, n);
    expect_evaluated(lu, {numbers<double>(lu.entry_computation().parameter_shape(0), 0, 9)}, 1e-10);
    for (const hlo::Module& module : cholesky_of<double>(batch, n, /*lower=*/true)) {
      expect_evaluated(module, {positive<double>(module.entry_computation().parameter_shape(0))},
                       1e-12);
    }
    expect_solved<double>({.batch = batch,
                           .n = n,
                           .sides = n,
                           .left = true,
                           .lower = true,
                           .unit = false,
                           .transposed = false});
  }
}

}  // namespace
}  // namespace heddle::cpu
