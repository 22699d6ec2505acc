#include "heddle/tests/laws/around_ops.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/builder.h"

namespace heddle::laws {
namespace {

using hlo::ComputationBuilder;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

// i < 3, of a state whose first element is i.
ComputationId add_condition(hlo::Module& module, const Shape& state) {
  ComputationBuilder to(module);
  const InstructionId i =
      *to.add(Opcode::kGetTupleElement, {to.parameter(state)}, hlo::TupleIndexAttrs{0});
  const InstructionId limit = to.constant(Literal::scalar(s32, int64_t{3}));
  const hlo::CompareAttrs less{.direction = hlo::ComparisonDirection::kLt};
  const InstructionId root = *to.add(Opcode::kCompare, {i, limit}, less);
  return module.add(std::move(to).finish(root));
}

// (i, x.., r) -> (i + 1, x.., f(x..)).
ComputationId add_body(hlo::Module& module, const Shape& state, ComputationId callee) {
  ComputationBuilder to(module);
  const InstructionId parameter = to.parameter(state);
  std::vector<InstructionId> elements;
  for (int64_t i = 0; i < state.element_shapes(); ++i) {
    elements.push_back(*to.add(Opcode::kGetTupleElement, {parameter}, hlo::TupleIndexAttrs{i}));
  }
  const std::vector<InstructionId> operands(elements.begin() + 1, elements.end() - 1);
  const Shape result = module.at(callee).result_shape();
  elements.back() = *to.add(Opcode::kCall, operands, hlo::CallAttrs(), {callee}, &result);
  elements[0] = *to.add(Opcode::kAdd, {elements[0], to.constant(Literal::scalar(s32, int64_t{1}))});
  const InstructionId root = *to.add(Opcode::kTuple, elements);
  return module.add(std::move(to).finish(root));
}

}  // namespace

bool is_random(Opcode opcode) {
  return opcode == Opcode::kRng || opcode == Opcode::kRngGetAndUpdateState;
}

bool is_made_of_arrays(const Shape& shape) {
  if (shape.is_tuple()) return std::ranges::all_of(shape.elements(), is_made_of_arrays);
  return shape.is_array() && !shape.is_dynamic();
}

hlo::Module looped(const Sample& sample) {
  hlo::Module out = sample.module;
  const hlo::Computation& callee = sample.module.entry_computation();
  ComputationBuilder to(out);
  std::vector<InstructionId> elements;
  std::vector<Shape> shapes = {Shape::scalar(s32)};
  for (size_t i = 0; i < callee.parameter_count(); ++i) {
    shapes.push_back(callee.parameter_shape(i));
    elements.push_back(to.parameter(shapes.back()));
  }
  shapes.push_back(callee.result_shape());
  const Shape state = Shape::tuple(shapes);
  const ComputationId body = add_body(out, state, sample.module.entry);
  const ComputationId condition = add_condition(out, state);
  elements.insert(elements.begin(), to.constant(Literal::scalar(s32, int64_t{0})));
  elements.push_back(to.constant(Literal(shapes.back())));
  const InstructionId loop =
      *to.add(Opcode::kWhile, {*to.add(Opcode::kTuple, elements)}, {}, {body, condition});
  out.entry = out.add(std::move(to).finish(loop));
  return out;
}

}  // namespace heddle::laws
