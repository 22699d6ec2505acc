#include "heddle/hlo/sharding/device_lists.h"

#include <algorithm>

#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/internal/mesh_axes.h"

namespace heddle::hlo {
namespace {

Status check_few(const Dims& sizes) {
  if (sizes.size() <= kMaxSizes) return {};
  return base::invalid_argument("a list has ", sizes.size(), " sizes; must have at most ",
                                kMaxSizes);
}

// [2,4]<=[4,2]T(1,0), the tile and what it is cut of.
Status check_cut(const Dims& tile, const Dims& reshape, const Dims& transpose) {
  HEDDLE_RETURN_IF_ERROR(check_few(tile));
  HEDDLE_RETURN_IF_ERROR(check_few(reshape));
  const std::optional<int64_t> count = device_count(reshape);
  if (count && device_count(tile) == count) return check_iota(reshape, transpose);
  return base::invalid_argument(
      "[", base::join(tile, ","), "]<=[", base::join(reshape, ","),
      "]: sizes must be 1 or more and give as many devices on both sides, at "
      "most ",
      kMaxDevices);
}

Dims order_of(const Dims& reshape, const Dims& transpose) {
  return transpose.empty() ? consecutive_dimensions(std::ssize(reshape)) : transpose;
}

// The device at a position of devices_of_iota(), and where a device stands there.
class Iota {
 public:
  Iota(const Dims& reshape, const Dims& transpose)
      : reshape_(reshape), order_(order_of(reshape, transpose)), strides_(reshape.size(), 1) {
    for (size_t d = reshape.size(); d-- > 1;) strides_[d - 1] = strides_[d] * reshape[d];
  }

  [[nodiscard]] int64_t device_at(int64_t position) const {
    int64_t device = 0;
    for (size_t i = order_.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(order_[i]);
      device += position % reshape_[axis] * strides_[axis];
      position /= reshape_[axis];
    }
    return device;
  }

  [[nodiscard]] int64_t position_of(int64_t device) const {
    int64_t position = 0;
    for (int64_t d : order_) {
      const auto axis = static_cast<size_t>(d);
      position = position * reshape_[axis] + device / strides_[axis] % reshape_[axis];
    }
    return position;
  }

 private:
  const Dims& reshape_;
  Dims order_;
  Dims strides_;
};

Dims group_of_iota(const ReplicaGroups& groups, int64_t number) {
  Dims out;
  const int64_t size = groups.iota_tile[1];
  if (number < 0 || number >= groups.iota_tile[0] * size) return out;
  const Iota iota(groups.iota_reshape, groups.iota_transpose);
  const int64_t first = iota.position_of(number) / size * size;
  for (int64_t i = 0; i < size; ++i) out.push_back(iota.device_at(first + i));
  return out;
}

Status check_known(const ReplicaGroups& groups) {
  if (groups.mesh_axes_proto.empty()) return check_replica_groups(groups);
  return base::unimplemented("replica_groups are in a form that is not known here; list them");
}

}  // namespace

std::optional<int64_t> device_count(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > kMaxDevices / count) return {};
    count *= size;
  }
  return count;
}

bool is_each_once(Dims numbers, int64_t count) {
  if (static_cast<int64_t>(numbers.size()) != count) return false;
  std::ranges::sort(numbers);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Status check_iota(const Dims& reshape, const Dims& transpose) {
  HEDDLE_RETURN_IF_ERROR(check_few(reshape));
  if (!device_count(reshape)) {
    return base::invalid_argument("[", base::join(reshape, ","),
                                  "]: sizes must be 1 or more and give at most ", kMaxDevices,
                                  " devices");
  }
  const auto rank = static_cast<int64_t>(reshape.size());
  if (transpose.empty() || is_each_once(transpose, rank)) return {};
  return base::invalid_argument("T(", base::join(transpose, ","), "): must name each of ", rank,
                                " dimensions once");
}

Dims devices_of_iota(const Dims& reshape, const Dims& transpose) {
  const Iota iota(reshape, transpose);
  Dims out(static_cast<size_t>(device_count(reshape).value_or(0)));
  for (size_t i = 0; i < out.size(); ++i) out[i] = iota.device_at(static_cast<int64_t>(i));
  return out;
}

Status check_sharding(const Sharding& sharding) {
  for (const Sharding& part : sharding.tuple) HEDDLE_RETURN_IF_ERROR(check_sharding(part));
  const bool is_named = sharding.tile_dimensions.empty() && sharding.is_named;
  if (sharding.type != Sharding::Type::kOther || is_named) return {};
  if (!sharding.iota_reshape.empty()) {
    return base::annotate(
        check_cut(sharding.tile_dimensions, sharding.iota_reshape, sharding.iota_transpose),
        "sharding: ");
  }
  const auto listed = static_cast<int64_t>(sharding.tile_devices.size());
  if (device_count(sharding.tile_dimensions) == listed) return {};
  return base::invalid_argument("sharding: devices=[", base::join(sharding.tile_dimensions, ","),
                                "] lists ", listed,
                                " devices; must list one for each tile, sizes being 1 or more");
}

Status check_replica_groups(const ReplicaGroups& groups) {
  if (!groups.mesh_axes.empty()) return parse_mesh_axes(groups.mesh_axes).status();
  if (groups.iota_tile.empty() && groups.iota_reshape.empty()) return {};
  HEDDLE_RETURN_IF_ERROR(base::annotate(
      check_cut(groups.iota_tile, groups.iota_reshape, groups.iota_transpose), "replica_groups: "));
  if (groups.iota_tile.size() == 2) return {};
  return base::invalid_argument("replica_groups: [", base::join(groups.iota_tile, ","),
                                "] must be of two sizes: the groups, and the devices of one");
}

bool has_no_groups(const ReplicaGroups& groups) {
  return groups.mesh_axes.empty() && groups.mesh_axes_proto.empty() && groups.iota_tile.empty() &&
         groups.groups.empty();
}

StatusOr<Dims> group_of(const ReplicaGroups& groups, int64_t number) {
  HEDDLE_RETURN_IF_ERROR(check_known(groups));
  if (!groups.mesh_axes.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(const MeshAxes axes, parse_mesh_axes(groups.mesh_axes));
    return group_of(axes, number);
  }
  if (!groups.iota_tile.empty()) return group_of_iota(groups, number);
  for (const Dims& group : groups.groups) {
    if (std::ranges::find(group, number) != group.end()) return group;
  }
  return Dims();
}

StatusOr<int64_t> largest_group(const ReplicaGroups& groups) {
  HEDDLE_RETURN_IF_ERROR(check_known(groups));
  if (!groups.mesh_axes.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(const MeshAxes axes, parse_mesh_axes(groups.mesh_axes));
    return group_size(axes);
  }
  if (!groups.iota_tile.empty()) return groups.iota_tile[1];
  int64_t size = 1;
  for (const Dims& group : groups.groups) size = std::max(size, static_cast<int64_t>(group.size()));
  return size;
}

}  // namespace heddle::hlo
