// Runs cases one after the other in a process of their own. A loop that does not end on new inputs,
// or a plugin that crashes, costs one case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::conformance {

struct WorkerOptions {
  std::vector<std::string> packs;
  std::function<bool(const Case&)> wanted;
  int silence_s = 60;  // a case that takes longer is stopped
};

// Compares one case. It is called only in the forked worker, and should make there what it needs.
// errors   what makes it useless to go on
using CompareCase = std::function<StatusOr<Comparison>(const Case&)>;
// Called for each case in turn, in the calling process. `stopped`: it did not end, or ended its
// process.
using ReportCase =
    std::function<void(const std::string& name, const Comparison& found, bool stopped)>;

// Runs all wanted cases. The calling process must have no threads.
// errors   those of the packs and of `compare`; Internal if there can be no process
[[nodiscard]] Status run_in_workers(const WorkerOptions& options, const CompareCase& compare,
                                    const ReportCase& report);

}  // namespace heddle::conformance
