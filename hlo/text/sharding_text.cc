// Shardings and groups of devices. A form that is newer than this reader is kept as text.
#include <algorithm>

#include "heddle/hlo/internal/mesh_axes.h"
#include "heddle/hlo/internal/sharding_words.h"
#include "heddle/hlo/sharding/device_lists.h"
#include "heddle/hlo/text/internal/values.h"

namespace heddle::hlo::text {
namespace {

using Type = Sharding::Type;

// What stands before the bytes of groups in a form that is not known; XLA refuses it, which is
// better than other groups.
constexpr std::string_view kUnknownGroups = "mesh_axes_proto";

// <=[2,2]T(1,0), after the '<='.
bool read_iota(TextCursor& in, Dims& reshape, Dims& transpose) {
  if (!in.expect('[') || !read_integers(in, ']', reshape)) return false;
  return !in.accept('T') || (in.expect('(') && read_integers(in, ')', transpose));
}

// After "devices=".
bool read_tiles(TextCursor& in, Sharding& sharding) {
  sharding.type = Type::kOther;
  if (!in.expect('[') || !read_integers(in, ']', sharding.tile_dimensions)) return false;
  if (in.accept("<=")) return read_iota(in, sharding.iota_reshape, sharding.iota_transpose);
  do {
    if (!in.read_int(sharding.tile_devices.emplace_back())) return false;
  } while (in.accept(','));
  return true;
}

bool read_last_tile_dims(TextCursor& in, Sharding& sharding) {
  return in.expect('{') && read_items(in, '}', [&] {
           return find_sharding_type(in.peek_word(), sharding.last_tile_dims.emplace_back())
                      ? !in.word().empty()
                      : in.fail_expected("a type of sharding");
         });
}

// {..} of one place, {{..}, {..}} of several.
bool read_metadata(TextCursor& in, Sharding& sharding) {
  const size_t start = in.position();
  if (!in.expect('{')) return false;
  const bool is_list = in.peek() == '{';
  if (!is_list) in.rewind(start);
  const auto read = [&] { return Codec<Metadata>::read(in, sharding.metadata.emplace_back()); };
  return is_list ? read_items(in, '}', read) : read();
}

void write_metadata(std::string& out, const std::vector<Metadata>& all) {
  out.append(all.size() == 1 ? " metadata=" : " metadata={");
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out.append(", ");
    Codec<Metadata>::write(out, all[i]);
  }
  if (all.size() > 1) out.push_back('}');
}

enum class Found : uint8_t { kKnown, kNewer, kError };

Found known_if(bool ok) { return ok ? Found::kKnown : Found::kError; }

// One word of a sharding, and what belongs to it.
Found read_item(TextCursor& in, std::string_view word, Sharding& sharding) {
  if (find_sharding_type(word, sharding.type)) return Found::kKnown;
  if (word == "devices") return known_if(in.expect('=') && read_tiles(in, sharding));
  if (word == "device") {
    sharding.tile_dimensions = {1};
    return known_if(in.expect('=') && in.read_int(sharding.tile_devices.emplace_back()));
  }
  if (word == "last_tile_dim_replicate") {
    sharding.replicate_on_last_tile_dim = true;
    return Found::kKnown;
  }
  if (word == "last_tile_dims")
    return known_if(in.expect('=') && read_last_tile_dims(in, sharding));
  if (word == "metadata") return known_if(in.expect('=') && read_metadata(in, sharding));
  if (word == "shard_as" || word == "shard_like") {
    sharding.is_shard_group = true;
    sharding.shard_group_type =
        word == "shard_as" ? Sharding::GroupType::kAs : Sharding::GroupType::kLike;
    return known_if(in.read_int(sharding.shard_group_id));
  }
  return Found::kNewer;
}

using Words = std::vector<std::string_view>;

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// One sharding that is no tuple, after its brace, and the words that it is made of.
Found read_items_of_one(TextCursor& in, Sharding& sharding, Words& words) {
  while (!in.accept('}')) {
    const size_t start = in.position();
    const std::string_view word = in.word();
    const Found found = read_item(in, word, sharding);
    if (found != Found::kKnown) return found;
    if (has(words, word)) {
      (void)in.fail_at(start, base::invalid_argument("sharding: ", word, " stands here twice"));
      return Found::kError;
    }
    words.push_back(word);
  }
  return Found::kKnown;
}

// A type has the words that belong to it, so that what is printed says all.
Status check_words(const Words& words) {
  Words kinds;
  Type type;
  for (const std::string_view word : words) {
    if (word == "devices" || find_sharding_type(word, type)) kinds.push_back(word);
  }
  if (kinds.size() != 1) {
    return base::invalid_argument(
        "sharding: says {", base::join(kinds, " "),
        "}; must say one of replicated, maximal, manual, unknown, unreduced "
        "and devices=[..]");
  }
  if (has(words, "device") != (kinds[0] == "maximal")) {
    return base::invalid_argument("sharding: ", kinds[0],
                                  kinds[0] == "maximal" ? " lacks device=" : " with device=",
                                  "; maximal, and it alone, must name its device");
  }
  for (const std::string_view word : {"last_tile_dim_replicate", "last_tile_dims"}) {
    if (has(words, word) && kinds[0] != "devices")
      return base::invalid_argument("sharding: ", kinds[0], " with ", word,
                                    "; must be devices=[..]");
  }
  return {};
}

bool read_one(TextCursor& in, Sharding& sharding) {
  size_t start = in.position();
  if (!in.expect('{')) return false;
  Words words;
  Found found = read_items_of_one(in, sharding, words);
  if (found == Found::kKnown) {
    Status status = check_words(words);
    if (status.ok()) status = check_sharding(sharding);
    return status.ok() || in.fail_at(start, status);
  }
  if (found == Found::kError) return false;
  in.rewind(start);
  sharding = Sharding{.type = Type::kUnknown};
  return read_group(in, sharding.unknown_text);
}

}  // namespace

