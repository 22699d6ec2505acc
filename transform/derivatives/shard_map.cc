// The transposes of where a shard_map begins and ends. The loss is the sum of what all devices
// give: the cotangent of an array that several devices have a copy of is the sum of theirs, and of
// a result that all of them give, each has its share.
#include <charconv>

#include "heddle/hlo/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/backward.h"

namespace heddle::transform {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

namespace {

constexpr int64_t kChannel = 1;  // groups are of partitions, as trace/collectives.cc has it

// Empty where the text is none.
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

class Edge {
 public:
  Edge(Graph& graph, const Instruction& edge, std::vector<hlo::Dims> groups)
      : graph_(graph), edge_(edge), groups_(std::move(groups)) {
    manual_.type = hlo::Sharding::Type::kManual;
  }

  // Of an array that was cut: `full` says how.
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
    const Value part = placed("Sharding", ct, ct.shape(), manual_);
    return placed("SPMDShardToFullShape", part, full.shape, *full.extras->sharding);
  }

  // Of parts of this type that were joined.
  Value of_joined(const Value& ct, const Shape& part) {
    const Value whole = placed("Sharding", ct, ct.shape(), *edge_.extras->sharding);
    const Value own = placed("SPMDFullToShardShape", whole, part, manual_);
    return copies() > 1 ? own / static_cast<double>(copies()) : own;
  }

 private:
  [[nodiscard]] size_t copies() const { return groups_[0].size(); }

  Value placed(std::string_view target, const Value& x, const Shape& result,
               const hlo::Sharding& sharding) {
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = target;
    Instruction made{.opcode = Opcode::kCustomCall,
                     .shape = result,
                     .operands = {x.id()},
                     .attrs = std::move(attrs)};
    if (target != "Sharding")
      made.extras.mutate().frontend_attributes = edge_.extras->frontend_attributes;
    return appended(std::move(made), sharding);
  }
  Value appended(Instruction made, const hlo::Sharding& sharding) {
    made.at = edge_.at;
    made.extras.mutate().sharding.mutate() = sharding;
    return graph_.append(std::move(made));
  }

  Graph& graph_;
  const Instruction& edge_;
  std::vector<hlo::Dims> groups_;
  hlo::Sharding manual_;
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

}  // namespace heddle::transform
