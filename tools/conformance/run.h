// Runs cases and checks round trips.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::conformance {

enum class Outcome : uint8_t { kPassed, kFailed, kSkipped };
std::string_view to_string(Outcome outcome);

struct Result {
  Outcome outcome = Outcome::kPassed;
  std::string message;  // failed: what differs; skipped: why
  // The case passed only by XLA's value: a stablehlo case on which XLA's CPU disagrees with the
  // interpreter passes on either value.
  bool on_xla_value = false;
};

// Runs a module on arguments, by parameter number. A tuple result is one literal.
// errors: Unimplemented for what the device does not offer: such a case is skipped
using RunModule = std::function<StatusOr<Literal>(const hlo::Module&, std::vector<Literal>)>;
// The same on as many devices as there are lists of arguments, each a replica; gives their results.
using RunReplicas = std::function<StatusOr<std::vector<Literal>>(
    const hlo::Module&, const std::vector<std::vector<Literal>>&)>;

// Reads the case's module, runs it and compares. Without `replicas`, cases for several devices are
// skipped. If the expected value is that of XLA's CPU, subnormals are flushed to zero during the
// run, as they were when it was made.
Result run_case(const Case& item, const RunModule& run, const RunReplicas& replicas = nullptr);

// The case with each tolerance of floats at least so large.
Case within(Case item, double atol);

// Checks that the module is the same after proto, verify and proto again, and after long and short
// text and back; and that it is the module of the case's hlo_text. The error has the difference and
// its form.
Status check_round_trips(const Case& item);
Status check_proto_round_trip(const hlo::Module& module);
Status check_text_round_trip(const hlo::Module& module);

}  // namespace heddle::conformance
