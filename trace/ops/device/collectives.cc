#include "heddle/trace/ops/device/collectives.h"

#include <algorithm>
#include <optional>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/batching.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/internal/scalar_fragment.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/rows.h"
#include "heddle/trace/surroundings.h"

namespace heddle {

namespace trace_internal {
namespace {

thread_local const ManualScope* current_manual_scope = nullptr;
thread_local const LaneScope* current_lanes = nullptr;

}  // namespace

LaneScope::LaneScope(std::string name, int64_t size)
    : name_(std::move(name)), size_(size), outer_(current_lanes) {
  int64_t depth = 0;
  for (const LaneScope* scope = outer_; scope != nullptr; scope = scope->outer_) ++depth;
  mark_ = base::cat(name_, "#", depth);
  current_lanes = this;
}
LaneScope::~LaneScope() { current_lanes = outer_; }

const LaneScope* LaneScope::find(const std::string& name) {
  for (const LaneScope* scope = current_lanes; scope != nullptr; scope = scope->outer_) {
    if (!name.empty() && scope->name_ == name) return scope;
  }
  return nullptr;
}

std::string LaneScope::names() {
  std::vector<std::string> out;
  for (const LaneScope* scope = current_lanes; scope != nullptr; scope = scope->outer_) {
    if (!scope->name_.empty()) out.push_back(base::cat('"', scope->name_, '"'));
  }
  return base::join(out, ", ");
}

std::string LaneScope::all_around() {
  std::string out;
  for (const LaneScope* scope = current_lanes; scope != nullptr; scope = scope->outer_) {
    if (!scope->name_.empty()) base::append(out, scope->mark_, "=", scope->size_, " ");
  }
  return out;
}

std::vector<std::vector<int64_t>> device_groups(const std::vector<int64_t>& sizes,
                                                const std::vector<size_t>& along) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * sizes[axis];
  // Device numbers along these axes, the last of which changes fastest.
  const auto numbers = [&](const std::vector<size_t>& axes) {
    std::vector<int64_t> out = {0};
    for (size_t axis : axes) {
      std::vector<int64_t> next;
      for (int64_t base : out) {
        for (int64_t i = 0; i < sizes[axis]; ++i) next.push_back(base + i * strides[axis]);
      }
      out = std::move(next);
    }
    return out;
  };
  std::vector<size_t> others;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (std::ranges::find(along, axis) == along.end()) others.push_back(axis);
  }
  std::vector<std::vector<int64_t>> out;
  for (int64_t first : numbers(others)) {
    std::vector<int64_t>& group = out.emplace_back();
    for (int64_t offset : numbers(along)) group.push_back(first + offset);
  }
  return out;
}

void append_surroundings(std::string& structure) {
  if (const auto* scope = ManualScope::current())
    base::append(structure, to_string(scope->mesh()), " ", base::join(scope->axes(), ","));
  base::append(structure, LaneScope::all_around());
  RowScope::append(structure);
}

ManualScope::ManualScope(const Mesh& mesh, const std::vector<std::string>& axes)
    : mesh_(mesh), axes_(axes), outer_(current_manual_scope) {
  if (outer_ != nullptr) axes_.insert(axes_.end(), outer_->axes_.begin(), outer_->axes_.end());
  current_manual_scope = this;
}
ManualScope::~ManualScope() { current_manual_scope = outer_; }

bool ManualScope::has(const std::string& axis) const {
  return std::ranges::find(axes_, axis) != axes_.end();
}

const ManualScope* ManualScope::current() { return current_manual_scope; }

}  // namespace trace_internal

