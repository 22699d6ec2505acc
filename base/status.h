// Errors as values. Below trace/ nothing throws: functions that can fail return Status or
// StatusOr<T>. The codes and their numbers are those of gRPC and absl::Status; the types are our
// own, since abseil's headers cost a user's file more than all of ours.
//
// Message grammar: op; operand or tree path; what it is; what it had to be; repair. Lower case, no
// full stop.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/base/text/strings.h"

namespace heddle {

enum class StatusCode : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT"; for an unknown code its number.
[[nodiscard]] std::string to_string(StatusCode code);

// Success, which is a null pointer, or an error: a code, a message and, where it is known, the
// place in the user's program.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  // kOk gives success, without the message.
  Status(StatusCode code, std::string_view message);

  Status(const Status& from) : error_(from.ok() ? nullptr : copy(*from.error_)) {}
  Status(Status&& from) noexcept : error_(std::exchange(from.error_, nullptr)) {}
  Status& operator=(Status from) noexcept {
    std::swap(error_, from.error_);
    return *this;
  }
  ~Status() {
    if (error_ != nullptr) destroy(error_);
  }

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  [[nodiscard]] StatusCode code() const;
  [[nodiscard]] std::string_view message() const;  // empty for success
  // The message without the place at its end.
  [[nodiscard]] std::string_view text() const;

  // The first error of several: takes `next` if this one is success.
  void update(Status next) {
    if (ok()) *this = std::move(next);
  }

  // The place, "file:line"; empty if it is not known. See base/located_status.h.
  [[nodiscard]] std::string_view location() const;
  // Puts " [location]" at the end of the text. Only for an error.
  void set_location(std::string_view location);

  friend bool operator==(const Status& a, const Status& b);
  // "INVALID_ARGUMENT: the message", or "OK".
  friend std::string to_string(const Status& status);
  friend std::ostream& operator<<(std::ostream& out, const Status& status);

 private:
  struct Content;
  static Content* copy(const Content& from);
  static void destroy(Content* error);

  Content* error_ = nullptr;
};

namespace status_internal {
[[nodiscard]] Status without_value();              // for a StatusOr without a value
[[nodiscard]] Status not_an_error();               // for a StatusOr made of success
[[noreturn]] void no_value(const Status& status);  // throws std::logic_error with its message
template <class T>
inline constexpr bool kIsStatusOr = false;
}  // namespace status_internal

// A value, or the error in its place. Reading the value of an error throws std::logic_error with
// its message: ask ok() first.
template <class T>
class [[nodiscard]] StatusOr {
 public:
  using value_type = T;

  explicit StatusOr() : status_(status_internal::without_value()) {}

  template <class U = T>
  requires(std::is_constructible_v<T, U&&> && !std::is_same_v<std::remove_cvref_t<U>, Status> &&
           !status_internal::kIsStatusOr<std::remove_cvref_t<U>>)  //
      explicit(!std::is_convertible_v<U&&, T>) StatusOr(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}

  // An error. Success becomes an error too here: a bug of the caller.
  StatusOr(Status error) : status_(std::move(error)) {
    if (status_.ok()) status_ = status_internal::not_an_error();
  }

  template <class U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<const U&, T>)  //
      StatusOr(const StatusOr<U>& from)
      : status_(from.status()) {
    if (from.ok()) value_.emplace(*from);
  }
  template <class U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<U&&, T>)  //
      StatusOr(StatusOr<U>&& from)
      : status_(from.status()) {
    if (from.ok()) value_.emplace(*std::move(from));
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const& { return status_; }
  [[nodiscard]] Status status() && { return std::move(status_); }

  [[nodiscard]] T& value() & { return *checked(); }
  [[nodiscard]] const T& value() const& { return *checked(); }
  [[nodiscard]] T&& value() && { return std::move(*checked()); }
  [[nodiscard]] T& operator*() & { return *checked(); }
  [[nodiscard]] const T& operator*() const& { return *checked(); }
  [[nodiscard]] T&& operator*() && { return std::move(*checked()); }
  [[nodiscard]] T* operator->() { return &*checked(); }
  [[nodiscard]] const T* operator->() const { return &*checked(); }

  // The value, or `other` for an error.
  template <class U>
  [[nodiscard]] T value_or(U&& other) const& {
    return value_.value_or(std::forward<U>(other));
  }
  template <class U>
  [[nodiscard]] T value_or(U&& other) && {
    return std::move(value_).value_or(std::forward<U>(other));
  }

 private:
  [[nodiscard]] std::optional<T>& checked() {
    if (!ok()) status_internal::no_value(status_);
    return value_;
  }
  [[nodiscard]] const std::optional<T>& checked() const {
    if (!ok()) status_internal::no_value(status_);
    return value_;
  }

  std::optional<T> value_;
  Status status_;
};

template <class T>
inline constexpr bool status_internal::kIsStatusOr<StatusOr<T>> = true;

// Heddle's own makers of errors: a user's program may have functions of these names.
namespace base {

// Returns the message of `status` as a std::string.
[[nodiscard]] inline std::string message_of(const Status& status) {
  return std::string(status.message());
}

// An error of the given code whose message is the parts joined.
template <class... Parts>
[[nodiscard]] Status make_error(StatusCode code, const Parts&... parts) {
  return Status(code, cat(parts...));
}

// The caller passed something that can never work (wrong shape, bad text, unknown name).
template <class... Parts>
[[nodiscard]] Status invalid_argument(const Parts&... parts) {
  return make_error(StatusCode::kInvalidArgument, parts...);
}

// The call is right but not in this state (a placeholder is read, a buffer was donated).
template <class... Parts>
[[nodiscard]] Status failed_precondition(const Parts&... parts) {
  return make_error(StatusCode::kFailedPrecondition, parts...);
}

// A name, file or device that is not there.
template <class... Parts>
[[nodiscard]] Status not_found(const Parts&... parts) {
  return make_error(StatusCode::kNotFound, parts...);
}

// The program is legal, but Heddle does not offer this part of it here. The text says what it
// offers and how to go on.
template <class... Parts>
[[nodiscard]] Status unimplemented(const Parts&... parts) {
  return make_error(StatusCode::kUnimplemented, parts...);
}

// A limit on size, depth or memory was reached.
template <class... Parts>
[[nodiscard]] Status resource_exhausted(const Parts&... parts) {
  return make_error(StatusCode::kResourceExhausted, parts...);
}

// An invariant of Heddle's own is broken: never a user's mistake.
template <class... Parts>
[[nodiscard]] Status internal_error(const Parts&... parts) {
  return make_error(StatusCode::kInternal, "bug in heddle: ", parts...);
}

// Returns `status` with `context` put before its message; OK stays OK.
template <class... Parts>
[[nodiscard]] Status annotate(const Status& status, const Parts&... context) {
  if (status.ok()) return status;
  Status out = make_error(status.code(), context..., status.text());
  out.set_location(status.location());
  return out;
}

}  // namespace base
}  // namespace heddle

#define HEDDLE_CONCAT_INNER(a, b) a##b
#define HEDDLE_CONCAT(a, b) HEDDLE_CONCAT_INNER(a, b)

// These are macros, since only a macro can return from the caller.
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
