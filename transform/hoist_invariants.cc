// hoist-invariants: if a turn of a while computes a value from values that no turn changes, it is
// computed before the while and becomes one more element of the state:
//
//   body(i, x, w): y = x * exp(w)      e = exp(w)
//   while(i, x, w)                 =>  body(i, x, w, e): y = x * e
//                                      while(i, x, w, e)
//
// Work leaves loops of zero turns too, which then cost it once for nothing.
#include <algorithm>
#include <map>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/lapack.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/opcode.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

using hlo::Work;

constexpr int64_t kMostBytes = int64_t{4} << 20;  // of a result that needs more than its operands
constexpr int64_t kMostBytesOfAll = int64_t{256} << 20;  // that a loop may get

Work work_of(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kCustomCall &&
      hlo::lapack_name(instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target))
    return Work::kMost;
  return hlo::facts(instruction.opcode).work;
}

bool is_array_work(const Computation& computation, const Instruction& instruction) {
  const auto is_wide = [](const Shape& shape) { return !shape.is_array() || !shape.is_scalar(); };
  return is_wide(instruction.shape) ||
         std::ranges::any_of(instruction.operands, [&](InstructionId operand) {
           return is_wide(computation.at(operand).shape);
         });
}

InstructionId add_element(hlo::ComputationBuilder& to, InstructionId tuple, size_t index) {
  Instruction get;
  get.opcode = Opcode::kGetTupleElement;
  get.shape = to.at(tuple).shape.elements()[index];
  get.operands = {tuple};
  get.attrs = hlo::TupleIndexAttrs{.index = static_cast<int64_t>(index)};
  return to.append(std::move(get));
}

InstructionId add_tuple(hlo::ComputationBuilder& to, std::vector<InstructionId> elements) {
  std::vector<Shape> shapes;
  for (InstructionId element : elements) shapes.push_back(to.shape(element));
  Instruction tuple;
  tuple.opcode = Opcode::kTuple;
  tuple.shape = Shape::tuple(std::move(shapes));
  tuple.operands = std::move(elements);
  return to.append(std::move(tuple));
}

// The instructions that can leave the body of a while.
class Invariants {
 public:
  Invariants(const Computation& body, const Effects& effects) : body_(body) {
    const size_t count = body.instructions.size();
    is_same_.resize(count), work_.resize(count), is_wide_.resize(count), bytes_.resize(count);
    for (size_t i = 0; i < count; ++i) find(InstructionId(i), effects);
    std::vector<bool> stays(count), leaves(count);
    stays[body.root.value] = true;
    for (size_t i = count; i-- > 0;) {
      if (!stays[i]) continue;
      for (InstructionId operand : body.instructions[i].operands)
        (is_worth_it(operand) ? leaves : stays)[operand.value] = true;
    }
    int64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!leaves[i]) continue;
      bytes += body.instructions[i].shape.byte_size();
      if (bytes > kMostBytesOfAll) break;
      values_.emplace_back(i);
    }
  }

  // The values that the remaining instructions read.
  [[nodiscard]] const std::vector<InstructionId>& values() const { return values_; }
  // The element of the state that a value of the body is, in each turn; -1: none.
  [[nodiscard]] int64_t element_of(InstructionId id) const {
    const Instruction& instruction = body_.at(id);
    if (instruction.opcode != Opcode::kGetTupleElement ||
        instruction.operands[0] != body_.parameters[0])
      return -1;
    return instruction.attrs.get<hlo::TupleIndexAttrs>().index;
  }

 private:
  void find(InstructionId id, const Effects& effects) {
    const Instruction& instruction = body_.at(id);
    if (const int64_t element = element_of(id); element >= 0) {
      is_same_[id.value] = body_.root_instruction().operands[static_cast<size_t>(element)] == id;
      bytes_[id.value] = instruction.shape.byte_size();
      return;
    }
    const Work work = work_of(instruction);
    if (work == Work::kStays || effects.of(instruction) ||
        !instruction.extras->control_predecessors.empty())
      return;
    is_same_[id.value] = true;
    work_[id.value] = work;
    is_wide_[id.value] = work != Work::kNone && is_array_work(body_, instruction);
    for (InstructionId operand : instruction.operands) {
      if (!is_same_[operand.value]) is_same_[id.value] = false;
      work_[id.value] = std::max(work_[id.value], work_[operand.value]);
      is_wide_[id.value] = is_wide_[id.value] || is_wide_[operand.value];
      bytes_[id.value] = std::max(bytes_[id.value], bytes_[operand.value]);
    }
  }

  [[nodiscard]] bool is_worth_it(InstructionId id) const {
    const Instruction& instruction = body_.at(id);
    if (!is_same_[id.value] || !is_wide_[id.value] || !instruction.shape.is_array()) return false;
    const int64_t bytes = instruction.shape.byte_size();
    const Work own = work_of(instruction);
    if (own == Work::kMost) return true;
    const bool grows = own == Work::kNone &&
                       std::ranges::none_of(instruction.operands, [&](InstructionId operand) {
                         return bytes <= body_.at(operand).shape.byte_size();
                       });
    return !grows &&
           (bytes <= bytes_[id.value] || (work_[id.value] >= Work::kMuch && bytes <= kMostBytes));
  }

  const Computation& body_;
  // For each instruction: whether it has one value in all turns; what it and its operands cost;
  // whether that includes arrays; the largest element of the state that it needs.
  std::vector<bool> is_same_;
  std::vector<Work> work_;
  std::vector<bool> is_wide_;
  std::vector<int64_t> bytes_;
  std::vector<InstructionId> values_;
};

