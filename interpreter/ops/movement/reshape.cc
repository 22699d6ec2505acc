#include <cstddef>
#include <vector>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/internal/sizes.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

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

}  // namespace

const Evaluation kReshapeEvaluation = {.evaluate = evaluate_reshape};
const Evaluation kBitcastEvaluation = {.evaluate = evaluate_bitcast};

}  // namespace heddle::interpreter
