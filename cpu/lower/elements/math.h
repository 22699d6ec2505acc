// Elementary functions as nodes of a plan, by the formulas of codegen/math/formulas.h.
#pragma once

#include <initializer_list>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {

// The function of f32 or f64 operands, lane by lane. What has no formula, and sin, cos and tan of
// arguments beyond the formulas' range, goes to the C library.
NodeId write_math(PlanBuilder& builder, MathFunction function,
                  std::initializer_list<NodeId> operands);

// tanh of an f32 that is rounded to an f16 or bf16.
NodeId write_small_tanh(PlanBuilder& builder, NodeId x);

NodeId write_rsqrt(PlanBuilder& builder, NodeId x);

// exp(x) + c with the bits of both ops, for |c| from 2^-60 to 2^60, of one lane.
NodeId write_exp_plus(PlanBuilder& builder, NodeId x, NodeId c);

// 1 / (1 + exp(-x)).
NodeId write_logistic(PlanBuilder& builder, NodeId x);

}  // namespace heddle::cpu
