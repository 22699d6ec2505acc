#include "heddle/trace/axes.h"

#include <algorithm>

#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

int64_t axis_of(const Shape& shape, int64_t axis) {
  int64_t index = axis < 0 ? axis + shape.rank() : axis;
  if (!shape.has_dimension(index)) {
    refuse("axis is ", axis, "; ", shape,
           shape.rank() == 0 ? std::string(" has none; expand_dims(x, 0) gives it one")
                             : base::cat(" has axes ", -shape.rank(), " .. ", shape.rank() - 1));
  }
  return index;
}

std::vector<int64_t> axes_of(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    int64_t index = axis_of(shape, axis);
    if (std::ranges::count(out, index) > 0)
      refuse("axis ", axis, " of ", shape, " is listed twice");
    out.push_back(index);
  }
  return out;
}

int64_t count_or(std::string_view name, std::optional<base::Int> count, int64_t usual) {
  if (!count) return usual;
  if (*count < 0) refuse(name, " is ", *count, "; it must be 0 or more");
  return *count;
}

}  // namespace heddle::trace_internal
