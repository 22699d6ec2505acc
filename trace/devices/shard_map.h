// shard_map: a function that runs on each device of a mesh, on that device's parts; devices talk by
// collectives (trace/ops/device/collectives.h).
//
//   auto mean_square = shard_map(
//       [](Tensor x) { return psum(sum(square(x)), "data") / (axis_size("data") * x.size()); },
//       mesh, {{"data"}}, {{}});
//   Tensor y = mean_square(x);  // x: f32[8,4] in parts of f32[4,4] on two devices; y: f32[]
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/trace/devices/mesh.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/tree.h"

namespace heddle {

// How an array is cut, by its axes: {"data", None{}}; {} is whole.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  PartitionSpec(std::initializer_list<MeshAxes> axes) : axes_(axes) {}
  explicit PartitionSpec(std::vector<MeshAxes> axes) : axes_(std::move(axes)) {}
  [[nodiscard]] const std::vector<MeshAxes>& axes() const { return axes_; }

 private:
  std::vector<MeshAxes> axes_;
};
using PartitionSpecs = std::vector<PartitionSpec>;

struct ShardMapOptions {
  // The mesh axes along which `fn` has parts and talks. None: all that no shard_map around has.
  MeshAxes axes = {};
};

namespace trace_internal {

struct ShardMap {
  Mesh mesh;
  PartitionSpecs in;
  PartitionSpecs out;
  MeshAxes axes;
  SourceLocation at;
};

// `leaves` of all arguments, `counts` of each. The body gets their parts.
std::vector<Tensor> run_shard_map(
    const ShardMap& map, std::span<const Tensor> leaves, std::span<const size_t> counts,
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> body);

template <class Fn, class... Args>
auto mapped(const ShardMap& map, const Fn& fn, const Args&... args) {
  using Out = tree_internal::ResultOf<const Fn&, Args...>;
  if constexpr (!(is_tree<Args>() && ...)) {
    return Tensor();
  } else if constexpr (!tree_internal::is_traceable<const Fn, Args...>()) {
    return Tensor();
  } else {
    const std::vector<TreeSpec> specs{tree_spec(args)...};
    std::vector<Tensor> leaves;
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    std::vector<size_t> counts;
    for (const TreeSpec& spec : specs) counts.push_back(leaf_count(spec));
    TreeSpec result;
    const std::vector<Tensor> out =
        run_shard_map(map, leaves, counts, [&](std::span<const Tensor> parts) {
          Out value = [&]<size_t... I>(std::index_sequence<I...>) {
            std::tuple<Args...> arguments{unflatten<Args>(specs[I], parts)...};  // left to right
            return std::apply(fn, std::move(arguments));
          }
          (std::index_sequence_for<Args...>());
          result = tree_spec(value);
          return flatten(value);
        });
    std::span<const Tensor> rest(out);
    return unflatten<Out>(result, rest);
  }
}

}  // namespace trace_internal

// Returns a function of the same trees of full arrays. Tensors that `fn` captures are whole on
// every device. Inside a trace it is a part of the program; outside it runs, on the devices of its
// arguments, which have to be the mesh's.
//
// fn        callable on trees of parts; returns a tree of parts
// in_specs  one for each argument (all leaves of it alike), or one for each leaf of all arguments
// out_specs one for all results, or one for each leaf; an axis of the mesh that a spec does not
// name
//           says that devices along it return equal values
// options   .axes: along the other axes of the mesh every device does the same on equal values. A
//           shard_map inside, also in a loop, may take them: it cuts what each device has, and puts
//           its results together again by all_gather
// errors    Error where specs are of another number, or an axis of an array does not divide; where
//           specs or collectives name an axis that is not of .axes, or .axes one that a shard_map
//           around has
// cost      fn runs once, whatever the number of devices
template <class Fn>
auto shard_map(Fn fn, Mesh mesh, PartitionSpecs in_specs, PartitionSpecs out_specs,
               ShardMapOptions options = {}, SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("shard_map", at);
  trace_internal::require_function("function", fn);
  return
      [fn = std::move(fn), map = trace_internal::ShardMap{
                               std::move(mesh), std::move(in_specs), std::move(out_specs),
                               std::move(options.axes), at}]<class... Args>(const Args&... args) {
        static_assert((tree_internal::is_tree_or_explained<Args> && ...),
                      "an argument of a mapped function is a tree of Tensors");
        (tree_internal::explain<Args>(), ...);
        return trace_internal::mapped(map, fn, args...);
      };
}

}  // namespace heddle
