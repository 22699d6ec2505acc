// dot's value, for the op and for those that are written as one.
#pragma once

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

// The dot of two arrays, of the type `result`.
StatusOr<Literal> dot(const Literal& x, const Literal& y, const DotAttrs& attrs,
                      const Shape& result, Caller& caller);

}  // namespace heddle::interpreter
