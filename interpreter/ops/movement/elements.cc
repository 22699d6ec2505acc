#include "heddle/interpreter/ops/movement/elements.h"

#include <complex>
#include <vector>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

Literal converted(const Literal& x, DType dtype) {
  if (x.shape().dtype() == dtype) return x;
  std::vector<std::complex<double>> values(static_cast<size_t>(x.element_count()));
  Literal out = Literal::uninitialised(Shape(dtype, x.shape().dimensions()));
  load(x.shape().dtype(), x.bytes(), x.element_count(), values.data());
  store(dtype, values.data(), x.element_count(), out.mutable_bytes());
  return out;
}

Literal repeated(const Literal& scalar, const Shape& shape) {
  Literal out = Literal::uninitialised(shape);
  fill(out.mutable_bytes(), out.element_count(), scalar.bytes(), storage_bytes(shape.dtype()));
  return out;
}

Literal read_strided(const Literal& from, int64_t offset, std::span<const int64_t> strides,
                     std::span<const int64_t> dims) {
  const int64_t width = storage_bytes(from.shape().dtype());
  Literal out = Literal::uninitialised(Shape(from.shape().dtype(), {dims.begin(), dims.end()}));
  copy_strided(out.mutable_bytes(), Strides(out.shape()), from.bytes() + offset * width, strides,
               dims, width);
  return out;
}

void write_strided(Literal& to, int64_t offset, std::span<const int64_t> strides,
                   const Literal& values) {
  const int64_t width = storage_bytes(values.shape().dtype());
  copy_strided(to.mutable_bytes() + offset * width, strides, values.bytes(),
               Strides(values.shape()), values.shape().dimensions(), width);
}

}  // namespace heddle::interpreter
