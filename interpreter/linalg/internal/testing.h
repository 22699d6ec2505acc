// For tests of linear algebra: random matrices, products and distances, and LAPACK's targets called
// from HLO text.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/linalg/internal/batch.h"

namespace heddle::interpreter::linalg::testing {

// Of typed tests: real and complex matrices.
template <class T>
class OfField : public ::testing::Test {};
using Fields = ::testing::Types<double, Complex>;

inline constexpr int64_t kBatch = 3;

// Elements in [-1, 1] (and of both parts); reproducible.
template <class T>
Matrix<T> random_matrix(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix<T> out(rows, columns);
  for (T& x : out.values()) {
    if constexpr (std::is_same_v<T, double>) x = uniform(engine);
    if constexpr (std::is_same_v<T, Complex>) x = Complex(uniform(engine), uniform(engine));
  }
  return out;
}

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b) {
  Matrix<T> out(a.rows(), b.columns());
  for (int64_t j = 0; j < b.columns(); ++j) {
    for (int64_t k = 0; k < a.columns(); ++k) {
      for (int64_t i = 0; i < a.rows(); ++i) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

template <class T>
double distance(const Matrix<T>& a, const Matrix<T>& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return 1e300;
  double most = 0;
  for (size_t i = 0; i < a.values().size(); ++i) {
    const double d = std::abs(a.values()[i] - b.values()[i]);
    if (!(d <= most)) most = d;  // NaN stays
  }
  return most;
}

// How far the columns are from orthonormal.
template <class T>
double unitarity(const Matrix<T>& a) {
  return distance(product(adjoint(a), a), Matrix<T>::identity(a.columns(), a.columns()));
}

template <class T>
Matrix<T> diagonal(const std::vector<double>& values, int64_t rows, int64_t columns) {
  Matrix<T> out(rows, columns);
  for (size_t i = 0; i < values.size(); ++i)
    out(static_cast<int64_t>(i), static_cast<int64_t>(i)) = values[i];
  return out;
}

template <class T>
Matrix<T> triangle(Matrix<T> a, bool lower) {
  for (int64_t j = 0; j < a.columns(); ++j) {
    for (int64_t i = 0; i < a.rows(); ++i) {
      if (lower ? i < j : i > j) a(i, j) = T(0);
    }
  }
  return a;
}

// The element types of the four letters, and which matrices to compute in.
struct Letter {
  char letter;
  DType dtype;
};
inline constexpr Letter kReal[] = {{'s', f32}, {'d', f64}};
inline constexpr Letter kComplex[] = {{'c', c64}, {'z', c128}};
template <class T>
std::span<const Letter> letters() {
  if constexpr (std::is_same_v<T, double>) return kReal;
  if constexpr (std::is_same_v<T, Complex>) return kComplex;
}
// Of a result of n roundings or so.
inline double tolerance(DType dtype, int64_t n) {
  return (real_part(dtype) == f32 ? 2e-7 : 4e-16) * static_cast<double>(10 + 10 * n);
}

// A batch of matrices as a literal [batch, rows, columns] of `dtype`.
template <class T>
Literal literal_of(DType dtype, const std::vector<Matrix<T>>& batch) {
  Literal out(
      Shape(dtype, {static_cast<int64_t>(batch.size()), batch[0].rows(), batch[0].columns()}));
  for (size_t i = 0; i < batch.size(); ++i) write_matrix(batch[i], static_cast<int64_t>(i), out);
  return out;
}
template <class T>
Literal random_literal(DType dtype, int64_t batch, int64_t rows, int64_t columns, uint32_t seed) {
  std::vector<Matrix<T>> all;
  for (int64_t i = 0; i < batch; ++i)
    all.push_back(random_matrix<T>(rows, columns, seed + static_cast<uint32_t>(i)));
  return literal_of(dtype, all);
}

// One custom-call on the arguments, as a program.
inline StatusOr<Literal> try_call(std::string_view target, const std::vector<Literal>& arguments,
                                  std::string_view result, std::string_view config = "{}") {
  std::string text = "HloModule m\nENTRY main {\n", names;
  for (size_t i = 0; i < arguments.size(); ++i) {
    base::append(text, "  a", i, " = ", arguments[i].shape(), " parameter(", i, ")\n");
    base::append(names, i == 0 ? "" : ", ", "a", i);
  }
  base::append(text, "  ROOT r = ", result, " custom-call(", names, "), custom_call_target=\"",
               target, "\", api_version=API_VERSION_TYPED_FFI, backend_config=", config, "\n}\n");
  HEDDLE_ASSIGN_OR_RETURN(const Module module, parse_text(text));
  return evaluate(module, arguments);
}
inline Literal call(std::string_view target, const std::vector<Literal>& arguments,
                    std::string_view result, std::string_view config = "{}") {
  auto value = try_call(target, arguments, result, config);
  if (!value.ok()) throw std::runtime_error(base::message_of(value.status()));
  return *std::move(value);
}

// The letter of a type of matrices.
template <class T>
constexpr char kLetter = std::is_same_v<T, double> ? 'd' : 'z';
template <class T>
DType dtype_of() {
  return std::is_same_v<T, double> ? f64 : c128;
}

// lapack_dpotrf_ffi.
inline std::string target_of(char letter, std::string_view routine) {
  return base::cat("lapack_", letter, routine, "_ffi");
}

}  // namespace heddle::interpreter::linalg::testing
