// Derivatives in any element types held against those of the same program in f64 and c128, which
// derivative_checks.h holds against differences.
#pragma once

#include <string>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::laws {

// f64 for a float, c128 for a complex number, else the type itself.
DType widest(DType dtype);

// Floats or complex numbers, rounded to another type of their kind.
Literal rounded(const Literal& x, DType dtype);

struct NarrowCheck {
  int order = 2;
  // How many epsilons of the program's coarsest type a number may be off for each order, relative
  // to the largest beside it, or to `least_size` where that is less; with 0 each to itself. Rules
  // are a few operations long, each rounds by half of one.
  double epsilons = 3;
  double least_size = 1;
  bool reverse = true;               // cotangents too
  bool has_wide_form = true;         // else derivatives are zeros
  std::vector<bool> constants = {};  // by leaf: has no tangent; empty: none
};

struct NarrowResult {
  std::string wrong;  // empty, or what is wrong
  int compared = 0;   // numbers of tangents and cotangents
  double worst = 0;   // the largest error, in epsilons
};

// Tangents and cotangents along random directions that are rounded to the leaves' types, and those
// of tangents. Each has the type of what it is of, is zero where that has none, and is what the
// widest types give for the same numbers. Numbers beyond a type's range are left out. `arguments`
// are leaves.
NarrowResult check_narrow_derivatives(const hlo::Module& module,
                                      const std::vector<Literal>& arguments,
                                      const NarrowCheck& check = {});

}  // namespace heddle::laws
