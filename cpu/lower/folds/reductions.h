// What the loops of reductions share.
#pragma once

#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

inline constexpr int64_t kAccumulators = 4;  // that hide the latency of a reduction's operation

// The dimensions of what is reduced.
struct ReducedDims {
  std::vector<int64_t> kept, reduced;

  ReducedDims(const Shape& from, const Instruction& reduce);
  // Elements, by their coordinates along the kept dimensions and along the reduced ones.
  [[nodiscard]] Place place(std::span<const Coordinate> at_kept,
                            std::span<const Coordinate> at_reduced, int64_t lanes) const;
};

std::vector<int64_t> sizes_of(const Shape& shape, std::span<const int64_t> dims);

}  // namespace heddle::cpu
