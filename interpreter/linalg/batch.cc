#include "heddle/interpreter/linalg/internal/batch.h"

#include <type_traits>

#include "heddle/hlo/literal/blocks.h"

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

Batch::Batch(CustomCall& call, int64_t rank)
    : call_(call), size_(batch_size(call[0].shape(), rank)) {
  const Shape& result = call.result();
  if (result.is_array()) results_.emplace_back(result);
  for (const Shape& each : result.elements()) results_.emplace_back(each);
}

Int Batch::rows(size_t i) const {
  return static_cast<Int>(dimension_from_end(call_[i].shape(), 1));
}
Int Batch::columns(size_t i) const {
  return static_cast<Int>(dimension_from_end(call_[i].shape(), 0));
}
int64_t Batch::result_rows(size_t k) const { return dimension_from_end(results_[k].shape(), 1); }
int64_t Batch::result_columns(size_t k) const { return dimension_from_end(results_[k].shape(), 0); }

char Batch::letter(std::string_view name) const { return static_cast<char>(integer(name)); }
Int Batch::integer(std::string_view name) const {
  return static_cast<Int>(call_.integer(name).value());
}
bool Batch::boolean(std::string_view name) const { return call_.boolean(name).value(); }

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

Literal Batch::finish() && {
  if (results_.size() == 1) return std::move(results_[0]);
  return Literal::tuple(std::move(results_));
}

}  // namespace heddle::interpreter::linalg
