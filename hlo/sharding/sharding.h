// How a value is laid over devices: data that survives every pass. XLA's OpSharding, field by
// field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/base/hash.h"
#include "heddle/hlo/metadata.h"

namespace heddle::hlo {

// Text: {replicated} {maximal device=0} {devices=[2,1,2]<=[4] last_tile_dim_replicate} {{..}, {..}}
struct Sharding {
  enum class Type : uint8_t {
    kReplicated,
    kMaximal,
    kTuple,
    kOther,
    kManual,
    kUnknown,
    kUnreduced
  };
  enum class GroupType : uint8_t { kAs, kLike };

  // maximal: tile_dimensions {1}, tile_devices {the device}
  Type type = Type::kReplicated;
  std::vector<int64_t> tile_dimensions;  // devices=[2,2]
  // explicit list of devices, or empty with the iota form
  std::vector<int64_t> tile_devices;
  std::vector<int64_t> iota_reshape;    // <=[4]
  std::vector<int64_t> iota_transpose;  // T(1,0); empty: none
  bool replicate_on_last_tile_dim = false;
  std::vector<Type> last_tile_dims;  // last_tile_dims={manual, replicated}
  bool is_shard_group = false;
  int64_t shard_group_id = 0;  // shard_as 1, shard_like 1
  GroupType shard_group_type = GroupType::kAs;
  std::vector<Sharding> tuple;  // of type kTuple
  std::vector<Metadata> metadata;
  bool is_named = false;  // unknown_proto has the axes of a mesh with names
  // a form that is newer than this reader, as text ...
  std::string unknown_text;
  // ... or as serialised fields of OpSharding (tile_shape, named_sharding)
  std::string unknown_proto;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

void hash_value(base::Hasher& hasher, const Sharding& sharding);

}  // namespace heddle::hlo
