// reshape(x): the elements of x in row-major order, under other dimensions.
// bitcast(x): the bytes of x as they lie in memory, under another type; with plain layouts, a
// reshape.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/ops/strides.h"

namespace heddle::hlo {
namespace {

Status check_counts(const InferArgs& in) {
  const Shape& result = *in.declared();
  int64_t from = count_elements(in[0]);
  int64_t to = count_elements(result);
  if (from == to || from < 0 || to < 0) return {};
  return in.error("x is ", in[0], " of ", from, " elements; the result ", result, " has ", to,
                  "; must be equal");
}

StatusOr<Shape> infer_reshape(const InferArgs& in) {
  const Shape& result = *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!result.is_array() || result.dtype() != in[0].dtype()) {
    return in.error("result is declared as ", result, "; its type must be ", in[0].dtype(),
                    " as of x");
  }
  int64_t inferred = in.attrs<ReshapeAttrs>().inferred_dimension;
  if (inferred != -1) {
    HEDDLE_RETURN_IF_ERROR(check_dimension(in, "inferred_dimension", inferred, result.rank()));
  }
  HEDDLE_RETURN_IF_ERROR(check_counts(in));
  return result;
}

StatusOr<Shape> infer_bitcast(const InferArgs& in) {
  const Shape& result = *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  if (!result.is_array() || storage_bytes(result.dtype()) != storage_bytes(in[0].dtype())) {
    return in.error("result is declared as ", result,
                    "; its elements must be as wide as those of x, ", in[0],
                    "; use bitcast-convert to change the width");
  }
  HEDDLE_RETURN_IF_ERROR(check_counts(in));
  return result;
}

StatusOr<Literal> evaluate_reshape(EvalArgs& in) {
  return std::move(in.operands[0]).reshaped(in.result());
}

// Strides of the elements as the layout puts them in memory, by dimension.
Strides physical_strides(const Shape& shape) {
  Strides strides(shape);
  int64_t stride = 1;
  for (int64_t d : shape.minor_to_major()) {
    strides[d] = stride;
    stride *= shape.dimension(d);
  }
  return strides;
}

bool is_row_major(const Shape& shape) {
  return std::ranges::is_sorted(shape.minor_to_major(), std::greater());
}

// Elements as x's layout puts them, read as the result's layout has them. Values are held
// row-major: both ways are walked.
Literal through_memory(const Literal& x, const Shape& from, const Shape& to) {
  const int64_t width = storage_bytes(to.dtype());
  std::vector<std::byte> memory(static_cast<size_t>(to.byte_size()));
  copy_strided(memory.data(), physical_strides(from), x.bytes(), Strides(from), from.dimensions(),
               width);
  Literal out = Literal::uninitialised(to);
  copy_strided(out.mutable_bytes(), Strides(to), memory.data(), physical_strides(to),
               to.dimensions(), width);
  return out;
}

// The bits of a byte above the element are its sign where the type has one, as convert reads them,
// and else zeros.
void renew_high_bits(Literal& x) {
  const DType dtype = x.shape().dtype();
  const int unused = 8 - static_cast<int>(bit_width(dtype));
  std::byte* bytes = x.mutable_bytes();
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const auto top = static_cast<uint8_t>(static_cast<uint8_t>(bytes[i]) << unused);
    bytes[i] = std::byte(is_signed(dtype) ? static_cast<uint8_t>(static_cast<int8_t>(top) >> unused)
                                          : static_cast<uint8_t>(top >> unused));
  }
}

StatusOr<Literal> evaluate_bitcast(EvalArgs& in) {
  const Shape& from = in.operand_shape(0);
  const Shape& to = in.result();
  if (!from.layout().tiles.empty() || !to.layout().tiles.empty()) {
    return base::unimplemented("bitcast: x ", from, " or the result ", to,
                               " has a tiled layout, whose padding the interpreter does not hold");
  }
  Literal out = is_row_major(from) && is_row_major(to) ? std::move(in.operands[0]).reshaped(to)
                                                       : through_memory(in[0], from, to);
  if (from.dtype() != to.dtype() && bit_width(to.dtype()) < 8) renew_high_bits(out);
  return out;
}

constexpr std::string_view kNames[] = {"x"};

}  // namespace

const OpDef kReshapeDef = {
    .opcode = Opcode::kReshape,
    .operand_names = kNames,
    .infer = infer_reshape,
    .evaluate = evaluate_reshape,
};

const OpDef kBitcastDef = {
    .opcode = Opcode::kBitcast,
    .operand_names = kNames,
    .infer = infer_bitcast,
    .evaluate = evaluate_bitcast,
};

}  // namespace heddle::hlo
