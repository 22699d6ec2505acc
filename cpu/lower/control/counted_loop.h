// Loops that count: while (i < n) { ..; i = i + step; } from i = 0.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/cpu/lower/regions/region.h"

namespace heddle::cpu {

struct CountedLoop {
  size_t counter = 0;  // the leaf of the state that counts
  int64_t turns = 0;
  int64_t step = 1;  // above 0
};

// `loop` is a while in `outer`. Nothing where it is not known to count.
std::optional<CountedLoop> counted_loop(const Region& outer, const Instruction& loop,
                                        const Region& condition, const Region& body);

// What each turn adds to a carried integer, in one sum or in several; nothing where that is not a
// constant.
std::optional<int64_t> step_of(const Region& body, size_t carry);

// Which row of an array a turn takes where a slice or an update starts there.
enum class Row : uint8_t { kUnknown, kOfTurn, kFromEnd };  // kFromEnd: n - 1 - t in turn t of n
Row row_at(const CountedLoop& loop, const Region& body, LeafId start);

// Turn t writes row t of the carried array, or row n - 1 - t, and nobody reads the array inside,
// before or after the turn's update: after the loop nothing is left of the array's initial value.
bool writes_all_rows(const CountedLoop& loop, const Region& condition, const Region& body,
                     size_t carry);

}  // namespace heddle::cpu
