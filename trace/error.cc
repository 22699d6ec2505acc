#include "heddle/trace/error.h"

#include <string_view>

namespace heddle {
namespace {

// "concat: .. f32[3] [model.cc:41]" ends with a place, "concat: .. f32[3]" with a shape.
bool ends_with_location(std::string_view text) {
  size_t start = text.rfind(" [");
  if (start == text.npos || text.back() != ']') return false;
  std::string_view place = text.substr(start + 2, text.size() - start - 3);
  size_t line = place.rfind(':') + 1;
  return line > 1 && line < place.size() &&
         place.find_first_not_of("0123456789", line) == place.npos;
}

Status with_location(const Status& status, SourceLocation at) {
  std::string text = message_of(status);
  if (!at.known() || ends_with_location(text)) return status;
  return make_error(status.code(), text, " [", to_string(at), "]");
}

}  // namespace

Error::Error(const Status& status, SourceLocation at)
    : status_(with_location(status, at)), at_(at), text_(message_of(status_)) {}

}  // namespace heddle
