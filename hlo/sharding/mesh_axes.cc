#include "heddle/hlo/internal/mesh_axes.h"

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/internal/text_items.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

bool read_name(TextCursor& in, std::string& name) {
  if (in.peek() == '\'' || in.peek() == '"') return in.read_string(name);
  name = in.word();
  return !name.empty() || in.fail_expected("the name of an axis");
}

// After "device_ids=(": 0,2,1,3) or [4,2]T(1,0)), which stands for the list.
bool read_devices(TextCursor& in, Dims& devices) {
  if (!in.accept('[')) return read_integers(in, ')', devices);
  Dims reshape, transpose;
  if (!read_integers(in, ']', reshape)) return false;
  if (in.accept('T') && !(in.expect('(') && read_integers(in, ')', transpose))) return false;
  if (const Status status = check_iota(reshape, transpose); !status.ok())
    return in.fail("device_ids: ", base::message_of(status));
  devices = devices_of_iota(reshape, transpose);
  return in.expect(')');
}

// 'b' or 'b':(2)2.
bool read_part(TextCursor& in, const std::vector<MeshAxes::Axis>& axes, MeshAxes::Part& part) {
  std::string name;
  if (!read_name(in, name)) return false;
  const auto found = std::ranges::find(axes, name, &MeshAxes::Axis::name);
  if (found == axes.end()) return in.fail("the mesh has no axis ", name);
  part.axis = found - axes.begin();
  if (!in.accept(':')) return true;
  return in.expect('(') && in.read_int(part.before) && in.expect(')') && in.read_int(part.size) &&
         (part.size > 0 || in.fail("a part of axis ", name, " must have a size of 1 or more"));
}

// Before any work that takes each with each.
Status check_few(const MeshAxes& axes) {
  if (axes.axes.size() <= kMaxSizes && axes.parts.size() <= kMaxSizes) return {};
  return base::invalid_argument("mesh: has ", axes.axes.size(), " axes, and groups along ",
                                axes.parts.size(), "; must have at most ", kMaxSizes, " of both");
}

Status check_devices(const Dims& devices, int64_t count) {
  if (devices.empty() || is_each_once(devices, count)) return {};
  return base::invalid_argument("mesh: device_ids must name each of ", count, " devices once");
}

int64_t size_of(const MeshAxes& axes, const MeshAxes::Part& part) {
  return part.size != 0 ? part.size : axes.axes[static_cast<size_t>(part.axis)].size;
}

// Steps along a part are of this many devices, in row-major order of the mesh.
int64_t stride_of(const MeshAxes& axes, const MeshAxes::Part& part) {
  const auto axis = static_cast<size_t>(part.axis);
  int64_t stride = part.size == 0 ? 1 : axes.axes[axis].size / part.before / part.size;
  for (size_t d = axis + 1; d < axes.axes.size(); ++d) stride *= axes.axes[d].size;
  return stride;
}

Status check_part(const MeshAxes& axes, const MeshAxes::Part& part) {
  if (part.axis < 0 || part.axis >= static_cast<int64_t>(axes.axes.size()))
    return base::invalid_argument("mesh: has no axis number ", part.axis);
  if (part.size == 0) return {};
  const MeshAxes::Axis& axis = axes.axes[static_cast<size_t>(part.axis)];
  const Dims sizes = {part.before, part.size};
  const std::optional<int64_t> count = device_count(sizes);
  if (count && axis.size % *count == 0) return {};
  return base::invalid_argument("mesh: axis ", axis.name, " is of ", axis.size, "; its part (",
                                part.before, ")", part.size, " must divide that");
}

// Parts of one axis are dimensions of one way to see it as an array.
Status check_apart(const MeshAxes& axes, size_t i, size_t j) {
  const MeshAxes::Part &a = axes.parts[i], &b = axes.parts[j];
  const auto& [low, high] =
      std::minmax(a, b, [](const auto& x, const auto& y) { return x.before < y.before; });
  if (a.axis != b.axis || high.before % (low.before * size_of(axes, low)) == 0) return {};
  return base::invalid_argument("mesh: parts of axis ", axes.axes[static_cast<size_t>(a.axis)].name,
                                " overlap");
}

// Devices of one group, as steps from its first one.
Dims steps_of(const MeshAxes& axes) {
  Dims steps = {0};
  for (const MeshAxes::Part& part : axes.parts) {
    const int64_t stride = stride_of(axes, part);
    Dims next;
    for (int64_t step : steps) {
      for (int64_t i = 0; i < size_of(axes, part); ++i) next.push_back(step + i * stride);
    }
    steps = std::move(next);
  }
  return steps;
}

}  // namespace

