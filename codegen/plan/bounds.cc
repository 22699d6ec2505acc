#include "heddle/codegen/plan/bounds.h"

#include <algorithm>
#include <limits>

namespace heddle::cpu {
namespace {

Bounds join(const Bounds& x, const Bounds& y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

// False where an end of the result does not fit 64 bits.
bool arithmetic(Op op, const Bounds& x, const Bounds& y, Bounds& to) {
  switch (op) {
    case Op::kAdd:
      return !__builtin_add_overflow(x.low, y.low, &to.low) &&
             !__builtin_add_overflow(x.high, y.high, &to.high);
    case Op::kSub:
      return !__builtin_sub_overflow(x.low, y.high, &to.low) &&
             !__builtin_sub_overflow(x.high, y.low, &to.high);
    default: break;
  }
  int64_t ends[4];
  if (__builtin_mul_overflow(x.low, y.low, &ends[0]) ||
      __builtin_mul_overflow(x.low, y.high, &ends[1]) ||
      __builtin_mul_overflow(x.high, y.low, &ends[2]) ||
      __builtin_mul_overflow(x.high, y.high, &ends[3]))
    return false;
  to = {std::ranges::min(ends), std::ranges::max(ends)};
  return true;
}

// Of a remainder by a divisor above 0, or of a quotient by it.
Bounds divided(Op op, const Bounds& x, int64_t by, const Bounds& all) {
  if (op == Op::kSDiv) return {x.low / by, x.high / by};
  if (op == Op::kSRem) {
    return {x.low >= 0 ? 0 : std::max(x.low, 1 - by), x.high <= 0 ? 0 : std::min(x.high, by - 1)};
  }
  if (op == Op::kURem) return {0, x.low >= 0 ? std::min(x.high, by - 1) : by - 1};
  return x.low >= 0 ? Bounds{x.low / by, x.high / by} : all;
}

}  // namespace

Bounds bounds_of(Scalar scalar) {
  if (scalar == Scalar::kPred) return {0, 1};
  if (is_float(scalar) || bits_of(scalar) == 64)
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const int64_t most = (int64_t{1} << (bits_of(scalar) - 1)) - 1;
  return {-most - 1, most};
}

Bounds bounds_of(const Plan& plan, const Node& node, std::span<const Bounds> known) {
  const Bounds all = bounds_of(node.type.scalar);
  if (is_float(node.type.scalar) || node.type.scalar == Scalar::kPred) return all;
  const auto args = plan.args_of(node);
  const auto arg = [&](size_t i) { return known[args[i].value]; };
  const auto is_integer = [&](size_t i) {
    const Scalar scalar = plan.at(args[i]).type.scalar;
    return !is_float(scalar) && scalar != Scalar::kPred;
  };
  switch (node.op) {
    case Op::kConstant: return {node.imm, node.imm};
    case Op::kLanes: return {0, std::min<int64_t>(node.type.lanes - 1, all.high)};
    case Op::kSplat:
    case Op::kExtract: return arg(0);
    case Op::kSelect: return join(arg(1), arg(2));
    case Op::kSMin: return {std::min(arg(0).low, arg(1).low), std::min(arg(0).high, arg(1).high)};
    case Op::kSMax: return {std::max(arg(0).low, arg(1).low), std::max(arg(0).high, arg(1).high)};
    case Op::kAnd:
      if (arg(0).low >= 0 && arg(1).low >= 0) return {0, std::min(arg(0).high, arg(1).high)};
      if (arg(0).low >= 0) return {0, arg(0).high};
      return arg(1).low >= 0 ? Bounds{0, arg(1).high} : all;
    case Op::kSDiv:
    case Op::kUDiv:
    case Op::kSRem:
    case Op::kURem:
      return arg(1).low > 0 && arg(1).low == arg(1).high ? divided(node.op, arg(0), arg(1).low, all)
                                                         : all;
    case Op::kSExtend: return is_integer(0) ? arg(0) : all;
    case Op::kZExtend: {
      const int64_t bits = bits_of(plan.at(args[0]).type.scalar);
      if (arg(0).low >= 0) return arg(0);
      return bits < 64 ? Bounds{0, (int64_t{1} << bits) - 1} : all;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kTruncate: {
      Bounds result = arg(0);
      if (node.op != Op::kTruncate && !arithmetic(node.op, arg(0), arg(1), result)) return all;
      return result.low >= all.low && result.high <= all.high ? result : all;
    }
    default: return all;
  }
}

}  // namespace heddle::cpu
