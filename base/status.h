// Errors as values. Below trace/ nothing throws: functions that can fail return Status or
// StatusOr<T>.
//
// Message grammar: op; operand or tree path; what it is; what it had to be; repair. Lower case, no
// full stop.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heddle/base/strings.h"

namespace heddle {

using Status = absl::Status;
template <class T>
using StatusOr = absl::StatusOr<T>;

// Returns the message of `status` as a std::string.
[[nodiscard]] inline std::string message_of(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

// An error of the given code whose message is the parts joined.
template <class... Parts>
[[nodiscard]] Status make_error(absl::StatusCode code, const Parts&... parts) {
  std::string text = cat(parts...);
  return Status(code, {text.data(), text.size()});
}

// The caller passed something that can never work (wrong shape, bad text, unknown name).
template <class... Parts>
[[nodiscard]] Status invalid_argument(const Parts&... parts) {
  return make_error(absl::StatusCode::kInvalidArgument, parts...);
}

// The call is right but not in this state (a placeholder is read, a buffer was donated).
template <class... Parts>
[[nodiscard]] Status failed_precondition(const Parts&... parts) {
  return make_error(absl::StatusCode::kFailedPrecondition, parts...);
}

// A name, file or device that is not there.
template <class... Parts>
[[nodiscard]] Status not_found(const Parts&... parts) {
  return make_error(absl::StatusCode::kNotFound, parts...);
}

// The program is legal, but this part of it is not offered here; the text says what is and how to
// go on.
template <class... Parts>
[[nodiscard]] Status unimplemented(const Parts&... parts) {
  return make_error(absl::StatusCode::kUnimplemented, parts...);
}

// A limit on size, depth or memory was reached.
template <class... Parts>
[[nodiscard]] Status resource_exhausted(const Parts&... parts) {
  return make_error(absl::StatusCode::kResourceExhausted, parts...);
}

// An invariant of Heddle's own is broken: never a user's mistake.
template <class... Parts>
[[nodiscard]] Status internal_error(const Parts&... parts) {
  return make_error(absl::StatusCode::kInternal, "bug in heddle: ", parts...);
}

// Returns `status` with `context` put before its message; OK stays OK.
template <class... Parts>
[[nodiscard]] Status annotate(const Status& status, const Parts&... context) {
  if (status.ok()) return status;
  return make_error(status.code(), context..., message_of(status));
}

}  // namespace heddle

#define HEDDLE_CONCAT_INNER(a, b) a##b
#define HEDDLE_CONCAT(a, b) HEDDLE_CONCAT_INNER(a, b)

// Macros, since only a macro can return from the caller.
#define HEDDLE_RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                         \
    if (::heddle::Status heddle_status_ = (expr); !heddle_status_.ok()) return heddle_status_; \
  } while (false)

// HEDDLE_ASSIGN_OR_RETURN(Shape shape, infer(..)): declares or assigns the value, or returns the
// error.
#define HEDDLE_ASSIGN_OR_RETURN(lhs, ...) \
  HEDDLE_ASSIGN_OR_RETURN_INNER(HEDDLE_CONCAT(heddle_statusor_, __LINE__), lhs, __VA_ARGS__)
#define HEDDLE_ASSIGN_OR_RETURN_INNER(temp, lhs, ...) \
  auto temp = (__VA_ARGS__);                          \
  if (!temp.ok()) return std::move(temp).status();    \
  lhs = *std::move(temp)
