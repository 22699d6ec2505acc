// Ctrl-C.
#pragma once

#include "heddle/base/system/stop.h"

namespace heddle::tools {

// From now on the first Ctrl-C asks this token's runs to stop; a second one ends the process.
StopToken stop_at_interrupt();

}  // namespace heddle::tools
