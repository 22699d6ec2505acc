// The one place of pjrt/ where environment variables are read or set.
#pragma once

#include <string>

namespace heddle::pjrt {

// The value, or an empty text.
[[nodiscard]] std::string environment_variable(const char* name);

enum class IfSet : bool { kKeep, kReplace };

// Sets a variable. Plugins read the environment from threads of their own at any time, which
// setenv() must not meet; so the variables are copied, and what they were stays as it was for those
// who still read it. That is never freed. A thread that calls setenv() itself must not meet this,
// either.
// returns   whether anything changed
bool set_environment_variable(const std::string& name, const std::string& value,
                              IfSet if_set = IfSet::kKeep);

}  // namespace heddle::pjrt
