// The one place of Heddle where environment variables are set. base/settings.h reads them.
#pragma once

#include <string>

#include "heddle/base/settings.h"

namespace heddle::pjrt {

using base::environment_variable;

enum class IfSet : bool { kKeep, kReplace };

// Sets a variable. Plugins read the environment from threads of their own at any time, which
// setenv() must not meet; so the variables are copied, and what they were stays as it was for those
// who still read it. That is never freed. A thread that calls setenv() itself must not meet this,
// either.
// returns   whether anything changed
bool set_environment_variable(const std::string& name, const std::string& value,
                              IfSet if_set = IfSet::kKeep);

}  // namespace heddle::pjrt
