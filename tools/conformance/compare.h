// Compares a result with the expected one, by the rules of the conformance corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "heddle/hlo/literal/literal.h"

namespace heddle::conformance {

// An element passes if any of the given rules passes; a leaf passes if all its elements do.
struct Tolerance {
  bool exact = false;  // numerically equal; the rules below do not count
  double rtol = 0;     // |got - want| <= atol + rtol * |want|
  double atol = 0;
  bool signed_zero_exact = false;  // -0 is not equal to +0
  int64_t max_ulp = 0;             // at most so many representable values apart; 0: not used
};

// Below this a float of the type, or a part of a complex number, counts as zero; 0 if subnormals
// keep their values.
double least_normal(DType dtype);

// Returns an empty text if `got` is as good as `want`, else what differs: the first index with both
// values and the distance in units of the last place, how many elements differ, and the largest
// difference.
//
// Types must be equal; layouts do not count. `tolerances` has one entry a leaf, tuples depth first,
// or one for all leaves. Integers and pred are equal or not. NaN equals NaN whatever its bits.
// Subnormals of f32, f64 and bf16 count as zero of their sign. Both parts of complex numbers follow
// the rules of the part's type.
std::string difference(const Literal& got, const Literal& want,
                       std::span<const Tolerance> tolerances);

}  // namespace heddle::conformance
