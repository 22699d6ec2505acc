// Collectives: ops in which the devices of a mesh take part together, each with its own part. They
// stand in the function that shard_map() runs (trace/devices/shard_map.h), also in loops inside of
// it.
//
// `axes` names mesh axes: the devices whose other coordinates are equal are a group. The words are
// those of jax.lax. All take the axis_name of a vmap around too (grad/vmap.h): then the examples
// are the group.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/devices/mesh.h"
#include "heddle/trace/tensor.h"

namespace heddle {

enum class CollectiveCombine : uint8_t { kSum, kProduct, kMax, kMin };

// The x of a group combined element by element: every device of it gets the result, of x's type.
//
// errors   for all here: Error outside of shard_map(), or for an axis that its mesh has not
Tensor all_reduce(const Tensor& x, const MeshAxes& axes,
                  CollectiveCombine combine = CollectiveCombine::kSum,
                  SourceLocation at = SourceLocation::here());
// The sum; of pred how many are true, in s32.
Tensor psum(const Tensor& x, const MeshAxes& axes, SourceLocation at = SourceLocation::here());
// The greatest; of pred whether any is true.
Tensor pmax(const Tensor& x, const MeshAxes& axes, SourceLocation at = SourceLocation::here());
// The least; of pred whether all are true.
Tensor pmin(const Tensor& x, const MeshAxes& axes, SourceLocation at = SourceLocation::here());
// psum over the number of devices in the group, of floats or complex numbers.
Tensor pmean(const Tensor& x, const MeshAxes& axes, SourceLocation at = SourceLocation::here());

struct CollectiveOptions {
  base::Int axis = 0;  // of x, or of the result where it is new; negative axes count from the end
  // True: parts lie one after the other along `axis`. False: along an axis of their own, `axis`,
  // as long as the group.
  base::Flag tiled = false;
};

// The x of a group, one after the other in the order of the group. x: [..]; result: [.., n, ..]
// with the new axis at `axis`, or with that axis n times as long where tiled.
Tensor all_gather(const Tensor& x, const MeshAxes& axes, const CollectiveOptions& options = {},
                  SourceLocation at = SourceLocation::here());

// psum, of which each device keeps its own part along `axis`; that axis goes, or where tiled is n
// times as short. jax.lax calls it psum_scatter.
// errors   Error where the axis is not n long, or no multiple of n where tiled
Tensor reduce_scatter(const Tensor& x, const MeshAxes& axes, const CollectiveOptions& options = {},
                      SourceLocation at = SourceLocation::here());

// Part i of x along split_axis goes to device i of the group; what comes is joined along
// concat_axis. x keeps its number of elements; split_axis is n times as short, concat_axis n times
// as long.
// errors   Error where split_axis is no multiple of n
Tensor all_to_all(const Tensor& x, const MeshAxes& axes, base::Int split_axis,
                  base::Int concat_axis, SourceLocation at = SourceLocation::here());

// Who sends to whom, as positions in a group: {{0, 1}, {1, 0}}, or a vector of std::pairs of
// integers.
struct DevicePair {
  base::Int from;
  base::Int to;
};
class DevicePairs {
 public:
  DevicePairs(std::initializer_list<DevicePair> pairs) : pairs_(pairs) {}
  template <class From, class To>
  DevicePairs(const std::vector<std::pair<From, To>>& pairs) {
    for (const auto& [from, to] : pairs) pairs_.push_back({from, to});
  }
  [[nodiscard]] const std::vector<DevicePair>& list() const { return pairs_; }

 private:
  std::vector<DevicePair> pairs_;
};

// x of another device: each pair is (from, to), positions in the group. Who gets none has zeros.
// jax.lax calls it ppermute.
// errors   Error for positions that are not in the group, or a `to` that is there twice
Tensor permute(const Tensor& x, const MeshAxes& axes, const DevicePairs& pairs,
               SourceLocation at = SourceLocation::here());

// The position of this device in its group: s32[].
Tensor axis_index(const MeshAxes& axes, SourceLocation at = SourceLocation::here());
// The number of devices in a group.
int64_t axis_size(const MeshAxes& axes, SourceLocation at = SourceLocation::here());

namespace trace_internal {

// The devices of a mesh of these sizes in groups: those of a group differ along these axes alone,
// of which the last changes fastest in it.
std::vector<std::vector<int64_t>> device_groups(const std::vector<int64_t>& sizes,
                                                const std::vector<size_t>& along);

// While it lives, this thread traces one example of a vmap whose axis has a name.
class LaneScope {
 public:
  LaneScope(std::string name, int64_t size);  // an empty name: none can be meant
  ~LaneScope();
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

  [[nodiscard]] int64_t size() const { return size_; }
  // Tells it from scopes around of the same name.
  [[nodiscard]] const std::string& mark() const { return mark_; }
  // The innermost of that name; null where there is none.
  static const LaneScope* find(const std::string& name);
  // `"i", "j"`, from the innermost on. Empty where there are none.
  static std::string names();
  // "batch#0=8 ": what distinguishes traces in these scopes. Empty where there are none.
  static std::string all_around();

 private:
  std::string name_, mark_;
  int64_t size_;
  const LaneScope* outer_;
};

// While it lives, this thread traces what one device of the mesh does, on parts along these of its
// axes, and along those of the scope around.
class ManualScope {
 public:
  ManualScope(const Mesh& mesh, const std::vector<std::string>& axes);
  ~ManualScope();
  ManualScope(const ManualScope&) = delete;
  ManualScope& operator=(const ManualScope&) = delete;

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] const std::vector<std::string>& axes() const { return axes_; }
  [[nodiscard]] bool has(const std::string& axis) const;
  // Null outside.
  static const ManualScope* current();

 private:
  const Mesh mesh_;
  std::vector<std::string> axes_;
  const ManualScope* outer_;
};

}  // namespace trace_internal
}  // namespace heddle
