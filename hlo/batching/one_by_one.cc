// Ops that have no wider form: a scan over the lanes does one after another. A scan, since it has
// both derivatives.
#include "heddle/hlo/batching/internal/rules.h"

namespace heddle::hlo {
namespace {

Shape lane_of(const BatchArgs& b, size_t i) {
  return b.is_batched(i) ? Shape(b.x[i].dtype(), b.sizes(i)) : b.x[i].shape();
}

// The op in one lane.
Value once(const BatchArgs& b, Graph& graph, const Values& operands) {
  Instruction now = b.of;
  now.operands.clear();
  for (const Value& each : operands) now.operands.push_back(each.id());
  now.name.clear();
  if (!now.extras->control_predecessors.empty()) now.extras.mutate().control_predecessors.clear();
  return graph.append(std::move(now));
}

}  // namespace

// Batched operands are inputs of the scan, those that the lanes share go through as carries.
StatusOr<Values> batch_one_by_one(const BatchArgs& b) {
  Graph step(b.graph.writer());
  Values operands(b.x.size()), inputs, carries, through;
  for (size_t i = 0; i < b.x.size(); ++i) {
    if (!b.is_batched(i)) continue;
    operands[i] = step.parameter(lane_of(b, i));
    inputs.push_back(b.x[i]);
  }
  for (size_t i = 0; i < b.x.size(); ++i) {
    if (b.is_batched(i)) continue;
    operands[i] = step.parameter(lane_of(b, i));
    carries.push_back(b.x[i]);
    through.push_back(operands[i]);
  }
  const Value one = once(b, step, operands);
  Values results = one.shape().is_tuple() ? step.elements(one) : Values{one};
  const size_t count = results.size();
  results.insert(results.end(), through.begin(), through.end());
  const ComputationId body = std::move(step).finish(results);
  ScanAttrs attrs{.dimensions = {0}};
  attrs.num_carries = static_cast<int64_t>(carries.size());
  inputs.insert(inputs.end(), carries.begin(), carries.end());
  Values made = b.graph.op_of_many(Opcode::kScan, inputs, attrs, {body});
  made.resize(count);
  return made;
}

}  // namespace heddle::hlo
