#include "heddle/cpu/rewrites/indexing/affine_indices.h"

#include <algorithm>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostOfLiteral = 1 << 20;  // elements of a literal that are looked at

// Whether all elements are of the type, so that no operation on them wraps around.
bool fits(const Affine& value, const Shape& shape) {
  __int128 least = value.constant, greatest = value.constant;
  for (size_t d = 0; d < value.steps.size(); ++d) {
    const __int128 last = static_cast<__int128>(value.steps[d]) *
                          std::max<int64_t>(shape.dimension(static_cast<int64_t>(d)) - 1, 0);
    (last < 0 ? least : greatest) += last;
  }
  const int64_t bits = bit_width(shape.dtype());
  const bool has_sign = is_signed(shape.dtype());
  const __int128 count = static_cast<__int128>(1)
                         << (has_sign ? bits - 1 : std::min<int64_t>(bits, 63));
  return least >= (has_sign ? -count : 0) && greatest < count;
}

std::optional<Affine> sum(const Affine& x, const Affine& y, int64_t sign) {
  Affine out = x;
  const auto add = [&](int64_t& to, int64_t what) {
    return !__builtin_mul_overflow(what, sign, &what) && !__builtin_add_overflow(to, what, &to);
  };
  bool is_exact = add(out.constant, y.constant);
  for (size_t d = 0; d < x.steps.size(); ++d) is_exact = add(out.steps[d], y.steps[d]) && is_exact;
  return is_exact ? std::optional(out) : std::nullopt;
}

bool is_number(const Affine& x) {
  return std::ranges::all_of(x.steps, [](int64_t step) { return step == 0; });
}

std::optional<Affine> product(const Affine& x, const Affine& y) {
  if (!is_number(y)) return is_number(x) ? product(y, x) : std::nullopt;
  Affine out = x;
  bool is_exact = !__builtin_mul_overflow(x.constant, y.constant, &out.constant);
  for (int64_t& step : out.steps)
    is_exact = !__builtin_mul_overflow(step, y.constant, &step) && is_exact;
  return is_exact ? std::optional(out) : std::nullopt;
}

std::optional<Affine> of_literal(const Literal& literal, const Shape& shape) {
  const Dims& sizes = shape.dimensions();
  if (literal.is_elided() || shape.element_count() < 1 || shape.element_count() > kMostOfLiteral)
    return std::nullopt;
  Affine out{literal.to_int64(0), Dims(sizes.size(), 0)};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
    if (sizes[d] > 1 &&
        __builtin_sub_overflow(literal.to_int64(stride), out.constant, &out.steps[d]))
      return std::nullopt;
  }
  if (!fits(out, shape)) return std::nullopt;
  Dims at(sizes.size(), 0);
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    int64_t value = out.constant;
    for (size_t d = 0; d < sizes.size(); ++d) value += at[d] * out.steps[d];
    if (literal.to_int64(i) != value) return std::nullopt;
    for (size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
  }
  return out;
}

}  // namespace

Affine::Range Affine::range(const Dims& sizes) const {
  Range out{constant, constant};
  for (size_t d = 0; d < steps.size(); ++d)
    (steps[d] < 0 ? out.least : out.greatest) += steps[d] * (sizes[d] - 1);
  return out;
}

AffineIndices::AffineIndices(const hlo::Module& module, const Computation& computation)
    : module_(module),
      computation_(computation),
      values_(computation.instructions.size()),
      truths_(computation.instructions.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    const Shape& shape = instruction.shape;
    if (!shape.is_array() || shape.is_dynamic() || shape.element_count() == 0) continue;
    if (shape.dtype() == pred) truths_[i] = truth(instruction);
    if (is_integer(shape.dtype())) values_[i] = value_of(instruction);
    if (values_[i] && !fits(*values_[i], shape)) values_[i].reset();
    for (int64_t d = 0; values_[i] && d < shape.rank(); ++d) {
      if (shape.dimension(d) == 1) values_[i]->steps[static_cast<size_t>(d)] = 0;
    }
  }
}

std::optional<Affine> AffineIndices::value_of(const Instruction& x) const {
  switch (x.opcode) {
    case Opcode::kConstant: return of_literal(x.attrs.get<hlo::ConstantAttrs>().literal, x.shape);
    case Opcode::kIota: {
      Affine out{0, Dims(static_cast<size_t>(x.shape.rank()), 0)};
      out.steps[static_cast<size_t>(x.attrs.get<hlo::IotaAttrs>().iota_dimension)] = 1;
      return out;
    }
    case Opcode::kBroadcast: return of_broadcast(x);
    case Opcode::kReshape: return of_reshape(x);
    case Opcode::kSelect:
    case Opcode::kClamp: return of_choice(x);
    default: break;
  }
  const auto operand = [&](size_t k) { return of(x.operands[k]); };
  const bool is_one = x.operands.size() == 1 && operand(0) != nullptr;
  const bool are_two = x.operands.size() == 2 && operand(0) != nullptr && operand(1) != nullptr;
  if (x.opcode == Opcode::kConvert || x.opcode == Opcode::kCopy)
    return is_one ? std::optional(*operand(0)) : std::nullopt;
  if (x.opcode == Opcode::kTranspose && is_one) {
    Affine out = *operand(0);
    for (size_t d = 0; d < out.steps.size(); ++d)
      out.steps[d] = operand(0)->steps[static_cast<size_t>(dimensions_of(x)[d])];
    return out;
  }
  if (!are_two) return std::nullopt;
  if (x.opcode == Opcode::kAdd) return sum(*operand(0), *operand(1), 1);
  if (x.opcode == Opcode::kSubtract) return sum(*operand(0), *operand(1), -1);
  if (x.opcode == Opcode::kMultiply) return product(*operand(0), *operand(1));
  return std::nullopt;
}

