// Rules for ops that call computations. A region that is known to run once becomes a call, which
// `inline` takes from there.
#include <algorithm>
#include <optional>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/rules.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {
namespace {

// `now` as a call of called[which] on one operand.
InstructionId call_instead(Simplifier& to, const Instruction& now, size_t which,
                           InstructionId operand) {
  Instruction call = now;
  call.opcode = Opcode::kCall;
  call.attrs = hlo::CallAttrs();
  call.operands = {operand};
  call.called = {now.called[which]};
  if (call.extras.has_value()) call.extras.mutate().backend_config.clear();
  return to.emit(std::move(call));
}

InstructionId branch_instead(Simplifier& to, const Instruction& now, size_t branch) {
  return call_instead(to, now, branch, now.operands[1 + branch]);
}

InstructionId conditional_of_constant(Simplifier& to, const Instruction& now) {
  const Literal* index = to.splat(now.operands[0]);
  if (index == nullptr) return kDoesNotApply;
  if (index->shape().dtype() == pred)
    return branch_instead(to, now, index->to_int64(0) != 0 ? 0 : 1);
  auto last = static_cast<int64_t>(now.called.size()) - 1;
  int64_t branch = index->to_int64(0);
  return branch_instead(to, now, static_cast<size_t>(branch < 0 || branch > last ? last : branch));
}

// All branches are one computation on one operand; a single branch is the common case.
InstructionId conditional_of_equals(Simplifier& to, const Instruction& now) {
  auto same = [](auto begin, auto end) {
    return std::all_of(begin, end, [&](auto id) { return id == *begin; });
  };
  bool equal = same(now.called.begin(), now.called.end()) &&
               same(now.operands.begin() + 1, now.operands.end());
  return equal ? branch_instead(to, now, 0) : kDoesNotApply;
}

// Of places that are one each: op(start, x), where the computation is such an op.
InstructionId reduce_of_one(Simplifier& to, const Instruction& now) {
  if (now.operands.size() != 2) return kDoesNotApply;
  const Shape& from = to.shape(now.operands[0]);
  const Computation& fold = to.computation(now.called[0]);
  const Instruction& op = fold.root_instruction();
  const bool is_one = std::ranges::all_of(now.attrs.get<hlo::DimensionsAttrs>().dimensions,
                                          [&](int64_t d) { return from.dimension(d) == 1; });
  if (!is_one || !has_trait(op.opcode, hlo::kElementwise) || op.operands != fold.parameters ||
      op.shape.dtype() != now.shape.dtype() || from.dtype() != now.shape.dtype())
    return kDoesNotApply;
  Instruction start = now, x = now, out = now;
  start.opcode = Opcode::kBroadcast;
  start.operands = {now.operands[1]};
  start.attrs = hlo::DimensionsAttrs();
  x.opcode = Opcode::kReshape;
  x.operands = {now.operands[0]};
  x.attrs = hlo::ReshapeAttrs();
  out.opcode = op.opcode;
  out.attrs = op.attrs;
  for (Instruction* each : {&start, &x, &out}) each->called.clear();
  out.operands = {to.emit(std::move(start)), to.emit(std::move(x))};
  return to.emit(std::move(out));
}

bool compare(int64_t a, int64_t b, hlo::ComparisonDirection direction) {
  using enum hlo::ComparisonDirection;
  switch (direction) {
    case kEq: return a == b;
    case kNe: return a != b;
    case kGe: return a >= b;
    case kGt: return a > b;
    case kLe: return a <= b;
    case kLt: return a < b;
  }
  return true;
}

// The value of an integer scalar of a loop's condition before the first pass: a constant, or an
// element of the state that enters as a constant. u64 is left alone: it may not fit.
std::optional<int64_t> first_value(const Simplifier& to, const Computation& condition,
                                   InstructionId id, const Instruction& init) {
  const Instruction* value = &condition.at(id);
  if (value->opcode == Opcode::kGetTupleElement && init.opcode == Opcode::kTuple &&
      condition.at(value->operands[0]).opcode == Opcode::kParameter) {
    value =
        &to.at(init.operands[static_cast<size_t>(value->attrs.get<hlo::TupleIndexAttrs>().index)]);
  }
  bool known = value->opcode == Opcode::kConstant && value->shape.is_scalar() &&
               is_integer(value->shape.dtype()) && value->shape.dtype() != u64;
  if (!known) return std::nullopt;
  const Literal& literal = value->attrs.get<hlo::ConstantAttrs>().literal;
  if (literal.is_elided()) return std::nullopt;
  return literal.to_int64(0);
}

// The condition does more than to say whether to go on, as many times as it is asked.
bool has_effect(const Computation& condition) {
  return std::ranges::any_of(condition.instructions, [](const Instruction& each) {
    return has_trait(each.opcode, hlo::kSideEffect) || each.opcode == Opcode::kWhile ||
           each.opcode == Opcode::kCall || each.opcode == Opcode::kConditional ||
           (each.opcode == Opcode::kCustomCall &&
            each.attrs.get<hlo::CustomCallAttrs>().custom_call_has_side_effect);
  });
}

// False if the condition certainly fails at once.
bool may_begin(const Simplifier& to, const Instruction& loop) {
  if (has_effect(to.computation(loop.called[1]))) return true;
  if (known_trip_count(loop) == 0) return false;
  const Computation& condition = to.computation(loop.called[1]);
  const Instruction& root = condition.root_instruction();
  if (root.opcode == Opcode::kConstant)
    return root.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0) != 0;
  if (root.opcode != Opcode::kCompare) return true;
  const Instruction& init = to.at(loop.operands[0]);
  auto a = first_value(to, condition, root.operands[0], init);
  auto b = first_value(to, condition, root.operands[1], init);
  return !a || !b || compare(*a, *b, root.attrs.get<hlo::CompareAttrs>().direction);
}

InstructionId while_of_no_trips(Simplifier& to, const Instruction& now) {
  return may_begin(to, now) ? kDoesNotApply : to.if_same(now, now.operands[0]);
}

InstructionId while_of_one_trip(Simplifier& to, const Instruction& now) {
  const bool is_once = known_trip_count(now) == 1 && !has_effect(to.computation(now.called[1]));
  return is_once ? call_instead(to, now, 0, now.operands[0]) : kDoesNotApply;
}

constexpr Rule kRegionRules[] = {
    {"reduce-of-one", Opcode::kReduce, reduce_of_one},
    {"conditional-of-constant", Opcode::kConditional, conditional_of_constant},
    {"conditional-of-equals", Opcode::kConditional, conditional_of_equals},
    {"while-of-no-trips", Opcode::kWhile, while_of_no_trips},
    {"while-of-one-trip", Opcode::kWhile, while_of_one_trip},
};

}  // namespace

std::span<const Rule> region_rules() { return kRegionRules; }

}  // namespace heddle::transform
