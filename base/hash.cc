#include "heddle/base/hash.h"

namespace heddle::base {
namespace {

uint64_t finalise(uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdull;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53ull;
  return k ^ (k >> 33);
}

}  // namespace

void Hasher::add_bytes(const void* data, size_t size_bytes) {
  const char* bytes = static_cast<const char*>(data);
  for (size_t at = 0; at < size_bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, size_bytes - at < 8 ? size_bytes - at : 8);
    add_word(word);
  }
}

Hash128 Hasher::digest() const {
  uint64_t low = finalise(a_ ^ count_);
  uint64_t high = finalise(b_ ^ count_);
  low += high;
  return {low, high + low};
}

std::string to_string(const Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (uint64_t word : {hash.high, hash.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(word >> shift) & 15]);
  }
  return out;
}

}  // namespace heddle::base
