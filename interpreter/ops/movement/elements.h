// Whole arrays, for rules that work through called computations: converted, repeated, taken out and
// put back by strides.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

// Elements of one float or complex type as another, rounded once. Shares the bytes where the type
// is the same.
Literal converted(const Literal& x, DType dtype);

// The elements as T, which is double, int64_t or complex<double>.
template <class T>
std::vector<T> numbers_of(const Literal& x) {
  std::vector<T> out(static_cast<size_t>(x.element_count()));
  load(x.shape().dtype(), x.bytes(), x.element_count(), out.data());
  return out;
}

// An array of this shape, each element equal to the scalar, which has its type.
Literal repeated(const Literal& scalar, const Shape& shape);

// The elements of an array at offset + sum of index times stride, as an array of the dimensions.
Literal read_strided(const Literal& from, int64_t offset, std::span<const int64_t> strides,
                     std::span<const int64_t> dims);

// The inverse: puts the elements of `values` there. The places are distinct.
void write_strided(Literal& to, int64_t offset, std::span<const int64_t> strides,
                   const Literal& values);

}  // namespace heddle::interpreter
