// Room for a run or an upload, as its caller wants to wait for it or not.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::runtime {

// Room on the device for a launch of so many bytes of the program `name`.
// errors   Unavailable where there is none and `only_if_room` forbids to wait
[[nodiscard]] StatusOr<Throttle::Ticket> admit_run(std::string_view name, const Device& device,
                                                   int64_t bytes, bool only_if_room);

// The same for an upload of the type.
[[nodiscard]] StatusOr<Throttle::Ticket> admit_upload(const Shape& shape, const Device& device,
                                                      bool only_if_room);

}  // namespace heddle::runtime
