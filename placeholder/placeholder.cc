#include "heddle/placeholder/placeholder.h"

#include <atomic>

#include "heddle/base/text/strings.h"

namespace heddle {
namespace {

std::string made_at(const SourceLocation& where) {
  return where.known() ? base::cat(" made at ", where) : std::string();
}

}  // namespace

ValueId next_value_id() {
  static std::atomic<ValueId> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::string_view to_string(ValueState state) {
  switch (state) {
    case ValueState::kPlaceholder: return "placeholder";
    case ValueState::kPending: return "pending";
    case ValueState::kReady: return "ready";
    case ValueState::kDonated: return "donated";
  }
  return "invalid";
}

std::string to_string(const Placeholder& placeholder) {
  return base::cat("placeholder #", placeholder.id, " ", placeholder.shape,
                   made_at(placeholder.where));
}

Status read_error(const Placeholder& placeholder, std::string_view op) {
  return base::failed_precondition(
      op, ": ", placeholder,
      " has a type and no value; run a program that takes it with a buffer bound to it, or make "
      "the tensor from host data");
}

}  // namespace heddle
