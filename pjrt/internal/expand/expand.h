// Ops that plugins in use do not know, or compile wrongly, written with others.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::pjrt {

// expand-mulhi: mulhi(x, y) becomes a multiplication in the type of twice the width and a shift;
// for 64 bits, four multiplications of halves (Knuth, The Art of Computer Programming 2, 4.3.1 M).
[[nodiscard]] StatusOr<hlo::Module> expand_mulhi(const hlo::Module& module);

// expand-ragged-dot: ragged-dot becomes a dot in which x is repeated for each group, with zeros in
// the rows of others: groups times the memory of x. What the evaluator states, so that values are
// its own.
[[nodiscard]] StatusOr<hlo::Module> expand_ragged_dot(const hlo::Module& module);

// expand-complex-bits: bitcast-convert between c128[..] and c64[..,2] goes by the bits of real and
// imaginary parts.
[[nodiscard]] StatusOr<hlo::Module> expand_complex_bits(const hlo::Module& module);
[[nodiscard]] bool has_complex_bits(const hlo::Module& module);

// expand-complex-converts: a complex number converted to pred is a comparison with 0, to an integer
// a conversion of its real part.
[[nodiscard]] StatusOr<hlo::Module> expand_complex_converts(const hlo::Module& module);
[[nodiscard]] bool has_complex_converts(const hlo::Module& module);

// expand-powers: powers of integers whose exponents may be above 63 become products of powers.
[[nodiscard]] StatusOr<hlo::Module> expand_powers(const hlo::Module& module);
[[nodiscard]] bool has_misread_powers(const hlo::Module& module);

// expand-counts: constants {0, 1, 2, ..} of floats of 8 bits and less become iota, and {-0, 1, 2,
// ..} of floats what XLA does not take for one.
[[nodiscard]] StatusOr<hlo::Module> expand_counts(const hlo::Module& module);
[[nodiscard]] bool has_counts(const hlo::Module& module);

// expand-scalar-operands: bounds of clamp and the pred of select that are scalars over an array are
// broadcast.
[[nodiscard]] StatusOr<hlo::Module> expand_scalar_operands(const hlo::Module& module);
[[nodiscard]] bool has_scalar_operands(const hlo::Module& module);

// expand-functions: acos, acosh, asin, asinh, atan, atanh, cosh, sinh, and cbrt of complex numbers,
// by functions that XLA's CPU compiles. Within 3 units in the last place of each part, where
// these functions are rounded once; cbrt within 2 of the larger part. cosh and sinh of complex
// numbers are infinite where cosh of the real part is, whatever the imaginary part makes of that.
[[nodiscard]] StatusOr<hlo::Module> expand_functions(const hlo::Module& module);
[[nodiscard]] bool has_unknown_functions(const hlo::Module& module);

// expand-nested-slices: the starts of a dynamic-slice of a dynamic-slice are clamped by ops of
// their own, since XLA adds them as they are; of slices in called computations and loops too, and
// of gathers of one index.
[[nodiscard]] StatusOr<hlo::Module> expand_nested_slices(const hlo::Module& module);

// expand-self-updates: what a dynamic-update-slice, or a scatter of one index, writes goes through
// add-dependency where it is computed from other places of the same array.
[[nodiscard]] StatusOr<hlo::Module> expand_self_updates(const hlo::Module& module);

// expand-reduce-starts: the start of a reduction that is no identity of its function is applied
// once, behind the reduction; a reduction of one element by another function becomes map.
[[nodiscard]] StatusOr<hlo::Module> expand_reduce_starts(const hlo::Module& module);
[[nodiscard]] bool has_misread_starts(const hlo::Module& module);

}  // namespace heddle::pjrt
