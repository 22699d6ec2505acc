// Elementary functions as nodes of a plan, by the formulas of cpu/math/formulas.h.
#pragma once

#include <initializer_list>

#include "heddle/cpu/plan/builder.h"

namespace heddle::cpu {

// The function of f32 or f64 operands, lane by lane. What has no formula, and sin, cos and tan of
// arguments beyond the formulas' range, goes to the C library.
NodeId write_math(PlanBuilder& builder, MathFunction function,
                  std::initializer_list<NodeId> operands);

// 1 / (1 + exp(-x)).
NodeId write_logistic(PlanBuilder& builder, NodeId x);

}  // namespace heddle::cpu
