#include "heddle/tools/against.h"

#include <cstdio>

#include "heddle/runtime/registry.h"
#include "heddle/tools/conformance/workers.h"

namespace heddle::tools {
namespace {

using conformance::Agreement;
using conformance::Case;
using conformance::Comparison;

struct AgainstTotals {
  int64_t outcomes[4] = {};  // by Agreement, without known and stopped cases
  int64_t known = 0;
  int64_t stopped = 0;
  std::map<std::string, int64_t> skips;  // by reason

  int64_t& of(Agreement agreement) { return outcomes[static_cast<size_t>(agreement)]; }
};

void print_case(const char* what, const std::string& name, const std::string& message) {
  std::printf("%s %s: %s\n", what, name.c_str(), message.c_str());
  std::fflush(stdout);
}

void add(const AgainstCommand& command, const std::string& name, const Comparison& found,
         bool stopped, AgainstTotals& totals) {
  const bool differs =
      stopped || found.agreement == Agreement::kDiffers || found.agreement == Agreement::kSensitive;
  if (const auto known = command.known.find(name); differs && known != command.known.end()) {
    ++totals.known;
    return print_case("known", name, base::cat(known->second, " (", found.message, ")"));
  }
  if (stopped) {
    ++totals.stopped;
    return print_case("stopped", name, found.message);
  }
  ++totals.of(found.agreement);
  if (found.agreement == Agreement::kSkipped) ++totals.skips[found.message];
  if (differs) print_case(to_string(found.agreement).data(), name, found.message);
}

void summarise(AgainstTotals& totals) {
  for (const auto& [reason, count] : totals.skips)
    std::printf("skipped %lld: %s\n", static_cast<long long>(count), reason.c_str());
  const auto count = [&](Agreement agreement) {
    return static_cast<long long>(totals.of(agreement));
  };
  std::printf("%lld agree, %lld differ, %lld sensitive, %lld known, %lld stopped, %lld skipped\n",
              count(Agreement::kAgrees), count(Agreement::kDiffers), count(Agreement::kSensitive),
              static_cast<long long>(totals.known), static_cast<long long>(totals.stopped),
              count(Agreement::kSkipped));
}

}  // namespace

StatusOr<int> run_against(const AgainstCommand& command) {
  const auto compare = [&](const Case& item) -> StatusOr<Comparison> {
    HEDDLE_ASSIGN_OR_RETURN(runtime::Device * ours, runtime::find_device(command.backend));
    HEDDLE_ASSIGN_OR_RETURN(runtime::Device * judge, runtime::find_device(command.judge));
    return conformance::compare_on_fresh(item, *ours, *judge,
                                         {.seed = command.seed, .draws = command.draws});
  };
  AgainstTotals totals;
  const auto report = [&](const std::string& name, const Comparison& found, bool stopped) {
    add(command, name, found, stopped, totals);
  };
  HEDDLE_RETURN_IF_ERROR(conformance::run_in_workers(
      {.packs = command.packs, .wanted = command.wanted, .silence_s = command.silence_s}, compare,
      report));
  summarise(totals);
  return totals.of(Agreement::kDiffers) + totals.stopped == 0 ? 0 : 1;
}

}  // namespace heddle::tools