namespace {

using hlo::Opcode;
using trace_internal::axis_of;
using trace_internal::emit;
using trace_internal::PublicCall;

// As JAX has it: one channel, which says that groups are of partitions.
constexpr int64_t kChannel = 1;

// errors: Error where an axis is neither of a vmap around nor of the mesh
void require_around(std::string_view op, const trace_internal::ManualScope* scope,
                    const std::vector<std::string>& axes) {
  const std::string lanes = trace_internal::LaneScope::names();
  for (const std::string& name : axes) {
    const bool is_of_mesh =
        scope != nullptr && std::ranges::count(scope->mesh().axes(), name, &Mesh::Axis::name) > 0;
    if (is_of_mesh || lanes.empty()) continue;
    const std::string mesh = scope ? base::cat(", and a shard_map of ", scope->mesh()) : "";
    trace_internal::refuse("names axis \"", name, "\"; around are a vmap over ", lanes, mesh,
                           ", it must name one of their axes");
  }
  if (scope != nullptr) return;
  throw Error(trace_internal::failed_precondition(
      op,
      ": is outside of shard_map; only inside does each device have a part of its own (nor is "
      "there a vmap around whose axis_name is \"",
      axes[0], "\")"));
}

// The groups of devices that differ along some axes of the mesh alone.
class Groups {
 public:
  Groups(std::string_view op, const MeshAxes& axes) {
    if (axes.names().empty()) trace_internal::refuse("names no mesh axis; must name one or more");
    const auto* scope = trace_internal::ManualScope::current();
    require_around(op, scope, axes.names());
    const Mesh* mesh = &scope->mesh();
    std::vector<bool> inside(mesh->axes().size());
    for (const std::string& name : axes.names()) {
      inner_.push_back(mesh->axis(name));
      if (!scope->has(name)) {
        trace_internal::refuse("mesh axis ", name,
                               " is not of the shard_map around; add it to its .axes, or "
                               "stand in a shard_map of that axis");
      }
      if (inside[inner_.back()])
        trace_internal::refuse("names mesh axis ", name, " twice; must name it once");
      inside[inner_.back()] = true;
    }
    strides_.assign(inside.size(), 1);
    for (size_t axis = inside.size(); axis-- > 1;)
      strides_[axis - 1] = strides_[axis] * mesh->axes()[axis].size;
    for (const Mesh::Axis& axis : mesh->axes()) sizes_.push_back(axis.size);
  }

  [[nodiscard]] int64_t size() const {
    int64_t size = 1;
    for (size_t axis : inner_) size *= sizes_[axis];
    return size;
  }
  // Each is alone: there is nothing to be done together.
  [[nodiscard]] bool is_alone() const { return size() == 1; }
  [[nodiscard]] const std::vector<size_t>& inner() const { return inner_; }
  [[nodiscard]] int64_t stride(size_t axis) const { return strides_[axis]; }
  [[nodiscard]] int64_t size_of(size_t axis) const { return sizes_[axis]; }

  [[nodiscard]] std::vector<hlo::Dims> lists() const {
    return trace_internal::device_groups(sizes_, inner_);
  }

 private:
  std::vector<size_t> inner_;  // as the caller named them
  hlo::Dims sizes_;
  hlo::Dims strides_;
};

// The vmap whose examples are meant; null where mesh axes are. errors: Error where it is named with
// others
const trace_internal::LaneScope* lanes_of(const MeshAxes& axes) {
  const trace_internal::LaneScope* found = nullptr;
  for (const std::string& name : axes.names()) {
    const trace_internal::LaneScope* lanes = trace_internal::LaneScope::find(name);
    if (lanes != nullptr) found = lanes;
  }
  if (found != nullptr && axes.names().size() > 1)
    trace_internal::refuse("names ", axes.names().size(),
                           " axes, one of them of a vmap; must name that alone");
  return found;
}

// Those who do something together: devices, or the examples of a vmap.
class Group {
 public:
  Group(std::string_view op, const MeshAxes& axes) : lanes_(lanes_of(axes)) {
    if (lanes_ == nullptr) devices_.emplace(op, axes);
  }

  [[nodiscard]] int64_t size() const { return devices_ ? devices_->size() : lanes_->size(); }
  // A lone device has nothing to do with others. What lanes give together is one value of all,
  // also of one lane.
  [[nodiscard]] bool is_alone() const { return devices_ && size() == 1; }
  [[nodiscard]] std::string_view members() const { return devices_ ? " devices" : " examples"; }
  [[nodiscard]] const std::optional<Groups>& devices() const { return devices_; }

