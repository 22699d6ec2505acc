#include "heddle/trace/devices/shard_map.h"

#include <algorithm>

#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/derivative.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {
namespace {

using SharedSharding = std::shared_ptr<const hlo::Sharding>;

SharedSharding manual() {
  auto sharding = std::make_shared<hlo::Sharding>();
  sharding->type = hlo::Sharding::Type::kManual;
  return sharding;
}

Tensor call(std::string target, const Tensor& x, const Shape& result, SharedSharding sharding,
            hlo::FrontendAttributes attributes = {}) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = std::move(target);
  return emit({.opcode = hlo::Opcode::kCustomCall,
               .operands = {x},
               .attrs = std::move(attrs),
               .declared = result,
               .frontend_attributes = std::move(attributes),
               .sharding = std::move(sharding)});
}

// Which devices have the same part, for derivatives.
hlo::FrontendAttributes copies(const Sharding& sharding) {
  const Mesh& mesh = sharding.mesh();
  std::vector<int64_t> sizes;
  std::vector<bool> is_cut(mesh.axes().size());
  for (const Mesh::Axis& axis : mesh.axes()) sizes.push_back(axis.size);
  for (const MeshAxes& entry : sharding.spec()) {
    for (const std::string& name : entry.names()) is_cut[mesh.axis(name)] = true;
  }
  std::vector<size_t> others;
  for (size_t axis = 0; axis < is_cut.size(); ++axis) {
    if (!is_cut[axis]) others.push_back(axis);
  }
  std::vector<std::string> groups;
  for (const std::vector<int64_t>& group : device_groups(sizes, others))
    groups.push_back(base::join(group, ","));
  return {{std::string(hlo::kCopiesAttribute), base::join(groups, ";")}};
}

// One of a list that is for each leaf, for each argument, or for all.
const PartitionSpec& spec_of(const PartitionSpecs& specs, size_t leaf,
                             std::span<const size_t> counts, size_t total, std::string_view what) {
  if (specs.size() == total) return specs[leaf];
  if (specs.size() == counts.size()) {
    size_t argument = 0;
    for (size_t end = counts[0]; leaf >= end; end += counts[argument]) ++argument;
    return specs[argument];
  }
  trace_internal::refuse("has ", specs.size(), " ", what, " for ", counts.size(),
                         counts.size() == 1 ? " tree of " : " trees of ", total,
                         " leaves; must have one for each tree, or for each leaf");
}

// The mesh axes that a shard_map takes, and no shard_map around has.
std::vector<std::string> axes_of(const ShardMap& map) {
  const ManualScope* around = ManualScope::current();
  if (around != nullptr && around->mesh() != map.mesh) {
    trace_internal::refuse("is on ", to_string(map.mesh), ", inside of one on another mesh, ",
                           to_string(around->mesh()), "; both must be on one mesh");
  }
  std::vector<std::string> axes;
  for (const Mesh::Axis& axis : map.mesh.axes()) {
    if (around == nullptr || !around->has(axis.name)) axes.push_back(axis.name);
  }
  for (const std::string& name : map.axes.names()) {
    (void)map.mesh.axis(name, map.at);
    if (std::ranges::find(axes, name) != axes.end()) continue;
    trace_internal::refuse("mesh axis ", name,
                           " is of the shard_map around; use collectives over it as they are, "
                           "and leave it out of .axes");
  }
  if (axes.empty()) {
    trace_internal::refuse("the shard_map around has all axes of ", to_string(map.mesh),
                           "; give it .axes, or call the function as it is");
  }
  return map.axes.names().empty() ? axes : map.axes.names();
}

// How an array is cut, by axes that the shard_map takes.
Sharding sharding_of(const ShardMap& map, const std::vector<std::string>& axes,
                     const PartitionSpec& spec, std::string_view what) {
  Sharding sharding(map.mesh, spec.axes(), map.at);
  for (const MeshAxes& entry : sharding.spec()) {
    for (const std::string& name : entry.names()) {
      if (std::ranges::find(axes, name) != axes.end()) continue;
      trace_internal::refuse(what, " ", to_string(sharding), " names mesh axis ", name,
                             ", which it does not take; it takes (", base::join(axes, ", "), ")");
    }
  }
  return sharding;
}

// The type of a leaf's part.
Shape part_shape(const Shape& whole, const Sharding& sharding, size_t number) {
  const StatusOr<Shape> part = trace_internal::try_part(sharding, whole);
  if (!part.ok())
    trace_internal::refuse("leaf ", number, " of the arguments: ", part.status().text());
  return *part;
}

// Inside of another shard_map: each device cuts its part out of what it has, and the parts of the
// results are gathered.
class Inner {
 public:
  explicit Inner(const ShardMap& map) : map_(map), axes_(axes_of(map)) {}

