#include "heddle/trace/calls.h"

#include "heddle/trace/error.h"

namespace heddle::trace_internal {

void throw_other_result(std::string_view program, const TreeSpec& returned, SourceLocation at) {
  throw Error(invalid_argument("run: program ", program, " returns ", to_string(returned),
                               "; call<..> must name that structure, which is what fn returned"),
              at);
}

}  // namespace heddle::trace_internal
