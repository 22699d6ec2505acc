// Derivatives of modules held against central differences, and the two modes against each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::laws {

struct DerivativeCheck {
  double step = 1e-5;
  double tolerance = 1e-6;  // relative to the size of what is compared
  int order = 2;
  bool reverse = true;  // the transposes too
  uint64_t seed = 1;
  std::vector<bool> constants = {};  // by leaf: has no tangent; empty: none
};

// The leaves of arguments: those of tuples one by one.
std::vector<Literal> leaves_of(const std::vector<Literal>& arguments);

// Empty, or what is wrong: the tangent is not the central difference along a random direction (to
// the given order, of tangents of tangents), <u, J v> is not <J' u, v>, the pushforward of
// linearize is not jvp, or what kind of error came up. Arguments are leaves, of f64, c128 or types
// without tangents.
std::string check_derivatives(const hlo::Module& module, const std::vector<Literal>& arguments,
                              const DerivativeCheck& check = {});

}  // namespace heddle::laws