  [[nodiscard]] hlo::CollectiveAttrs attrs(hlo::Dims dimensions = {}) const {
    hlo::CollectiveAttrs attrs;
    attrs.dimensions = std::move(dimensions);
    if (!devices_) return attrs;
    attrs.channel_id = kChannel;
    attrs.replica_groups.groups = devices_->lists();
    attrs.use_global_device_ids = true;
    return attrs;
  }
  // Positions in the group as what takes part has them.
  [[nodiscard]] hlo::CollectivePermuteAttrs permute_attrs(const DevicePairs& pairs) const {
    hlo::CollectivePermuteAttrs attrs;
    if (devices_) attrs.channel_id = kChannel;
    const hlo::Dims lanes = consecutive_dimensions(devices_ ? 0 : size());
    for (const hlo::Dims& group : devices_ ? devices_->lists() : std::vector<hlo::Dims>{lanes}) {
      for (const auto& [from, to] : pairs.list())
        attrs.source_target_pairs.push_back(
            {group[static_cast<size_t>(from)], group[static_cast<size_t>(to)]});
    }
    return attrs;
  }
  [[nodiscard]] hlo::FrontendAttributes mark() const {
    if (devices_) return {};
    return {{std::string(hlo::kTogetherAttribute), lanes_->mark()}};
  }

 private:
  const trace_internal::LaneScope* lanes_;
  std::optional<Groups> devices_;
};

Opcode combiner(CollectiveCombine combine) {
  switch (combine) {
    case CollectiveCombine::kSum: return Opcode::kAdd;
    case CollectiveCombine::kProduct: return Opcode::kMultiply;
    case CollectiveCombine::kMax: return Opcode::kMaximum;
    case CollectiveCombine::kMin: return Opcode::kMinimum;
  }
  return Opcode::kAdd;
}

const Shape& shape_of(const Tensor& x) { return trace_internal::node_of(x).shape; }

// x, of pred as numbers to be added.
Tensor countable(const Tensor& x) { return shape_of(x).dtype() == pred ? x.astype(s32) : x; }

std::vector<int64_t> with_size(std::vector<int64_t> sizes, int64_t axis, int64_t size) {
  sizes[static_cast<size_t>(axis)] = size;
  return sizes;
}

// errors: Error where an axis of x cannot be divided among the group
void check_multiple(const Shape& shape, int64_t axis, const Group& group) {
  const int64_t n = group.size();
  if (n > 0 && shape.dimension(axis) % n == 0) return;
  trace_internal::refuse("axis ", axis, " of x, ", shape, ", goes to a group of ", n,
                         group.members(), "; its size must be a multiple");
}

// Each vmap that is named, and the axes of the mesh together. errors: Error where a vmap is named
// twice
std::vector<MeshAxes> apart(const MeshAxes& axes) {
  std::vector<MeshAxes> out;
  std::vector<std::string> of_mesh;
  for (const std::string& name : axes.names()) {
    if (trace_internal::LaneScope::find(name) == nullptr) {
      of_mesh.push_back(name);
      continue;
    }
    if (std::ranges::count(axes.names(), name) > 1)
      trace_internal::refuse("names vmap axis ", name, " twice; must name it once");
    out.emplace_back(name);
  }
  if (!of_mesh.empty() || out.empty()) out.emplace_back(std::move(of_mesh));
  return out;
}

int64_t size_of_all(std::string_view op, const MeshAxes& axes) {
  int64_t size = 1;
  for (const MeshAxes& part : apart(axes)) size *= Group(op, part).size();
  return size;
}

Tensor combined_by(std::string_view op, const Tensor& x, const MeshAxes& axes,
                   CollectiveCombine combine) {
  const Shape& shape = shape_of(x);
  const Group group(op, axes);
  if (group.is_alone()) return x;
  hlo::CollectiveAttrs attrs = group.attrs();
  if (combine == CollectiveCombine::kProduct && !group.devices() && group.size() > 0) {
    attrs.replica_groups.iota_tile = {1, group.size()};  // its derivative gathers so many
    attrs.replica_groups.iota_reshape = {group.size()};
  }
  return emit({.opcode = Opcode::kAllReduce,
               .operands = {x},
               .attrs = std::move(attrs),
               .called = {trace_internal::scalar_computation(combiner(combine), shape.dtype())},
               .declared = shape,
               .frontend_attributes = group.mark()});
}

Tensor combined(std::string_view op, const Tensor& x, const MeshAxes& axes,
                CollectiveCombine combine, SourceLocation at) {
  const PublicCall call(op, at);
  Tensor out = x;
  for (const MeshAxes& part : apart(axes)) out = combined_by(op, out, part, combine);
  return out;
}

}  // namespace

