// Derivatives of what devices, or the lanes of a vmap (hlo/batching.h), do together. Each device
// has parts of its own, and the loss is the sum of what all give: so a sum over devices is its own
// transpose, as in JAX's pmap and shard_map.
#include <algorithm>

#include "heddle/hlo/batching.h"
#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

// The instruction with other operands, and all that it says of devices and shardings.
Values same_of(Graph& graph, const Instruction& of, const Values& operands) {
  Instruction now = of;
  now.name.clear();
  now.operands.clear();
  for (const Value& each : operands) now.operands.push_back(each.id());
  now.extras.mutate().control_predecessors.clear();
  const Value made = graph.append(std::move(now));
  return made.shape().is_tuple() ? graph.elements(made) : Values{made};
}

Status check_one(size_t operands) {
  if (operands == 1) return {};
  return base::unimplemented("it takes several arrays; write one of each");
}

Status check_sum(const Computation& combiner) {
  if (op_of(combiner) == Opcode::kAdd) return {};
  return base::unimplemented(
      "of what is combined by a function, sums, the greatest and the least have derivatives");
}

// The greatest or the least: of equal ones each has its share, as in maximum().
Values of_extremes(const JvpArgs& d, const Values& tangents) {
  Instruction sum = d.of;
  const auto added = [&](const Value& x) {
    sum.shape = x.shape();
    sum.called = {d.graph.writer().combiner(Opcode::kAdd, x.dtype())};
    return same_of(d.graph, sum, {x})[0];
  };
  Values out;
  for (size_t i = 0; i < tangents.size(); ++i) {
    const Value is_it = convert(d.x[i] == d.y[i], d.x[i].dtype());
    out.push_back(added(is_it * tangents[i]) / added(is_it));
  }
  return out;
}

// Of the operand's type, by another collective of the same devices or lanes.
Value collective(const TransposeArgs& t, Opcode opcode, Attrs attrs,
                 std::vector<ComputationId> called) {
  const Value made =
      t.graph.op(opcode, {t.ct[0]}, std::move(attrs), std::move(called), t.shapes[0]);
  if (together_along(t.of).empty()) return made;
  return t.graph.with_frontend_attributes(made, t.of.extras->frontend_attributes);
}

// As if each of the pairs sent to its target: back from who got it. Where one sends to several
// there is a permute for each, and they are added.
Values sent_back(const TransposeArgs& t, int64_t channel, const std::vector<SourceTarget>& pairs) {
  std::vector<std::vector<SourceTarget>> rounds(1);
  for (const SourceTarget& pair : pairs) {
    const auto is_free = [&](const std::vector<SourceTarget>& round) {
      return std::ranges::none_of(
          round, [&](const SourceTarget& other) { return other.target == pair.source; });
    };
    auto round = std::ranges::find_if(rounds, is_free);
    if (round == rounds.end()) round = rounds.insert(round, std::vector<SourceTarget>());
    round->push_back({.source = pair.target, .target = pair.source});
  }
  Value out;
  for (const auto& round : rounds) {
    const CollectivePermuteAttrs back{
        .channel_id = channel, .source_target_pairs = round, .slice_sizes = {}};
    out = add(out, collective(t, Opcode::kCollectivePermute, back, {}));
  }
  return {out};
}

}  // namespace

StatusOr<Values> jvp_together(const JvpArgs& d) {
  Values tangents;
  for (size_t i = 0; i < d.x.size(); ++i) tangents.push_back(d.full_dx(i));
  if (d.of.called.empty()) return same_of(d.graph, d.of, tangents);
  const std::optional<Opcode> op = op_of(d.called());
  if (op == Opcode::kMaximum || op == Opcode::kMinimum) return of_extremes(d, tangents);
  HEDDLE_RETURN_IF_ERROR(check_sum(d.called()));
  return same_of(d.graph, d.of, tangents);
}

// The same rows of the tangents, which what stands in the result before has too.
StatusOr<Values> jvp_ragged_all_to_all(const JvpArgs& d) {
  Values operands(d.x.begin(), d.x.end());
  for (size_t i : {0, 1}) operands[i] = d.full_dx(i);
  return same_of(d.graph, d.of, operands);
}

StatusOr<Values> transpose_together(const TransposeArgs& t) {
  switch (t.of.opcode) {
    case Opcode::kAllGather: {
      HEDDLE_RETURN_IF_ERROR(check_one(t.x.size()));
      const ComputationId sum = t.graph.writer().combiner(Opcode::kAdd, t.shape(0).dtype());
      return Values{collective(t, Opcode::kReduceScatter, t.of.attrs, {sum})};
    }
    case Opcode::kReduceScatter:
      HEDDLE_RETURN_IF_ERROR(check_one(t.x.size()));
      return Values{collective(t, Opcode::kAllGather, t.of.attrs, {})};
    default: {  // part j of device i is part i of device j; sums that all have, and a layout
      Values cts;
      for (size_t i = 0; i < t.ct.size(); ++i)
        cts.push_back(t.ct[i] ? t.ct[i] : t.graph.zeros(t.shape(i)));
      return same_of(t.graph, t.of, cts);
    }
  }
}

StatusOr<Values> transpose_permute(const TransposeArgs& t) {
  HEDDLE_RETURN_IF_ERROR(check_one(t.x.size()));
  const auto& attrs = t.attrs<CollectivePermuteAttrs>();
  return sent_back(t, attrs.channel_id, attrs.source_target_pairs);
}

// The first of a group sends to all of it.
StatusOr<Values> transpose_broadcast_together(const TransposeArgs& t) {
  constexpr int64_t kMostDevices = 4096;
  HEDDLE_RETURN_IF_ERROR(check_one(t.x.size()));
  const auto& attrs = t.attrs<CollectiveAttrs>();
  if (has_no_groups(attrs.replica_groups))
    return base::unimplemented("its replica_groups are empty; list the devices");
  std::vector<SourceTarget> pairs;
  for (int64_t device = 0; device < kMostDevices; ++device) {
    HEDDLE_ASSIGN_OR_RETURN(const Dims group, group_of(attrs.replica_groups, device));
    if (group.empty()) return sent_back(t, attrs.channel_id, pairs);
    pairs.push_back({.source = group[0], .target = device});
  }
  return base::unimplemented("it joins more than ", kMostDevices, " devices");
}

}  // namespace heddle::hlo
