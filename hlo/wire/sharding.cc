#include <numeric>
#include <optional>

#include "heddle/hlo/internal/mesh_axes.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/internal/places.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

// The dimensions of an iota are transposed by no permutation, or by one that moves nothing: one
// spelling in the IR.
Dims read_permutation(const google::protobuf::RepeatedField<int32_t>& from) {
  for (int i = 0; i < from.size(); ++i) {
    if (from[i] != i) return {from.begin(), from.end()};
  }
  return {};
}

void write_permutation(const Dims& from, size_t rank,
                       google::protobuf::RepeatedField<int32_t>& to) {
  to.Resize(static_cast<int>(rank), 0);
  std::iota(to.begin(), to.end(), 0);
  if (!from.empty()) to.Assign(from.begin(), from.end());
}

StatusOr<Sharding::Type> read_type(int number) {
  if (number < 0 || number > static_cast<int>(Sharding::Type::kUnreduced)) {
    return base::invalid_argument("sharding: type number ", number, " is not known");
  }
  return static_cast<Sharding::Type>(number);
}

void take_lists(proto::OpSharding& from, Sharding& to) {
  to.tile_dimensions.assign(from.tile_assignment_dimensions().begin(),
                            from.tile_assignment_dimensions().end());
  to.tile_devices.assign(from.tile_assignment_devices().begin(),
                         from.tile_assignment_devices().end());
  to.iota_reshape.assign(from.iota_reshape_dims().begin(), from.iota_reshape_dims().end());
  to.iota_transpose = read_permutation(from.iota_transpose_perm());
  from.clear_tile_assignment_dimensions();
  from.clear_tile_assignment_devices();
  from.clear_iota_reshape_dims();
  from.clear_iota_transpose_perm();
}

void take_group(proto::OpSharding& from, Sharding& to) {
  to.is_shard_group = from.is_shard_group();
  to.shard_group_id = from.shard_group_id();
  to.shard_group_type = from.shard_group_type() == proto::OpSharding::LIKE
                            ? Sharding::GroupType::kLike
                            : Sharding::GroupType::kAs;
  from.clear_is_shard_group();
  from.clear_shard_group_id();
  from.clear_shard_group_type();
}

StatusOr<Sharding> take_nested(proto::OpSharding& from, int depth) {
  if (depth > kMaxTupleNesting)
    return base::resource_exhausted("sharding: tuples nest deeper than ", kMaxTupleNesting);
  Sharding to;
  HEDDLE_ASSIGN_OR_RETURN(to.type, read_type(from.type()));
  for (int type : from.last_tile_dims()) {
    HEDDLE_ASSIGN_OR_RETURN(to.last_tile_dims.emplace_back(), read_type(type));
  }
  for (proto::OpSharding& element : *from.mutable_tuple_shardings()) {
    HEDDLE_ASSIGN_OR_RETURN(to.tuple.emplace_back(), take_nested(element, depth + 1));
  }
  to.replicate_on_last_tile_dim = from.replicate_on_last_tile_dim();
  take_lists(from, to);
  take_group(from, to);
  from.clear_type();
  from.clear_last_tile_dims();
  from.clear_tuple_shardings();
  from.clear_replicate_on_last_tile_dim();
  for (proto::OpMetadata& each : *from.mutable_metadata())
    take_metadata(each, to.metadata.emplace_back());
  from.clear_metadata();
  to.is_named = from.has_named_sharding();
  to.unknown_proto = bytes_of(from);
  return to;
}

ReplicaGroups take_iota(const proto::IotaReplicaGroupListProto& from) {
  ReplicaGroups to;
  to.iota_tile = {from.num_replica_groups(), from.num_devices_per_group()};
  to.iota_reshape.assign(from.iota_reshape_dims().begin(), from.iota_reshape_dims().end());
  to.iota_transpose = read_permutation(from.iota_transpose_perm());
  return to;
}

void write_iota(const ReplicaGroups& from, proto::IotaReplicaGroupListProto& to) {
  to.set_num_replica_groups(from.iota_tile[0]);
  to.set_num_devices_per_group(from.iota_tile.size() > 1 ? from.iota_tile[1] : 1);
  to.mutable_iota_reshape_dims()->Add(from.iota_reshape.begin(), from.iota_reshape.end());
  write_permutation(from.iota_transpose, from.iota_reshape.size(),
                    *to.mutable_iota_transpose_perm());
}

std::string mesh_axes_bytes(const MeshAxes& from) {
  proto::MeshAxesReplicaGroupListProto to;
  for (const MeshAxes::Axis& axis : from.axes) {
    to.mutable_mesh()->add_axes()->set_name(valid_utf8(axis.name));
    to.mutable_mesh()->mutable_axes()->rbegin()->set_size(axis.size);
  }
  if (!from.devices.empty())
    to.mutable_mesh()->mutable_device_ids()->Add(from.devices.begin(), from.devices.end());
  for (const MeshAxes::Part& part : from.parts) {
    proto::AxisRefProto& axis = *to.add_axes();
    axis.set_mesh_axis_index(part.axis);
    if (part.size == 0) continue;
    axis.mutable_sub_axis_info()->set_pre_size(part.before);
    axis.mutable_sub_axis_info()->set_size(part.size);
  }
  return bytes_of(to);
}

