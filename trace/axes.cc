#include "heddle/trace/axes.h"

#include <algorithm>

#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

int64_t axis_of(std::string_view op, const Shape& shape, int64_t axis, SourceLocation at) {
  int64_t index = axis < 0 ? axis + shape.rank() : axis;
  if (!shape.has_dimension(index)) {
    throw Error(invalid_argument(op, ": axis is ", axis, "; ", shape,
                                 shape.rank() == 0 ? std::string(" has none")
                                                   : base::cat(" has axes ", -shape.rank(), " .. ",
                                                               shape.rank() - 1)),
                at);
  }
  return index;
}

std::vector<int64_t> axes_of(std::string_view op, const Shape& shape,
                             const std::vector<int64_t>& axes, SourceLocation at) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    int64_t index = axis_of(op, shape, axis, at);
    if (std::ranges::count(out, index) > 0)
      throw Error(invalid_argument(op, ": axis ", axis, " of ", shape, " is listed twice"), at);
    out.push_back(index);
  }
  return out;
}

int64_t count_or(std::string_view op, std::string_view name, std::optional<base::Int> count,
                 int64_t usual, SourceLocation at) {
  if (!count) return usual;
  if (*count < 0)
    throw Error(invalid_argument(op, ": ", name, " is ", *count, "; it must be 0 or more"), at);
  return *count;
}

}  // namespace heddle::trace_internal
