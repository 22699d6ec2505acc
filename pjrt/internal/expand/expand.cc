#include "heddle/pjrt/internal/expand/expand.h"

#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

// The integer type of twice the width, up to 64 bits.
DType wider(DType dtype) {
  const bool is_signed_type = is_signed(dtype);
  switch (bit_width(dtype)) {
    case 8: return is_signed_type ? s16 : u16;
    case 16: return is_signed_type ? s32 : u32;
    default: return is_signed_type ? s64 : u64;
  }
}

Value by_wider_type(const Value& x, const Value& y) {
  const DType narrow = x.dtype(), wide = wider(narrow);
  return convert((convert(x, wide) * convert(y, wide)) >> bit_width(narrow), narrow);
}

// y where x is negative, else 0.
Value if_negative(const Value& x, const Value& y) { return bitcast_convert(x >> 63, u64) & y; }

// x = xh 2^32 + xl, and so for y: the sums below stay within 64 bits.
Value by_halves(const Value& x, const Value& y) {
  const auto low = [](const Value& word) { return word & 0xFFFFFFFF; };
  const auto high = [](const Value& word) { return word >> 32; };
  const Value a = bitcast_convert(x, u64), b = bitcast_convert(y, u64);
  const Value xl = low(a), xh = high(a), yl = low(b), yh = high(b);
  const Value middle = xh * yl + high(xl * yl);
  const Value other = xl * yh + low(middle);
  const Value product = xh * yh + (high(middle) + high(other));
  if (!is_signed(x.dtype())) return product;
  // A negative number was read as 2^64 more than it is.
  return bitcast_convert(product - if_negative(x, b) - if_negative(y, a), x.dtype());
}

Value write_mulhi(Graph& graph, const Instruction& mulhi) {
  const Value x = graph.wrap(mulhi.operands[0]), y = graph.wrap(mulhi.operands[1]);
  return bit_width(x.dtype()) == 64 ? by_halves(x, y) : by_wider_type(x, y);
}

}  // namespace

StatusOr<hlo::Module> expand_mulhi(const hlo::Module& module) {
  const auto matches = [](const Computation&, const Instruction& instruction) {
    return instruction.opcode == Opcode::kMulhi;
  };
  return rewritten(module, matches, write_mulhi);
}

}  // namespace heddle::pjrt
