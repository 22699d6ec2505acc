// Calls of functions by name, and of other devices.
#include <algorithm>

#include "heddle/hlo/batching/internal/rules.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::hlo {
namespace {

Shape plain_type(const Shape& shape) {
  Shape out = shape;
  out.clear_layout();
  return out;
}

// The lanes are not spread over devices. errors: where the sharding is of a form that is not known
StatusOr<Sharding> not_spread(Sharding sharding) {
  if (!sharding.unknown_text.empty() || !sharding.unknown_proto.empty() || !sharding.tuple.empty())
    return base::unimplemented("its sharding is of a form that is not known");
  const bool is_tiled = sharding.type == Sharding::Type::kOther;
  if (is_tiled) sharding.tile_dimensions.insert(sharding.tile_dimensions.begin(), 1);
  return sharding;
}

// The call for all lanes, with arrays that have the lanes in front.
StatusOr<Instruction> wider(const BatchArgs& b, const Values& operands) {
  Instruction now = b.of;
  now.shape = with_lanes(b.of.shape, b.size);
  now.operands.clear();
  for (const Value& each : operands) now.operands.push_back(each.id());
  now.name.clear();
  InstructionExtras& extras = now.extras.mutate();
  extras.control_predecessors.clear();
  if (extras.sharding.has_value()) {
    HEDDLE_ASSIGN_OR_RETURN(extras.sharding.mutate(), not_spread(*extras.sharding));
  }
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

// How a value lies over devices, and what goes into and out of the part of one device.
bool is_placement(std::string_view target) {
  return target == "Sharding" || target == "SPMDFullToShardShape" ||
         target == "SPMDShardToFullShape";
}

}  // namespace

StatusOr<Values> batch_custom_call(const BatchArgs& b) {
  const auto& attrs = b.attrs<CustomCallAttrs>();
  if (attrs.custom_call_has_side_effect)
    return base::unimplemented("it has an effect, which lanes cannot share");
  if (is_placement(attrs.custom_call_target)) {
    HEDDLE_ASSIGN_OR_RETURN(Instruction wide, wider(b, b.all_full()));
    return elements_of(b.graph, b.graph.append(std::move(wide)));
  }
  if (!lapack_name(attrs.custom_call_target)) return batch_one_by_one(b);
  const Values operands = b.all_full();
  HEDDLE_ASSIGN_OR_RETURN(Instruction wide, wider(b, operands));
  if (!takes_lanes(wide, operands)) return batch_one_by_one(b);
  return elements_of(b.graph, b.graph.append(std::move(wide)));
}

// Rows of all lanes lie one lane after another. A device's slices for another come together, so
// those of the lanes are slices more: [slices, lanes], each from where the rows of its lane begin.
StatusOr<Values> batch_ragged_all_to_all(const BatchArgs& b) {
  if (b.rank(2) != 1) return base::unimplemented("its sizes are not in one list");
  Values operands = b.all_full();
  Shape result = b.of.shape;
  const int64_t rows[] = {b.sizes(0)[0], b.sizes(1)[0]};
  for (size_t i : {0, 1}) {
    Dims sizes = b.sizes(i);
    sizes[0] *= b.size;
    operands[i] = reshape(operands[i], sizes);
    if (i == 1) result = Shape(result.dtype(), sizes);
  }
  for (size_t i = 2; i < operands.size(); ++i) {
    Value each = convert(transpose(operands[i], {1, 0}), s64);
    if (i == 2 || i == 4) {
      const auto step = static_cast<double>(rows[i == 4]);
      each = each + b.graph.iota(each.sizes(), 1, s64) * step;
    }
    operands[i] = reshape(each, {each.shape().element_count()});
  }
  const Value all = b.graph.op(b.of.opcode, operands, b.of.attrs, {}, &result);
  return Values{reshape(all, with_lanes(b.of.shape, b.size).dimensions())};
}

StatusOr<Values> batch_collective(const BatchArgs& b) {
  if (b.of.opcode == Opcode::kCollectivePermute) return b.again(b.all_full());
  auto attrs = b.attrs<CollectiveAttrs>();
  attrs.dimensions = shifted(attrs.dimensions);
  return b.again(b.all_full(), attrs);
}

}  // namespace heddle::hlo
