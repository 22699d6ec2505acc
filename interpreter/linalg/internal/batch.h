// The operands and results of one call as batches of matrices and vectors: the last dimensions are
// rows and columns, those before count the batch.
#pragma once

#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

// Reads matrix number `at` of a literal whose last two dimensions are rows and columns.
template <class T>
Matrix<T> read_matrix(const Literal& literal, int64_t at);
// Writes it back, rounded once to the element type.
template <class T>
void write_matrix(const Matrix<T>& matrix, int64_t at, Literal& literal);

// The product of all but the last `count` dimensions.
int64_t batch_size(const Shape& shape, int64_t count);

// A call that check_lapack_call() lets pass. Results are zeros until they are written.
class Batch {
 public:
  // Operand 0 has `rank` dimensions behind those of the batch (2: a matrix, 1: a vector).
  explicit Batch(CustomCall& call, int64_t rank = 2);

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] Int rows(size_t i) const;
  [[nodiscard]] Int columns(size_t i) const;  // of a vector: its length
  // As an array of result k has them.
  [[nodiscard]] int64_t result_rows(size_t k) const;
  [[nodiscard]] int64_t result_columns(size_t k) const;
  // Options, as JAX writes them: a character is a number, uplo = 76 : ui8.
  [[nodiscard]] char letter(std::string_view name) const;
  [[nodiscard]] Int integer(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;

  template <class T>
  [[nodiscard]] Matrix<T> matrix(size_t i, int64_t at) const {
    return read_matrix<T>(call_[i], at);
  }
  template <class T>
  [[nodiscard]] std::vector<T> vector(size_t i, int64_t at) const;

  // Values for result k of batch element `at`.
  template <class T>
  void put(size_t k, int64_t at, const Matrix<T>& matrix) {
    write_matrix(matrix, at, results_[k]);
  }
  template <class T>
  void put(size_t k, int64_t at, const std::vector<T>& vector);
  void put(size_t k, int64_t at, Int number) { put(k, at, std::vector<Int>{number}); }
  // Values for all results, in order.
  template <class... Values>
  void put_all(int64_t at, const Values&... values) {
    size_t k = 0;
    (put(k++, at, values), ...);
  }

  [[nodiscard]] Literal finish() &&;
  // Calls fn(at) for each element of the batch, and finishes.
  template <class Fn>
  [[nodiscard]] Literal each(const Fn& fn) && {
    for (int64_t at = 0; at < size_; ++at) fn(at);
    return std::move(*this).finish();
  }

 private:
  CustomCall& call_;
  int64_t size_;
  std::vector<Literal> results_;
};

}  // namespace heddle::interpreter::linalg
