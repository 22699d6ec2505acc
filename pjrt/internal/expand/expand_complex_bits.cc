// c128 and pairs of c64 in each other's bits: the real part of a c128 are the bytes of the first
// c64, the imaginary part those of the second, and of each the low half comes first.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

// The two along a new dimension.
Value beside(const Value& a, const Value& b, int64_t dimension) {
  return hlo::concatenate({add_dimension(a, dimension), add_dimension(b, dimension)}, dimension);
}

// The real numbers as complex ones: their parts are those at 0 and at 1 along the dimension.
Value paired(const Value& x, int64_t dimension) {
  const auto at = [&](int64_t index) {
    return drop_dimension(slice(x, dimension, index, 1), dimension);
  };
  return complex(at(0), at(1));
}

// c128[..] as c64[..,2].
Value halves(const Value& x) {
  hlo::Dims sizes = x.sizes();
  sizes.push_back(2);
  const auto words = [&](const Value& part) { return bitcast_convert(part, Shape(f32, sizes)); };
  return paired(beside(words(real(x)), words(imag(x)), x.rank()), x.rank() + 1);
}

// c64[..,2] as c128[..].
Value joined(const Value& x) {
  const Value words = beside(real(x), imag(x), x.rank());
  return paired(bitcast_convert(words, Shape(f64, x.sizes())), x.rank() - 1);
}

Value write_bits(Graph& graph, const Instruction& now) {
  const Value x = graph.wrap(now.operands[0]);
  return x.dtype() == c128 ? halves(x) : joined(x);
}

bool is_of_complex_bits(const hlo::Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kBitcastConvert) return false;
  const DType from = computation.at(instruction.operands[0]).shape.dtype();
  const DType to = instruction.shape.dtype();
  return (from == c128 && to == c64) || (from == c64 && to == c128);
}

}  // namespace

bool has_complex_bits(const hlo::Module& module) {
  return any_instruction(module, is_of_complex_bits);
}

StatusOr<hlo::Module> expand_complex_bits(const hlo::Module& module) {
  return rewritten(module, is_of_complex_bits, write_bits);
}

}  // namespace heddle::pjrt
