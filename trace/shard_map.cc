#include "heddle/trace/shard_map.h"

#include "heddle/base/counters.h"
#include "heddle/hlo/attributes.h"
#include "heddle/trace/error.h"
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
            SourceLocation at) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = std::move(target);
  return emit({.opcode = hlo::Opcode::kCustomCall,
               .operands = {x},
               .attrs = std::move(attrs),
               .declared = result,
               .at = at,
               .sharding = std::move(sharding)});
}

// One of a list that is for each leaf, for each argument, or for all.
const Spec& spec_of(const Specs& specs, size_t leaf, std::span<const size_t> counts, size_t total,
                    std::string_view what, SourceLocation at) {
  if (specs.size() == total) return specs[leaf];
  if (specs.size() == counts.size()) {
    size_t argument = 0;
    for (size_t end = counts[0]; leaf >= end; end += counts[argument]) ++argument;
    return specs[argument];
  }
  throw Error(invalid_argument("shard_map: has ", specs.size(), " ", what, " for ", counts.size(),
                               counts.size() == 1 ? " tree of " : " trees of ", total,
                               " leaves; must have one for each tree, or for each leaf"),
              at);
}

// What one device does, traced on parts.
class Body {
 public:
  explicit Body(const ShardMap& map) : map_(map) {}

  // The parts of all leaves, in the trace around.
  void enter(std::span<const Tensor> leaves, std::span<const size_t> counts) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Spec& spec = spec_of(map_.in, i, counts, leaves.size(), "in_specs", map_.at);
      parts_.push_back(part_of(leaves[i], Sharding(map_.mesh, spec.axes(), map_.at), i));
    }
  }

  std::vector<Tensor> run(FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn) {
    count(&Counters::traces);
    Traced traced = [&] {
      const ManualScope scope(map_.mesh);
      Recorder recorder("shard_map", map_.at);
      std::vector<Tensor> parameters;
      for (const Tensor& part : parts_)
        parameters.push_back(recorder.parameter(part.shape(), map_.at));
      const std::vector<Tensor> results = fn(parameters);
      return recorder.finish(results, "shard_map", map_.at);
    }();
    for (const Tensor& capture : traced.captures)
      parts_.push_back(part_of(capture, Sharding(map_.mesh, {}, map_.at), parts_.size()));
    return emit_many({.opcode = hlo::Opcode::kCall,
                      .operands = parts_,
                      .attrs = hlo::CallAttrs{},
                      .called = {std::make_shared<const hlo::Module>(std::move(traced.module))},
                      .at = map_.at});
  }

  // The whole array that parts of the result make.
  Tensor leave(const Tensor& part, const Sharding& sharding) const {
    std::vector<int64_t> sizes = part.shape().dimensions();
    const hlo::Sharding layout = sharding.to_hlo(part.rank(), map_.at);
    for (size_t d = 0; d < sizes.size(); ++d) sizes[d] *= sharding.parts(static_cast<int64_t>(d));
    if (map_.mesh.size() == 1) return part;
    const Tensor marked = call("Sharding", part, part.shape(), manual(), map_.at);
    return call("SPMDShardToFullShape", marked, Shape(part.dtype(), std::move(sizes)),
                std::make_shared<const hlo::Sharding>(layout), map_.at);
  }

 private:
  Tensor part_of(const Tensor& x, const Sharding& sharding, size_t number) const {
    const Shape& shape = node_of(x, "shard_map", map_.at).shape;
    const Shape part = [&] {
      try {
        return sharding.part(shape, map_.at);
      } catch (const Error& error) {
        throw Error(annotate(error.status(), "shard_map: leaf ", number, " of the arguments: "),
                    map_.at);
      }
    }();
    if (map_.mesh.size() == 1) return x;
    const Tensor marked = call(
        "Sharding", x, shape,
        std::make_shared<const hlo::Sharding>(sharding.to_hlo(shape.rank(), map_.at)), map_.at);
    return call("SPMDFullToShardShape", marked, part, manual(), map_.at);
  }

  const ShardMap& map_;
  std::vector<Tensor> parts_;
};

}  // namespace

std::vector<Tensor> run_shard_map(const ShardMap& map, std::span<const Tensor> leaves,
                                  std::span<const size_t> counts,
                                  FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> body) {
  if (manual_mesh() != nullptr) {
    throw Error(unimplemented("shard_map: is inside of another shard_map; take the collectives of "
                              "both to one mesh and one shard_map"),
                map.at);
  }
  return in_program("shard_map", map.at, [&] {
    Body inside(map);
    inside.enter(leaves, counts);
    std::vector<Tensor> results = inside.run(body);
    const size_t total = results.size();
    for (size_t i = 0; i < total; ++i) {
      const Spec& spec = spec_of(map.out, i, std::span(&total, 1), total, "out_specs", map.at);
      results[i] = inside.leave(results[i], Sharding(map.mesh, spec.axes(), map.at));
    }
    return results;
  });
}

}  // namespace heddle::trace_internal