ReplicaGroups read_groups(const google::protobuf::RepeatedPtrField<proto::ReplicaGroup>& from) {
  ReplicaGroups to;
  for (const proto::ReplicaGroup& group : from) {
    to.groups.emplace_back(group.replica_ids().begin(), group.replica_ids().end());
  }
  return to;
}

ReplicaGroups read_replica_groups(const proto::HloInstructionProto& from) {
  const proto::CollectiveDeviceListProto& list = from.collective_device_list();
  if (from.has_iota_collective_device_list()) return take_iota(from.iota_collective_device_list());
  if (list.has_iota_replica_group_list()) return take_iota(list.iota_replica_group_list());
  return read_groups(list.replica_groups_size() > 0 ? list.replica_groups()
                                                    : from.replica_groups());
}

// Of what text can say: its fields are known, and it is of axes.
std::optional<MeshAxes> read_mesh_axes(const std::string& bytes) {
  proto::MeshAxesReplicaGroupListProto from;
  MeshAxes to;
  if (!from.ParseFromString(bytes)) return {};
  for (const proto::MeshProto::MeshAxis& axis : from.mesh().axes())
    to.axes.push_back({axis.name(), axis.size()});
  to.devices.assign(from.mesh().device_ids().begin(), from.mesh().device_ids().end());
  for (const proto::AxisRefProto& axis : from.axes()) {
    MeshAxes::Part& part = to.parts.emplace_back();
    part.axis = axis.mesh_axis_index();
    if (!axis.has_sub_axis_info()) continue;
    part.before = axis.sub_axis_info().pre_size();
    part.size = axis.sub_axis_info().size();
  }
  if (!check_mesh_axes(to).ok() || mesh_axes_bytes(to) != bytes_of(from)) return {};
  return to;
}

}  // namespace

void write_sharding(const Sharding& sharding, proto::OpSharding& to) {
  merge(sharding.unknown_proto, to);
  to.set_type(static_cast<proto::OpSharding::Type>(sharding.type));
  to.mutable_tile_assignment_dimensions()->Add(sharding.tile_dimensions.begin(),
                                               sharding.tile_dimensions.end());
  to.mutable_tile_assignment_devices()->Add(sharding.tile_devices.begin(),
                                            sharding.tile_devices.end());
  to.mutable_iota_reshape_dims()->Add(sharding.iota_reshape.begin(), sharding.iota_reshape.end());
  write_permutation(sharding.iota_transpose, sharding.iota_reshape.size(),
                    *to.mutable_iota_transpose_perm());
  to.set_replicate_on_last_tile_dim(sharding.replicate_on_last_tile_dim);
  for (Sharding::Type type : sharding.last_tile_dims) {
    to.add_last_tile_dims(static_cast<proto::OpSharding::Type>(type));
  }
  to.set_is_shard_group(sharding.is_shard_group);
  to.set_shard_group_id(sharding.shard_group_id);
  to.set_shard_group_type(
      static_cast<proto::OpSharding::ShardGroupType>(sharding.shard_group_type));
  for (const Sharding& element : sharding.tuple) write_sharding(element, *to.add_tuple_shardings());
  for (const Metadata& each : sharding.metadata) write_metadata(each, *to.add_metadata());
}

StatusOr<Sharding> take_sharding(proto::OpSharding& from) { return take_nested(from, 0); }

// A plain list goes to the old field, which XLA of every age reads.
void write_replica_groups(const ReplicaGroups& groups, proto::HloInstructionProto& to) {
  to.set_mesh_axes_replica_group_list(groups.mesh_axes_proto);
  if (const auto axes = parse_mesh_axes(groups.mesh_axes); axes.ok()) {
    to.set_mesh_axes_replica_group_list(mesh_axes_bytes(*axes));
    return;
  }
  if (!groups.iota_tile.empty()) {
    write_iota(groups, *to.mutable_collective_device_list()->mutable_iota_replica_group_list());
    return;
  }
  for (const Dims& group : groups.groups)
    to.add_replica_groups()->mutable_replica_ids()->Add(group.begin(), group.end());
}

StatusOr<ReplicaGroups> take_replica_groups(proto::HloInstructionProto& from) {
  ReplicaGroups groups = read_replica_groups(from);
  if (const std::string& bytes = from.mesh_axes_replica_group_list(); !bytes.empty()) {
    const std::optional<MeshAxes> axes = read_mesh_axes(bytes);
    (axes ? groups.mesh_axes : groups.mesh_axes_proto) = axes ? to_string(*axes) : bytes;
  }
  from.clear_replica_groups();
  from.clear_collective_device_list();
  from.clear_iota_collective_device_list();
  from.clear_mesh_axes_replica_group_list();
  return groups;
}

}  // namespace heddle::hlo::wire
