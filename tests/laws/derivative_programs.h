// Derivatives of second order of random programs, as one module each, for backends: what it gives
// is what the evaluator gives (which is held against differences in loop_programs_test.cc), and the
// two modes agree there too.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/runtime/backend.h"
#include "heddle/tests/laws/loop_programs.h"

namespace heddle::laws {

// Of y = f(x): (x.., v.., u..) -> (y.., J v.., cotangents of x.., of v..), the cotangents those of
// u.. at y.. and J v... Of a program with a while, which has forward mode only, (x.., v.., dx..,
// dv..) -> (y.., J v.., and tangents of both).
struct SecondOrder {
  hlo::Module module;
  std::vector<Literal> arguments;
  size_t results = 0;  // of f
  bool has_reverse = false;
};
StatusOr<SecondOrder> second_order(const LoopProgram& program, int seed);

// Compiles and runs it there. Empty, or what is wrong: the results are not the evaluator's, or
// <u, J v> is not <J' u, v> in them.
std::string difference_on(runtime::Device& device, const SecondOrder& program);

}  // namespace heddle::laws
