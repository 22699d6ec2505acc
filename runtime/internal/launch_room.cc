#include "heddle/runtime/internal/launch_room.h"

#include <optional>
#include <utility>

namespace heddle::runtime {
namespace {

using Kind = Throttle::Kind;

// `what` says for what, in words: those of an error alone are made.
template <class What>
StatusOr<Throttle::Ticket> admit(const What& what, const Device& device, int64_t bytes, Kind kind,
                                 bool only_if_room) {
  Throttle& throttle = device.throttle();
  if (!only_if_room) return throttle.acquire(bytes, kind);
  if (auto ticket = throttle.try_acquire(bytes, kind); ticket.has_value())
    return *std::move(ticket);
  const Throttle::Load load = throttle.load();
  return base::make_error(StatusCode::kUnavailable, what(), ": ", device.name(), " has ",
                          load.launches, " launches and ", load.bytes,
                          " bytes in flight, and no room for one of ", bytes,
                          " bytes; try again later, or let it wait");
}

}  // namespace

StatusOr<Throttle::Ticket> admit_run(std::string_view name, const Device& device, int64_t bytes,
                                     bool only_if_room) {
  return admit([&] { return base::cat("run ", name); }, device, bytes, Kind::kLaunch, only_if_room);
}

StatusOr<Throttle::Ticket> admit_upload(const Shape& shape, const Device& device,
                                        bool only_if_room) {
  return admit([&] { return base::cat("upload: ", shape); }, device, shape.byte_size(),
               Kind::kUpload, only_if_room);
}

}  // namespace heddle::runtime
