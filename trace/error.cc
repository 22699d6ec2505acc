#include "heddle/trace/error.h"

#include "heddle/base/located_status.h"
#include "heddle/trace/public_call.h"

namespace heddle {

Error::Error(const Status& status, SourceLocation at)
    : at_(trace_internal::PublicCall::line_or(at)),
      status_(at_.known() ? with_location(status, to_string(at_)) : status),
      text_(base::message_of(status_)) {}

}  // namespace heddle
