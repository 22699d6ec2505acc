#include "heddle/trace/error.h"

#include "heddle/base/located_status.h"

namespace heddle {

Error::Error(const Status& status, SourceLocation at)
    : status_(at.known() ? with_location(status, to_string(at)) : status),
      at_(at),
      text_(base::message_of(status_)) {}

}  // namespace heddle
