#include "heddle/interpreter/ops/control/random_bits.h"

#include <bit>
#include <cstddef>

namespace heddle::interpreter {

std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::array<uint32_t, 3> keys = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  uint32_t x = counter[0] + keys[0], y = counter[1] + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

WideCounter advanced(WideCounter counter, uint64_t by) {
  const uint64_t low = counter.low + by;
  return {low, counter.high + (low < by ? 1 : 0)};
}

std::vector<uint32_t> philox_words(uint64_t key, WideCounter counter, int64_t count) {
  const std::array<uint32_t, 2> key_words = {static_cast<uint32_t>(key),
                                             static_cast<uint32_t>(key >> 32)};
  std::vector<uint32_t> out;
  out.reserve(static_cast<size_t>(count) + 3);
  while (static_cast<int64_t>(out.size()) < count) {
    const std::array<uint32_t, 4> block =
        philox(key_words,
               {static_cast<uint32_t>(counter.low), static_cast<uint32_t>(counter.low >> 32),
                static_cast<uint32_t>(counter.high), static_cast<uint32_t>(counter.high >> 32)});
    out.insert(out.end(), block.begin(), block.end());
    counter = advanced(counter, 1);
  }
  out.resize(static_cast<size_t>(count));
  return out;
}

}  // namespace heddle::interpreter
