#include "heddle/interpreter/linalg/internal/batch.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "heddle/hlo/blocks.h"

namespace heddle::interpreter::linalg {
namespace {

// What load() and store() take.
template <class T>
using Wide =
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, SingleComplex>, Complex,
                                          std::conditional_t<std::is_same_v<T, Int>, int64_t, T>>>;

int64_t dimension_from_end(const Shape& shape, int64_t i) {
  return shape.dimension(shape.rank() - 1 - i);
}

}  // namespace

int64_t batch_size(const Shape& shape, int64_t count) {
  int64_t size = 1;
  for (int64_t d = 0; d + count < shape.rank(); ++d) size *= shape.dimension(d);
  return size;
}

template <class T>
Matrix<T> read_matrix(const Literal& literal, int64_t at) {
  const Shape& shape = literal.shape();
  const int64_t rows = dimension_from_end(shape, 1), columns = dimension_from_end(shape, 0);
  std::vector<Wide<T>> row_major(static_cast<size_t>(rows * columns));
  const int64_t width = storage_bytes(shape.dtype());
  load(shape.dtype(), literal.bytes() + at * rows * columns * width, rows * columns,
       row_major.data());
  Matrix<T> out(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      out(i, j) = static_cast<T>(row_major[static_cast<size_t>(i * columns + j)]);
  }
  return out;
}

template <class T>
void write_matrix(const Matrix<T>& matrix, int64_t at, Literal& literal) {
  const int64_t rows = matrix.rows(), columns = matrix.columns();
  std::vector<Wide<T>> row_major(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      row_major[static_cast<size_t>(i * columns + j)] = matrix(i, j);
  }
  const DType dtype = literal.shape().dtype();
  store(dtype, row_major.data(), rows * columns,
        literal.mutable_bytes() + at * rows * columns * storage_bytes(dtype));
}

template Matrix<float> read_matrix(const Literal&, int64_t);
template Matrix<SingleComplex> read_matrix(const Literal&, int64_t);
template Matrix<double> read_matrix(const Literal&, int64_t);
template Matrix<Complex> read_matrix(const Literal&, int64_t);
template void write_matrix(const Matrix<float>&, int64_t, Literal&);
template void write_matrix(const Matrix<SingleComplex>&, int64_t, Literal&);
template void write_matrix(const Matrix<double>&, int64_t, Literal&);
template void write_matrix(const Matrix<Complex>&, int64_t, Literal&);

Status Batch::check_operand(size_t i, DType dtype, int64_t rank) {
  if (i >= call_.size()) return call_.error("has ", call_.size(), " operands; takes more than ", i);
  const Shape& shape = call_[i].shape();
  if (!shape.is_array() || shape.dtype() != dtype || shape.rank() < rank) {
    return call_.error("operand ", i, " is ", shape, "; must be of ", dtype, " and of rank ", rank,
                       " or more");
  }
  const auto sizes = shape.dimensions();
  if (std::any_of(sizes.end() - rank, sizes.end(),
                  [](int64_t size) { return size > std::numeric_limits<Int>::max(); }))
    return call_.error("operand ", i, " is ", shape, "; LAPACK counts rows and columns in 32 bits");
  std::vector<int64_t> before(shape.dimensions().begin(), shape.dimensions().end() - rank);
  if (i == 0) {
    dimensions_ = std::move(before);
    size_ = batch_size(shape, rank);
    return {};
  }
  if (before == dimensions_) return {};
  return call_.error("operand ", i, " is ", shape, "; its dimensions but for the last ", rank,
                     " must be {", base::join(dimensions_, ","), "}, as those of operand 0, ",
                     call_[0].shape());
}

Status Batch::check_results(const std::vector<Shape>& trailing) {
  std::vector<Shape> shapes;
  for (const Shape& each : trailing) {
    std::vector<int64_t> dimensions = dimensions_;
    dimensions.insert(dimensions.end(), each.dimensions().begin(), each.dimensions().end());
    shapes.emplace_back(each.dtype(), std::move(dimensions));
  }
  const Shape expected = shapes.size() == 1 ? shapes[0] : Shape::tuple(shapes);
  if (!same_type(call_.result(), expected)) {
    return call_.error("result is declared as ", call_.result(), "; its operands give ", expected);
  }
  for (const Shape& shape : shapes)
    results_.push_back(has_values() ? Literal(shape) : Literal::elided(shape));
  return {};
}

Int Batch::rows(size_t i) const {
  return static_cast<Int>(dimension_from_end(call_[i].shape(), 1));
}
Int Batch::columns(size_t i) const {
  return static_cast<Int>(dimension_from_end(call_[i].shape(), 0));
}

template <class T>
std::vector<T> Batch::vector(size_t i, int64_t at) const {
  std::vector<Wide<T>> out(static_cast<size_t>(columns(i)));
  const DType dtype = call_[i].shape().dtype();
  load(dtype, call_[i].bytes() + at * columns(i) * storage_bytes(dtype), columns(i), out.data());
  return {out.begin(), out.end()};
}

template <class T>
void Batch::put(size_t k, int64_t at, const std::vector<T>& vector) {
  const auto length = static_cast<int64_t>(vector.size());
  const DType dtype = results_[k].shape().dtype();
  const std::vector<Wide<T>> wide(vector.begin(), vector.end());
  store(dtype, wide.data(), length,
        results_[k].mutable_bytes() + at * length * storage_bytes(dtype));
}

template std::vector<float> Batch::vector(size_t, int64_t) const;
template std::vector<double> Batch::vector(size_t, int64_t) const;
template std::vector<SingleComplex> Batch::vector(size_t, int64_t) const;
template std::vector<Complex> Batch::vector(size_t, int64_t) const;
template std::vector<Int> Batch::vector(size_t, int64_t) const;
template void Batch::put(size_t, int64_t, const std::vector<float>&);
template void Batch::put(size_t, int64_t, const std::vector<double>&);
template void Batch::put(size_t, int64_t, const std::vector<SingleComplex>&);
template void Batch::put(size_t, int64_t, const std::vector<Complex>&);
template void Batch::put(size_t, int64_t, const std::vector<Int>&);

void Batch::put_info(size_t k, int64_t at, Int info) { put(k, at, std::vector<Int>{info}); }

Literal Batch::finish() && {
  if (results_.size() == 1) return std::move(results_[0]);
  return Literal::tuple(std::move(results_));
}

StatusOr<char> Batch::character(std::string_view name, std::string_view allowed) const {
  HEDDLE_ASSIGN_OR_RETURN(const int64_t value, call_.integer(name));
  if (value >= 0 && value < 128 &&
      allowed.find(static_cast<char>(value)) != std::string_view::npos) {
    return static_cast<char>(value);
  }
  return call_.error("backend_config has ", name, " = ", value,
                     "; must be the number of one of the letters ", allowed);
}

}  // namespace heddle::interpreter::linalg
