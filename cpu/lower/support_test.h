// Plans of short programs, for the tests beside it.
#pragma once

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {

inline LoweredProgram lowered(const std::string& text, int64_t vector_bytes = 64) {
  return lower(hlo::parse_text(text).value(), vector_bytes, /*as_lapack=*/false).value();
}

// An entry of these lines, beside `sum` of two f32.
inline std::string text_of(const std::string& lines) {
  return base::cat("HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n",
                   " ROOT c = f32[] add(a, b) }\nENTRY main {\n", lines, " }\n");
}

inline Plan plan_of(const std::string& lines) { return lowered(text_of(lines)).plan; }

inline int64_t count(const Plan& plan, Op op) {
  return std::ranges::count(plan.nodes, op, &Node::op);
}

// The most lanes that such an operation has; 0: there is none.
inline int32_t most_lanes(const Plan& plan, Op op) {
  int32_t most = 0;
  for (const Node& node : plan.nodes) {
    if (node.op == op) most = std::max(most, node.type.lanes);
  }
  return most;
}

}  // namespace heddle::cpu
