#include "heddle/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heddle::base {
namespace {

Hash128 hash_of(const void* data, size_t size_bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, size_bytes);
  return {hash.low64, hash.high64};
}

}  // namespace

void Hasher::add_bytes(const void* data, size_t size_bytes) {
  hash_value(*this, hash_of(data, size_bytes));
}

void Hasher::fold() {
  const Hash128 so_far = digest();
  count_ = 0;
  hash_value(*this, so_far);
}

Hash128 Hasher::digest() const { return hash_of(words_, count_ * sizeof(uint64_t)); }

std::string to_string(const Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (uint64_t word : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(word >> shift) & 15]);
  }
  return out;
}

}  // namespace heddle::base
