// Axes of the user's API (negative ones count from the end) as dimensions, checked. Private to
// Heddle's op functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/hlo/shape.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {

// errors: throws Error naming axis and shape, where there is no such axis
int64_t axis_of(const Shape& shape, int64_t axis);
// errors: likewise, and where an axis is listed twice
std::vector<int64_t> axes_of(const Shape& shape, const std::vector<int64_t>& axes);

// A number of rows or columns, `usual` where none is given. errors: throws Error naming
// `name` where it is below 0
int64_t count_or(std::string_view name, std::optional<base::Int> count, int64_t usual);

// in_program() for a function with one result.
template <class Fn>
Tensor one_program(std::string_view what, Fn&& fn) {
  if (Recorder::current() != nullptr) return fn();
  return in_program(what, [&] { return std::vector<Tensor>{fn()}; })[0];
}
// The same as a public function of one program.
template <class Fn>
Tensor one_program(std::string_view what, SourceLocation at, Fn&& fn) {
  const PublicCall call(what, at);
  return one_program(what, std::forward<Fn>(fn));
}

}  // namespace heddle::trace_internal
