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
  // Passed only because a stablehlo case on which XLA's CPU disagrees with the interpreter counts
  // as passed on either value.
  bool on_xla_value = false;
};

// Runs a module on arguments, by parameter number. A tuple result is one literal.
// errors: Unimplemented for what is not offered: such a case is skipped
using RunModule = std::function<StatusOr<Literal>(const hlo::Module&, std::vector<Literal>)>;
// The same on as many devices as there are lists of arguments, each a replica; gives their results.
using RunReplicas = std::function<StatusOr<std::vector<Literal>>(
    const hlo::Module&, const std::vector<std::vector<Literal>>&)>;

// Reads the case's module, runs it and compares. Without `replicas`, cases for several devices are
// skipped. Where the expected value is that of XLA's CPU, subnormals are flushed to zero during the
// run, as they were when it was made.
Result run_case(const Case& item, const RunModule& run, const RunReplicas& replicas = nullptr);

// The case with each tolerance of floats at least so large, whatever else it asks.
Case within(Case item, double atol);

// Is the module the same after: proto, verify, proto again; long and short text and back; and is it
// the module of the case's hlo_text? What differs, with the form that it happened in, is the error.
Status check_round_trips(const Case& item);
Status check_proto_round_trip(const hlo::Module& module);
Status check_text_round_trip(const hlo::Module& module);

}  // namespace heddle::conformance
