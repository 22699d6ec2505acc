// What an integer of a plan may be, from how it is made.
#pragma once

#include <cstdint>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// The least and the greatest value of each lane, sign-extended as constants are. Of floats: all.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// Whatever the type holds.
Bounds bounds_of(Scalar scalar);

// Of the value of a node of the plan; `known` holds those of the nodes before it, by number.
Bounds bounds_of(const Plan& plan, const Node& node, std::span<const Bounds> known);

}  // namespace heddle::cpu
