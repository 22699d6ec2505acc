// The one place of pjrt/ where environment variables are read or set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/base/status.h"

namespace heddle::pjrt {

// The value, or an empty text.
[[nodiscard]] std::string environment_variable(const char* name);

// Sets it where the process has none of that name.
void set_environment_variable(const std::string& name, const std::string& value);

// Adds a flag to XLA_FLAGS, unless it names an option of that name.
void add_xla_option(const std::string& name, int64_t value);

// XLA ends the process over a flag in XLA_FLAGS that it does not know. A flag that a plugin knows
// stands in its file by name, so that the others are told before it is loaded.
// errors   FailedPrecondition that names the flag
[[nodiscard]] Status check_xla_flags(const std::string& plugin, const std::string& library);

// The names of the flags in a value of XLA_FLAGS: "--xla_a=1 --xla_b" gives xla_a, xla_b.
[[nodiscard]] std::vector<std::string> flag_names(const std::string& flags);

}  // namespace heddle::pjrt
