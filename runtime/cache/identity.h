// What a program and a machine are, to the last bit: for the keys of what is kept on disk.
#pragma once

#include <string>

#include "heddle/hlo/module.h"

namespace heddle::runtime {

// The same bytes for modules that are hlo::equal() and have the same layouts; other bytes for
// others.
std::string module_identity(const hlo::Module& module);

// What the processor says of itself: who made it, its model, and all that it can do.
std::string processor_identity();

}  // namespace heddle::runtime
