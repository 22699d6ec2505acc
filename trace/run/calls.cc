#include "heddle/trace/run/calls.h"

#include "heddle/trace/error.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

void throw_other_arguments(std::string_view program, const std::vector<TreeSpec>& given,
                           const std::vector<TreeSpec>& want) {
  if (given.size() != want.size()) {
    refuse(program_named(program), " was given ", given.size(),
           given.size() == 1 ? " argument" : " arguments", "; it takes ", want.size(),
           ", as it was traced");
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string difference = unlike(given[i], want[i], base::cat("arg", i));
    if (difference.empty()) continue;
    refuse("argument ", difference, ", as the program was traced; give it that, or trace it again");
  }
  throw Error(base::internal_error("call: the arguments' structures are equal and differ"));
}

void throw_other_result(std::string_view program, const TreeSpec& returned) {
  refuse(program_named(program), " returns ", describe(returned),
         returned.children.empty() ? "" : base::cat(", ", to_string(returned)),
         "; call<..> must name the type that fn returned");
}

}  // namespace heddle::trace_internal
