// sink-iotas: if the turns of a while read an array of integers only by slices, and each element of
// it is a few operations on its index, the turns compute their slices:
//
//   xs = iota(n)                      body(i, xs): x = dynamic-slice(iota(n), i)
//   while(i, xs)                  =>  while(i, xs)
//   body(i, xs): x = xs[i]
//
// A backend that computes a slice of an iota without the array knows then how large x may be. The
// old element of the state is left to `remove-unused`.
#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/builder.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

constexpr size_t kMostOps = 8;  // of an element

// The instructions of the array, operands first. Empty: something else makes it, or too many.
class IndexArray {
 public:
  IndexArray(const hlo::ComputationBuilder& from, InstructionId array) : from_(from) {
    if (!add(array) || !has_iota_) order_.clear();
  }
  [[nodiscard]] const std::vector<InstructionId>& order() const { return order_; }

 private:
  bool add(InstructionId id) {
    if (std::ranges::count(order_, id) > 0) return true;
    const Instruction& instruction = from_.at(id);
    if (++ops_ > kMostOps || !is_simple(instruction)) return false;
    for (const InstructionId operand : instruction.operands) {
      if (!add(operand)) return false;
    }
    order_.push_back(id);
    return true;
  }
  // Integers, and floats of them: all of it exact.
  bool is_simple(const Instruction& instruction) {
    switch (instruction.opcode) {
      case Opcode::kIota: has_iota_ = true; return true;
      case Opcode::kConstant: return instruction.shape.is_scalar();
      case Opcode::kBroadcast: return from_.shape(instruction.operands[0]).is_scalar();
      case Opcode::kReverse:
      case Opcode::kConvert: return true;
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply: return is_integer(instruction.shape.dtype());
      default: return false;
    }
  }

  const hlo::ComputationBuilder& from_;
  std::vector<InstructionId> order_;
  size_t ops_ = 0;  // with those whose operands are still looked at
  bool has_iota_ = false;
};

class Sinking {
 public:
  Sinking(ModuleRebuilder& module, Rebuilder& to, const Instruction& loop)
      : module_(module), to_(to), loop_(loop), body_(module.into().at(loop.called[0])) {}

  // The loop with a body that reads no array of indices; not valid: there is none.
  InstructionId run() && {
    const Instruction& initial = to_.at(loop_.operands[0]);
    const Instruction& root = body_.root_instruction();
    if (initial.opcode != Opcode::kTuple || root.opcode != Opcode::kTuple) return {};
    arrays_.resize(initial.operands.size());
    bool any = false;
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (!is_only_sliced(i)) continue;
      arrays_[i] = IndexArray(to_.builder(), initial.operands[i]).order();
      any = any || !arrays_[i].empty();
    }
    if (!any) return {};
    Instruction loop = loop_;
    loop.called[0] = module_.add(new_body());
    return to_.builder().append(std::move(loop));
  }

 private:
  [[nodiscard]] bool reads_element(const Instruction& instruction, size_t i) const {
    return instruction.opcode == Opcode::kGetTupleElement &&
           instruction.operands[0] == body_.parameters[0] &&
           instruction.attrs.get<hlo::TupleIndexAttrs>().index == static_cast<int64_t>(i);
  }

  // No turn changes it, and none reads it but by slices.
  [[nodiscard]] bool is_only_sliced(size_t i) const {
    if (!reads_element(body_.at(body_.root_instruction().operands[i]), i)) return false;
    bool is_sliced = false;
    for (size_t k = 0; k < body_.instructions.size(); ++k) {
      const Instruction& user = body_.instructions[k];
      for (size_t o = 0; o < user.operands.size(); ++o) {
        if (!reads_element(body_.at(user.operands[o]), i)) continue;
        if (InstructionId(k) == body_.root && o == i) continue;
        if (user.opcode != Opcode::kDynamicSlice || o != 0) return false;
        is_sliced = true;
      }
    }
    return is_sliced;
  }

  [[nodiscard]] hlo::Computation new_body() const {
    hlo::ComputationBuilder to(module_.into(), body_.name);
    std::vector<InstructionId> now;
    std::vector<InstructionId> sunk(arrays_.size());  // by element of the state
    for (const Instruction& old : body_.instructions) {
      Instruction copy = old;
      for (InstructionId& operand : copy.operands) operand = now[operand.value];
      if (copy.extras.has_value() && !copy.extras->control_predecessors.empty()) {
        for (InstructionId& predecessor : copy.extras.mutate().control_predecessors)
          predecessor = now[predecessor.value];
      }
      if (old.opcode == Opcode::kDynamicSlice) {
        for (size_t i = 0; i < arrays_.size(); ++i) {
          if (!arrays_[i].empty() && reads_element(body_.at(old.operands[0]), i))
            copy.operands[0] = copy_of(arrays_[i], sunk[i], to);
        }
      }
      now.push_back(to.append(std::move(copy)));
    }
    return std::move(to).finish(now[body_.root.value]);
  }

  InstructionId copy_of(const std::vector<InstructionId>& array, InstructionId& made,
                        hlo::ComputationBuilder& to) const {
    if (made.valid()) return made;
    std::vector<InstructionId> now;
    for (const InstructionId id : array) {
      Instruction copy = to_.at(id);
      for (InstructionId& operand : copy.operands)
        operand = now[static_cast<size_t>(std::ranges::find(array, operand) - array.begin())];
      if (copy.extras.has_value()) copy.extras.mutate().control_predecessors.clear();
      now.push_back(to.append(std::move(copy)));
    }
    return made = now.back();
  }

  ModuleRebuilder& module_;
  Rebuilder& to_;
  const Instruction& loop_;
  const Computation body_;
  std::vector<std::vector<InstructionId>> arrays_;  // by element of the state; empty: stays
};

}  // namespace

StatusOr<hlo::Module> sink_iotas(const hlo::Module& module) {
  return with_rewritten(
      module,
      [](ModuleRebuilder& into, Rebuilder& to, ComputationId, InstructionId id) -> hlo::Value {
        if (to.old(id).opcode != Opcode::kWhile) return {};
        const Instruction loop = to.mapped(id);
        const InstructionId now = Sinking(into, to, loop).run();
        return now.valid() ? to.in_place_of(id).wrap(now) : hlo::Value();
      });
}

}  // namespace heddle::transform
