#include "heddle/base/located_status.h"

namespace heddle {

bool has_location(const Status& status) { return !status.location().empty(); }

Status with_location(Status status, std::string_view place) {
  if (!has_location(status)) status.set_location(place);
  return status;
}

}  // namespace heddle
