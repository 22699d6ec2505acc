#include "heddle/cpu/lower/elements/small_floats.h"

namespace heddle::cpu {
namespace {

// The nodes of one conversion, with constants beside them.
class Bits {
 public:
  explicit Bits(PlanBuilder& builder) : b_(builder) {}

  NodeId op(Op op, NodeId x, int64_t y) { return b_.binary(op, x, b_.integer(b_.type(x), y)); }
  NodeId is(Predicate predicate, NodeId x, int64_t y) {
    return b_.compare(predicate, x, b_.integer(b_.type(x), y));
  }
  NodeId as(Scalar scalar, NodeId x) { return b_.cast(Op::kBitcast, scalar, x); }
  NodeId number(NodeId like, double value) { return b_.number(b_.type(like), value); }

 private:
  PlanBuilder& b_;
};

// The magnitude's bits, moved to their place in an f32, are too small by 2^112.
NodeId widen_f16(PlanBuilder& b, NodeId bits) {
  if (b.has_half()) return b.cast(Op::kFromHalf, Scalar::kF32, bits);
  Bits w(b);
  const NodeId wide = b.cast(Op::kZExtend, Scalar::kI32, bits);
  const NodeId magnitude = w.op(Op::kShl, w.op(Op::kAnd, wide, 0x7FFF), 13);
  const NodeId sign = w.op(Op::kShl, w.op(Op::kAnd, wide, 0x8000), 16);
  const NodeId small = w.as(Scalar::kF32, magnitude);
  const NodeId value = b.mul(small, w.number(small, 0x1p112));
  const NodeId is_special = b.compare(Predicate::kGe, value, w.number(value, 65536));
  const NodeId finite = w.as(Scalar::kI32, value);
  const NodeId chosen = b.select(is_special, w.op(Op::kOr, magnitude, 0x7F800000), finite);
  return w.as(Scalar::kF32, b.binary(Op::kOr, chosen, sign));
}

NodeId narrow_f16(PlanBuilder& b, NodeId value) {
  if (b.has_half()) return b.cast(Op::kToHalf, Scalar::kI16, value);
  Bits w(b);
  const NodeId bits = w.as(Scalar::kI32, value);
  const NodeId sign = w.op(Op::kAnd, w.op(Op::kLShr, bits, 16), 0x8000);
  const NodeId magnitude = w.op(Op::kAnd, bits, 0x7FFFFFFF);
  // Below the least normal number, an addition to 1/2 rounds at the right bit.
  const NodeId as_float = w.as(Scalar::kF32, magnitude);
  const NodeId raised = b.add(as_float, w.number(as_float, 0.5));
  const NodeId subnormal = w.op(Op::kSub, w.as(Scalar::kI32, raised), 0x3F000000);
  const NodeId odd = w.op(Op::kAnd, w.op(Op::kLShr, magnitude, 13), 1);
  const int64_t rebias = -(int64_t{112} << 23) + 0xFFF;
  const NodeId normal = w.op(Op::kLShr, b.add(w.op(Op::kAdd, magnitude, rebias), odd), 13);
  const NodeId finite = b.select(w.is(Predicate::kULt, magnitude, 0x38800000), subnormal, normal);
  const NodeId is_nan = w.is(Predicate::kUGt, magnitude, 0x7F800000);
  const Type type = b.type(magnitude);
  const NodeId special = b.select(is_nan, b.integer(type, 0x7E00), b.integer(type, 0x7C00));
  const NodeId result = b.select(w.is(Predicate::kUGe, magnitude, 0x47800000), special, finite);
  return b.cast(Op::kTruncate, Scalar::kI16, b.binary(Op::kOr, result, sign));
}

NodeId narrow_bf16(PlanBuilder& b, NodeId value, Narrowing kind) {
  Bits w(b);
  const NodeId bits = w.as(Scalar::kI32, value);
  const auto upper = [&](NodeId x) {
    return b.cast(Op::kTruncate, Scalar::kI16, w.op(Op::kLShr, x, 16));
  };
  if (kind == Narrowing::kExact) return upper(bits);
  const NodeId odd = w.op(Op::kAnd, w.op(Op::kLShr, bits, 16), 1);
  NodeId rounded = b.add(w.op(Op::kAdd, bits, 0x7FFF), odd);
  if (kind == Narrowing::kAny) {
    const NodeId is_nan = b.compare(Predicate::kNe, value, value);
    rounded = b.select(is_nan, w.op(Op::kOr, bits, 0x400000), rounded);
  }
  return upper(rounded);
}

// Three bits of mantissa, no infinity, and NaN where all bits but the sign are set.
NodeId widen_f8e4m3fn(PlanBuilder& b, NodeId bits) {
  Bits w(b);
  const NodeId wide = b.cast(Op::kZExtend, Scalar::kI32, bits);
  const NodeId magnitude = w.op(Op::kAnd, wide, 0x7F);
  const NodeId sign = w.op(Op::kShl, w.op(Op::kAnd, wide, 0x80), 24);
  const NodeId normal = w.op(Op::kAdd, w.op(Op::kShl, magnitude, 20), int64_t{120} << 23);
  const NodeId count = b.cast(Op::kSToFloat, Scalar::kF32, magnitude);  // of the least number
  const NodeId subnormal = w.as(Scalar::kI32, b.mul(count, w.number(count, 0x1p-9)));
  const NodeId finite = b.select(w.is(Predicate::kULt, magnitude, 8), subnormal, normal);
  const NodeId value = b.select(w.is(Predicate::kEq, magnitude, 0x7F),
                                b.integer(b.type(finite), 0x7FC00000), finite);
  return w.as(Scalar::kF32, b.binary(Op::kOr, value, sign));
}

// An f32 as a float of 8 bits, whose exponent's bias is less by `bias` and whose mantissa has
// `dropped` bits less. `most`: what stands for all that is greater.
NodeId narrow_f8(PlanBuilder& b, NodeId value, int64_t bias, int64_t dropped, int64_t most) {
  Bits w(b);
  const NodeId bits = w.as(Scalar::kI32, value);
  const NodeId sign = w.op(Op::kAnd, w.op(Op::kLShr, bits, 24), 0x80);
  const NodeId magnitude = w.op(Op::kAnd, bits, 0x7FFFFFFF);
  // Below the least normal number, an addition of a power of two rounds at the right bit.
  const int64_t raise = (bias + 1 + dropped) << 23;
  const NodeId as_float = w.as(Scalar::kF32, magnitude);
  const NodeId raised = b.add(as_float, w.as(Scalar::kF32, b.integer(b.type(bits), raise)));
  const NodeId subnormal = w.op(Op::kSub, w.as(Scalar::kI32, raised), raise);
  const NodeId odd = w.op(Op::kAnd, w.op(Op::kLShr, magnitude, dropped), 1);
  const int64_t rebias = -(bias << 23) + (int64_t{1} << (dropped - 1)) - 1;
  const NodeId normal = w.op(Op::kLShr, b.add(w.op(Op::kAdd, magnitude, rebias), odd), dropped);
  const NodeId is_small = w.is(Predicate::kULt, magnitude, (bias + 1) << 23);
  const NodeId finite = b.select(is_small, subnormal, normal);
  const NodeId result = w.op(Op::kUMin, finite, most);
  return b.binary(Op::kOr, result, sign);
}

NodeId narrow_f8e4m3fn(PlanBuilder& b, NodeId value) {
  return b.cast(Op::kTruncate, Scalar::kI8, narrow_f8(b, value, 120, 20, 0x7F));
}

NodeId narrow_f8e5m2(PlanBuilder& b, NodeId value) {
  const NodeId bits = narrow_f8(b, value, 112, 21, 0x7C);
  const NodeId is_nan = b.compare(Predicate::kNe, value, value);
  Bits w(b);
  return b.cast(Op::kTruncate, Scalar::kI8, b.select(is_nan, w.op(Op::kOr, bits, 0x7E), bits));
}

// An f64 as an f32 that rounds to a shorter type as it does: of the two neighbours, the odd one.
NodeId round_to_odd(PlanBuilder& b, NodeId value) {
  Bits w(b);
  const NodeId nearest = b.cast(Op::kFloatCast, Scalar::kF32, value);
  const NodeId back = b.cast(Op::kFloatCast, Scalar::kF64, nearest);
  const NodeId size = b.unary(Op::kAbs, value), near_size = b.unary(Op::kAbs, back);
  const NodeId bits = w.as(Scalar::kI32, nearest);
  const NodeId is_even = w.is(Predicate::kEq, w.op(Op::kAnd, bits, 1), 0);
  const auto where = [&](Predicate predicate) {
    return b.binary(Op::kAnd, is_even, b.compare(predicate, near_size, size));
  };
  const NodeId up = b.select(where(Predicate::kLt), w.op(Op::kAdd, bits, 1), bits);
  return w.as(Scalar::kF32, b.select(where(Predicate::kGt), w.op(Op::kSub, bits, 1), up));
}

}  // namespace

NodeId widen(PlanBuilder& builder, DType from, NodeId bits) {
  Bits w(builder);
  if (from == f16) return widen_f16(builder, bits);
  if (from == f8e4m3fn) return widen_f8e4m3fn(builder, bits);
  if (from == f8e5m2)  // the upper half of an f16
    return widen_f16(builder, w.op(Op::kShl, builder.cast(Op::kZExtend, Scalar::kI16, bits), 8));
  const NodeId wide = builder.cast(Op::kZExtend, Scalar::kI32, bits);
  return w.as(Scalar::kF32, w.op(Op::kShl, wide, 16));
}

NodeId narrow(PlanBuilder& builder, DType to, NodeId value, Narrowing kind) {
  if (builder.type(value).scalar == Scalar::kF64) value = round_to_odd(builder, value);
  switch (to) {
    case f16: return narrow_f16(builder, value);
    case f8e4m3fn: return narrow_f8e4m3fn(builder, value);
    case f8e5m2: return narrow_f8e5m2(builder, value);
    default: return narrow_bf16(builder, value, kind);
  }
}

}  // namespace heddle::cpu
