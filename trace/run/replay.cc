#include "heddle/trace/run/replay.h"

#include <algorithm>
#include <cstring>

#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/run/varying_numbers.h"

namespace heddle::trace_internal {
namespace {

std::atomic<uint64_t> epoch = 1;

bool same_place(SourceLocation a, SourceLocation b) { return a.line == b.line && a.file == b.file; }

bool same_sharding(const hlo::Instruction& instruction, const hlo::Sharding* sharding) {
  const base::Box<hlo::Sharding>& have = instruction.extras->sharding;
  return sharding ? have.has_value() && *have == *sharding : !have.has_value();
}

bool same_extras(const hlo::Instruction& instruction, const Step& step) {
  return instruction.extras->frontend_attributes == step.frontend_attributes &&
         instruction.extras->backend_config == step.backend_config &&
         same_sharding(instruction, step.sharding);
}

}  // namespace

void forget_recordings() {
  epoch.fetch_add(1, std::memory_order_relaxed);
  forget_varying_numbers();
}
uint64_t recordings_epoch() { return epoch.load(std::memory_order_relaxed); }

uint64_t place_of(const void* kind, const void* types, SourceLocation at) {
  uint64_t word = at.line;
  for (const void* pointer : {kind, types, static_cast<const void*>(at.file)})
    word = (word ^ reinterpret_cast<uint64_t>(pointer)) * 0x9e3779b97f4a7c15ull;
  return word ^ (word >> 32);
}

// Of an instruction that was recorded and not pasted: each of its callees was imported.
const Fragment& Recording::import(hlo::ComputationId id) const {
  return std::ranges::find(imports, id, [](const auto& i) { return i.second; })->first;
}

bool Recording::is_number(size_t instruction) const {
  return std::ranges::binary_search(numbers, instruction, {}, &hlo::InstructionId::value);
}

namespace {

// The instruction of number i, in both; of a constant its type, where any number will do.
bool same_instruction(const Recording& a, const Recording& b, size_t i, bool any_number) {
  const hlo::Instruction &x = a.computation.instructions[i], &y = b.computation.instructions[i];
  if (x.opcode != y.opcode || x.shape != y.shape || x.operands != y.operands ||
      x.called.size() != y.called.size() || !(x.extras.get() == y.extras.get()) ||
      a.is_number(i) != b.is_number(i))
    return false;
  for (size_t k = 0; k < x.called.size(); ++k) {
    if (a.import(x.called[k]) != b.import(y.called[k])) return false;
  }
  return x.opcode == hlo::Opcode::kParameter ||
         (same_place(x.at, y.at) && (any_number || x.attrs == y.attrs));
}

}  // namespace

bool Replay::begins_alike(const Recording& other) const {
  if (other.computation.instructions.size() < matched_) return false;
  auto given = given_.begin();
  for (size_t i = 0; i < matched_; ++i) {
    const bool is_given = given != given_.end() && given->id.value == i;
    if (is_given) ++given;
    if (!same_instruction(*expected_, other, i, is_given)) return false;
  }
  return true;
}

void Replay::list_same() {
  if (same_.empty()) return;
  for (const hlo::InstructionId id : same_)
    given_.push_back({id, at(id).attrs.get<hlo::ConstantAttrs>().literal, false});
  same_.clear();
  std::ranges::sort(given_, {}, [](const Given& given) { return given.id.value; });
}

bool Replay::switch_over() {
  list_same();
  for (size_t i = which_ + 1; i < all_.size() && all_[i]; ++i) {
    if (!begins_alike(*all_[i])) continue;
    which_ = i;
    expected_ = all_[i];
    for (Given& given : given_)
      given.is_other = !(at(given.id).attrs.get<hlo::ConstantAttrs>().literal == given.value);
    return true;
  }
  return false;
}

template <class TryMatch>
hlo::InstructionId Replay::first_match(const TryMatch& try_match) {
  do {
    const hlo::Instruction* have = next();
    if (have && try_match(*have)) return hlo::InstructionId(matched_++);
  } while (switch_over());
  return {};
}

bool Replay::next_is_number() const { return expected_->is_number(matched_); }

bool Replay::matches(const Step& step) const {
  const hlo::Instruction& have = *next();
  const bool same = have.opcode == step.opcode &&
                    std::ranges::equal(have.operands, step.operands) &&
                    have.called.size() == step.called.size() && same_place(have.at, step.at) &&
                    (!step.declared || *step.declared == have.shape) && have.attrs == step.attrs &&
                    same_extras(have, step);
  if (!same) return false;
  for (size_t i = 0; i < step.called.size(); ++i) {
    if (expected_->import(have.called[i]) != step.called[i]) return false;
  }
  return true;
}

hlo::InstructionId Replay::match(const Step& step) {
  return first_match([&](const hlo::Instruction&) { return matches(step); });
}

hlo::InstructionId Replay::match_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                           SourceLocation at) {
  const hlo::InstructionId id = first_match([&](const hlo::Instruction& have) {
    return have.opcode == hlo::Opcode::kParameter && have.shape == shape &&
           same_sharding(have, sharding) && !next_is_number();
  });
  if (id.valid()) parameters_.push_back(at);
  return id;
}

hlo::InstructionId Replay::match_number(const Literal& number, SourceLocation at, bool may_differ) {
  bool is_operand = false, is_other = false;
  const hlo::InstructionId id = first_match([&](const hlo::Instruction& have) {
    if (have.shape != number.shape()) return false;
    is_operand = may_differ && next_is_number();
    if (is_operand) return true;
    if (have.opcode != hlo::Opcode::kConstant || !same_place(have.at, at)) return false;
    is_other = !(have.attrs.get<hlo::ConstantAttrs>().literal == number);
    return !is_other || (may_differ && is_number(number));
  });
  if (id.valid() && is_operand) parameters_.push_back(at);
  if (id.valid() && !is_operand && may_differ && is_number(number))
    given_.push_back({id, number, is_other});
  return id;
}

hlo::InstructionId Replay::match_same_number(const void* bytes, DType dtype, SourceLocation at) {
  const hlo::Instruction* have = next();
  if (have == nullptr || have->opcode != hlo::Opcode::kConstant || !have->shape.is_scalar(dtype) ||
      !same_place(have->at, at))
    return {};
  const Literal& literal = have->attrs.get<hlo::ConstantAttrs>().literal;
  const auto size = static_cast<size_t>(storage_bytes(dtype));
  if (literal.is_elided() || std::memcmp(literal.bytes(), bytes, size) != 0) return {};
  const hlo::InstructionId id(matched_++);
  same_.push_back(id);
  return id;
}

hlo::InstructionId Replay::match_operand(const Shape& shape, SourceLocation at) {
  const hlo::InstructionId id = first_match(
      [&](const hlo::Instruction& have) { return next_is_number() && have.shape == shape; });
  if (id.valid()) parameters_.push_back(at);
  return id;
}

bool Replay::ends_here(std::span<const hlo::InstructionId> root, bool is_bare,
                       size_t captures) const {
  const hlo::Computation& all = expected_->computation;
  if (captures != expected_->captures) return false;
  if (is_bare) return matched_ == all.instructions.size() && all.root == root[0];
  return matched_ + 1 == all.instructions.size() && all.root == hlo::InstructionId(matched_) &&
         std::ranges::equal(all.root_instruction().operands, root);
}

bool Replay::ends_with(std::span<const hlo::InstructionId> root, bool is_bare, size_t captures) {
  do {
    if (ends_here(root, is_bare, captures)) return true;
  } while (switch_over());
  return false;
}

}  // namespace heddle::trace_internal
