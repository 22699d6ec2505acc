// heddle::Error: what the tracing surface throws. A Status with the user's file and line;
// try_trace() and the other try_ forms return it as a Status instead. Below trace/ nothing throws.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"

namespace heddle {

class Error : public std::exception {
 public:
  // The message gets " [file:line]" at its end where the line is known and not there yet. Inside of
  // a function of Heddle's the line is the one where the user called it, whatever `at` is.
  Error(const Status& status, SourceLocation at = {});

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] SourceLocation where() const { return at_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  SourceLocation at_;
  Status status_;
  std::string text_;
};

// The error of a read, by item() or a C++ `if`, of a value that a trace does not know yet.
class TracedReadError : public Error {
 public:
  using Error::Error;
};

// Throws Error for a status that is not OK.
inline void throw_if_error(const Status& status, SourceLocation at = {}) {
  if (!status.ok()) throw Error(status, at);
}

// The value, or Error.
template <class T>
T value_or_throw(StatusOr<T> result, SourceLocation at = {}) {
  if (!result.ok()) throw Error(result.status(), at);
  return *std::move(result);
}

}  // namespace heddle
