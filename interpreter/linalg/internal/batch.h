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

// The type of LAPACK's `info`, one a matrix.
inline Shape info_shape() { return Shape::scalar(s32); }

// Of operands without values (Literal::elided) it is a batch of no matrices, whose types are
// checked all the same.
class Batch {
 public:
  explicit Batch(CustomCall& call) : call_(call) {}

  // Operand i has elements of `dtype` and `rank` trailing dimensions (2: a matrix, 1: a vector)
  // that an Int holds; its dimensions before are those of operand 0.
  Status check_operand(size_t i, DType dtype, int64_t rank);
  // Result k (of a tuple of `count`, or, with count 1, the result itself) is an array of this
  // element type and of these trailing dimensions, after the batch.
  Status check_results(const std::vector<Shape>& trailing);

  [[nodiscard]] int64_t size() const { return has_values() ? size_ : 0; }
  [[nodiscard]] Int rows(size_t i) const;
  [[nodiscard]] Int columns(size_t i) const;  // of a vector: its length

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
  void put_info(size_t k, int64_t at, Int info);

  [[nodiscard]] Literal finish() &&;

  // An entry of backend_config that is a character, as JAX writes it: a number, uplo = 76 : ui8.
  // One of `allowed`.
  StatusOr<char> character(std::string_view name, std::string_view allowed) const;

  [[nodiscard]] CustomCall& call() const { return call_; }

 private:
  [[nodiscard]] bool has_values() const { return call_.size() == 0 || !call_[0].is_elided(); }

  CustomCall& call_;
  int64_t size_ = 0;
  std::vector<int64_t> dimensions_;  // of the batch
  std::vector<Literal> results_;
};

}  // namespace heddle::interpreter::linalg
