#include "heddle/trace/devices/mesh.h"

#include <algorithm>
#include <numeric>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::PublicCall;
using trace_internal::refuse;
using Axes = std::vector<Mesh::Axis>;

std::string names_of(const Axes& axes) {
  std::string out;
  for (const Mesh::Axis& axis : axes) base::append(out, out.empty() ? "" : ", ", axis.name);
  return out;
}

void check_axes(const Axes& axes) {
  if (axes.empty()) refuse("has no axes; must have one or more");
  for (const Mesh::Axis& axis : axes) {
    if (axis.size < 1)
      refuse("axis ", axis.name, " has size ", axis.size, "; it must be 1 or more");
    const auto same = [&](const Mesh::Axis& other) { return other.name == axis.name; };
    if (axis.name.empty() || std::ranges::count_if(axes, same) > 1)
      refuse("has axes (", names_of(axes), "); each must have a name of its own");
  }
}

// An order of devices, as sizes and the order in which they are walked.
struct Walk {
  std::vector<int64_t> sizes;
  std::vector<int64_t> order;
};

// Without sizes of 1, and with neighbours that stay neighbours as one.
Walk shortest(const Walk& from) {
  Walk out;
  std::vector<int64_t> renumbered(from.sizes.size(), -1);
  for (size_t i = 0; i < from.sizes.size(); ++i) {
    if (from.sizes[i] == 1) continue;
    renumbered[i] = static_cast<int64_t>(out.sizes.size());
    out.sizes.push_back(from.sizes[i]);
  }
  for (int64_t axis : from.order) {
    if (renumbered[static_cast<size_t>(axis)] >= 0)
      out.order.push_back(renumbered[static_cast<size_t>(axis)]);
  }
  for (size_t i = 0; i + 1 < out.order.size();) {
    const int64_t first = out.order[i];
    if (out.order[i + 1] != first + 1) {
      ++i;
      continue;
    }
    out.sizes[static_cast<size_t>(first)] *= out.sizes[static_cast<size_t>(first) + 1];
    out.sizes.erase(out.sizes.begin() + first + 1);
    out.order.erase(out.order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    for (int64_t& axis : out.order) axis -= axis > first ? 1 : 0;
  }
  return out;
}

}  // namespace

Mesh::Mesh(std::vector<Axis> axes, std::vector<Device*> devices, SourceLocation at) {
  const PublicCall call("Mesh", at);
  check_axes(axes);
  State state{.axes = std::move(axes), .devices = std::move(devices)};
  for (const Axis& axis : state.axes) state.size *= axis.size;
  if (!state.devices.empty() && static_cast<int64_t>(state.devices.size()) != state.size) {
    const size_t given = state.devices.size();
    refuse("has ", given, given == 1 ? " device" : " devices", ", axes (", names_of(state.axes),
           ") need ", state.size, "; give it as many, or axes whose sizes have the product ",
           given);
  }
  for (auto i = state.devices.begin(); i != state.devices.end(); ++i) {
    if (std::find(state.devices.begin(), i, *i) != i)
      refuse("has the device ", (*i)->name(), " twice; give it another one for each place");
  }
  state_ = std::make_shared<const State>(std::move(state));
}

size_t Mesh::axis(const std::string& name, SourceLocation at) const {
  const PublicCall call("axis", at);
  const auto found = std::ranges::find(axes(), name, &Axis::name);
  if (found == axes().end()) {
    const std::string_view op = PublicCall::function_or("axis");
    throw Error(base::invalid_argument(op == "axis" ? "" : base::cat(op, ": "), to_string(*this),
                                       ": has no axis \"", name, "\"; it has (", names_of(axes()),
                                       ")"));
  }
  return static_cast<size_t>(found - axes().begin());
}

Device& Mesh::device(SourceLocation at) const {
  const PublicCall call("device", at);
  if (devices().empty()) {
    throw Error(base::failed_precondition(
        to_string(*this), ": has no devices, so nothing runs on it; give it some when it is made"));
  }
  return *value_or_throw(runtime::mesh_device(devices()));
}

std::string to_string(const Mesh& mesh) {
  std::string out;
  for (const Mesh::Axis& axis : mesh.axes())
    base::append(out, out.empty() ? "Mesh(" : ", ", axis.name, "=", axis.size);
  return out + ")";
}

Sharding::Sharding(Mesh mesh, std::vector<MeshAxes> spec, SourceLocation at)
    : mesh_(std::move(mesh)), spec_(std::move(spec)) {
  const PublicCall call("Sharding", at);
  std::vector<bool> used(mesh_.axes().size());
  for (const MeshAxes& entry : spec_) {
    for (const std::string& name : entry.names()) {
      const size_t axis = mesh_.axis(name);
      if (used[axis])
        refuse(*this, " names mesh axis ", name, " twice; it can cut one axis of an array");
      used[axis] = true;
    }
  }
}

int64_t Sharding::parts(base::Int axis, SourceLocation at) const {
  const PublicCall call("Sharding", at);
  if (axis < 0)
    refuse(*this, " is asked for the parts of axis ", axis,
           "; axes are counted from the first, which is 0");
  int64_t parts = 1;
  if (axis >= static_cast<int64_t>(spec_.size())) return parts;
  for (const std::string& name : spec_[static_cast<size_t>(axis)].names())
    parts *= mesh_.axes()[mesh_.axis(name)].size;
  return parts;
}

namespace {

Status check_rank(const Sharding& sharding, int64_t rank) {
  if (static_cast<int64_t>(sharding.spec().size()) <= rank) return {};
  return base::invalid_argument(to_string(sharding), " has ", sharding.spec().size(),
                                " entries; the array has ", rank, " axes");
}

}  // namespace

