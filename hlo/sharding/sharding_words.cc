#include "heddle/hlo/internal/sharding_words.h"

#include "heddle/base/text/strings.h"
#include "heddle/hlo/sharding/sharding_tiles.h"

namespace heddle::hlo {
namespace {

using Type = Sharding::Type;

struct TypeName {
  Type type;
  std::string_view name;
};
constexpr TypeName kTypeNames[] = {{Type::kReplicated, "replicated"},
                                   {Type::kMaximal, "maximal"},
                                   {Type::kManual, "manual"},
                                   {Type::kUnknown, "unknown"},
                                   {Type::kUnreduced, "unreduced"}};

std::string_view name_of(Type type) {
  for (const TypeName& entry : kTypeNames) {
    if (entry.type == type) return entry.name;
  }
  return "unknown";
}

void write_device_tiles(std::string& out, const Sharding& sharding) {
  out.append("devices=[");
  write_dims(out, sharding.tile_dimensions);
  out.push_back(']');
  if (sharding.iota_reshape.empty()) {
    write_dims(out, sharding.tile_devices);
  } else {
    write_iota(out, sharding.iota_reshape, sharding.iota_transpose);
  }
  if (sharding.replicate_on_last_tile_dim) out.append(" last_tile_dim_replicate");
  if (sharding.last_tile_dims.empty()) return;
  out.append(" last_tile_dims={");
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    base::append(out, i > 0 ? ", " : "", name_of(sharding.last_tile_dims[i]));
  }
  out.push_back('}');
}

void write_words(std::string& out, const Sharding& sharding) {
  if (sharding.type == Type::kOther) {
    write_device_tiles(out, sharding);
  } else {
    out.append(name_of(sharding.type));
    if (sharding.type == Type::kMaximal)
      base::append(out, " device=", sharding.tile_devices.empty() ? 0 : sharding.tile_devices[0]);
  }
  if (sharding.is_shard_group) {
    bool as = sharding.shard_group_type == Sharding::GroupType::kAs;
    base::append(out, as ? " shard_as " : " shard_like ", sharding.shard_group_id);
  }
}

}  // namespace

bool find_sharding_type(std::string_view word, Sharding::Type& type) {
  for (const TypeName& entry : kTypeNames) {
    if (entry.name != word) continue;
    type = entry.type;
    return true;
  }
  return false;
}

void write_dims(std::string& out, const Dims& values) {
  for (size_t i = 0; i < values.size(); ++i) base::append(out, i > 0 ? "," : "", values[i]);
}

void write_iota(std::string& out, const Dims& reshape, const Dims& transpose) {
  out.append("<=[");
  write_dims(out, reshape);
  out.push_back(']');
  if (transpose.empty()) return;
  out.append("T(");
  write_dims(out, transpose);
  out.push_back(')');
}

void write_sharding(
    std::string& out, const Sharding& sharding,
    base::FunctionRef<void(std::string&, const std::vector<Metadata>&)> write_metadata) {
  if (!sharding.unknown_text.empty()) {
    out.append(sharding.unknown_text);
    return;
  }
  out.push_back('{');
  if (sharding.type == Type::kTuple) {
    for (size_t i = 0; i < sharding.tuple.size(); ++i) {
      if (i > 0) out.append(i % 5 == 0 ? base::cat(", /*index=", i, "*/") : std::string(", "));
      write_sharding(out, sharding.tuple[i], write_metadata);
    }
  } else {
    write_words(out, sharding);
    if (!sharding.metadata.empty()) write_metadata(out, sharding.metadata);
  }
  out.push_back('}');
}

std::string to_string(const Sharding& sharding) {
  std::string out;
  write_sharding(out, sharding, [](std::string&, const std::vector<Metadata>&) {});
  return out;
}

}  // namespace heddle::hlo
