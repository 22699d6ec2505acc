#include "heddle/interpreter/reduction_identity.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/builder.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::interpreter {

using namespace hlo;

namespace {

int64_t largest_integer(DType dtype) {
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  if (bits == 64) return -1;  // the bits of u64's
  return static_cast<int64_t>((uint64_t{1} << bits) - 1);
}

bool has_infinity(DType dtype) {
  return dtype == f16 || dtype == bf16 || dtype == f32 || dtype == f64;
}

// The least or greatest number of a float of at most 8 bits: an infinity where there is one.
Literal extreme_of_few(DType dtype, bool is_least) {
  const auto of_bits = [&](int bits) {
    Literal out(Shape::scalar(dtype));
    *out.mutable_bytes() = static_cast<std::byte>(bits);
    return out;
  };
  int best = 0;
  for (int bits = 1; bits < 1 << bit_width(dtype); ++bits) {
    const double now = of_bits(bits).to_double(0), before = of_bits(best).to_double(0);
    if (std::isnan(before) || (is_least ? now < before : now > before)) best = bits;
  }
  return of_bits(best);
}

// 0, of either sign; none where the type has none.
std::optional<Literal> zero_of_few(DType dtype) {
  for (const double zero : {-0.0, 0.0}) {
    Literal out = Literal::scalar(dtype, zero);
    if (out.to_double(0) == 0) return out;
  }
  return std::nullopt;
}

// Zeros of either sign are the same start.
bool is_same(const Literal& a, const std::optional<Literal>& b) {
  if (!b.has_value() || a.shape().dtype() != b->shape().dtype()) return false;
  if (a == *b) return true;
  return is_floating(a.shape().dtype()) && a.to_double(0) == b->to_double(0);
}

// What an instruction of a function is once its first parameter is a number.
struct Known {
  bool is_element = false;        // the second parameter, but for its type and rounding
  std::optional<Literal> number;  // else, where it is known
};

bool holds(const Known& known) {
  return known.number.has_value() && known.number->to_int64(0) != 0;
}

// Walks a function of two scalars once.
class Walk {
 public:
  Walk(const Computation& function, const Literal& start) : function_(function) {
    for (const Instruction& each : function.instructions) known_.push_back(after(each, start));
  }

  [[nodiscard]] bool gives_element() const {
    const Instruction& root = function_.root_instruction();
    const bool is_tuple = root.opcode == Opcode::kTuple && root.operands.size() == 1;
    return known_[(is_tuple ? root.operands[0] : function_.root).value].is_element;
  }

 private:
  [[nodiscard]] const Known& at(const Instruction& of, size_t operand) const {
    return known_[of.operands[operand].value];
  }
  [[nodiscard]] DType type_at(const Instruction& of, size_t operand) const {
    return function_.at(of.operands[operand]).shape.dtype();
  }

  Known after(const Instruction& now, const Literal& start) const {
    if (!now.shape.is_scalar() || !now.called.empty()) return {};
    if (now.opcode == Opcode::kConstant) return {.number = now.attrs.get<ConstantAttrs>().literal};
    if (now.opcode == Opcode::kParameter) {
      if (&now == &function_.at(function_.parameters[1])) return {.is_element = true};
      if (start.shape().dtype() != now.shape.dtype()) return {};
      return {.number = start};
    }
    if (now.operands.empty()) return {};
    if (now.opcode == Opcode::kSelect) return of_select(now);
    const auto is_number = [&](InstructionId i) { return known_[i.value].number.has_value(); };
    if (std::ranges::all_of(now.operands, is_number)) return {.number = computed(now)};
    if (now.operands.size() == 1) return {.is_element = at(now, 0).is_element && keeps(now)};
    if (now.operands.size() == 2) return of_two(now);
    return {};
  }

