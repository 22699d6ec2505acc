#include "heddle/runtime/internal/admission.h"

#include <optional>
#include <utility>

namespace heddle::runtime {

StatusOr<Throttle::Ticket> admit_run(std::string_view name, const Device& device, int64_t bytes,
                                     bool only_if_room) {
  Throttle& throttle = device.throttle();
  if (!only_if_room) return throttle.acquire(bytes);
  if (std::optional<Throttle::Ticket> ticket = throttle.try_acquire(bytes); ticket.has_value())
    return *std::move(ticket);
  const Throttle::Load load = throttle.load();
  return make_error(absl::StatusCode::kUnavailable, "run ", name, ": ", device.name(), " has ",
                    load.launches, " launches and ", load.bytes,
                    " bytes in flight, and no room for one of ", bytes,
                    " bytes; try again later, or let it wait");
}

}  // namespace heddle::runtime
