#include "heddle/hlo/internal/device_lists.h"

#include <algorithm>
#include <numeric>

#include "heddle/hlo/internal/mesh_axes.h"

namespace heddle::hlo {
namespace {

bool is_permutation(Dims transpose, size_t rank) {
  std::ranges::sort(transpose);
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return transpose == axes;
}

// [2,4]<=[4,2]T(1,0), the tile and what it is cut of.
Status check_iota(const Dims& tile, const Dims& reshape, const Dims& transpose) {
  const std::optional<int64_t> count = device_count(reshape);
  if (!count || device_count(tile) != count) {
    return invalid_argument("[", join(tile, ","), "]<=[", join(reshape, ","),
                            "]: sizes must be 1 or more and give as many devices on both sides, at "
                            "most ",
                            kMaxDevices);
  }
  if (transpose.empty() || is_permutation(transpose, reshape.size())) return {};
  return invalid_argument("T(", join(transpose, ","), "): must name each of ", reshape.size(),
                          " dimensions once");
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

Dims devices_of_iota(const Dims& reshape, Dims transpose) {
  const size_t rank = reshape.size();
  if (transpose.empty()) {
    transpose.resize(rank);
    std::iota(transpose.begin(), transpose.end(), 0);
  }
  Dims strides(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * reshape[d];
  Dims out = {0};
  for (int64_t axis : transpose) {
    Dims next;
    for (int64_t base : out) {
      for (int64_t i = 0; i < reshape[static_cast<size_t>(axis)]; ++i)
        next.push_back(base + i * strides[static_cast<size_t>(axis)]);
    }
    out = std::move(next);
  }
  return out;
}

Status check_sharding(const Sharding& sharding) {
  for (const Sharding& part : sharding.tuple) HEDDLE_RETURN_IF_ERROR(check_sharding(part));
  const bool is_named = !sharding.unknown_proto.empty() && sharding.tile_dimensions.empty();
  if (sharding.type != Sharding::Type::kOther || is_named) return {};
  if (!sharding.iota_reshape.empty()) {
    return annotate(
        check_iota(sharding.tile_dimensions, sharding.iota_reshape, sharding.iota_transpose),
        "sharding: ");
  }
  const auto listed = static_cast<int64_t>(sharding.tile_devices.size());
  if (device_count(sharding.tile_dimensions) == listed) return {};
  return invalid_argument("sharding: devices=[", join(sharding.tile_dimensions, ","), "] lists ",
                          listed, " devices; must list one for each tile, sizes being 1 or more");
}

Status check_replica_groups(const ReplicaGroups& groups) {
  if (!groups.mesh_axes.empty()) return parse_mesh_axes(groups.mesh_axes).status();
  if (groups.iota_tile.empty() && groups.iota_reshape.empty()) return {};
  HEDDLE_RETURN_IF_ERROR(
      annotate(check_iota(groups.iota_tile, groups.iota_reshape, groups.iota_transpose),
               "replica_groups: "));
  if (groups.iota_tile.size() == 2) return {};
  return invalid_argument("replica_groups: [", join(groups.iota_tile, ","),
                          "] must be of two sizes: the groups, and the devices of one");
}

StatusOr<std::vector<Dims>> groups_of(const ReplicaGroups& groups) {
  if (!groups.mesh_axes_proto.empty())
    return unimplemented("replica_groups are in a form that is not known here; list them");
  HEDDLE_RETURN_IF_ERROR(check_replica_groups(groups));
  if (!groups.mesh_axes.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(const MeshAxes axes, parse_mesh_axes(groups.mesh_axes));
    return groups_of(axes);
  }
  if (groups.iota_tile.empty()) return groups.groups;
  const Dims flat = devices_of_iota(groups.iota_reshape, groups.iota_transpose);
  std::vector<Dims> out;
  for (auto at = flat.begin(); at != flat.end(); at += groups.iota_tile[1])
    out.emplace_back(at, at + groups.iota_tile[1]);
  return out;
}

}  // namespace heddle::hlo