hlo::Sharding Sharding::to_hlo(int64_t rank, SourceLocation at) const {
  const PublicCall call("Sharding", at);
  if (const Status status = check_rank(*this, rank); !status.ok()) refuse(status.text());
  hlo::Sharding out;
  Walk walk;
  for (const Mesh::Axis& axis : mesh_.axes()) walk.sizes.push_back(axis.size);
  int64_t count = 1;
  for (int64_t d = 0; d < rank; ++d) {
    out.tile_dimensions.push_back(parts(d));
    count *= parts(d);
  }
  if (count == 1) return {};  // every device has all of it
  for (const MeshAxes& entry : spec_) {
    for (const std::string& name : entry.names())
      walk.order.push_back(static_cast<int64_t>(mesh_.axis(name)));
  }
  for (size_t axis = 0; axis < walk.sizes.size(); ++axis) {
    if (std::ranges::find(walk.order, static_cast<int64_t>(axis)) == walk.order.end())
      walk.order.push_back(static_cast<int64_t>(axis));
  }
  if (count < mesh_.size()) {
    out.tile_dimensions.push_back(mesh_.size() / count);
    out.replicate_on_last_tile_dim = true;
  }
  Walk order = shortest(walk);
  out.type = hlo::Sharding::Type::kOther;
  out.iota_reshape = std::move(order.sizes);
  if (!std::ranges::is_sorted(order.order)) out.iota_transpose = std::move(order.order);
  return out;
}

StatusOr<Shape> trace_internal::try_part(const Sharding& sharding, const Shape& shape) {
  HEDDLE_RETURN_IF_ERROR(check_rank(sharding, shape.rank()));
  std::vector<int64_t> sizes = shape.dimensions();
  for (size_t d = 0; d < sharding.spec().size(); ++d) {
    const int64_t count = sharding.parts(static_cast<int64_t>(d));
    if (sizes[d] % count != 0) {
      return base::invalid_argument(to_string(sharding), " cuts axis ", d, " of ", shape, " in ",
                                    count, " parts; its size must be a multiple");
    }
    sizes[d] /= count;
  }
  return Shape(shape.dtype(), std::move(sizes));
}

Shape Sharding::part(const Shape& shape, SourceLocation at) const {
  const PublicCall call("Sharding", at);
  const StatusOr<Shape> part = trace_internal::try_part(*this, shape);
  if (!part.ok()) refuse(part.status().text());
  return *part;
}

std::string to_string(const Sharding& sharding) {
  std::string out = "P(";
  for (size_t i = 0; i < sharding.spec().size(); ++i) {
    const std::vector<std::string>& names = sharding.spec()[i].names();
    base::append(out, i > 0 ? ", " : "");
    if (names.empty()) base::append(out, "None");
    if (names.size() == 1) base::append(out, names[0]);
    if (names.size() > 1) base::append(out, "(", base::join(names, ", "), ")");
  }
  return out + ")";
}

Tensor placeholder(const base::Ints& shape, DType dtype, const PlaceholderOptions& options,
                   SourceLocation at) {
  const PublicCall call("placeholder", at);
  Tensor plain = placeholder(std::move(shape), dtype);
  if (!options.sharding.has_value()) return plain;
  auto node = std::make_shared<trace_internal::Node>(plain.node()->shape, plain.node()->where);
  node->id = plain.id();
  node->sharding =
      std::make_shared<const hlo::Sharding>(options.sharding->to_hlo(node->shape.rank()));
  return Tensor(std::move(node));
}

namespace trace_internal {

// custom-call Sharding, which XLA's partitioner reads.
Tensor marked(const Tensor& x, hlo::Sharding sharding) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = "Sharding";
  return emit({.opcode = hlo::Opcode::kCustomCall,
               .operands = {x},
               .attrs = std::move(attrs),
               .declared = x.shape(),
               .sharding = std::make_shared<const hlo::Sharding>(std::move(sharding))});
}

}  // namespace trace_internal

Tensor with_sharding(const Tensor& x, const Sharding& sharding, SourceLocation at) {
  const PublicCall call("with_sharding", at);
  const trace_internal::Node& node = trace_internal::node_of(x, "with_sharding");
  hlo::Sharding wanted = sharding.to_hlo(node.shape.rank());
  if (sharding.mesh().size() == 1) return x;
  if (trace_internal::ManualScope::current() != nullptr) {
    throw Error(
        base::failed_precondition("with_sharding: stands inside of shard_map, where each device "
                                  "has its own part; lay arrays out by in_specs and out_specs"));
  }
  return trace_internal::marked(x, std::move(wanted));
}

Tensor array(const Literal& literal, const Sharding& sharding, SourceLocation at) {
  const PublicCall call("array", at);
  if (trace_internal::Recorder::current() != nullptr) {
    throw Error(
        base::failed_precondition("array: host data is spread over a mesh inside a trace; make "
                                  "it outside, or mark a constant with with_sharding"));
  }
  const hlo::Sharding wanted = sharding.to_hlo(literal.shape().rank());
  return trace_internal::tensor_of(
      value_or_throw(runtime::to_devices(sharding.mesh().device(), literal, wanted, "array")));
}

Tensor device_put(const Tensor& x, const Sharding& sharding, SourceLocation at) {
  const PublicCall call("device_put", at);
  const runtime::BufferPtr buffer = trace_internal::buffer_of(x, "device_put");
  if (&buffer->device() == &sharding.mesh().device()) return with_sharding(x, sharding);
  return array(x.to_literal(), sharding);
}

std::shared_ptr<const hlo::Sharding> sharding_of(const Tensor& tensor) {
  return tensor.is_valid() ? tensor.node()->sharding : nullptr;
}

}  // namespace heddle
