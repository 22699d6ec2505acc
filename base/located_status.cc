#include "heddle/base/located_status.h"

#include "absl/strings/cord.h"

namespace heddle {
namespace {

constexpr char kLocationPayload[] = "heddle/location";

}  // namespace

Status with_message(const Status& status, const std::string& text) {
  Status out = make_error(status.code(), text);
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& value) { out.SetPayload(type, value); });
  return out;
}

bool has_location(const Status& status) { return status.GetPayload(kLocationPayload).has_value(); }

Status with_location(const Status& status, const std::string& place) {
  if (status.ok() || has_location(status)) return status;
  Status out = with_message(status, cat(message_of(status), " [", place, "]"));
  out.SetPayload(kLocationPayload, absl::Cord(place));
  return out;
}

}  // namespace heddle
