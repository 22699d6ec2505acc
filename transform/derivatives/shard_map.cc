// The transposes of the begin and the end of a shard_map. The loss is the sum over all devices: the
// cotangent of an array with copies on several devices is the sum of theirs, and each device has
// its share of the cotangent of a result that all of them give. Also parts of devices as arrays of
// all parts, which a loop may carry and stack.
#include "heddle/transform/sharding/shard_map.h"

#include <charconv>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/backward.h"
#include "heddle/transform/derivatives/internal/devices.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

constexpr int64_t kChannel = 1;  // groups are of partitions, as in trace/ops/device/collectives.cc

// Empty if the text has no groups.
std::vector<hlo::Dims> groups_of(std::string_view text) {
  std::vector<hlo::Dims> out(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t device = 0;
    const auto [next, error] = std::from_chars(at, end, device);
    if (error != std::errc() || device < 0) return {};
    out.back().push_back(device);
    at = next;
    if (at == end) return out;
    if (*at != ',' && *at != ';') return {};
    if (*at++ == ';') out.emplace_back();
  }
  return {};
}

hlo::Sharding manual_sharding() {
  hlo::Sharding out;
  out.type = hlo::Sharding::Type::kManual;
  return out;
}

Value placed(Graph& graph, std::string_view target, const Value& x, const Shape& result,
             const hlo::Sharding& sharding, const hlo::FrontendAttributes& attributes,
             SourceLocation at) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  Instruction made{.opcode = Opcode::kCustomCall,
                   .shape = result,
                   .operands = {x.id()},
                   .attrs = std::move(attrs),
                   .at = at};
  if (target != "Sharding") made.extras.mutate().frontend_attributes = attributes;
  made.extras.mutate().sharding.mutate() = sharding;
  return graph.append(std::move(made));
}

class Edge {
 public:
  Edge(Graph& graph, const Instruction& edge, std::vector<hlo::Dims> groups)
      : graph_(graph), edge_(edge), groups_(std::move(groups)) {}

  // The cotangent of an array that was cut as `full` says.
  Value of_cut(Value ct, const Instruction& full) {
    if (copies() > 1) {
      hlo::CollectiveAttrs attrs;
      attrs.channel_id = kChannel;
      attrs.replica_groups.groups = groups_;
      attrs.use_global_device_ids = true;
      const Shape type = ct.shape();
      ct = graph_.op(Opcode::kAllReduce, {ct}, std::move(attrs),
                     {graph_.writer().combiner(Opcode::kAdd, type.dtype())}, &type);
    }
    const Value part = put("Sharding", ct, ct.shape(), manual_sharding());
    return put("SPMDShardToFullShape", part, full.shape, *full.extras->sharding);
  }

  // The cotangent of parts of this type that were joined.
  Value of_joined(const Value& ct, const Shape& part) {
    const Value whole = put("Sharding", ct, ct.shape(), *edge_.extras->sharding);
    const Value own = put("SPMDFullToShardShape", whole, part, manual_sharding());
    return copies() > 1 ? own / static_cast<double>(copies()) : own;
  }

 private:
  [[nodiscard]] size_t copies() const { return groups_[0].size(); }

  Value put(std::string_view target, const Value& x, const Shape& result,
            const hlo::Sharding& sharding) {
    return placed(graph_, target, x, result, sharding, edge_.extras->frontend_attributes, edge_.at);
  }

  Graph& graph_;
  const Instruction& edge_;
  std::vector<hlo::Dims> groups_;
};

}  // namespace

StatusOr<Values> transpose_of_shard_edge(Graph& graph, const Computation& caller,
                                         const Instruction& edge, const Value& ct) {
  std::vector<hlo::Dims> groups = groups_of(hlo::frontend_attribute(edge, hlo::kCopiesAttribute));
  const Instruction& operand = caller.at(edge.operands[0]);
  const bool is_cut = hlo::is_custom(edge, "SPMDFullToShardShape");
  const Instruction& full = is_cut ? operand : edge;
  if (groups.empty() || !full.extras->sharding.has_value())
    return at_line(base::unimplemented(edge.attrs.get<hlo::CustomCallAttrs>().custom_call_target,
                                       ": has no reverse derivative: it does not say how the array "
                                       "lies on the devices; take the derivative inside of the "
                                       "shard_map"),
                   edge);
  Edge transposed(graph, edge, std::move(groups));
  return Values{is_cut ? transposed.of_cut(ct, full) : transposed.of_joined(ct, operand.shape)};
}

PartsOfDevices::PartsOfDevices(const Computation& computation) {
  for (const Instruction& instruction : computation.instructions) {
    if (!hlo::is_custom(instruction, "SPMDFullToShardShape")) continue;
    for (const hlo::Dims& group :
         groups_of(hlo::frontend_attribute(instruction, hlo::kCopiesAttribute)))
      devices_ += static_cast<int64_t>(group.size());
    is_part_ = parts_of_devices(computation);
    for (size_t i = 0; i < is_part_.size(); ++i)
      is_part_[i] = is_part_[i] && computation.instructions[i].shape.is_array();
    at_ = instruction.at;
    return;
  }
}

namespace {

// devices=[n,1,..]<=[n]: part i is device i's.
hlo::Sharding one_each(int64_t devices, int64_t rank) {
  hlo::Sharding out;
  out.type = hlo::Sharding::Type::kOther;
  out.tile_dimensions.assign(static_cast<size_t>(rank), 1);
  out.tile_dimensions[0] = devices;
  out.iota_reshape = {devices};
  return out;
}

hlo::FrontendAttributes no_copies(int64_t devices) {
  std::string groups = "0";
  for (int64_t i = 1; i < devices; ++i) base::append(groups, ";", i);
  return {{std::string(hlo::kCopiesAttribute), groups}};
}

}  // namespace

Shape PartsOfDevices::residual_type(const Computation& computation, hlo::InstructionId id) const {
  const Shape& shape = computation.at(id).shape;
  if (!has(id)) return shape;
  hlo::Dims sizes = shape.dimensions();
  sizes.insert(sizes.begin(), devices_);
  return {shape.dtype(), sizes};
}

void PartsOfDevices::join(Graph& graph, std::span<const hlo::InstructionId> ids,
                          Values& values) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!has(ids[i])) continue;
    hlo::Dims sizes = values[i].sizes();
    sizes.insert(sizes.begin(), 1);
    const Value row = reshape(values[i], sizes);
    sizes[0] = devices_;
    const Value marked = placed(graph, "Sharding", row, row.shape(), manual_sharding(), {}, at_);
    values[i] = placed(graph, "SPMDShardToFullShape", marked, Shape(row.dtype(), sizes),
                       one_each(devices_, row.rank()), no_copies(devices_), at_);
  }
}

Value PartsOfDevices::read(Graph& graph, hlo::InstructionId id, const Value& kept) const {
  if (!has(id)) return kept;
  hlo::Dims sizes = kept.sizes();
  const Value marked =
      placed(graph, "Sharding", kept, kept.shape(), one_each(devices_, kept.rank()), {}, at_);
  sizes[0] = 1;
  const Value row = placed(graph, "SPMDFullToShardShape", marked, Shape(kept.dtype(), sizes),
                           manual_sharding(), no_copies(devices_), at_);
  sizes.erase(sizes.begin());
  return reshape(row, sizes);
}

}  // namespace heddle::transform
