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

// An all-reduce, of which each device has the whole result, has more derivatives.
Status check_sum(const JvpArgs& d) {
  if (op_of(d.called()) == Opcode::kAdd) return {};
  if (d.of.opcode != Opcode::kAllReduce)
    return base::unimplemented("it gives other than sums; use all-reduce");
  return base::unimplemented("its function is neither a sum, a product, a maximum nor a minimum");
}

// How many meet. errors: Unimplemented where groups do not tell
StatusOr<int64_t> members_of(const Instruction& of) {
  const auto& attrs = of.attrs.get<CollectiveAttrs>();
  const bool counts_devices = attrs.channel_id <= 0 || attrs.use_global_device_ids;
  const auto& groups = attrs.replica_groups.groups;
  const bool is_even = std::ranges::all_of(
      groups, [&](const Dims& group) { return group.size() == groups[0].size(); });
  if (has_no_groups(attrs.replica_groups) || !counts_devices || !is_even) {
    return base::unimplemented(
        "how many devices its product is of is not known; list all of them in replica_groups of "
        "one size");
  }
  return largest_group(attrs.replica_groups);
}

// What all members have, one after another along a new dimension 0.
Value gathered(const JvpArgs& d, const Value& x, int64_t members) {
  Dims sizes = x.sizes();
  sizes.insert(sizes.begin(), 1);
  Instruction gather = d.of;
  gather.opcode = Opcode::kAllGather;
  gather.called.clear();
  auto attrs = d.attrs<CollectiveAttrs>();
  attrs.dimensions = {0};
  gather.attrs = std::move(attrs);
  const Value part = reshape(x, sizes);
  sizes[0] = members;
  gather.shape = Shape(x.dtype(), std::move(sizes));
  return same_of(d.graph, gather, {part})[0];
}

StatusOr<Values> of_products(const JvpArgs& d, const Values& tangents) {
  HEDDLE_ASSIGN_OR_RETURN(const int64_t members, members_of(d.of));
  Values out;
  for (size_t i = 0; i < tangents.size(); ++i) {
    const Value product =
        tangent_of_product(gathered(d, d.x[i], members), gathered(d, tangents[i], members), {0});
    out.push_back(reshape(product, d.x[i].sizes()));
  }
  return out;
}

// The greatest or the least: of equal ones each has its share, as in maximum(). Those are counted
// in 32 bits or more: bf16 counts to 256.
Values of_extremes(const JvpArgs& d, const Values& tangents) {
  Instruction sum = d.of;
  const auto added = [&](const Value& x) {
    sum.shape = x.shape();
    sum.called = {d.graph.writer().combiner(Opcode::kAdd, x.dtype())};
    return same_of(d.graph, sum, {x})[0];
  };
  Values out;
  for (size_t i = 0; i < tangents.size(); ++i) {
    const DType dtype = d.x[i].dtype(), counter = bit_width(dtype) < 32 ? f32 : dtype;
    const Value is_it = d.x[i] == d.y[i];
    const Value mine = select(is_it, convert(tangents[i], counter), 0);
    out.push_back(convert(added(mine) / added(convert(is_it, counter)), dtype));
  }
  return out;
}

// Operand i's cotangent, by another collective of the same devices or lanes.
Value collective(const TransposeArgs& t, Opcode opcode, Attrs attrs,
                 std::vector<ComputationId> called, size_t i = 0) {
  if (t.ct[i].is_absent()) return {};
  const Value made =
      t.graph.op(opcode, {t.ct[i]}, std::move(attrs), std::move(called), t.shapes[i]);
  if (together_along(t.of).empty()) return made;
  return t.graph.with_frontend_attributes(made, t.of.extras->frontend_attributes);
}

