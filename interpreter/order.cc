// The order of evaluation: by id, but elements leave their tuples at once, and an op that could
// overwrite an operand waits, while there is other work, until the other readers of that operand
// are done. So a carry that is read and updated is never copied.
#include <functional>
#include <queue>

#include "heddle/interpreter/internal/plan.h"

namespace heddle::interpreter {
namespace {

// Below this, sharing an operand costs no more than looking after its order.
constexpr int64_t kSmallBytes = 64;

// Ops that gain when they are the only owner of operand i.
bool may_overwrite(const Instruction& instruction, size_t i) {
  if (instruction.opcode == Opcode::kDynamicUpdateSlice) return i == 0;
  return instruction.opcode == Opcode::kTuple || !instruction.called.empty();
}

class Scheduler {
 public:
  Scheduler(const Computation& computation, const std::vector<bool>& live,
            const std::vector<bool>& effects)
      : computation_(computation),
        live_(live),
        effects_(effects),
        users_(live.size()),
        unread_(live.size()),
        missing_(live.size()),
        deferred_(live.size()) {}

  std::vector<InstructionId> run() {
    add_edges();
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i] && missing_[i] == 0) make_ready(static_cast<uint32_t>(i));
    }
    for (uint32_t next; take(next);) emit(next);
    return std::move(order_);
  }

 private:
  using Heap = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;

  const Instruction& at(uint32_t i) const { return computation_.instructions[i]; }

  void add_edge(uint32_t before, uint32_t after) {
    users_[before].push_back(after);
    ++missing_[after];
  }

  void add_edges() {
    uint32_t last_effect = UINT32_MAX;
    for (uint32_t i = 0; i < live_.size(); ++i) {
      if (!live_[i]) continue;
      for (InstructionId id : at(i).operands) {
        add_edge(id.value, i);
        ++unread_[id.value];
      }
      for (InstructionId id : at(i).extras->control_predecessors) {
        if (live_[id.value]) add_edge(id.value, i);
      }
      if (!has_side_effect(at(i), effects_)) continue;
      if (last_effect != UINT32_MAX) add_edge(last_effect, i);
      last_effect = i;
    }
  }

  void make_ready(uint32_t i) {
    if (at(i).opcode == Opcode::kGetTupleElement) {
      elements_.push_back(i);
    } else {
      ready_.push(i);
    }
  }

  bool must_wait(uint32_t i) const {
    const Instruction& instruction = at(i);
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const uint32_t operand = instruction.operands[k].value;
      if (unread_[operand] > 1 && may_overwrite(instruction, k) &&
          at(operand).opcode != Opcode::kConstant && at(operand).shape.byte_size() > kSmallBytes) {
        return true;
      }
    }
    return false;
  }

  bool take(uint32_t& next) {
    if (!elements_.empty()) {
      next = elements_.back();
      elements_.pop_back();
      return true;
    }
    while (!ready_.empty()) {
      next = pop(ready_);
      if (!must_wait(next)) return true;
      deferred_[next] = true;
      waiting_.push(next);
    }
    while (!waiting_.empty()) {  // some were let go since
      next = pop(waiting_);
      if (deferred_[next]) {
        deferred_[next] = false;
        return true;
      }
    }
    return false;
  }

  static uint32_t pop(Heap& queue) {
    uint32_t top = queue.top();
    queue.pop();
    return top;
  }

  void emit(uint32_t i) {
    order_.push_back(InstructionId(i));
    for (InstructionId id : at(i).operands) {
      if (--unread_[id.value] == 1) release(id.value);
    }
    for (uint32_t user : users_[i]) {
      if (--missing_[user] == 0) make_ready(user);
    }
  }

  // One reader of `value` is left: it need not wait for others.
  void release(uint32_t value) {
    for (uint32_t user : users_[value]) {
      if (!deferred_[user]) continue;
      deferred_[user] = false;
      ready_.push(user);
    }
  }

  const Computation& computation_;
  const std::vector<bool>& live_;
  const std::vector<bool>& effects_;
  std::vector<std::vector<uint32_t>> users_;
  std::vector<uint32_t> unread_;   // uses of the value that have not run
  std::vector<uint32_t> missing_;  // edges into the instruction whose start has not run
  std::vector<bool> deferred_;
  std::vector<uint32_t> elements_;
  Heap ready_;
  Heap waiting_;
  std::vector<InstructionId> order_;
};

}  // namespace

bool has_side_effect(const Instruction& instruction, const std::vector<bool>& effects) {
  if (has_trait(instruction.opcode, kSideEffect)) return true;
  if (instruction.opcode == Opcode::kCustomCall &&
      instruction.attrs.get<CustomCallAttrs>().custom_call_has_side_effect)
    return true;
  for (ComputationId id : instruction.called) {
    if (effects[id.value]) return true;
  }
  return false;
}

std::vector<InstructionId> evaluation_order(const Computation& computation,
                                            const std::vector<bool>& live,
                                            const std::vector<bool>& effects) {
  return Scheduler(computation, live, effects).run();
}

}  // namespace heddle::interpreter
