#include "heddle/hlo/attrs.h"

#include <cstdio>
#include <cstdlib>

namespace heddle::hlo {
namespace {

// By opcode.
constexpr const char* kStructs[] = {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) #Struct,
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
};

}  // namespace

void Attrs::wrong_struct(AttrsTag wanted) const {
  std::fprintf(stderr, "bug in heddle: an instruction has %s and is read for %s\n",
               kStructs[static_cast<size_t>(tag())], kStructs[static_cast<size_t>(wanted)]);
  std::abort();
}

bool fits(Opcode opcode, const Attrs& attrs) {
  static constexpr AttrsTag kTags[] = {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) attrs_tag<Struct>(),
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  };
  return attrs.tag() == kTags[static_cast<size_t>(opcode)];
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