// A summing reduce-scatter for an all-gather, and an all-gather for that: one of each array.
Values gathered_or_scattered(const TransposeArgs& t, Opcode opcode) {
  Values out;
  for (size_t i = 0; i < t.x.size(); ++i) {
    std::vector<ComputationId> called;
    if (opcode == Opcode::kReduceScatter)
      called = {t.graph.writer().combiner(Opcode::kAdd, t.shape(i).dtype())};
    out.push_back(collective(t, opcode, t.of.attrs, std::move(called), i));
  }
  return out;
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
  if (d.of.opcode == Opcode::kAllReduce) {
    if (op == Opcode::kMaximum || op == Opcode::kMinimum) return of_extremes(d, tangents);
    if (op == Opcode::kMultiply) return of_products(d, tangents);
  }
  HEDDLE_RETURN_IF_ERROR(check_sum(d));
  return same_of(d.graph, d.of, tangents);
}

// What the first of a group has goes back to all of it; the others have zeros.
StatusOr<Values> transpose_collective_reduce(const TransposeArgs& t) {
  HEDDLE_RETURN_IF_ERROR(check_one(t.x.size()));
  const auto& attrs = t.attrs<CollectiveAttrs>();
  if (attrs.channel_id > 0 && !attrs.use_global_device_ids)
    return base::unimplemented("its groups are of replicas; set use_global_device_ids");
  return Values{collective(t, Opcode::kCollectiveBroadcast, attrs, {})};
}

// The same rows of the tangents, which what stands in the result before has too.
StatusOr<Values> jvp_ragged_all_to_all(const JvpArgs& d) {
  Values operands(d.x.begin(), d.x.end());
  for (size_t i : {0, 1}) operands[i] = d.full_dx(i);
  return same_of(d.graph, d.of, operands);
}

// Rows go back where they came from, which their senders tell. A row that went to several devices
// gets a sum: what each of them sends back has rows of its own before it is added. What stood in
// the result before has the rows that nobody wrote.
StatusOr<Values> transpose_ragged_all_to_all(const TransposeArgs& t) {
  const Shape& sent = t.shape(0);
  const Value &ct = t.ct[0], &sizes = t.x[3], &received = t.x[5];
  if (sizes.rank() != 1) return base::unimplemented("its sizes are not in one list");
  const int64_t slices = sizes.size(0), rows = sent.dimension(0);
  const auto of_senders = [&](const Value& offsets) {
    auto attrs = t.attrs<CollectiveAttrs>();
    attrs.dimensions = {0};
    attrs.use_global_device_ids = false;  // all-to-all has none
    const Value wide = convert(offsets, s64);
    const Shape type = wide.shape();
    return t.graph.op(Opcode::kAllToAll, {wide}, attrs, {}, &type);
  };
  const Value to = of_senders(t.x[4]);
  Values out(t.x.size());
  if (t.is_linear(0)) {
    Dims apart = sent.dimensions();
    apart[0] *= slices;
    const Value base = t.graph.iota({slices}, 0, s64) * static_cast<double>(rows);
    const Value from = of_senders(convert(t.x[2], s64) + base);
    const Shape type(sent.dtype(), apart);
    const Value back =
        t.graph.op(t.of.opcode,
                   {ct, t.graph.zeros(type), to, convert(received, s64), from, convert(sizes, s64)},
                   t.of.attrs, {}, &type);
    apart[0] = rows;
    apart.insert(apart.begin(), slices);
    out[0] = reduce_sum(reshape(back, apart), {0});
  }
  if (t.is_linear(1)) {
    const Dims pairs = {slices, ct.size(0)};
    const auto spread = [&](const Value& each) { return broadcast(each, pairs, {0}); };
    const Value row = t.graph.iota(pairs, 1, s64);
    const Value inside = (row >= spread(to)) & (row < spread(to + convert(received, s64)));
    const Value written = reduce(inside, Opcode::kOr, 0, {0});
    out[1] = select(broadcast(written, ct.sizes(), {0}), t.graph.zeros(ct.shape()), ct);
  }
  return out;
}

StatusOr<Values> transpose_together(const TransposeArgs& t) {
  switch (t.of.opcode) {
    case Opcode::kAllGather: return gathered_or_scattered(t, Opcode::kReduceScatter);
    case Opcode::kReduceScatter: return gathered_or_scattered(t, Opcode::kAllGather);
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
