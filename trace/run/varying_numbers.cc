#include "heddle/trace/run/varying_numbers.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "heddle/base/hash.h"

namespace heddle::trace_internal {
namespace {

// The half of a word that names the place, and that of the number.
constexpr uint64_t kPlaceBits = 0xFFFF'FFFF'0000'0000, kNumberBits = 0xFFFF'FFFF;

using Words = std::array<std::atomic<uint64_t>, size_t{1} << 14>;

// The last number of each place and its types, and the places whose numbers vary; 0: none.
constinit Words last_numbers{}, varying{};

struct Entry {
  std::atomic<uint64_t>& word;
  uint64_t place;
};

Entry entry_in(Words& words, const NumberPlace& at, uint64_t types) {
  uint64_t hash = (at.place ^ (at.instruction + 1) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ hash >> 31 ^ types) * 0x94d049bb133111ebull;
  hash ^= hash >> 31;
  return {words[hash % words.size()], (hash & kPlaceBits) | uint64_t{1} << 32};
}

}  // namespace

NumberPlace next_number(const hlo::Computation& trace, uint64_t place) {
  constexpr size_t kMostParameters = 8;
  NumberPlace out{.place = place, .instruction = trace.instructions.size()};
  const auto mix = [&](const Shape& shape) {
    if (shape.is_scalar()) return;  // it may be a number, a constant at first
    const auto add = [&](uint64_t part) {
      out.types = (out.types ^ out.types >> 32 ^ part) * 0x9e3779b97f4a7c15ull;
    };
    add(static_cast<uint64_t>(shape.dtype()));
    for (int64_t d = 0; shape.is_array() && d < shape.rank(); ++d)
      add(static_cast<uint64_t>(shape.dimension(d)));
  };
  for (size_t i = 0; i < std::min(trace.parameters.size(), kMostParameters); ++i)
    mix(trace.at(trace.parameters[i]).shape);
  if (!trace.instructions.empty()) mix(trace.instructions.back().shape);
  return out;
}

bool varies(const NumberPlace& at, std::span<const std::byte> bytes) {
  const Entry all = entry_in(varying, at, 0);
  if (all.word.load(std::memory_order_relaxed) == all.place) return true;
  base::Hasher hasher;
  hasher.add_bytes(bytes.data(), bytes.size());
  const uint64_t number = (hasher.digest().low & kNumberBits) | 1;
  const Entry entry = entry_in(last_numbers, at, at.types);
  const uint64_t before = entry.word.exchange(entry.place | number, std::memory_order_relaxed);
  if ((before & kPlaceBits) != entry.place || before == (entry.place | number)) return false;
  note_that_varies(at);
  return true;
}

void note_that_varies(const NumberPlace& at) {
  const Entry all = entry_in(varying, at, 0);
  all.word.store(all.place, std::memory_order_relaxed);
}

void forget_varying_numbers() {
  for (Words* words : {&last_numbers, &varying})
    for (std::atomic<uint64_t>& word : *words) word.store(0, std::memory_order_relaxed);
}

}  // namespace heddle::trace_internal
