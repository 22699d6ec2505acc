// Floats of 16 and 8 bits. A plan holds their bits as an i16 or i8 and computes on them as f32,
// rounding each result to the type.
#pragma once

#include "heddle/codegen/plan/builder.h"
#include "heddle/hlo/dtype.h"

namespace heddle::cpu {

inline bool is_small_float(DType dtype) {
  return dtype == bf16 || dtype == f16 || dtype == f8e4m3fn || dtype == f8e5m2;
}

// The bits as f32, exactly.
NodeId widen(PlanBuilder& builder, DType from, NodeId bits);

// What may be said of an f32 that becomes a small float.
enum class Narrowing : uint8_t {
  kAny,
  kComputed,  // a NaN in it comes from small floats or from arithmetic: its low bits are zero
  kExact,     // it is a small float
};

// The bits of an f32 or f64, rounded once to the type.
NodeId narrow(PlanBuilder& builder, DType to, NodeId value, Narrowing kind = Narrowing::kAny);

}  // namespace heddle::cpu
