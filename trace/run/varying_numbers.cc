#include "heddle/trace/run/varying_numbers.h"

#include <array>
#include <atomic>

#include "heddle/base/hash.h"

namespace heddle::trace_internal {
namespace {

// The half of a word that names the place, and that of the number; a number of 0 varies.
constexpr uint64_t kPlaceBits = 0xFFFF'FFFF'0000'0000, kNumberBits = 0xFFFF'FFFF;

using Words = std::array<std::atomic<uint64_t>, size_t{1} << 14>;

// One for each place that its hash leads to; 0: nobody asked.
Words& words() {
  static constinit Words all{};
  return all;
}

struct Entry {
  std::atomic<uint64_t>& word;
  uint64_t place;
};

Entry entry_of(const NumberPlace& at) {
  uint64_t hash = (at.place ^ (at.instruction + 1) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  hash ^= hash >> 31;
  return {words()[hash % words().size()], (hash & kPlaceBits) | uint64_t{1} << 32};
}

}  // namespace

bool varies(const NumberPlace& at, std::span<const std::byte> bytes) {
  base::Hasher hasher;
  hasher.add_bytes(bytes.data(), bytes.size());
  const uint64_t number = (hasher.digest().low & kNumberBits) | 1;
  const Entry entry = entry_of(at);
  const uint64_t before = entry.word.load(std::memory_order_relaxed);
  const bool is_known = (before & kPlaceBits) == entry.place;
  if (is_known && before == (entry.place | number)) return false;
  entry.word.store(is_known ? entry.place : entry.place | number, std::memory_order_relaxed);
  return is_known;
}

void note_that_varies(const NumberPlace& at) {
  const Entry entry = entry_of(at);
  entry.word.store(entry.place, std::memory_order_relaxed);
}

void forget_varying_numbers() {
  for (std::atomic<uint64_t>& word : words()) word.store(0, std::memory_order_relaxed);
}

}  // namespace heddle::trace_internal
