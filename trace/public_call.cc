#include "heddle/trace/public_call.h"

#include <string_view>

namespace heddle::trace_internal {
namespace {

// Whether a file is one of the headers whose templates call what users give. Those of the standard
// library (std::apply, std::function) lie in a folder include/c++.
bool calls_users_functions(std::string_view file) {
  if (file.find("/include/c++/") != file.npos) return true;
  constexpr std::string_view kUs = "heddle/";
  const size_t us = file.rfind(kUs);
  if (us == file.npos || (us > 0 && file[us - 1] != '/') || !file.ends_with(".h")) return false;
  const std::string_view inside = file.substr(us + kUs.size());
  for (std::string_view folder : {"compile/", "grad/", "linalg/", "numpy/", "optim/", "scan/",
                                  "special/", "trace/"}) {
    if (inside.starts_with(folder)) return true;
  }
  return false;
}

}  // namespace

constinit thread_local PublicCall::State PublicCall::now;

SourceLocation PublicCall::users_line(SourceLocation at, SourceLocation otherwise) {
  thread_local const char* last = nullptr;  // a call in a loop comes from one file
  thread_local bool is_last_users = true;
  if (at.known() && at.file != last) {
    is_last_users = !calls_users_functions(at.file);
    last = at.file;
  }
  if (at.known() && is_last_users) return at;
  if (now.caller.known()) return now.caller;
  return otherwise.known() ? otherwise : at;
}

}  // namespace heddle::trace_internal
