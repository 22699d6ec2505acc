// The memory of this machine, which devices that compute in host memory share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::runtime {

// Returns the bytes that this process can still have without driving others out: what Linux says is
// available, or what the control groups (versions 1 and 2) of the process leave, where that is
// less.
// Their files are read below `root`. Nothing where the system does not say.
[[nodiscard]] std::optional<int64_t> available_host_memory(const std::string& root = "");

// The default limit of bytes in flight (runtime/throttle.h) of each of so many devices that compute
// in host memory: their part of half of what is available, at least 1. No limit where the system
// does not say what is.
[[nodiscard]] int64_t host_bytes_in_flight(int devices);

}  // namespace heddle::runtime
