// The errors of an object that was moved from and is empty, and, inside of a public function, of
// one that is given nothing to call. Private to Heddle.
#pragma once

#include <string_view>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

// errors: throws Error (FailedPrecondition) "op: the program was moved from and is empty; .."
[[noreturn]] void throw_moved_from(std::string_view op, std::string_view what,
                                   SourceLocation at = {});
// errors: throws Error (InvalidArgument) "scan: the step is a null pointer to a function, or an
// empty std::function; ..", with the function that the user called
[[noreturn]] void throw_no_function(std::string_view which);

// Public functions ask this of the callables that they trace. `which`: "step". errors: throws Error
// where there is nothing to call, or where it is a Function that was moved from
template <class Fn>
void require_function(std::string_view which, const Fn& fn) {
  if constexpr (requires { fn.require_here(which); })  // a Function
    fn.require_here(PublicCall::function_or("call"));
  else if (base::is_null_function(fn))
    throw_no_function(which);
}
template <class Signature>
void require_function(std::string_view which, const base::FunctionRef<Signature>& fn) {
  if (fn.is_null()) throw_no_function(which);
}

}  // namespace heddle::trace_internal
