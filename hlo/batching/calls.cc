// Calls of functions by name, and of other devices.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"
#include "heddle/hlo/lapack.h"

namespace heddle::hlo {
namespace {

Shape plain_type(const Shape& shape) {
  Shape out = shape;
  out.clear_layout();
  return out;
}

// The call for all lanes, with arrays that have the lanes in front.
Instruction wider(const BatchArgs& b, const Values& operands) {
  Instruction now = b.of;
  now.shape = with_lanes(b.of.shape, b.size);
  now.operands.clear();
  for (const Value& each : operands) now.operands.push_back(each.id());
  now.name.clear();
  InstructionExtras& extras = now.extras.mutate();
  extras.control_predecessors.clear();
  extras.sharding.reset();
  auto attrs = b.attrs<CustomCallAttrs>();
  attrs.constrain_layout = false;
  attrs.operand_layout_constraints.clear();
  now.attrs = std::move(attrs);
  return now;
}

Values elements_of(Graph& graph, const Value& made) {
  return made.shape().is_tuple() ? graph.elements(made) : Values{made};
}

// LAPACK's routines take batches of matrices.
bool takes_lanes(const Instruction& wide, const Values& operands) {
  std::vector<Shape> shapes;
  std::vector<const Shape*> places;
  for (const Value& each : operands) shapes.push_back(plain_type(each.shape()));
  for (const Shape& each : shapes) places.push_back(&each);
  return check_lapack_call(wide, places).ok();
}

}  // namespace

// What is known to be one value's copy, such as a mark, is that of all lanes'.
StatusOr<Values> batch_custom_call(const BatchArgs& b) {
  const auto& attrs = b.attrs<CustomCallAttrs>();
  if (attrs.custom_call_has_side_effect)
    return base::unimplemented("it has an effect, which lanes cannot share");
  const Values operands = b.all_full();
  const Instruction wide = wider(b, operands);
  if (lapack_name(attrs.custom_call_target) && takes_lanes(wide, operands))
    return elements_of(b.graph, b.graph.append(wide));
  return batch_one_by_one(b);
}

StatusOr<Values> batch_collective(const BatchArgs& b) {
  if (b.of.opcode == Opcode::kCollectivePermute) return b.again(b.all_full());
  auto attrs = b.attrs<CollectiveAttrs>();
  attrs.dimensions = shifted(attrs.dimensions);
  return b.again(b.all_full(), attrs);
}

}  // namespace heddle::hlo
