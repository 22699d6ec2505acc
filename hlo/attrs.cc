#include "heddle/hlo/attrs.h"

namespace heddle::hlo {

bool fits(Opcode opcode, const Attrs& attrs) {
  switch (opcode) {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) \
  case Opcode::enumerator:                                            \
    return attrs.holds<Struct>();
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  }
  return false;
}

void hash_value(base::Hasher& hasher, const Sharding& sharding) {
  hash_value(hasher, sharding.type);
  for (const auto* list : {&sharding.tile_dimensions, &sharding.tile_devices,
                           &sharding.iota_reshape, &sharding.iota_transpose}) {
    hash_value(hasher, *list);
  }
  hash_value(hasher, sharding.replicate_on_last_tile_dim);
  hash_value(hasher, sharding.last_tile_dims);
  hash_value(hasher, sharding.shard_group_id);
  hash_value(hasher, sharding.tuple);
  hash_value(hasher, sharding.unknown_text);
  hash_value(hasher, sharding.unknown_proto);
}

}  // namespace heddle::hlo
