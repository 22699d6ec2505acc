#include "heddle/trace/moved_from.h"

#include "heddle/trace/error.h"

namespace heddle::trace_internal {

void throw_moved_from(std::string_view op, std::string_view what, SourceLocation at) {
  throw Error(
      base::failed_precondition(op, ": the ", what,
                                " was moved from and is empty; use the one that it was moved to, "
                                "or copy it there"),
      at);
}

void throw_no_function(std::string_view which) {
  refuse("the ", which,
         " is a null pointer to a function, or an empty std::function; give it a function to call");
}

}  // namespace heddle::trace_internal