class Hoisting {
 public:
  Hoisting(ModuleRebuilder& module, ComputationId id) : module_(module), to_(module, id) {}

  Computation run() {
    for (InstructionId i : to_.order()) {
      if (to_.old(i).opcode != Opcode::kWhile || !hoist(i)) to_.copy(i);
    }
    return std::move(to_).finish();
  }

 private:
  // Copies a while without its invariants. Returns false for one that has none.
  bool hoist(InstructionId id) {
    Instruction loop = to_.mapped(id);
    const Computation body = module_.into().at(loop.called[0]);
    const Computation condition = module_.into().at(loop.called[1]);
    // If each element may have a sharding of its own, there is one for each.
    const auto is_placed = [](const Instruction& instruction) {
      return instruction.extras->sharding.has_value() ||
             !instruction.extras->parameter_replication.empty();
    };
    if (!loop.shape.is_tuple() || body.root_instruction().opcode != Opcode::kTuple ||
        is_placed(loop) || is_placed(body.root_instruction()) ||
        is_placed(body.at(body.parameters[0])) || is_placed(condition.at(condition.parameters[0])))
      return false;
    const Invariants found(body, module_.effects());
    if (found.values().empty()) return false;

    const size_t count = loop.shape.elements().size();
    const InstructionId initial = loop.operands[0];
    std::vector<InstructionId> state;
    for (size_t i = 0; i < count; ++i) {
      const Instruction& tuple = to_.at(initial);
      state.push_back(tuple.opcode == Opcode::kTuple ? tuple.operands[i]
                                                     : add_element(to_.builder(), initial, i));
    }
    std::map<InstructionId, InstructionId> outside;
    std::vector<InstructionId> values;
    for (InstructionId value : found.values())
      values.push_back(copy_outside(body, found, value, state, outside));
    state.insert(state.end(), values.begin(), values.end());

    loop.operands = {add_tuple(to_.builder(), std::move(state))};
    loop.shape = to_.builder().shape(loop.operands[0]);
    loop.called = {module_.add(with_state(body, loop.shape, found.values(), true)),
                   module_.add(with_state(condition, loop.shape, {}, false))};
    const InstructionId now = to_.builder().append(std::move(loop));
    to_.replace(id, first_elements(to_.builder(), now, to_.old(id).shape));
    return true;
  }

