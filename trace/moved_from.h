// The errors of an object that was moved from and is empty, and of a function that is given nothing
// to call. Private to Heddle.
#pragma once

#include <string_view>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/source_location.h"

namespace heddle::trace_internal {

// errors: throws Error (FailedPrecondition) "op: the program was moved from and is empty; .."
[[noreturn]] void throw_moved_from(std::string_view op, std::string_view what, SourceLocation at);
// errors: throws Error (InvalidArgument) "op: the step is a null pointer to a function, or an empty
// std::function; .."
[[noreturn]] void throw_no_function(std::string_view op, std::string_view which, SourceLocation at);

// Public functions ask this of the callables that they trace. `which`: "step". errors: throws Error
// where there is nothing to call, or where it is a Function that was moved from
template <class Fn>
void require_function(std::string_view op, std::string_view which, const Fn& fn,
                      SourceLocation at) {
  if constexpr (requires { fn.require_here(op, at); })  // a Function
    fn.require_here(op, at);
  else if (base::is_null_function(fn))
    throw_no_function(op, which, at);
}
template <class Signature>
void require_function(std::string_view op, std::string_view which,
                      const base::FunctionRef<Signature>& fn, SourceLocation at) {
  if (fn.is_null()) throw_no_function(op, which, at);
}

}  // namespace heddle::trace_internal