Tensor all_reduce(const Tensor& x, const MeshAxes& axes, CollectiveCombine combine,
                  SourceLocation at) {
  return combined("all_reduce", x, axes, combine, at);
}
Tensor psum(const Tensor& x, const MeshAxes& axes, SourceLocation at) {
  const PublicCall call("psum", at);
  return combined("psum", countable(x), axes, CollectiveCombine::kSum, at);
}
Tensor pmax(const Tensor& x, const MeshAxes& axes, SourceLocation at) {
  return combined("pmax", x, axes, CollectiveCombine::kMax, at);
}
Tensor pmin(const Tensor& x, const MeshAxes& axes, SourceLocation at) {
  return combined("pmin", x, axes, CollectiveCombine::kMin, at);
}
Tensor pmean(const Tensor& x, const MeshAxes& axes, SourceLocation at) {
  const PublicCall call("pmean", at);
  const int64_t n = size_of_all("pmean", axes);
  (void)shape_of(x);
  trace_internal::require_inexact(x);
  return divide(psum(x, axes), static_cast<double>(n));
}

Tensor all_gather(const Tensor& x, const MeshAxes& axes, const CollectiveOptions& options,
                  SourceLocation at) {
  const PublicCall call("all_gather", at);
  const Group group("all_gather", axes);
  const Shape& shape = shape_of(x);
  std::vector<int64_t> sizes = shape.dimensions();
  int64_t axis = options.axis;
  if (options.tiled) {
    axis = axis_of(shape, axis);
  } else {
    if (axis < 0) axis += shape.rank() + 1;
    if (axis < 0 || axis > shape.rank())
      trace_internal::refuse("new axis is ", options.axis, "; the result has axes ",
                             -shape.rank() - 1, " .. ", shape.rank());
    sizes.insert(sizes.begin() + axis, 1);
  }
  Tensor part = options.tiled ? x : reshape(x, sizes);
  if (group.is_alone()) return part;
  sizes[static_cast<size_t>(axis)] *= group.size();
  return emit({.opcode = Opcode::kAllGather,
               .operands = {part},
               .attrs = group.attrs({axis}),
               .declared = Shape(shape.dtype(), std::move(sizes)),
               .frontend_attributes = group.mark()});
}

Tensor reduce_scatter(const Tensor& part, const MeshAxes& axes, const CollectiveOptions& options,
                      SourceLocation at) {
  const PublicCall call("reduce_scatter", at);
  const Group group("reduce_scatter", axes);
  const Tensor x = countable(part);
  const Shape& shape = x.shape();
  const int64_t axis = axis_of(shape, options.axis), n = group.size();
  check_multiple(shape, axis, group);
  if (!options.tiled && shape.dimension(axis) != n) {
    trace_internal::refuse("axis ", axis, " of x, ", shape, ", goes to a group of ", n,
                           group.members(), "; it must be as long, or be tiled");
  }
  std::vector<int64_t> sizes = with_size(shape.dimensions(), axis, shape.dimension(axis) / n);
  Tensor out = x;
  if (!group.is_alone()) {
    out = emit({.opcode = Opcode::kReduceScatter,
                .operands = {x},
                .attrs = group.attrs({axis}),
                .called = {trace_internal::scalar_computation(Opcode::kAdd, shape.dtype())},
                .declared = Shape(shape.dtype(), sizes),
                .frontend_attributes = group.mark()});
  }
  if (options.tiled) return out;
  sizes.erase(sizes.begin() + axis);
  return reshape(out, sizes);
}

