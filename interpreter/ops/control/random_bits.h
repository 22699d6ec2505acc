// Counter-based generators: blocks of random words from a key and a counter, and streams of them as
// rng-bit-generator lays them out. source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as
// easy as 1, 2, 3, 2011
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "heddle/interpreter/run_context.h"

namespace heddle::interpreter {

// Threefry-2x32 with 20 rounds.
std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter);

// Philox-4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

// `count` 32-bit words: the four of each block in turn. The next counter is as many blocks further
// as were begun.
std::vector<uint32_t> philox_words(uint64_t key, WideCounter counter, int64_t count);
constexpr uint64_t philox_blocks(int64_t words) { return static_cast<uint64_t>((words + 3) / 4); }

}  // namespace heddle::interpreter
