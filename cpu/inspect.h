// Programs as names of addresses, for people who look inside.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/codegen/jit/jit.h"

namespace heddle::cpu {

// Adds the code to /tmp/perf-PID.map, where `perf report` looks for names: "heddle:NAME tanh.3
// [train.cc:41]".
// errors: Unavailable where the file cannot be written
Status name_for_perf(const std::string& name, const std::vector<CodeRange>& ranges);

}  // namespace heddle::cpu
