#include "heddle/trace/error.h"

namespace heddle {
namespace {

Status with_location(const Status& status, SourceLocation at) {
  std::string text = message_of(status);
  if (!at.known() || (!text.empty() && text.back() == ']')) return status;
  return make_error(status.code(), text, " [", to_string(at), "]");
}

}  // namespace

Error::Error(const Status& status, SourceLocation at)
    : status_(with_location(status, at)), at_(at), text_(message_of(status_)) {}

}  // namespace heddle
