// Errors that know the user's file and line: in their message's end and, as a payload, as data. A text such as "[0:2]" may also be
// a range.
#pragma once

#include <string>

#include "absl/strings/cord.h"
#include "heddle/base/status.h"

namespace heddle {

inline constexpr const char* kLocationPayload = "heddle/location";

// An error with another message and what else `status` carries.
[[nodiscard]] inline Status with_message(const Status& status, const std::string& text) {
  Status out = make_error(status.code(), text);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& value) { out.SetPayload(type, value); });
  return out;
}

[[nodiscard]] inline bool has_location(const Status& status) { return status.GetPayload(kLocationPayload).has_value(); }

// Returns the error with " [place]" at the end of its message; one that has a place keeps it.
[[nodiscard]] inline Status with_location(const Status& status, const std::string& place) {
  if (status.ok() || has_location(status)) return status;
  Status out = with_message(status, cat(message_of(status), " [", place, "]"));
  out.SetPayload(kLocationPayload, absl::Cord(place));
  return out;
}

}  // namespace heddle
