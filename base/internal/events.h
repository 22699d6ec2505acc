// The events that spans leave while somebody makes a profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/base/containers/span.h"

namespace heddle::base {

// Keeps a span of this thread, if there is room.
void keep_event(Activity activity, std::string_view name, std::string_view place, int64_t bytes,
                int64_t start_ns, int64_t end_ns);

// A profile until the process ends.
void profile_process(const std::string& path);

}  // namespace heddle::base
