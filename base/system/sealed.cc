#include "heddle/base/system/sealed.h"

#include "heddle/base/bytes.h"
#include "heddle/base/hash.h"

namespace heddle::base {
namespace {

constexpr std::string_view kMark = "heddle sealed 2\n";

Hash128 checksum(std::string_view bytes) {
  Hasher hasher;
  hasher.add_word(bytes.size());
  hasher.add_bytes(bytes.data(), bytes.size());
  return hasher.digest();
}

}  // namespace

std::string seal(const Sealed& parts) {
  std::string rest;
  rest.reserve(parts.about.size() + parts.key.size() + parts.payload.size() + 64);
  append_text(parts.about, rest);
  append_text(parts.key, rest);
  append_text(parts.payload, rest);
  const Hash128 sum = checksum(rest);
  std::string bytes(kMark);
  append_number(sum.low, bytes);
  append_number(sum.high, bytes);
  return bytes += rest;
}

StatusOr<Sealed> open_sealed(std::string_view bytes) {
  if (!bytes.starts_with(kMark)) return invalid_argument("of another kind or version");
  bytes.remove_prefix(kMark.size());
  Hash128 sum;
  if (!read_number(bytes, sum.low) || !read_number(bytes, sum.high))
    return invalid_argument("cut off");
  if (checksum(bytes) != sum) return invalid_argument("damaged or cut off");
  Sealed parts;
  if (!read_text(bytes, parts.about) || !read_text(bytes, parts.key) ||
      !read_text(bytes, parts.payload) || !bytes.empty())
    return invalid_argument("damaged");
  return parts;
}

}  // namespace heddle::base
