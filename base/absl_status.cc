#include "heddle/base/absl_status.h"

#include <string_view>

namespace heddle {

absl::Status to_absl(const Status& status) {
  if (status.ok()) return {};
  const std::string_view text = status.message();
  return {static_cast<absl::StatusCode>(status.code()), {text.data(), text.size()}};
}

Status from_absl(const absl::Status& status) {
  if (status.ok()) return {};
  return {static_cast<StatusCode>(status.code()),
          {status.message().data(), status.message().size()}};
}

}  // namespace heddle
