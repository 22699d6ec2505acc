#include "heddle/transform/canonical.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/transform/effects.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

using hlo::InstructionExtras;

// The new places of the instructions of one computation.
struct Order {
  std::vector<InstructionId> old_id;  // old ids in canonical order
  std::vector<InstructionId> new_id;  // by old id; not valid: dead

  [[nodiscard]] bool changes_nothing() const {
    return old_id.size() == new_id.size() &&
           std::ranges::is_sorted(old_id, {}, &InstructionId::value);
  }
};

// Post-order walk with its own stack: chains of operands may be as long as the computation.
class OrderMaker {
 public:
  explicit OrderMaker(const Computation& from) : from_(from) {
    order_.new_id.resize(from.instructions.size());
    order_.old_id.reserve(from.instructions.size());
    for (InstructionId id : from.parameters) place(id);
  }

  void visit(InstructionId id) {
    enter(id);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.left.empty()) frame.left = std::exchange(frame.control, {});
      if (frame.left.empty()) {
        place(frame.at);
        stack_.pop_back();
      } else {
        const InstructionId child = frame.left.front();
        frame.left = frame.left.subspan(1);
        enter(child);
      }
    }
  }

  Order finish() && { return std::move(order_); }

 private:
  struct Frame {
    InstructionId at;
    std::span<const InstructionId> left;     // operands to visit
    std::span<const InstructionId> control;  // predecessors to visit then
  };

  void enter(InstructionId id) {
    if (placed(id)) return;
    const Instruction& instruction = from_.at(id);
    stack_.push_back({id, instruction.operands, instruction.extras->control_predecessors});
  }
  [[nodiscard]] bool placed(InstructionId id) const { return order_.new_id[id.value].valid(); }
  void place(InstructionId id) {
    order_.new_id[id.value] = InstructionId(order_.old_id.size());
    order_.old_id.push_back(id);
  }

  const Computation& from_;
  Order order_;
  std::vector<Frame> stack_;
};

Order order_of(const Computation& from, const Effects& effects, ComputationId id) {
  OrderMaker maker(from);
  for (size_t i = 0; effects.of(id) && i < from.instructions.size(); ++i) {
    if (effects.of(from.instructions[i])) maker.visit(InstructionId(i));
  }
  maker.visit(from.root);
  return std::move(maker).finish();
}

// The extras that the canonical form keeps; null if none.
base::Box<InstructionExtras> semantic(InstructionExtras extras, const Order& order) {
  extras.metadata = {};
  extras.statistics.clear();
  extras.origin.clear();
  for (InstructionId& id : extras.control_predecessors) id = order.new_id[id.value];
  if (extras == InstructionExtras()) return {};
  return base::Box<InstructionExtras>(std::move(extras));
}

void drop_layout(Shape& shape) {
  if (shape.has_layout() || shape.is_tuple()) shape.clear_layout();
}

void drop_layout(Instruction& constant) {
  const Literal& literal = constant.attrs.get<hlo::ConstantAttrs>().literal;
  if (!literal.shape().has_layout()) return;
  Shape plain = literal.shape();
  plain.clear_layout();
  constant.attrs = hlo::ConstantAttrs{.literal = literal.reshaped(std::move(plain))};
}

// A bitcast reads the bytes as they lie, so its result depends on its own layout and on its
// operand's.
std::vector<bool> layouts_to_keep(const Computation& from) {
  std::vector<bool> keep;
  for (size_t i = 0; i < from.instructions.size(); ++i) {
    const Instruction& instruction = from.instructions[i];
    if (instruction.opcode != Opcode::kBitcast) continue;
    keep.resize(from.instructions.size());
    keep[i] = keep[instruction.operands[0].value] = true;
  }
  return keep;
}

// What stays: everything, in another order; or only the meaning.
enum class Keep : uint8_t { kWords, kMeaning };

// Source is `const Module` (instructions are copied) or `Module` (they are moved).
template <class Source, Keep kKeep = Keep::kMeaning>
class Canonicalizer {
 public:
  explicit Canonicalizer(Source& from)
      : from_(from),
        effects_(from),
        orders_(from.computations.size()),
        new_id_(from.computations.size()) {}

  hlo::Module run() {
    visit(from_.entry);
    into_.name = from_.name;
    into_.entry = new_id_[from_.entry.value];
    copy_header();
    return std::move(into_);
  }

 private:
  struct Frame {
    ComputationId id;
    size_t instruction = 0;  // position in canonical order
    size_t callee = 0;
  };

  // Callees first, in the canonical order of their callers.
  void visit(ComputationId entry) {
    std::vector<Frame> stack;
    enter(stack, entry);
    while (!stack.empty()) {
      ComputationId callee = next_callee(stack.back());
      if (!callee.valid()) {
        ComputationId done = stack.back().id;
        new_id_[done.value] = add(written(from_.computations[done.value], orders_[done.value]));
        stack.pop_back();
      } else if (!new_id_[callee.value].valid()) {
        enter(stack, callee);
      }
    }
  }

