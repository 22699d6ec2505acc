// Tangents that are the same in every step of a scan, since they are made of tensors that all steps
// use:
//
//   step(h, x, w): h' = h * sin(w)[x]       dw' = cos(w) * dw, before the loop
//                                           step(dh, x, dw'): .. dw'[x] ..
//
// So the way back adds to an element of the cotangent of sin(w) in each step, and multiplies by
// cos(w) once.
#pragma once

#include <span>
#include <vector>

#include "heddle/transform/derivatives/internal/parts.h"
#include "heddle/transform/effects.h"

namespace heddle::transform {

// What is known of the values of a step, by instruction.
struct StepValues {
  std::vector<bool> is_linear;  // depends on tangents
  std::vector<bool> is_same;    // in all steps: of the others all that are, of parameters tangents
};

// The values to compute before the loop: arrays that are no greater than the tangents they are made
// of, or that are much work, and that more is done to than to say where elements come from.
std::vector<hlo::InstructionId> tangents_to_lift(
    const hlo::Computation& step, const Effects& effects, const StepValues& values,
    std::span<const hlo::InstructionId> linear_results);

}  // namespace heddle::transform
