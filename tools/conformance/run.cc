#include "heddle/tools/conformance/run.h"

#include <algorithm>

#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/transform/canonical.h"

namespace heddle::conformance {
namespace {

// Flags of cases whose expected value depends on the last bit of an intermediate result.
constexpr std::string_view kSensitive[] = {"ill-conditioned", "perturbation-changes-int",
                                           "sensitive-int", "nonfinite-sensitive"};

std::string sensitivity(const Case& item) {
  for (std::string_view flag : kSensitive) {
    if (item.has_flag(flag)) return base::cat(" (the case is flagged ", flag, ")");
  }
  return {};
}

Result failed(std::string message) { return {Outcome::kFailed, std::move(message)}; }
Result skipped(std::string message) { return {Outcome::kSkipped, std::move(message)}; }

Result judge(const Case& item, const Literal& got) {
  std::string found = difference(got, item.expected, item.tolerances);
  if (found.empty()) return {};
  const bool either = item.xla_cpu_expected.has_value() && item.has_flag("xla-cpu:disagrees");
  if (either && difference(got, *item.xla_cpu_expected, item.tolerances).empty()) {
    return {.on_xla_value = true};
  }
  return failed(found + sensitivity(item));
}

Result not_run(const Status& status) {
  const std::string message = base::message_of(status);
  return status.code() == StatusCode::kUnimplemented ? skipped(message) : failed(message);
}

Result run_replicas(const Case& item, const hlo::Module& module, const RunReplicas& run) {
  if (run == nullptr) return skipped(base::cat("needs ", item.replicas.size(), " devices"));
  std::vector<std::vector<Literal>> arguments;
  for (const Replica& replica : item.replicas) arguments.push_back(replica.arguments);
  const StatusOr<std::vector<Literal>> got = run(module, arguments);
  if (!got.ok()) return not_run(got.status());
  for (size_t i = 0; i < item.replicas.size(); ++i) {
    const std::string found = difference((*got)[i], item.replicas[i].expected, item.tolerances);
    if (!found.empty()) return failed(base::cat("replica ", i, ": ", found, sensitivity(item)));
  }
  return {};
}

// The wire gives names to unnamed instructions.
bool same_name(const std::string& before, const std::string& after) {
  return before.empty() || before == after;
}

// Compares names, layouts and extras, which hlo::equal ignores.
Status check_labels(const hlo::Module& a, const hlo::Module& b) {
  if (a.name != b.name)
    return base::internal_error("the module's name changed from ", a.name, " to ", b.name);
  if (!(*a.extras == *b.extras)) return base::internal_error("the module's header changed");
  for (size_t c = 0; c < a.computations.size(); ++c) {
    const hlo::Computation& x = a.computations[c];
    const hlo::Computation& y = b.computations[c];
    if (!same_name(x.name, y.name) || x.unknown_proto != y.unknown_proto ||
        x.is_fusion != y.is_fusion) {
      return base::internal_error("computation ", x.name, " became ", y.name);
    }
    for (size_t i = 0; i < x.instructions.size(); ++i) {
      const bool same = same_name(x.instructions[i].name, y.instructions[i].name) &&
                        x.instructions[i].shape == y.instructions[i].shape &&
                        *x.instructions[i].extras == *y.instructions[i].extras;
      if (!same)
        return base::internal_error("computation ", x.name, ", instruction ",
                                    x.instructions[i].name, ": changed");
    }
  }
  return {};
}

Status check_printed(const hlo::Module& module, hlo::PrintOptions::Form form,
                     std::string_view what) {
  const std::string text = hlo::print(module, {.form = form});
  StatusOr<hlo::Module> back = hlo::parse_text(text);
  if (!back.ok()) return base::annotate(back.status(), what, " text: ");
  if (!hlo::equal(module, *back))
    return base::internal_error("another module after ", what, " text");
  if (hlo::print(*back, {.form = form}) != text)
    return base::internal_error(what, " text prints differently when parsed");
  return {};
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed: return "passed";
    case Outcome::kFailed: return "failed";
    case Outcome::kSkipped: return "skipped";
  }
  return "";
}

Result run_case(const Case& item, const RunModule& run, const RunReplicas& replicas) {
  StatusOr<hlo::Module> module = hlo::from_proto(item.module);
  if (!module.ok()) return failed(base::message_of(module.status()));
  const FlushSubnormals as_xla_does(item.expected_from == "xla-cpu");
  if (!item.replicas.empty()) return run_replicas(item, *module, replicas);
  StatusOr<Literal> got = run(*module, item.arguments);
  return got.ok() ? judge(item, *got) : not_run(got.status());
}

Case within(Case item, double atol) {
  if (item.tolerances.empty()) item.tolerances.push_back({.exact = true});
  for (Tolerance& tolerance : item.tolerances) {
    tolerance.exact = false;
    tolerance.atol = std::max(tolerance.atol, atol);
  }
  return item;
}

Status check_proto_round_trip(const hlo::Module& module) {
  const std::string bytes = hlo::to_proto(module);
  StatusOr<hlo::Module> back = hlo::from_proto(bytes);
  if (!back.ok()) return base::annotate(back.status(), "proto: ");
  if (!hlo::equal(module, *back)) return base::internal_error("another module after proto");
  HEDDLE_RETURN_IF_ERROR(check_labels(module, *back));
  if (hlo::to_proto(*back) != bytes)
    return base::internal_error("the proto's bytes changed when read");
  return {};
}

Status check_text_round_trip(const hlo::Module& module) {
  HEDDLE_RETURN_IF_ERROR(check_printed(module, hlo::PrintOptions::Form::kLong, "long"));
  return check_printed(module, hlo::PrintOptions::Form::kShort, "short");
}

Status check_round_trips(const Case& item) {
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module module, hlo::from_proto(item.module));
  HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
  HEDDLE_RETURN_IF_ERROR(check_proto_round_trip(module));
  HEDDLE_RETURN_IF_ERROR(check_text_round_trip(module));
  if (item.hlo_text.empty()) return {};
  StatusOr<hlo::Module> text = hlo::parse_text(item.hlo_text);
  if (!text.ok()) return base::annotate(text.status(), "hlo_text: ");
  // The text may list computations and instructions in another order.
  if (!hlo::equal(transform::canonicalize(module), transform::canonicalize(*std::move(text)))) {
    return base::internal_error("hlo_text is another module than the proto");
  }
  return {};
}

}  // namespace heddle::conformance
