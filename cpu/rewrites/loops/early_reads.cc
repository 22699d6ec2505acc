#include "heddle/cpu/rewrites/loops/early_reads.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kSmallBytes = 64;  // a copy of so few costs nothing
constexpr int kMostMoved = 200;      // instructions with one reader

// What its effect may be is not looked up in loops and branches.
bool may_have_effect(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kCustomCall:
      return instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_has_side_effect;
    case Opcode::kWhile:
    case Opcode::kConditional: return true;
    default: return has_trait(instruction.opcode, hlo::kSideEffect);
  }
}

// Whether the instruction's value may stand where its operand k does.
bool stays_in_place(const Computation& body, const Instruction& instruction, size_t k) {
  if (!same_type(instruction.shape, body.at(instruction.operands[k]).shape))
    return instruction.opcode == Opcode::kReshape;
  switch (instruction.opcode) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter: return k == 0;
    case Opcode::kReshape: return true;
    default: return has_trait(instruction.opcode, hlo::kElementwise);
  }
}

// Whether `user` may be what computes the value of the instruction that it reads.
bool is_computed_by(const Instruction& instruction, const Instruction& user) {
  switch (instruction.opcode) {
    case Opcode::kDot: return user.opcode == Opcode::kTranspose;
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
    case Opcode::kPad:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose: return true;
    default:  // a product reads memory, so that its operand is a step beside the update
      return has_trait(instruction.opcode, hlo::kElementwise) && user.opcode != Opcode::kDot;
  }
}

// An array of the state: who overwrites it, and who has to read it before.
struct Update {
  std::vector<InstructionId> writers;
  std::vector<InstructionId> readers;
};

class BodyOrder {
 public:
  explicit BodyOrder(const Computation& body)
      : body_(body), users_(body.instructions.size()), states_(body.instructions.size()) {
    for (size_t i = 0; i < body.instructions.size(); ++i) {
      for (InstructionId operand : body.instructions[i].operands)
        users_[operand.value].push_back(InstructionId(i));
    }
  }

  // Nothing: the order may stay.
  std::optional<std::vector<InstructionId>> find() {
    const Instruction& root = body_.root_instruction();
    if (root.opcode != Opcode::kTuple || body_.parameter_count() != 1) return std::nullopt;
    for (InstructionId taken : users_[body_.parameters[0].value]) {
      if (body_.at(taken).opcode == Opcode::kGetTupleElement) add_update(taken, root);
    }
    if (updates_.empty()) return std::nullopt;
    updates_of_.resize(users_.size());
    for (size_t u = 0; u < updates_.size(); ++u) {
      for (InstructionId writer : updates_[u].writers) updates_of_[writer.value].push_back(u);
    }
    for (size_t i = 0; i < users_.size(); ++i) emit(InstructionId(i));
    if (std::ranges::is_sorted(order_)) return std::nullopt;
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kWaits, kBegun, kDone };

  void add_update(InstructionId old, const Instruction& root) {
    const auto number = static_cast<size_t>(body_.at(old).attrs.get<hlo::TupleIndexAttrs>().index);
    const InstructionId now = root.operands[number];
    if (now == old || !body_.at(old).shape.is_array() ||
        body_.at(old).shape.byte_size() <= kSmallBytes)
      return;
    Update update;
    const std::set<InstructionId> after = reached(old, [&](InstructionId id, const auto& visit) {
      for (InstructionId user : users_[id.value]) {
        const Instruction& by = body_.at(user);
        for (size_t k = 0; k < by.operands.size(); ++k) {
          if (by.operands[k] == id && stays_in_place(body_, by, k)) visit(user);
        }
      }
    });
    const std::set<InstructionId> before = reached(now, [&](InstructionId id, const auto& visit) {
      const Instruction& of = body_.at(id);
      for (size_t k = 0; k < of.operands.size(); ++k) {
        if (stays_in_place(body_, of, k)) visit(of.operands[k]);
      }
    });
    for (InstructionId id : after) {
      if (id != old && before.contains(id)) update.writers.push_back(id);
    }
    if (update.writers.empty()) return;
    const auto readers = reached(old, [&](InstructionId id, const auto& visit) {
      for (InstructionId user : users_[id.value]) {
        if (user == body_.root || before.contains(user)) continue;
        if (id == old || is_computed_by(body_.at(id), body_.at(user))) visit(user);
      }
    });
    update.readers.assign(std::next(readers.begin()), readers.end());  // but for `old`, the least
    const bool is_late = std::ranges::any_of(
        update.readers, [&](InstructionId id) { return update.writers.front() < id; });
    if (is_late) updates_.push_back(std::move(update));
  }

