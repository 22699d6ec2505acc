// Programs as files and as names of addresses, for people who look inside.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/cpu/jit/jit.h"

namespace heddle::cpu {

// A file of a dump: "plan" and its text.
struct Stage {
  std::string ending;
  std::string text;
};

// Writes FOLDER/0001-NAME.ENDING, .., with the next number of this process.
// errors: Unavailable where a file cannot be written
Status dump(const std::string& folder, const std::string& name, const std::vector<Stage>& stages);

// Adds the code to /tmp/perf-PID.map, where `perf report` looks for names: "heddle:NAME tanh.3
// [train.cc:41]".
// errors: Unavailable where the file cannot be written
Status name_for_perf(const std::string& name, const std::vector<CodeRange>& ranges);

}  // namespace heddle::cpu
