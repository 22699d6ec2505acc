#include "heddle/transform/internal/scan_plan.h"

#include <algorithm>
#include <charconv>

#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

using Kind = OutputSource::Kind;

constexpr int64_t kMaxStraightSteps = int64_t{1} << 16;

// Number of the parameter that this value is, or parameters.size().
size_t parameter_of(const Computation& body, InstructionId value) {
  return static_cast<size_t>(std::ranges::find(body.parameters, value) - body.parameters.begin());
}

void find_invariants(ScanPlan& plan, const Computation& body,
                     const std::vector<InstructionId>& returned) {
  const ScanParts& parts = plan.parts;
  plan.invariant.resize(parts.carries);
  for (size_t c = 0; c < parts.carries; ++c) {
    plan.invariant[c] =
        !returned.empty() && returned[parts.outputs + c] == body.parameters[parts.inputs + c];
    if (!plan.invariant[c]) plan.stepped.push_back(c);
  }
}

OutputSource source_of(size_t output, const ScanPlan& plan, const Computation& body,
                       const std::vector<InstructionId>& returned) {
  if (returned.empty()) return {};
  const size_t inputs = plan.parts.inputs;
  size_t parameter = parameter_of(body, returned[output]);
  if (parameter < inputs) return {Kind::kInput, parameter};
  if (parameter < body.parameters.size() && plan.invariant[parameter - inputs]) {
    return {Kind::kRepeatedCarry, parameter - inputs};
  }
  auto first =
      static_cast<size_t>(std::ranges::find(returned, returned[output]) - returned.begin());
  if (first < output) return {Kind::kEarlierOutput, first};
  return {};
}

StatusOr<int64_t> unroll_of(const Instruction& scan, int64_t length) {
  for (const auto& [key, value] : scan.extras->frontend_attributes) {
    if (key != kUnrollAttribute) continue;
    if (value == "full") return length;
    int64_t steps = -1;
    auto result = std::from_chars(value.data(), value.data() + value.size(), steps);
    if (result.ec != std::errc() || result.ptr != value.data() + value.size() || steps < 0) {
      return base::invalid_argument("scan: frontend attribute ", kUnrollAttribute, " is \"", value,
                                    "\"; must be a number of steps, or 0 for all");
    }
    return steps == 0 ? length : steps;
  }
  return 1;
}

// A loop of one pass, or of none, is no loop.
Status divide_steps(ScanPlan& plan, const Instruction& scan) {
  HEDDLE_ASSIGN_OR_RETURN(plan.block, unroll_of(scan, plan.parts.length));
  plan.block = std::max<int64_t>(plan.block, 1);
  plan.trips = plan.parts.length / plan.block;
  plan.tail = plan.parts.length % plan.block;
  if (plan.trips <= 1) {
    plan.trips = 0;
    plan.tail = plan.parts.length;
  }
  int64_t straight = plan.tail + (plan.trips > 0 ? plan.block : 0);
  if (straight <= kMaxStraightSteps) return {};
  return base::resource_exhausted("scan: its unroll makes ", straight, " of ", plan.parts.length,
                                  " steps stand without a loop; they must be at most ",
                                  kMaxStraightSteps, ", unroll less");
}

Status check_static(const ScanPlan& plan, const Computation& caller, const Instruction& scan) {
  for (size_t i = 0; i < plan.parts.inputs; ++i) {
    const Shape& shape = caller.at(scan.operands[i]).shape;
    if (shape.is_dynamic())
      return base::unimplemented("scan: input ", i, " is ", shape, "; sizes must be static");
  }
  for (size_t j : plan.stacked) {
    const Shape& shape = scan.shape.is_tuple() ? scan.shape.elements()[j] : scan.shape;
    if (shape.is_dynamic())
      return base::unimplemented("scan: output ", j, " is ", shape, "; sizes must be static");
  }
  return {};
}

}  // namespace

StatusOr<ScanPlan> plan_scan(const Computation& caller, const Instruction& scan,
                             const Computation& body) {
  ScanPlan plan;
  plan.parts = scan_parts(caller, scan, body);
  std::vector<InstructionId> returned = returned_values(body);
  find_invariants(plan, body, returned);
  for (size_t j = 0; j < plan.parts.outputs; ++j) {
    plan.outputs.push_back(source_of(j, plan, body, returned));
    if (plan.outputs.back().kind == Kind::kLoop) plan.stacked.push_back(j);
  }
  HEDDLE_RETURN_IF_ERROR(divide_steps(plan, scan));
  HEDDLE_RETURN_IF_ERROR(check_static(plan, caller, scan));
  return plan;
}

}  // namespace heddle::transform