std::optional<Affine> AffineIndices::of_broadcast(const Instruction& broadcast) const {
  const Affine* from = of(broadcast.operands[0]);
  if (from == nullptr) return std::nullopt;
  Affine out{from->constant, Dims(static_cast<size_t>(broadcast.shape.rank()), 0)};
  for (size_t d = 0; d < from->steps.size(); ++d)
    out.steps[static_cast<size_t>(dimensions_of(broadcast)[d])] = from->steps[d];
  return out;
}

// Dimensions of size 1 come and go, and one dimension may become several.
std::optional<Affine> AffineIndices::of_reshape(const Instruction& reshape) const {
  const Affine* from = of(reshape.operands[0]);
  if (from == nullptr) return std::nullopt;
  const Dims &old = at(reshape.operands[0]).shape.dimensions(), &sizes = reshape.shape.dimensions();
  Affine out{from->constant, Dims(sizes.size(), 0)};
  size_t d = sizes.size();
  for (size_t k = old.size(); k-- > 0;) {
    if (old[k] == 1) continue;
    int64_t stride = 1;
    while (d > 0 && stride < old[k]) {
      --d;
      if (sizes[d] > 1 && __builtin_mul_overflow(from->steps[k], stride, &out.steps[d]))
        return std::nullopt;
      stride *= sizes[d];
    }
    if (stride != old[k]) return std::nullopt;
  }
  return out;
}

// A select or a clamp of which all places choose alike.
std::optional<Affine> AffineIndices::of_choice(const Instruction& x) const {
  const Affine* of_second = of(x.operands[1]);
  if (x.opcode == Opcode::kSelect) {
    const std::optional<bool> chosen = truth_of(x.operands[0]);
    const Affine* value = !chosen ? nullptr : *chosen ? of_second : of(x.operands[2]);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  const Affine *low = of(x.operands[0]), *high = of(x.operands[2]);
  if (low == nullptr || of_second == nullptr || high == nullptr || !is_number(*low) ||
      !is_number(*high))
    return std::nullopt;
  const Affine::Range range = of_second->range(x.shape.dimensions());
  const bool is_within = low->constant <= range.least && range.greatest <= high->constant;
  return is_within ? std::optional(*of_second) : std::nullopt;
}

std::optional<bool> AffineIndices::truth(const Instruction& x) const {
  const auto operand = [&](size_t k) { return truth_of(x.operands[k]); };
  switch (x.opcode) {
    case Opcode::kConstant: {
      const Literal& literal = x.attrs.get<hlo::ConstantAttrs>().literal;
      const bool is_one = x.shape.is_scalar() && !literal.is_elided();
      return is_one ? std::optional(literal.to_int64(0) != 0) : std::nullopt;
    }
    case Opcode::kBroadcast:
    case Opcode::kReshape: return operand(0);
    case Opcode::kNot: return operand(0) ? std::optional(!*operand(0)) : std::nullopt;
    case Opcode::kAnd:
      if (operand(0) == false || operand(1) == false) return false;
      return operand(0) && operand(1) ? std::optional(true) : std::nullopt;
    case Opcode::kOr:
      if (operand(0) == true || operand(1) == true) return true;
      return operand(0) && operand(1) ? std::optional(false) : std::nullopt;
    case Opcode::kReduce: return truth_of_fold(x);
    case Opcode::kCompare: return compared(x);
    default: return std::nullopt;
  }
}

// All or any of what is alike.
std::optional<bool> AffineIndices::truth_of_fold(const Instruction& reduce) const {
  const Computation& called = module_.at(reduce.called[0]);
  const Opcode by = called.root_instruction().opcode;
  if (reduce.operands.size() != 2 || (by != Opcode::kAnd && by != Opcode::kOr) ||
      !std::ranges::is_permutation(called.root_instruction().operands, called.parameters))
    return std::nullopt;
  const std::optional<bool> each = truth_of(reduce.operands[0]),
                            start = truth_of(reduce.operands[1]);
  if (!each || !start || at(reduce.operands[0]).shape.element_count() == 0) return std::nullopt;
  return by == Opcode::kAnd ? *each && *start : *each || *start;
}

std::optional<bool> AffineIndices::compared(const Instruction& comparison) const {
  const Affine *x = of(comparison.operands[0]), *y = of(comparison.operands[1]);
  if (x == nullptr || y == nullptr) return std::nullopt;
  const auto difference = sum(*x, *y, -1);
  if (!difference || !fits(*difference, Shape(s64, comparison.shape.dimensions())))
    return std::nullopt;
  const auto [least, greatest] = difference->range(comparison.shape.dimensions());
  const auto decided = [](bool always, bool never) {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  using enum hlo::ComparisonDirection;
  switch (comparison.attrs.get<hlo::CompareAttrs>().direction) {
    case kEq: return decided(least == 0 && greatest == 0, least > 0 || greatest < 0);
    case kNe: return decided(least > 0 || greatest < 0, least == 0 && greatest == 0);
    case kGe: return decided(least >= 0, greatest < 0);
    case kGt: return decided(least > 0, greatest <= 0);
    case kLe: return decided(greatest <= 0, least > 0);
    case kLt: return decided(greatest < 0, least >= 0);
  }
  return std::nullopt;
}

}  // namespace heddle::cpu