  // All that `next(id, visit)` leads to.
  template <class Next>
  static std::set<InstructionId> reached(InstructionId from, const Next& next) {
    std::set<InstructionId> all{from};
    std::vector<InstructionId> left{from};
    while (!left.empty()) {
      const InstructionId id = left.back();
      left.pop_back();
      next(id, [&](InstructionId other) {
        if (all.insert(other).second) left.push_back(other);
      });
    }
    return all;
  }

  // With what it needs, and the readers that come before it.
  void emit(InstructionId id) {
    State& state = states_[id.value];
    if (state != State::kWaits) return;
    state = State::kBegun;
    for (InstructionId operand : body_.at(id).operands) emit(operand);
    for (InstructionId before : body_.at(id).extras->control_predecessors) emit(before);
    for (const size_t u : updates_of_[id.value]) {
      for (InstructionId reader : updates_[u].readers) {
        if (may_come_now(reader)) emit(reader);
      }
    }
    state = State::kDone;
    order_.push_back(id);
  }

  // Nothing that it needs has begun, or has an effect, whose order is to stay; and that is not much.
  bool may_come_now(InstructionId reader) const {
    bool may = true;
    int moved = 0;
    (void)reached(reader, [&](InstructionId id, const auto& visit) {
      if (!may || states_[id.value] == State::kDone) return;
      may = states_[id.value] == State::kWaits && !may_have_effect(body_.at(id)) &&
            body_.at(id).extras->control_predecessors.empty() && ++moved <= kMostMoved;
      for (InstructionId operand : body_.at(id).operands) visit(operand);
    });
    return may;
  }

  const Computation& body_;
  std::vector<std::vector<InstructionId>> users_;
  std::vector<Update> updates_;
  std::vector<std::vector<size_t>> updates_of_;  // by writer
  std::vector<State> states_;
  std::vector<InstructionId> order_;
};

Computation in_order(const Computation& from, const std::vector<InstructionId>& order) {
  std::vector<InstructionId> now(order.size());
  for (size_t i = 0; i < order.size(); ++i) now[order[i].value] = InstructionId(i);
  Computation to = from;
  for (size_t i = 0; i < order.size(); ++i) {
    Instruction& instruction = to.instructions[i] = from.at(order[i]);
    for (InstructionId& operand : instruction.operands) operand = now[operand.value];
    if (instruction.extras->control_predecessors.empty()) continue;
    for (InstructionId& before : instruction.extras.mutate().control_predecessors)
      before = now[before.value];
  }
  for (InstructionId& parameter : to.parameters) parameter = now[parameter.value];
  to.root = now[from.root.value];
  return to;
}

}  // namespace

StatusOr<std::optional<hlo::Module>> read_before_updates(const hlo::Module& module) {
  std::optional<hlo::Module> out;
  std::set<ComputationId> done;
  for (const Computation& computation : module.computations) {
    for (const Instruction& loop : computation.instructions) {
      if (loop.opcode != Opcode::kWhile || !done.insert(loop.called[0]).second) continue;
      const auto order = BodyOrder(module.at(loop.called[0])).find();
      if (!order) continue;
      if (!out) out = module;
      out->computations[loop.called[0].value] = in_order(module.at(loop.called[0]), *order);
    }
  }
  return out;
}

}  // namespace heddle::cpu
