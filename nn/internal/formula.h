// How neural-net functions are written: formulas of one program, in floats wide enough.
#pragma once

#include <string_view>

#include "heddle/trace/axes.h"
#include "heddle/trace/located.h"

namespace heddle::nn_internal {

using trace_internal::floating;
using trace_internal::Located;

// x in f32 at least: what statistics and sums of many terms are taken in.
inline Located wide_of(const Located& x) { return x.astype(x.dtype() == f64 ? f64 : f32); }

// The program `op` of one result, which fn gives as a Located.
template <class Fn>
Tensor formula(std::string_view op, SourceLocation at, Fn&& fn) {
  const trace_internal::PublicCall call(op, at);
  return trace_internal::one_program(op, at, [&] { return fn().tensor(); });
}

}  // namespace heddle::nn_internal
