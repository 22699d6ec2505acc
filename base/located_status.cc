#include "heddle/base/located_status.h"

namespace heddle {

Status with_message(const Status& status, const std::string& text) {
  Status out = base::make_error(status.code(), text);
  out.set_location(status.location());
  return out;
}

bool has_location(const Status& status) { return !status.location().empty(); }

Status with_location(const Status& status, const std::string& place) {
  if (status.ok() || has_location(status)) return status;
  Status out = base::make_error(status.code(), base::message_of(status), " [", place, "]");
  out.set_location(place);
  return out;
}

}  // namespace heddle