  [[nodiscard]] std::optional<Literal> computed(const Instruction& now) const {
    Module module;
    ComputationBuilder builder(module, "main");
    Instruction copy = now;
    for (InstructionId& operand : copy.operands)
      operand = builder.constant(*known_[operand.value].number);
    copy.extras = {};
    module.computations.push_back(std::move(builder).finish(builder.append(std::move(copy))));
    module.entry = ComputationId(0);
    const StatusOr<Literal> value = evaluate(module, {});
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

  // Whether an op of one operand gives its operand, but for rounding.
  [[nodiscard]] bool keeps(const Instruction& now) const {
    const DType from = type_at(now, 0), to = now.shape.dtype();
    switch (now.opcode) {
      case Opcode::kConvert:
        if (from == to || (is_floating(from) && is_floating(to))) return true;
        return is_integer(from) && is_integer(to) && bit_width(from) < bit_width(to) &&
               (is_signed(to) || !is_signed(from));
      case Opcode::kCopy:
      case Opcode::kReducePrecision: return true;
      default: return false;
    }
  }

  [[nodiscard]] Known of_select(const Instruction& now) const {
    const Known &which = at(now, 0), &yes = at(now, 1), &no = at(now, 2);
    if (which.number.has_value()) return holds(which) ? yes : no;
    return {.is_element = yes.is_element && no.is_element};
  }

  [[nodiscard]] Known of_two(const Instruction& now) const {
    const Known &a = at(now, 0), &b = at(now, 1);
    if (now.opcode == Opcode::kCompare) return of_compare(now);
    if (a.is_element && b.is_element) {
      const bool is_either = now.opcode == Opcode::kMaximum || now.opcode == Opcode::kMinimum ||
                             now.opcode == Opcode::kAnd || now.opcode == Opcode::kOr;
      return {.is_element = is_either};
    }
    if (now.shape.dtype() == pred && !a.is_element && !b.is_element) return of_preds(now);
    if (a.is_element && b.number.has_value() && now.opcode == Opcode::kSubtract)
      return {.is_element = is_same(*b.number, identity_of(Opcode::kAdd, now.shape.dtype()))};
    if (!a.is_element && !b.is_element) return {};
    const Known& other = a.is_element ? b : a;
    return {.is_element = other.number.has_value() &&
                          is_same(*other.number, identity_of(now.opcode, now.shape.dtype()))};
  }

  // One of the two decides.
  [[nodiscard]] Known of_preds(const Instruction& now) const {
    for (size_t i = 0; i < 2; ++i) {
      const Known& each = at(now, i);
      if (!each.number.has_value()) continue;
      if ((now.opcode == Opcode::kOr && holds(each)) ||
          (now.opcode == Opcode::kAnd && !holds(each)))
        return each;
    }
    return {};
  }

  // No element is less than the least number, nor a NaN.
  [[nodiscard]] Known of_compare(const Instruction& now) const {
    const auto& attrs = now.attrs.get<CompareAttrs>();
    const bool is_greater = attrs.direction == ComparisonDirection::kGt;
    const bool is_strict = is_greater || attrs.direction == ComparisonDirection::kLt;
    const Known &a = at(now, 0), &b = at(now, 1);
    if (!is_strict || attrs.type == ComparisonType::kTotalOrder) return {};
    if (a.is_element == b.is_element) return {};
    const std::optional<Literal>& number = a.is_element ? b.number : a.number;
    if (!number.has_value()) return {};
    const bool needs_least = a.is_element != is_greater;  // least > element, element < least
    const Opcode of = needs_least ? Opcode::kMaximum : Opcode::kMinimum;
    if (!is_same(*number, identity_of(of, number->shape().dtype()))) return {};
    return {.number = Literal::scalar(pred, int64_t{0})};
  }

  const Computation& function_;
  std::vector<Known> known_;  // by instruction
};

}  // namespace

std::optional<Literal> identity_of(Opcode opcode, DType dtype) {
  const bool is_real_number = has_infinity(dtype), is_whole = is_integer(dtype);
  const bool is_few = is_floating(dtype) && storage_bytes(dtype) == 1;
  const bool is_number = is_real_number || is_few || is_whole || is_complex(dtype);
  const bool is_bits = is_whole || dtype == pred;
  switch (opcode) {
    case Opcode::kAdd:
      if (is_real_number) return Literal::scalar(dtype, -0.0);
      if (is_few) return zero_of_few(dtype);
      return is_number || dtype == pred ? std::optional(Literal(Shape::scalar(dtype)))
                                        : std::nullopt;
    case Opcode::kMultiply:
      if (is_bits) return Literal::scalar(dtype, int64_t{1});
      return is_number ? std::optional(Literal::scalar(dtype, 1.0)) : std::nullopt;
    case Opcode::kAnd:
      if (dtype == pred) return Literal::scalar(dtype, int64_t{1});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, is_signed(dtype) ? int64_t{-1} : largest_integer(dtype));
    case Opcode::kOr:
    case Opcode::kXor: return is_bits ? std::optional(Literal(Shape::scalar(dtype))) : std::nullopt;
    case Opcode::kMaximum:
      if (is_real_number) return Literal::scalar(dtype, -INFINITY);
      if (is_few) return extreme_of_few(dtype, /*is_least=*/true);
      if (dtype == pred) return Literal::scalar(dtype, int64_t{0});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, is_signed(dtype) ? -largest_integer(dtype) - 1 : 0);
    case Opcode::kMinimum:
      if (is_real_number) return Literal::scalar(dtype, INFINITY);
      if (is_few) return extreme_of_few(dtype, /*is_least=*/false);
      if (dtype == pred) return Literal::scalar(dtype, int64_t{1});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, largest_integer(dtype));
    default: return std::nullopt;
  }
}

bool is_identity(const Literal& start, const Computation& function) {
  if (function.parameter_count() != 2 || !start.shape().is_scalar()) return false;
  return Walk(function, start).gives_element();
}

}  // namespace heddle::interpreter