namespace {

// [.., n * s, ..] along `split` to [.., n * c, ..] along `concat`: blocks become a part of it.
Tensor blocks_moved(const Tensor& x, int64_t split, int64_t concat, int64_t n) {
  std::vector<int64_t> sizes = x.shape().dimensions();
  std::vector<int64_t> blocks = with_size(sizes, split, sizes[static_cast<size_t>(split)] / n);
  const std::vector<int64_t> one_block = blocks;
  blocks.insert(blocks.begin() + split, n);
  std::vector<int64_t> order = consecutive_dimensions(std::ssize(blocks));
  order.erase(order.begin() + split);
  const int64_t target = concat + (concat > split ? 1 : 0);  // of `concat` among the blocks' axes
  order.insert(std::ranges::find(order, target), split);
  Tensor turned = emit({.opcode = Opcode::kTranspose,
                        .operands = {reshape(x, blocks)},
                        .attrs = hlo::DimensionsAttrs{.dimensions = std::move(order)}});
  return reshape(turned, with_size(one_block, concat, one_block[static_cast<size_t>(concat)] * n));
}

}  // namespace

Tensor all_to_all(const Tensor& x, const MeshAxes& axes, base::Int split_axis,
                  base::Int concat_axis, SourceLocation at) {
  const PublicCall call("all_to_all", at);
  const Group group("all_to_all", axes);
  const Shape& shape = shape_of(x);
  const int64_t split = axis_of(shape, split_axis);
  const int64_t concat = axis_of(shape, concat_axis);
  check_multiple(shape, split, group);
  if (group.is_alone()) return x;
  hlo::CollectiveAttrs attrs = group.attrs({split});
  attrs.use_global_device_ids = false;  // all-to-all has none: with a channel groups are partitions
  Tensor out = emit({.opcode = Opcode::kAllToAll,
                     .operands = {x},
                     .attrs = std::move(attrs),
                     .declared = shape,
                     .frontend_attributes = group.mark()});
  return split == concat ? out : blocks_moved(out, split, concat, group.size());
}

Tensor permute(const Tensor& x, const MeshAxes& axes, const DevicePairs& pairs, SourceLocation at) {
  const PublicCall call("permute", at);
  const Group group("permute", axes);
  const Shape& shape = shape_of(x);
  const int64_t n = group.size();
  std::vector<bool> taken(static_cast<size_t>(n));
  for (const auto& [from, to] : pairs.list()) {
    if (from < 0 || from >= n || to < 0 || to >= n || taken[static_cast<size_t>(to)]) {
      trace_internal::refuse("has the pair (", from, ", ", to, ") in a group of ", n,
                             group.members(), "; both must be below ", n,
                             ", and each gets one value at most");
    }
    taken[static_cast<size_t>(to)] = true;
  }
  if (group.is_alone()) return pairs.list().empty() ? zeros_like(x) : x;
  return emit({.opcode = Opcode::kCollectivePermute,
               .operands = {x},
               .attrs = group.permute_attrs(pairs),
               .declared = shape,
               .frontend_attributes = group.mark()});
}

Tensor axis_index(const MeshAxes& axes, SourceLocation at) {
  const PublicCall call("axis_index", at);
  const Group group("axis_index", axes);
  if (!group.devices()) {
    return emit({.opcode = Opcode::kReplicaId,
                 .declared = Shape::scalar(u32),
                 .frontend_attributes = group.mark()})
        .astype(s32);
  }
  const Groups& groups = *group.devices();
  if (groups.is_alone()) return trace_internal::emit_constant(Literal::scalar(s32, int64_t{0}));
  // XLA takes the number of a device for known only where it is told that the value is its own.
  auto manual = std::make_shared<hlo::Sharding>();
  manual->type = hlo::Sharding::Type::kManual;
  const Tensor device = emit({.opcode = Opcode::kPartitionId,
                              .declared = Shape::scalar(u32),
                              .sharding = std::move(manual)});
  Tensor index;
  for (size_t axis : groups.inner()) {
    Tensor along = device;
    if (groups.stride(axis) > 1) along = divide(along, groups.stride(axis));
    along = rem(along, groups.size_of(axis));
    index = index.is_valid() ? add(multiply(index, groups.size_of(axis)), along) : along;
  }
  return index.astype(s32);
}

int64_t axis_size(const MeshAxes& axes, SourceLocation at) {
  const PublicCall call("axis_size", at);
  return size_of_all("axis_size", axes);
}

}  // namespace heddle
