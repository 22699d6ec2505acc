// `heddle conformance --against`: two backends on new inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::tools {

struct AgainstCommand {
  std::vector<std::string> packs;
  std::function<bool(const conformance::Case&)> wanted;
  std::string backend, judge;
  uint64_t seed = 0;
  int draws = 1;
  int silence_s = 60;
  std::map<std::string, std::string> known;  // cases that may differ
};

// Prints the cases that differ and the counts. Returns the exit code: 0 if only known cases differ.
StatusOr<int> run_against(const AgainstCommand& command);

}  // namespace heddle::tools