  void enter(std::vector<Frame>& stack, ComputationId id) {
    orders_[id.value] = order_of(from_.computations[id.value], effects_, id);
    stack.push_back({id});
  }

  ComputationId next_callee(Frame& frame) const {
    const auto& old_id = orders_[frame.id.value].old_id;
    const Computation& computation = from_.computations[frame.id.value];
    for (; frame.instruction < old_id.size(); ++frame.instruction, frame.callee = 0) {
      const auto& called = computation.at(old_id[frame.instruction]).called;
      if (frame.callee < called.size()) return called[frame.callee++];
    }
    return {};
  }

  Computation written(auto& from, const Order& order) const {
    if constexpr (kKeep == Keep::kWords) return reordered(std::move(from), order);
    return meaning(from, order);
  }

  Computation meaning(auto& from, const Order& order) const {
    Computation into;
    into.instructions.reserve(order.old_id.size());
    std::vector<bool> keep_layout = layouts_to_keep(from);
    for (InstructionId id : order.old_id) {
      auto& old = from.instructions[id.value];
      into.instructions.push_back(emit(old, order));
      if (keep_layout.empty() || !keep_layout[id.value])
        drop_layout(into.instructions.back().shape);
    }
    for (size_t i = 0; i < from.parameters.size(); ++i) into.parameters.push_back(InstructionId(i));
    into.root = order.new_id[from.root.value];
    into.execution_thread = from.execution_thread;
    into.is_fusion = from.is_fusion;
    into.unknown_proto = from.unknown_proto;
    into.unknown_parts = from.unknown_parts;
    return into;
  }

  // The computation itself, with its instructions in their new order. Most are in order already.
  Computation reordered(Computation from, const Order& order) const {
    if (!order.changes_nothing()) {
      std::vector<Instruction> now;
      now.reserve(order.old_id.size());
      for (InstructionId id : order.old_id) {
        now.push_back(std::move(from.instructions[id.value]));
        renumber(now.back(), order);
      }
      from.instructions = std::move(now);
      for (InstructionId& id : from.parameters) id = order.new_id[id.value];
      from.root = order.new_id[from.root.value];
    }
    for (Instruction& instruction : from.instructions) {
      for (ComputationId& id : instruction.called) id = new_id_[id.value];
    }
    return from;
  }

  static void renumber(Instruction& now, const Order& order) {
    for (InstructionId& id : now.operands) id = order.new_id[id.value];
    if (!now.extras.has_value() || now.extras->control_predecessors.empty()) return;
    for (InstructionId& id : now.extras.mutate().control_predecessors) id = order.new_id[id.value];
  }

  // Without names, metadata and lines.
  Instruction emit(auto& old, const Order& order) const {
    constexpr bool kMove = !std::is_const_v<Source>;
    Instruction now;
    now.opcode = old.opcode;
    if constexpr (kMove) {
      now.shape = std::move(old.shape);
      now.operands = std::move(old.operands);
      now.attrs = std::move(old.attrs);
      now.called = std::move(old.called);
    } else {
      now.shape = old.shape;
      now.operands = old.operands;
      now.attrs = old.attrs;
      now.called = old.called;
    }
    for (InstructionId& id : now.operands) id = order.new_id[id.value];
    for (ComputationId& id : now.called) id = new_id_[id.value];
    if (old.extras.has_value()) now.extras = semantic(*old.extras, order);
    if (now.opcode == Opcode::kConstant) drop_layout(now);
    return now;
  }

  // Appends the computation, or finds an equal one.
  ComputationId add(Computation computation) {
    if (kKeep == Keep::kWords || from_.computations.size() == 1)
      return into_.add(std::move(computation));
    auto [found, fresh] = by_hash_.try_emplace(hlo::hash_of(computation));
    for (ComputationId id : found->second) {
      if (hlo::equal(into_.at(id), computation)) return id;
    }
    found->second.push_back(into_.add(std::move(computation)));
    return found->second.back();
  }

  void copy_header() {
    if (!from_.extras.has_value()) return;
    if constexpr (kKeep == Keep::kWords) {
      into_.extras = std::move(from_.extras);
      return;
    }
    hlo::ModuleExtras extras = hlo::meaning_of(*from_.extras);
    if (extras != hlo::ModuleExtras())
      into_.extras = base::Box<hlo::ModuleExtras>(std::move(extras));
  }

  Source& from_;
  hlo::Module into_;
  Effects effects_;
  std::vector<Order> orders_;          // by old computation
  std::vector<ComputationId> new_id_;  // by old computation
  std::unordered_map<base::Hash128, std::vector<ComputationId>, base::HashOfHash> by_hash_;
};

}  // namespace

hlo::Module canonicalize(const hlo::Module& module) {
  return Canonicalizer<const hlo::Module>(module).run();
}

hlo::Module canonicalize(hlo::Module&& module) { return Canonicalizer<hlo::Module>(module).run(); }

hlo::Module in_canonical_order(hlo::Module&& module) {
  return Canonicalizer<hlo::Module, Keep::kWords>(module).run();
}

}  // namespace heddle::transform