  // Its operands were copied before, so a long chain is no deep recursion.
  InstructionId copy_outside(const Computation& body, const Invariants& found, InstructionId value,
                             const std::vector<InstructionId>& state,
                             std::map<InstructionId, InstructionId>& outside) {
    std::vector<InstructionId> todo = {value};
    while (!todo.empty()) {
      const InstructionId id = todo.back();
      if (outside.contains(id)) {
        todo.pop_back();
        continue;
      }
      if (const int64_t element = found.element_of(id); element >= 0) {
        outside[id] = state[static_cast<size_t>(element)];
        continue;
      }
      const size_t before = todo.size();
      for (InstructionId operand : body.at(id).operands) {
        if (!outside.contains(operand)) todo.push_back(operand);
      }
      if (todo.size() > before) continue;
      Instruction copy = body.at(id);
      for (InstructionId& operand : copy.operands) operand = outside.at(operand);
      outside[id] = to_.builder().append(std::move(copy));
    }
    return outside.at(value);
  }

  // Whether the state is read as a whole: an inner loop may begin with it, or a barrier may keep
  // it.
  static bool is_read_whole(const Computation& from) {
    return std::ranges::any_of(from.instructions, [&](const Instruction& instruction) {
      return instruction.opcode != Opcode::kGetTupleElement &&
             std::ranges::count(instruction.operands, from.parameters[0]) > 0;
    });
  }
  static InstructionId first_elements(hlo::ComputationBuilder& to, InstructionId tuple,
                                      const Shape& shape) {
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i)
      elements.push_back(add_element(to, tuple, i));
    return add_tuple(to, std::move(elements));
  }

  // A body or condition with a longer state, whose last elements are these values of its own.
  Computation with_state(const Computation& from, const Shape& state,
                         const std::vector<InstructionId>& values, bool is_body) {
    hlo::ComputationBuilder to(module_.into(), from.name);
    const size_t first = state.elements().size() - values.size();
    std::vector<InstructionId> now(from.instructions.size());
    std::vector<InstructionId> elements;
    // The parameter comes first: invariants may stand before it.
    const InstructionId parameter = from.parameters[0];
    Instruction longer = from.at(parameter);
    longer.shape = state;
    now[parameter.value] = to.append(std::move(longer));
    for (size_t v = 0; v < values.size(); ++v)
      elements.push_back(add_element(to, now[parameter.value], first + v));
    InstructionId whole;  // the state as it was
    if (is_read_whole(from))
      whole = first_elements(to, now[parameter.value], from.parameter_shape(0));
    for (size_t i = 0; i < from.instructions.size(); ++i) {
      if (InstructionId(i) == parameter) continue;
      Instruction copy = from.instructions[i];
      const auto value = std::ranges::find(values, InstructionId(i));
      if (value != values.end()) {
        now[i] = elements[static_cast<size_t>(value - values.begin())];
        continue;
      }
      const bool reads_one = copy.opcode == Opcode::kGetTupleElement;
      for (InstructionId& operand : copy.operands) {
        const bool is_whole = operand == from.parameters[0] && !reads_one;
        operand = is_whole ? whole : now[operand.value];
      }
      if (copy.extras.has_value() && !copy.extras->control_predecessors.empty()) {
        for (InstructionId& predecessor : copy.extras.mutate().control_predecessors)
          predecessor = now[predecessor.value];
      }
      if (is_body && from.root == InstructionId(i)) {
        copy.operands.insert(copy.operands.end(), elements.begin(), elements.end());
        copy.shape = state;
      }
      now[i] = to.append(std::move(copy));
    }
    return std::move(to).finish(now[from.root.value]);
  }

  ModuleRebuilder& module_;
  Rebuilder to_;
};

}  // namespace

StatusOr<hlo::Module> hoist_invariants(const hlo::Module& module) {
  ModuleRebuilder to(module);
  for (ComputationId id : to.order()) to.replace(id, Hoisting(to, id).run());
  return std::move(to).finish();
}

}  // namespace heddle::transform