  std::vector<Tensor> run(std::span<const Tensor> leaves, std::span<const size_t> counts,
                          base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn) {
    const ManualScope scope(map_.mesh, axes_);
    std::vector<Tensor> parts;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const PartitionSpec& spec = spec_of(map_.in, i, counts, leaves.size(), "in_specs");
      parts.push_back(part_of(leaves[i], sharding_of(map_, axes_, spec, "in_specs"), i));
    }
    std::vector<Tensor> results = as_users_code([&] { return fn(parts); });
    const size_t total = results.size();
    for (size_t i = 0; i < total; ++i) {
      const PartitionSpec& spec = spec_of(map_.out, i, std::span(&total, 1), total, "out_specs");
      results[i] = whole_of(results[i], sharding_of(map_, axes_, spec, "out_specs"));
    }
    return results;
  }

 private:
  [[nodiscard]] Tensor part_of(const Tensor& x, const Sharding& sharding, size_t number) const {
    const Shape& whole = node_of(x, "shard_map").shape;
    const Shape part = part_shape(whole, sharding, number);
    if (part == whole) return x;
    std::vector<Tensor> operands = {x};
    for (int64_t d = 0; d < whole.rank(); ++d) {
      operands.push_back(
          sharding.parts(d) == 1
              ? emit_constant(Literal::scalar(s32, int64_t{0}))
              : multiply(axis_index(sharding.spec()[static_cast<size_t>(d)]), part.dimension(d)));
    }
    return emit({.opcode = hlo::Opcode::kDynamicSlice,
                 .operands = std::move(operands),
                 .attrs = hlo::DynamicSliceAttrs{.dynamic_slice_sizes = part.dimensions()}});
  }

  [[nodiscard]] Tensor whole_of(Tensor part, const Sharding& sharding) const {
    (void)sharding.to_hlo(part.rank());  // of no more axes than it has
    for (size_t d = 0; d < sharding.spec().size(); ++d) {
      const MeshAxes& axes = sharding.spec()[d];
      if (axes.names().empty()) continue;
      part = all_gather(part, axes, {.axis = static_cast<int64_t>(d), .tiled = true});
    }
    return part;
  }

  const ShardMap& map_;
  const std::vector<std::string> axes_;
};

// What one device does, traced on parts.
class Body {
 public:
  explicit Body(const ShardMap& map) : map_(map), axes_(axes_of(map)) {}

  // The parts of all leaves, in the trace around.
  void enter(std::span<const Tensor> leaves, std::span<const size_t> counts) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      const PartitionSpec& spec = spec_of(map_.in, i, counts, leaves.size(), "in_specs");
      parts_.push_back(part_of(leaves[i], sharding_of(map_, axes_, spec, "in_specs"), i));
    }
  }

  std::vector<Tensor> run(base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn) {
    count(&Counters::traces);
    Traced traced = [&] {
      const ManualScope scope(map_.mesh, axes_);
      Recorder recorder("shard_map");
      std::vector<Tensor> parameters;
      for (const Tensor& part : parts_) parameters.push_back(recorder.parameter(part.shape()));
      const std::vector<Tensor> results = as_users_code([&] { return fn(parameters); });
      return recorder.finish(results, "shard_map");
    }();
    for (const Tensor& capture : traced.captures)
      parts_.push_back(part_of(capture, Sharding(map_.mesh, {}), parts_.size()));
    return emit_many({.opcode = hlo::Opcode::kCall,
                      .operands = parts_,
                      .attrs = hlo::CallAttrs{},
                      .called = {std::make_shared<const hlo::Module>(std::move(traced.module))}});
  }

  // The whole array that parts of the result make.
  Tensor leave(const Tensor& part, const PartitionSpec& spec) const {
    const Sharding sharding = sharding_of(map_, axes_, spec, "out_specs");
    std::vector<int64_t> sizes = part.shape().dimensions();
    const hlo::Sharding layout = sharding.to_hlo(part.rank());
    for (size_t d = 0; d < sizes.size(); ++d) sizes[d] *= sharding.parts(static_cast<int64_t>(d));
    if (map_.mesh.size() == 1) return part;
    const Tensor marked = call("Sharding", part, part.shape(), manual());
    return call("SPMDShardToFullShape", marked, Shape(part.dtype(), std::move(sizes)),
                std::make_shared<const hlo::Sharding>(layout), copies(sharding));
  }

 private:
  Tensor part_of(const Tensor& x, const Sharding& sharding, size_t number) const {
    const Shape& shape = node_of(x, "shard_map").shape;
    const Shape part = part_shape(shape, sharding, number);
    if (map_.mesh.size() == 1) return x;
    const Tensor marked = call(
        "Sharding", x, shape, std::make_shared<const hlo::Sharding>(sharding.to_hlo(shape.rank())));
    return call("SPMDFullToShardShape", marked, part, manual(), copies(sharding));
  }

  const ShardMap& map_;
  const std::vector<std::string> axes_;
  std::vector<Tensor> parts_;
};

}  // namespace

std::vector<Tensor> run_shard_map(
    const ShardMap& map, std::span<const Tensor> leaves, std::span<const size_t> counts,
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> body) {
  const HigherOrderCall call("shard_map", map.at);
  if (ManualScope::current() != nullptr) {
    count(&Counters::traces);
    return Inner(map).run(leaves, counts, body);
  }
  return in_program("shard_map", [&] {
    Body inside(map);
    inside.enter(leaves, counts);
    std::vector<Tensor> results = inside.run(body);
    const size_t total = results.size();
    for (size_t i = 0; i < total; ++i) {
      const PartitionSpec& spec = spec_of(map.out, i, std::span(&total, 1), total, "out_specs");
      results[i] = inside.leave(results[i], spec);
    }
    return results;
  });
}

}  // namespace heddle::trace_internal
