// Eager ops: what runs at once, outside of a trace, and is not recorded first. It runs without a
// program (runtime/host/direct.h), or by one that is found by the op and the operands' types. Each
// of these gives a tensor without a value where the op has to go the usual way: inside of a trace,
// for operands that have to be broadcast, and for every mistake, which the usual way reports.
// Private to Heddle's op functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/opcode.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// The parts, of one element type, as an array of this shape along `axis`: side by side, or each a
// place of it. It waits for them.
Tensor eager_join(std::span<const Tensor> parts, int64_t axis, const Shape& shape);

// An array of this shape whose elements are all `value`.
Tensor eager_fill(const Operand& value, const Shape& shape);
// The elements of x, in order, as an array of this shape. Where x is computed still it gives none.
Tensor eager_reshape(const Tensor& x, const Shape& shape);

Tensor eager_unary(hlo::Opcode opcode, const Operand& x);
Tensor eager_binary(hlo::Opcode opcode, const Operand& x, const Operand& y);
Tensor eager_comparison(hlo::ComparisonDirection direction, const Operand& x, const Operand& y);
// x[position], a negative one counted from the end.
Tensor eager_row(const Operand& x, int64_t position);
// The elements of x from `starts` on, so many along each axis, which lie inside x, as an array of
// these dimensions.
Tensor eager_part(const Operand& x, std::span<const int64_t> starts, std::span<const int64_t> sizes,
                  const std::vector<int64_t>& dimensions);

// The buffer of a concrete value; null for all else. It may be donated.
runtime::Buffer* concrete_buffer(const Operand& operand);
// The node of a concrete value that the operand alone refers to, and its reader reads no more.
Node* own_node(const Operand& operand);
// What a function was given as an rvalue is empty afterwards, whether its memory was used or not.
void drop_if_dying(const Operand& x);

// A C++ number as one element, where the dtype plainly holds it: constant_like() knows the rest.
class Element {
 public:
  [[nodiscard]] bool set(const Operand& operand, DType dtype);
  [[nodiscard]] const void* bytes() const { return bytes_; }

 private:
  template <class T>
  bool put(T value);
  alignas(8) std::byte bytes_[8];
};

}  // namespace heddle::trace_internal
