#include "heddle/base/status.h"

#include <ostream>
#include <stdexcept>

namespace heddle {

struct Status::Content {
  StatusCode code;
  std::string message;  // the text, and where there is a location " [location]"
  std::string location = {};
  size_t text_size = message.size();
};

std::string to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kCancelled: return "CANCELLED";
    case StatusCode::kUnknown: return "UNKNOWN";
    case StatusCode::kInvalidArgument: return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound: return "NOT_FOUND";
    case StatusCode::kAlreadyExists: return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied: return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition: return "FAILED_PRECONDITION";
    case StatusCode::kAborted: return "ABORTED";
    case StatusCode::kOutOfRange: return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented: return "UNIMPLEMENTED";
    case StatusCode::kInternal: return "INTERNAL";
    case StatusCode::kUnavailable: return "UNAVAILABLE";
    case StatusCode::kDataLoss: return "DATA_LOSS";
    case StatusCode::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return base::cat(static_cast<int32_t>(code));  // a plugin's own
}

Status::Status(StatusCode code, std::string_view message)
    : error_(code == StatusCode::kOk ? nullptr : new Content{code, std::string(message)}) {}

Status::Content* Status::copy(const Content& from) { return new Content(from); }
void Status::destroy(Content* error) { delete error; }

StatusCode Status::code() const { return ok() ? StatusCode::kOk : error_->code; }
std::string_view Status::message() const {
  return ok() ? std::string_view() : std::string_view(error_->message);
}
std::string_view Status::location() const {
  return ok() ? std::string_view() : std::string_view(error_->location);
}

std::string_view Status::text() const {
  return ok() ? std::string_view() : message().substr(0, error_->text_size);
}

void Status::set_location(std::string_view location) {
  if (ok()) return;
  error_->location = location;
  error_->message.resize(error_->text_size);
  if (!location.empty()) base::append(error_->message, " [", location, "]");
}

bool operator==(const Status& a, const Status& b) {
  return a.code() == b.code() && a.message() == b.message() && a.location() == b.location();
}

std::string to_string(const Status& status) {
  if (status.ok()) return to_string(StatusCode::kOk);
  return base::cat(to_string(status.code()), ": ", status.message());
}

std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << to_string(status);
}

Status status_internal::without_value() { return Status(StatusCode::kUnknown, ""); }

Status status_internal::not_an_error() {
  return base::internal_error("a StatusOr was made of success, without a value");
}

void status_internal::no_value(const Status& status) {
  throw std::logic_error(
      base::cat("a value was read where there is an error: ", to_string(status)));
}

}  // namespace heddle