bool read_mesh_axes(TextCursor& in, MeshAxes& axes) {
  axes = MeshAxes{};
  if (!in.accept_word("mesh")) return in.fail_expected("replica groups");
  const auto read_axis = [&] {
    MeshAxes::Axis& axis = axes.axes.emplace_back();
    return read_name(in, axis.name) && in.expect('=') && in.read_int(axis.size);
  };
  if (!in.expect('[') || !read_items(in, ']', read_axis)) return false;
  if (const Status status = check_few(axes); !status.ok()) return in.fail(base::message_of(status));
  if (in.accept(',')) {
    if (!in.accept_word("device_ids")) return in.fail_expected("device_ids");
    if (!in.expect('=') || !in.expect('(') || !read_devices(in, axes.devices)) return false;
  }
  return in.expect('{') &&
         read_items(in, '}', [&] { return read_part(in, axes.axes, axes.parts.emplace_back()); });
}

StatusOr<MeshAxes> parse_mesh_axes(std::string_view text) {
  TextCursor in(text);
  MeshAxes axes;
  if (read_mesh_axes(in, axes) && !in.at_end()) in.fail_expected("the end");
  if (in.failed()) return base::annotate(in.status(), "replica_groups: ");
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_mesh_axes(axes), "replica_groups: "));
  return axes;
}

std::string to_string(const MeshAxes& axes) {
  const auto quoted = [](std::string_view name) {
    std::string text;
    append_quoted(text, name);
    if (text.find_first_of("\\'") == std::string::npos) text.front() = text.back() = '\'';
    return text;
  };
  std::string out = "mesh[";
  for (size_t i = 0; i < axes.axes.size(); ++i)
    base::append(out, i > 0 ? "," : "", quoted(axes.axes[i].name), "=", axes.axes[i].size);
  out += "]";
  if (!axes.devices.empty())
    base::append(out, ", device_ids=(", base::join(axes.devices, ","), ")");
  out += " {";
  for (size_t i = 0; i < axes.parts.size(); ++i) {
    const MeshAxes::Part& part = axes.parts[i];
    base::append(out, i > 0 ? "," : "", quoted(axes.axes[static_cast<size_t>(part.axis)].name));
    if (part.size != 0) base::append(out, ":(", part.before, ")", part.size);
  }
  return out + "}";
}

Status check_mesh_axes(const MeshAxes& axes) {
  HEDDLE_RETURN_IF_ERROR(check_few(axes));
  if (axes.axes.empty()) return base::invalid_argument("mesh: has no axes; must have one or more");
  Dims sizes;
  for (const MeshAxes::Axis& axis : axes.axes) {
    sizes.push_back(axis.size);
    if (std::ranges::count(axes.axes, axis.name, &MeshAxes::Axis::name) > 1)
      return base::invalid_argument("mesh: has two axes ", axis.name);
  }
  const std::optional<int64_t> count = device_count(sizes);
  if (!count) {
    return base::invalid_argument("mesh: sizes are [", base::join(sizes, ","),
                                  "]; must be 1 or more, and at most ", kMaxDevices, " devices");
  }
  HEDDLE_RETURN_IF_ERROR(check_devices(axes.devices, *count));
  for (const MeshAxes::Part& part : axes.parts) HEDDLE_RETURN_IF_ERROR(check_part(axes, part));
  for (size_t i = 0; i < axes.parts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) HEDDLE_RETURN_IF_ERROR(check_apart(axes, i, j));
  }
  return {};
}

int64_t group_size(const MeshAxes& axes) {
  int64_t size = 1;
  for (const MeshAxes::Part& part : axes.parts) size *= size_of(axes, part);
  return size;
}

Dims group_of(const MeshAxes& axes, int64_t device) {
  Dims sizes;
  for (const MeshAxes::Axis& axis : axes.axes) sizes.push_back(axis.size);
  int64_t at = device;
  if (!axes.devices.empty()) at = std::ranges::find(axes.devices, device) - axes.devices.begin();
  if (device < 0 || at >= *device_count(sizes)) return {};
  for (const MeshAxes::Part& part : axes.parts) {
    const int64_t stride = stride_of(axes, part);
    at -= at / stride % size_of(axes, part) * stride;
  }
  Dims group = steps_of(axes);
  for (int64_t& each : group)
    each = axes.devices.empty() ? at + each : axes.devices[static_cast<size_t>(at + each)];
  return group;
}

}  // namespace heddle::hlo