void Codec<Sharding>::write(std::string& out, const Sharding& value) {
  write_sharding(out, value, write_metadata);
}

bool Codec<Sharding>::read(TextCursor& in, Sharding& value) {
  value = Sharding{};
  size_t start = in.position();
  if (!in.expect('{')) return false;
  if (in.peek() != '{' && in.peek() != '}') {
    in.rewind(start);
    return read_one(in, value);
  }
  value.type = Type::kTuple;
  return read_items(in, '}', [&] { return read_one(in, value.tuple.emplace_back()); });
}

void Codec<ReplicaGroups>::write(std::string& out, const ReplicaGroups& value) {
  if (!value.mesh_axes.empty()) {
    out.append(value.mesh_axes);
  } else if (!value.mesh_axes_proto.empty()) {
    base::append(out, kUnknownGroups, "=");
    append_quoted(out, value.mesh_axes_proto);
  } else if (!value.iota_tile.empty()) {
    out.push_back('[');
    write_dims(out, value.iota_tile);
    out.push_back(']');
    write_iota(out, value.iota_reshape, value.iota_transpose);
  } else {
    Codec<std::vector<Dims>>::write(out, value.groups);
  }
}

bool Codec<ReplicaGroups>::read(TextCursor& in, ReplicaGroups& value) {
  value = ReplicaGroups{};
  if (in.accept('[')) {
    return read_integers(in, ']', value.iota_tile) && in.expect("<=") &&
           (!value.iota_tile.empty() || in.fail("replica_groups: [] has no sizes")) &&
           read_iota(in, value.iota_reshape, value.iota_transpose);
  }
  if (in.accept_word(kUnknownGroups))
    return in.expect('=') && in.read_string(value.mesh_axes_proto) &&
           (!value.mesh_axes_proto.empty() || in.fail("mesh_axes_proto has no bytes"));
  if (in.peek() == '{') return Codec<std::vector<Dims>>::read(in, value.groups);
  const size_t start = in.position();
  MeshAxes axes;
  if (!read_mesh_axes(in, axes)) return false;
  const Status status = check_mesh_axes(axes);
  value.mesh_axes = to_string(axes);
  return status.ok() || in.fail_at(start, status);
}

void Codec<DomainAttrs>::write(std::string& out, const DomainAttrs& value) {
  out.append("{kind=");
  append_quoted(out, value.kind);
  out.append(", entry=");
  Codec<Sharding>::write(out, value.entry);
  out.append(", exit=");
  Codec<Sharding>::write(out, value.exit);
  out.push_back('}');
}

bool Codec<DomainAttrs>::read(TextCursor& in, DomainAttrs& value) {
  return read_pairs(in, [&](std::string_view name) {
    if (name == "kind") return in.read_string(value.kind);
    if (name == "entry") return Codec<Sharding>::read(in, value.entry);
    if (name == "exit") return Codec<Sharding>::read(in, value.exit);
    return in.fail("a domain has no ", name, "; it has kind, entry and exit");
  });
}

}  // namespace heddle::hlo::text
