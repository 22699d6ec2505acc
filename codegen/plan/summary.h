// The loops of a plan in words: what each was made of, how wide its vectors are, and why they are
// not wider.
#pragma once

#include <string>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A line for each loop, branch, copy and kernel, and for what is computed between them:
//
//   while.6 [train.cc:41]: while of 10000 turns; scalars in registers: 2; asks whether to stop
//     without a loop: add.7, lt.1
//     tanh.1 [train.cc:42]: for of 4 turns, vectors of 16 f32; fused: add.1, tanh.1
//     sort.2 [train.cc:43]: kernel: the evaluator's rule of sort
std::string loops_text(const Plan& plan);

}  // namespace heddle::cpu
