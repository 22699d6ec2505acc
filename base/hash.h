// Hash128: a stable 128-bit hash. The same bytes give the same value in every process, so it may be
// written to disk.
// It finds candidates; equality decides. The hash is XXH3's.
#pragma once

#include <atomic>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/base/containers/fields.h"

namespace heddle::base {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// Returns 32 hex digits.
std::string to_string(const Hash128& hash);

// For std::unordered_map.
struct HashOfHash {
  size_t operator()(const Hash128& h) const { return static_cast<size_t>(h.low ^ h.high); }
};

// Collects values in order; digest() gives their hash.
class Hasher {
 public:
  void add_word(uint64_t word) {
    if (count_ == kWords) fold();
    words_[count_++] = word;
  }
  void add_bytes(const void* data, size_t size_bytes);
  [[nodiscard]] Hash128 digest() const;

 private:
  static constexpr size_t kWords = 32;

  void fold();  // the words so far become the two of their hash

  uint64_t words_[kWords];  // the first count_ of them
  size_t count_ = 0;
};

// A hash that the first thread to ask computes and all read from then on.
class LazyHash {
 public:
  template <class Compute>
  Hash128 get(const Compute& compute) const {
    if (state_.load(std::memory_order_acquire) == State::kReady) return hash_;
    const Hash128 hash = compute();
    State none = State::kNone;
    if (state_.compare_exchange_strong(none, State::kBeingWritten, std::memory_order_relaxed)) {
      hash_ = hash;
      state_.store(State::kReady, std::memory_order_release);
    }
    return hash;
  }
  // Only where no other thread asks.
  void reset() { state_.store(State::kNone, std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kNone, kBeingWritten, kReady };
  mutable std::atomic<State> state_ = State::kNone;
  mutable Hash128 hash_;
};

// hash_value(hasher, x) for numbers, enums, text, vectors and structs with kFields.
template <class T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void hash_value(Hasher& hasher, T value) {
  static_assert(sizeof value <= sizeof(uint64_t), "hash a long double as a double");
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  hasher.add_word(word);
}
inline void hash_value(Hasher& hasher, const std::string& text) {
  hasher.add_word(text.size());
  hasher.add_bytes(text.data(), text.size());
}
inline void hash_value(Hasher& hasher, const Hash128& hash) {
  hasher.add_word(hash.low);
  hasher.add_word(hash.high);
}
template <class T>
requires HasFields<T>
void hash_value(Hasher& hasher, const T& value);
template <class T>
void hash_value(Hasher& hasher, const std::vector<T>& values) {
  hasher.add_word(values.size());
  for (const T& value : values) hash_value(hasher, value);
}
template <class T>
requires HasFields<T>
void hash_value(Hasher& hasher, const T& value) {
  for_each_field(value, [&](std::string_view, const auto& member) { hash_value(hasher, member); });
}

}  // namespace heddle::base
