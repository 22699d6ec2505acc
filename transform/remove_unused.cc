// remove-unused: a forward copy of what Liveness found. A tuple-shaped value is written with its
// needed elements only, so every reader of it is renumbered:
//
//   s = (s32[], f32[8], f32[8]) while(init)        s = (s32[], f32[8]) while(init')
//   y = f32[8] get-tuple-element(s), index=2   =>  y = f32[8] get-tuple-element(s), index=1
#include <algorithm>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/liveness.h"
#include "heddle/transform/internal/scan_parts.h"
#include "heddle/transform/internal/shrink.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

using Kept = std::vector<bool>;  // by element of a tuple; empty for other shapes

// Writes the live part of one computation.
class Remover {
 public:
  Remover(ModuleRebuilder& module, const Liveness& live, ComputationId id)
      : module_(module), live_(live), id_(id), to_(module, id) {
    number_parameters();
  }

  hlo::Computation run() {
    for (InstructionId i : to_.order()) {
      if (live_.is_live(id_, i)) to_.replace(i, to_.builder().append(written(i)));
    }
    return std::move(to_).finish(with_elements(to_.from().root, live_.result_elements(id_)));
  }

 private:
  [[nodiscard]] Kept kept(InstructionId old) const { return live_.elements(id_, old); }

  Instruction written(InstructionId i) {
    Instruction now = to_.mapped(i);
    const Instruction& old = to_.old(i);
    if (old.opcode == Opcode::kParameter) {
      now.attrs = hlo::ParameterAttrs{.number = new_number(old)};
    } else if (old.opcode == Opcode::kTuple) {
      now.operands = tuple_operands(i, old);
    } else if (old.opcode == Opcode::kGetTupleElement) {
      auto index = static_cast<size_t>(old.attrs.get<hlo::TupleIndexAttrs>().index);
      now.attrs = hlo::TupleIndexAttrs{.index = rank_in(kept(old.operands[0]), index)};
    } else if (shrinks_with_callee(module_.from(), old)) {
      now.operands = region_operands(i, old);
    }
    if (old.opcode == Opcode::kScan) now.attrs = scan_attrs(i, old);
    shrink(now, kept(i));
    return now;
  }

  std::vector<InstructionId> tuple_operands(InstructionId i, const Instruction& old) const {
    Kept elements = kept(i);
    std::vector<InstructionId> operands;
    for (size_t e = 0; e < elements.size(); ++e) {
      if (elements[e]) operands.push_back(to_[old.operands[e]]);
    }
    return operands;
  }

  // The parameters that are left are numbered without gaps.
  void number_parameters() {
    int64_t next = 0;
    for (InstructionId parameter : to_.from().parameters) {
      numbers_.push_back(next);
      next += live_.is_live(id_, parameter);
    }
  }
  [[nodiscard]] int64_t new_number(const Instruction& parameter) const {
    return numbers_[static_cast<size_t>(parameter.attrs.get<hlo::ParameterAttrs>().number)];
  }

  std::vector<InstructionId> region_operands(InstructionId i, const Instruction& old) {
    if (old.opcode == Opcode::kWhile) return {with_elements(old.operands[0], kept(i))};
    std::vector<InstructionId> operands;
    if (old.opcode == Opcode::kConditional) {
      operands.push_back(to_[old.operands[0]]);
      for (size_t b = 0; b < old.called.size(); ++b)
        add_argument(operands, old.operands[1 + b], old.called[b], 0);
      return operands;
    }
    for (size_t n = 0; n < old.operands.size(); ++n)
      add_argument(operands, old.operands[n], old.called[0], n);
    return operands;
  }

  // Appends the argument for parameter `number` of an old callee, with the elements that it reads,
  // unless it reads none of it.
  void add_argument(std::vector<InstructionId>& operands, InstructionId old, ComputationId callee,
                    size_t number) {
    InstructionId parameter = module_.from().at(callee).parameters[number];
    if (live_.is_live(callee, parameter)) {
      operands.push_back(with_elements(old, live_.elements(callee, parameter)));
    }
  }

  [[nodiscard]] hlo::ScanAttrs scan_attrs(InstructionId i, const Instruction& old) const {
    auto attrs = old.attrs.get<hlo::ScanAttrs>();
    if (!shrinks_with_callee(module_.from(), old)) return attrs;
    Kept elements = kept(i);
    auto carries = elements.end() - static_cast<std::ptrdiff_t>(attrs.num_carries);
    attrs.num_carries = std::count(carries, elements.end(), true);
    return attrs;
  }

  // The new value of `old` with exactly these of its elements: the value itself where it was
  // written so.
  InstructionId with_elements(InstructionId old, const Kept& wanted) {
    Kept has = kept(old);
    if (has == wanted) return to_[old];
    std::vector<InstructionId> elements;
    std::vector<Shape> shapes;
    for (size_t e = 0; e < wanted.size(); ++e) {
      if (!wanted[e]) continue;
      elements.push_back(element(old, e, has));
      shapes.push_back(to_.at(elements.back()).shape);
    }
    Instruction tuple;
    tuple.opcode = Opcode::kTuple;
    tuple.shape = Shape::tuple(std::move(shapes));
    tuple.operands = std::move(elements);
    return to_.builder().append(std::move(tuple));
  }

  InstructionId element(InstructionId old, size_t e, const Kept& has) {
    const Instruction& value = to_.old(old);
    if (value.opcode == Opcode::kTuple) return to_[value.operands[e]];
    Instruction get;
    get.opcode = Opcode::kGetTupleElement;
    get.shape = value.shape.elements()[e];
    get.operands = {to_[old]};
    get.attrs = hlo::TupleIndexAttrs{.index = rank_in(has, e)};
    return to_.builder().append(std::move(get));
  }

  ModuleRebuilder& module_;
  const Liveness& live_;
  ComputationId id_;
  Rebuilder to_;
  std::vector<int64_t> numbers_;  // new parameter number by old
};

}  // namespace

StatusOr<hlo::Module> remove_unused(const hlo::Module& module) {
  Liveness live(module);
  ModuleRebuilder to(module);
  for (ComputationId id : to.order()) {
    if (live.is_live(id)) to.replace(id, Remover(to, live, id).run());
  }
  return std::move(to).finish();
}

}  // namespace heddle::transform
