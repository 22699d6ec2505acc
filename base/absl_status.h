// Errors for programs that use abseil: Status as absl::Status and back. heddle.h does not include
// this, since abseil's headers cost a user's file more than all of ours.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heddle/base/status.h"

namespace heddle {

// The same code and message. The message has the place in the user's program, where it is known.
[[nodiscard]] absl::Status to_absl(const Status& status);
[[nodiscard]] Status from_absl(const absl::Status& status);

template <class T>
[[nodiscard]] absl::StatusOr<T> to_absl(StatusOr<T> result) {
  if (!result.ok()) return to_absl(result.status());
  return *std::move(result);
}
template <class T>
[[nodiscard]] StatusOr<T> from_absl(absl::StatusOr<T> result) {
  if (!result.ok()) return from_absl(result.status());
  return *std::move(result);
}

}  // namespace heddle
