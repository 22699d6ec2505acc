// Values among sorted places: bins, histograms, interpolation. Names are those of jax.numpy.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// s32: the bin of each element, between edges [n] that ascend or descend: 0 before the first, n
// after the last. An element that is an edge goes to the bin behind it, or before it where
// `right`.
Tensor digitize(Operand x, Operand edges, base::Flag right = false);

// How many elements of x lie between neighbours of `edges` [n + 1], ascending, of x's dtype; the
// last bin has its upper edge too: s32[n]. With weights, of x's shape, their sums.
Tensor histogram_at(Operand x, Operand edges, std::optional<Operand> weights = {});
// histogram_at for pairs (x, y) of one shape: [nx, ny].
Tensor histogram2d_at(Operand x, Operand y, Operand x_edges, Operand y_edges,
                      std::optional<Operand> weights = {});
// The edges of `bins` equal parts from the least to the greatest element; where these are equal, of
// 1 around them: [bins + 1].
Tensor histogram_bin_edges(Operand x, base::Int bins = 10);
// How many elements of x lie in each of `bins` equal parts from the least to the greatest: s32.
// Integers are counted as f64.
Tensor histogram(Operand x, base::Int bins = 10);

// The line through points (xp, fp), xp[n] ascending, at x: floats of one dtype. Before the first
// point and behind the last it is fp[0] and fp[n - 1], or what is given here; with a period, points
// in any order repeat.
struct Interp {
  std::optional<double> left = {};
  std::optional<double> right = {};
  std::optional<double> period = {};
};
// The line through points (xp, fp), xp ascending, at x.
Tensor interp(Operand x, Operand xp, Operand fp, const Interp& beyond = {});

}  // namespace heddle
