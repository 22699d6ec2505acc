#include "heddle/codegen/plan/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "heddle/codegen/plan/quotients.h"

namespace heddle::cpu {

PlanBuilder::PlanBuilder(Plan& plan) : plan_(plan) {
  plan.entry = BlockId(plan.blocks.size());
  plan.blocks.emplace_back();
  open_.push_back({plan.entry});
}

NodeId PlanBuilder::make(Node node, std::span<const NodeId> args) {
  node.origin = origin_;
  depth_.push_back(static_cast<uint16_t>(open_.size() - 1));
  const NodeId id = plan_.add(node, args);
  bounds_.push_back(bounds_of(plan_, plan_.at(id), bounds_));
  return id;
}

// The outermost open block that knows the operands, and no block outside of a barrier or of
// `floor`.
size_t PlanBuilder::depth_for(std::span<const NodeId> args, size_t floor) const {
  size_t depth = floor;
  for (NodeId arg : args) depth = std::max<size_t>(depth, depth_[arg.value]);
  for (size_t i = open_.size(); i-- > depth + 1;) {
    if (open_[i].is_barrier) depth = i;
  }
  return depth;
}

NodeId PlanBuilder::pure(Op op, Type type, int64_t imm, std::initializer_list<NodeId> args,
                         BufferId buffer, size_t floor) {
  const size_t depth = depth_for({args.begin(), args.size()}, floor);
  std::array ids = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  if (args.size() > ids.size()) {
    std::fprintf(stderr, "bug in heddle: a pure node of a plan has %zu operands\n", args.size());
    std::abort();
  }
  std::ranges::transform(args, ids.begin(), [](NodeId id) { return id.value; });
  const Key key{op, type.scalar, type.lanes, imm, buffer.value, ids};
  // A load may have been made before a store: only arithmetic is the same again.
  if (!buffer.valid()) {
    for (size_t i = 0; i <= depth; ++i) {
      if (auto found = open_[i].known.find(key); found != open_[i].known.end())
        return found->second;
    }
  }
  const NodeId id =
      make({.op = op, .type = type, .buffer = buffer, .imm = imm}, {args.begin(), args.size()});
  depth_[id.value] = static_cast<uint16_t>(depth);
  plan_.blocks[open_[depth].block.value].nodes.push_back(id);
  if (!buffer.valid()) open_[depth].known.emplace(key, id);
  return id;
}

NodeId PlanBuilder::effect(Op op, Type type, int64_t imm, std::initializer_list<NodeId> args,
                           BufferId buffer, BufferId buffer2) {
  const NodeId id = make({.op = op, .type = type, .buffer = buffer, .buffer2 = buffer2, .imm = imm},
                         {args.begin(), args.size()});
  plan_.blocks[open_.back().block.value].nodes.push_back(id);
  return id;
}

NodeId PlanBuilder::bits(Type type, int64_t bits) {
  const int64_t width = cpu::bits_of(type.scalar);
  if (width < 64) {  // one form for each value: sign-extended, a pred 0 or 1
    bits = type.scalar == Scalar::kPred ? bits & 1 : bits << (64 - width) >> (64 - width);
  }
  return pure(Op::kConstant, type, bits, {});
}

NodeId PlanBuilder::number(Type type, double value) {
  if (type.scalar == Scalar::kF32)
    return bits(type, std::bit_cast<int32_t>(static_cast<float>(value)));
  return bits(type, std::bit_cast<int64_t>(value));
}

NodeId PlanBuilder::lanes(Scalar scalar, int32_t count) {
  return pure(Op::kLanes, {scalar, count}, 0, {});
}

NodeId PlanBuilder::splat(NodeId x, int32_t lanes) {
  if (lanes == 1 || type(x).lanes == lanes) return x;
  const Type wide = {type(x).scalar, lanes};
  if (is_constant(x)) return bits(wide, bits_of(x));
  return pure(Op::kSplat, wide, 0, {x});
}

int32_t PlanBuilder::match(NodeId& x, NodeId& y) {
  const int32_t lanes = std::max(type(x).lanes, type(y).lanes);
  x = splat(x, lanes);
  y = splat(y, lanes);
  return lanes;
}

namespace {

// What an operation on floats gives; nothing for those that are not folded.
std::optional<double> value_of(Op op, double x) {
  switch (op) {
    case Op::kNeg: return -x;
    case Op::kAbs: return std::abs(x);
    case Op::kFloor: return std::floor(x);
    case Op::kCeil: return std::ceil(x);
    default: return {};
  }
}

bool is_same_everywhere(Scalar scalar, double x) {
  const double least = scalar == Scalar::kF32 ? std::numeric_limits<float>::min()
                                              : std::numeric_limits<double>::min();
  return x == 0 || std::abs(x) >= least;  // false of NaN
}

std::optional<double> value_of(Op op, Scalar scalar, double x, double y) {
  if (!is_same_everywhere(scalar, x) || !is_same_everywhere(scalar, y)) return {};
  const auto in = [&](auto a, auto b) -> std::optional<double> {
    switch (op) {
      case Op::kAdd: return a + b;
      case Op::kSub: return a - b;
      case Op::kMul: return a * b;
      case Op::kDiv: return a / b;
      default: return {};
    }
  };
  return scalar == Scalar::kF32 ? in(static_cast<float>(x), static_cast<float>(y)) : in(x, y);
}

}  // namespace

NodeId PlanBuilder::unary(Op op, NodeId x) {
  if (is_float(type(x).scalar) && is_constant(x)) {
    if (const NodeId folded = folded_float(type(x), value_of(op, float_of(x))); folded.valid())
      return folded;
  }
  return pure(op, type(x), 0, {x});
}

double PlanBuilder::float_of(NodeId constant) const {
  const int64_t bits = bits_of(constant);
  return type(constant).scalar == Scalar::kF32 ? std::bit_cast<float>(static_cast<int32_t>(bits))
                                               : std::bit_cast<double>(bits);
}

// Not valid where a machine or its mode decides: NaN has a sign, and subnormals may be flushed.
NodeId PlanBuilder::folded_float(Type type, std::optional<double> value) {
  return value && is_same_everywhere(type.scalar, *value) ? number(type, *value) : NodeId();
}

// Operations on constant masks, and such with one of them.
NodeId PlanBuilder::fold_masks(Op op, NodeId x, NodeId y) {
  if (is_constant(x)) std::swap(x, y);
  if (!is_constant(y)) return {};
  const bool b = (bits_of(y) & 1) != 0;
  switch (op) {
    case Op::kAnd: return b ? x : y;
    case Op::kOr: return b ? y : x;
    case Op::kXor:
      if (!b) return x;
      return is_constant(x) ? bits(type(x), bits_of(x) ^ 1) : NodeId();
    default: return {};
  }
}

// What the bounds of integers tell: one of two is the lesser, or a division has no signs.
NodeId PlanBuilder::fold_bounded(Op op, NodeId x, NodeId y) {
  const Bounds &a = bounds(x), &b = bounds(y);
  switch (op) {
    case Op::kSMin: return a.high <= b.low ? x : b.high <= a.low ? y : NodeId();
    case Op::kSMax: return a.low >= b.high ? x : b.low >= a.high ? y : NodeId();
    case Op::kSRem:
    case Op::kURem:
      if (a.low < 0 || b.low <= 0) return {};
      if (a.high < b.low) return x;
      return op == Op::kSRem ? binary(Op::kURem, x, y) : NodeId();
    case Op::kSDiv: return a.low >= 0 && b.low > 0 ? binary(Op::kUDiv, x, y) : NodeId();
    default: return {};
  }
}

// A sum is -0 where both terms are, or where a product that joins it rounds to -0.
bool PlanBuilder::is_never_minus_zero(NodeId id) const {
  const Node& node = plan_.at(id);
  if (node.op == Op::kConstant) return float_of(id) != 0 || !std::signbit(float_of(id));
  const auto args = plan_.args_of(node);
  if (node.op == Op::kReduceLanes && node.imm == static_cast<int64_t>(Op::kAdd))
    return is_never_minus_zero(args[0]);
  const auto is_square = [&](const Node& product) {
    return product.op == Op::kMul && plan_.args_of(product)[0] == plan_.args_of(product)[1];
  };
  if (node.op != Op::kAdd) return is_square(node);
  const auto is_product = [&](NodeId term) {
    return plan_.at(term).op == Op::kMul && !is_square(plan_.at(term));
  };
  if (node.imm == 0 && (is_product(args[0]) || is_product(args[1]))) return false;
  return is_never_minus_zero(args[0]) || is_never_minus_zero(args[1]);
}

// x + 0, x * 1, and arithmetic on constants.
NodeId PlanBuilder::fold(Op op, NodeId x, NodeId y) {
  if (type(x).scalar == Scalar::kPred) return fold_masks(op, x, y);
  if (is_float(type(x).scalar)) {
    if (is_constant(x) && (op == Op::kMin || op == Op::kMax || op == Op::kAdd)) std::swap(x, y);
    if (!is_constant(y)) return {};
    const double infinity = std::numeric_limits<double>::infinity();
    if (op == Op::kMin && float_of(y) == infinity) return x;
    if (op == Op::kMax && float_of(y) == -infinity) return x;
    if (op == Op::kAdd && float_of(y) == 0 && (std::signbit(float_of(y)) || is_never_minus_zero(x)))
      return x;
    if (!is_constant(x)) return {};
    return folded_float(type(x), value_of(op, type(x).scalar, float_of(x), float_of(y)));
  }
  if (const NodeId folded = fold_bounded(op, x, y); folded.valid()) return folded;
  if (is_constant(x) && !is_constant(y) && (op == Op::kAdd || op == Op::kMul)) std::swap(x, y);
  if (!is_constant(y)) return {};
  const int64_t b = bits_of(y);
  if (op == Op::kAdd && b == 0) return x;
  if (op == Op::kMul && b == 1) return x;
  if (op == Op::kMul && b == 0) return y;
  if (!is_constant(x)) return {};
  const int64_t a = bits_of(x);
  switch (op) {
    case Op::kAdd: return bits(type(x), static_cast<int64_t>(uint64_t(a) + uint64_t(b)));
    case Op::kSub: return bits(type(x), static_cast<int64_t>(uint64_t(a) - uint64_t(b)));
    case Op::kMul: return bits(type(x), static_cast<int64_t>(uint64_t(a) * uint64_t(b)));
    default: return {};
  }
}

namespace {

// What it gives is a whole number, infinite or NaN.
bool is_whole(Op op) {
  switch (op) {
    case Op::kSToFloat:
    case Op::kUToFloat:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundEven:
    case Op::kRoundAway: return true;
    default: return false;
  }
}

}  // namespace

// By products where they round as the quotient does; not valid: they do not, or take as long.
NodeId PlanBuilder::divided_by(NodeId x, double divisor) {
  constexpr int64_t kSlowDivision = 64;  // bytes of a vector, whose division takes 10 cycles
  constexpr int64_t kQuickDivision = 16;
  if (divisor == 0 || !std::isfinite(divisor)) return {};
  const Type wide = type(x);
  const double inverse = 1 / divisor;
  const bool is_single = wide.scalar == Scalar::kF32;
  const bool is_normal =
      is_single ? std::isnormal(static_cast<float>(inverse)) : std::isnormal(inverse);
  int exponent = 0;
  if (std::abs(std::frexp(divisor, &exponent)) == 0.5 && is_normal)
    return binary(Op::kMul, x, number(wide, inverse));
  if (is_single && has_fma() && is_whole(plan_.at(x).op)) {
    // Whole numbers are zero or so large that no product is subnormal, which needs no test.
    const auto parts = inverse_in_parts(static_cast<float>(divisor));
    if (parts && parts->least <= 1) {
      const Exact exact(*this);
      return fma(x, number(wide, parts->high), binary(Op::kMul, x, number(wide, parts->low)));
    }
  }
  if (bytes_of(wide.scalar) * wide.lanes <= kQuickDivision || plan_.vector_bytes < kSlowDivision)
    return {};
  const auto by_parts = [&](const auto& parts) {
    return pure(
        Op::kDivBy, wide, std::bit_cast<int64_t>(divisor),
        {x, number(wide, parts->high), number(wide, parts->low), number(wide, parts->least)});
  };
  if (is_single) {
    const auto parts = inverse_in_parts(static_cast<float>(divisor));
    return parts ? by_parts(parts) : divided_in_double(x, divisor);
  }
  const auto parts = inverse_in_parts(divisor);
  return parts ? by_parts(parts) : NodeId();
}

// The product of f64 by the rounded inverse is off by 2^-52 of itself at most. A quotient of f32 is
// 2^-49 away from the middle of two neighbours, or such a middle itself: that may be where it is
// subnormal and the divisor an even number. Then the product has to be exact, as it is where the
// inverse is off by no more than 2^-54.
NodeId PlanBuilder::divided_in_double(NodeId x, double divisor) {
  const double inverse = 1 / divisor;
  if (std::fmod(divisor, 2) == 0 && std::abs(std::fma(divisor, inverse, -1.0)) > 0x1p-54) return {};
  const Exact exact(*this);
  const NodeId product = binary(Op::kMul, cast(Op::kFloatCast, Scalar::kF64, x),
                                number({Scalar::kF64, type(x).lanes}, inverse));
  return cast(Op::kFloatCast, Scalar::kF32, product);
}

NodeId PlanBuilder::binary(Op op, NodeId x, NodeId y) {
  const int32_t lanes = match(x, y);
  if (const NodeId folded = fold(op, x, y); folded.valid()) return folded;
  if (op == Op::kDiv && is_constant(y)) {
    if (const NodeId product = divided_by(x, float_of(y)); product.valid()) return product;
  }
  const bool exact = is_exact_ && is_float(type(x).scalar);
  return pure(op, {type(x).scalar, lanes}, exact ? 1 : 0, {x, y});
}

NodeId PlanBuilder::fma(NodeId x, NodeId y, NodeId z) {
  const int32_t lanes = std::max({type(x).lanes, type(y).lanes, type(z).lanes});
  return pure(Op::kFma, {type(x).scalar, lanes}, 0,
              {splat(x, lanes), splat(y, lanes), splat(z, lanes)});
}

namespace {

Predicate with_sign(Predicate predicate) {
  switch (predicate) {
    case Predicate::kULt: return Predicate::kLt;
    case Predicate::kULe: return Predicate::kLe;
    case Predicate::kUGt: return Predicate::kGt;
    case Predicate::kUGe: return Predicate::kGe;
    default: return predicate;
  }
}

template <class T>
bool holds(Predicate predicate, T x, T y) {
  switch (with_sign(predicate)) {
    case Predicate::kEq: return x == y;
    case Predicate::kNe: return x != y;
    case Predicate::kLt: return x < y;
    case Predicate::kLe: return x <= y;
    case Predicate::kGt: return x > y;
    default: return x >= y;
  }
}

// Of integers as constants hold them, sign-extended: that leaves the order of those without a sign.
bool holds_of_integers(Predicate predicate, int64_t x, int64_t y) {
  return with_sign(predicate) == predicate
             ? holds(predicate, x, y)
             : holds(predicate, static_cast<uint64_t>(x), static_cast<uint64_t>(y));
}

}  // namespace

// What the bounds of two integers make of a test.
std::optional<bool> PlanBuilder::decided(Predicate predicate, NodeId x, NodeId y) const {
  const Bounds &a = bounds(x), &b = bounds(y);
  if (with_sign(predicate) != predicate && (a.low < 0 || b.low < 0)) return {};
  const auto order = [](bool holds, bool fails) -> std::optional<bool> {
    return holds || fails ? std::optional(holds) : std::nullopt;
  };
  switch (with_sign(predicate)) {
    case Predicate::kLt: return order(a.high < b.low, a.low >= b.high);
    case Predicate::kLe: return order(a.high <= b.low, a.low > b.high);
    case Predicate::kGt: return order(a.low > b.high, a.high <= b.low);
    case Predicate::kGe: return order(a.low >= b.high, a.high < b.low);
    case Predicate::kEq: return order(false, a.high < b.low || a.low > b.high);
    case Predicate::kNe: return order(a.high < b.low || a.low > b.high, false);
    default: return {};
  }
}

// numpy's remainder of a / n is select(.. & r != 0, r + n, r) of r = srem(a, n). It is 0 exactly
// where r is: that r; not valid: x is no such remainder.
NodeId PlanBuilder::remainder_in(NodeId x) const {
  const auto arg = [&](NodeId id, size_t i) { return plan_.args_of(plan_.at(id))[i]; };
  if (plan_.at(x).op != Op::kSelect) return {};
  const NodeId mask = arg(x, 0), moved = arg(x, 1), rest = arg(x, 2);
  if (plan_.at(rest).op != Op::kSRem || !is_constant(arg(rest, 1)) || bits_of(arg(rest, 1)) == 0)
    return {};
  if (plan_.at(moved).op != Op::kAdd || arg(moved, 0) != rest || arg(moved, 1) != arg(rest, 1))
    return {};
  const auto is_not_zero = [&](NodeId test) {
    const Node& node = plan_.at(test);
    return node.op == Op::kCompare && Predicate(node.imm) == Predicate::kNe &&
           arg(test, 0) == rest && is_constant(arg(test, 1)) && bits_of(arg(test, 1)) == 0;
  };
  const bool moves_no_zero =
      plan_.at(mask).op == Op::kAnd && (is_not_zero(arg(mask, 0)) || is_not_zero(arg(mask, 1)));
  return moves_no_zero ? rest : NodeId();
}

NodeId PlanBuilder::compare(Predicate predicate, NodeId x, NodeId y) {
  const int32_t lanes = match(x, y);
  const Type type = {Scalar::kPred, lanes};
  if (is_constant(x) && is_constant(y)) {
    const bool is_true = is_float(this->type(x).scalar)
                             ? holds(predicate, float_of(x), float_of(y))
                             : holds_of_integers(predicate, bits_of(x), bits_of(y));
    return bits(type, is_true ? 1 : 0);
  }
  if (this->type(x).scalar == Scalar::kPred && is_constant(y)) {
    if (predicate == Predicate::kNe) return binary(Op::kXor, x, y);
    if (predicate == Predicate::kEq) return binary(Op::kXor, x, bits(this->type(y), ~bits_of(y)));
  } else if (!is_float(this->type(x).scalar)) {
    if (const std::optional<bool> is_true = decided(predicate, x, y)) return bits(type, *is_true);
    const bool asks_equality = predicate == Predicate::kEq || predicate == Predicate::kNe;
    if (asks_equality && is_constant(y) && bits_of(y) == 0) {
      if (const NodeId rest = remainder_in(x); rest.valid()) x = rest;
    }
  }
  return pure(Op::kCompare, type, static_cast<int64_t>(predicate), {x, y});
}

NodeId PlanBuilder::select(NodeId mask, NodeId x, NodeId y, int64_t imm) {
  const int32_t lanes = std::max(match(x, y), type(mask).lanes);
  if (is_constant(mask)) return splat((bits_of(mask) & 1) != 0 ? x : y, lanes);
  return pure(Op::kSelect, {type(x).scalar, lanes}, imm,
              {splat(mask, lanes), splat(x, lanes), splat(y, lanes)});
}

NodeId PlanBuilder::choose(NodeId mask, NodeId x, NodeId y) {
  const int64_t lanes = type(mask).lanes, bytes = lanes * bytes_of(type(x).scalar);
  return select(mask, x, y, lanes == 1 || bytes >= plan_.vector_bytes ? 1 : 0);
}

NodeId PlanBuilder::cast(Op op, Scalar to, NodeId x) {
  if (type(x).scalar == to) return x;
  const Type wide{to, type(x).lanes};
  const bool extends = op == Op::kSExtend || op == Op::kZExtend;
  if (extends && is_constant(x) && type(x).scalar != Scalar::kPred) {
    const int64_t unused = 64 - cpu::bits_of(type(x).scalar);
    const uint64_t high = static_cast<uint64_t>(bits_of(x)) << unused;
    return integer(wide, op == Op::kSExtend ? static_cast<int64_t>(high) >> unused
                                            : static_cast<int64_t>(high >> unused));
  }
  if (op == Op::kFloatCast && is_constant(x) && is_same_everywhere(type(x).scalar, float_of(x))) {
    const double value = to == Scalar::kF32 ? static_cast<float>(float_of(x)) : float_of(x);
    if (const NodeId folded = folded_float(wide, value); folded.valid()) return folded;
  }
  return pure(op, wide, 0, {x});
}

NodeId PlanBuilder::math(MathFunction function, std::initializer_list<NodeId> operands) {
  const auto imm = static_cast<int64_t>(function);
  if (operands.size() == 1) return pure(Op::kMath, type(*operands.begin()), imm, operands);
  NodeId x = *operands.begin(), y = *(operands.begin() + 1);
  const int32_t lanes = match(x, y);
  return pure(Op::kMath, {type(x).scalar, lanes}, imm, {x, y});
}

NodeId PlanBuilder::reduce_lanes(Op fold, NodeId x) {
  if (type(x).lanes == 1) return x;
  return pure(Op::kReduceLanes, {type(x).scalar, 1}, static_cast<int64_t>(fold), {x});
}

NodeId PlanBuilder::shift_lanes(NodeId x, int64_t by, NodeId fill) {
  return pure(Op::kShiftLanes, type(x), by, {x, fill});
}

NodeId PlanBuilder::extract(NodeId x, int64_t lane) {
  return pure(Op::kExtract, {type(x).scalar, 1}, lane, {x});
}

BufferId PlanBuilder::buffer(BufferInfo info) {
  plan_.buffers.push_back(info);
  return BufferId(plan_.buffers.size() - 1);
}

}  // namespace heddle::cpu
