// heddle conformance: runs cases with expected results on a backend. The last line is `N passed, N
// failed, N skipped`.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <regex>

#include "CLI/CLI.hpp"
#include "heddle/base/text/json.h"
#include "heddle/runtime/registry.h"
#include "heddle/tools/against.h"
#include "heddle/tools/command.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/known.h"
#include "heddle/tools/conformance/run.h"
#include "heddle/tools/number_options.h"
#include "heddle/tools/program.h"

namespace heddle::tools {
namespace {

using conformance::Case;
using conformance::Outcome;
using conformance::Result;

struct ConformanceFlags {
  std::vector<std::string> paths;
  std::string backend = "interpreter";
  std::string corpus;
  std::string filter;
  std::string json;
  bool round_trips = false;
  std::string known;
  std::string judge;
  uint64_t seed = 0;
  int draws = 1;
  int silence_s = 60;
};

using Known = std::map<std::string, std::string>;

// By corpus and name.
class Wanted {
 public:
  explicit Wanted(const ConformanceFlags& options) : options_(options), filter_(options.filter) {}
  bool operator()(const Case& item) const {
    if (!options_.corpus.empty() && options_.corpus != item.corpus) return false;
    return options_.filter.empty() || std::regex_search(item.name, filter_);
  }

 private:
  const ConformanceFlags& options_;
  std::regex filter_;
};

struct Totals {
  int64_t counts[3] = {};
  int64_t on_xla_value = 0;
  int64_t known = 0;                     // of the skipped ones: failed as their table says
  std::map<std::string, int64_t> skips;  // by reason
  std::string json;
};

// The line that is overwritten, only on a terminal.
class Progress {
 public:
  void show(int64_t done, const std::string& name) {
    if (!terminal_ || done % 16 != 0) return;
    std::fprintf(stderr, "\r\033[K%lld %s", static_cast<long long>(done), name.c_str());
  }
  void clear() {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool terminal_ = isatty(2) == 1;
};

void add_json(const Case& item, const Result& result, double ms, std::string& out) {
  base::append(out, out.empty() ? "" : ",\n", "  {\"name\": ", base::json_text(item.name),
               ", \"outcome\": \"", conformance::to_string(result.outcome),
               "\", \"message\": ", base::json_text(result.message), ", \"ms\": ", ms, "}");
}

class Runner {
 public:
  Runner(const ConformanceFlags& options, Known known, runtime::Device& device)
      : options_(options),
        wanted_(options),
        known_(std::move(known)),
        run_(conformance::on_device(device)),
        run_replicas_(conformance::on_replicas(device.backend())) {}

  Status run_pack(const std::string& path) {
    HEDDLE_ASSIGN_OR_RETURN(conformance::PackReader pack, conformance::PackReader::open(path));
    while (true) {
      HEDDLE_ASSIGN_OR_RETURN(std::optional<Case> item, pack.next());
      if (!item.has_value()) return {};
      if (wanted_(*item)) run(*item);
    }
  }

  Totals& totals() { return totals_; }

  // Prints the counts and their details.
  void summarise() {
    progress_.clear();
    for (const auto& [reason, count] : totals_.skips) {
      std::printf("skipped %lld: %s\n", static_cast<long long>(count), reason.c_str());
    }
    if (totals_.known > 0)
      std::printf("%lld of the skipped differ as %s says\n", static_cast<long long>(totals_.known),
                  options_.known.c_str());
    if (totals_.on_xla_value > 0) {
      std::printf(
          "%lld of the passed only by the value of XLA's CPU, which disagrees with the StableHLO "
          "interpreter there\n",
          static_cast<long long>(totals_.on_xla_value));
    }
    std::printf(
        "%lld passed, %lld failed, %lld skipped\n", static_cast<long long>(totals_.counts[0]),
        static_cast<long long>(totals_.counts[1]), static_cast<long long>(totals_.counts[2]));
  }

 private:
  void run(const Case& item) {
    progress_.show(totals_.counts[0] + totals_.counts[1] + totals_.counts[2], item.name);
    const auto start = std::chrono::steady_clock::now();
    const Result result = options_.round_trips ? round_trip(item) : by_table(item);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    ++totals_.counts[static_cast<size_t>(result.outcome)];
    if (result.on_xla_value) ++totals_.on_xla_value;
    if (result.outcome == Outcome::kSkipped) ++totals_.skips[result.message];
    if (result.outcome == Outcome::kFailed) {
      progress_.clear();
      std::printf("failed %s: %s\n", item.name.c_str(), result.message.c_str());
    }
    if (!options_.json.empty()) add_json(item, result, ms.count(), totals_.json);
  }

  // A case in the table must fail, and counts as skipped. One that depends on the processor may
  // pass; if it fails it must stay within its bound.
  Result by_table(const Case& item) {
    Result result = conformance::run_case(item, run_, run_replicas_);
    const auto listed = known_.find(item.name);
    if (listed == known_.end()) return result;
    const std::optional<double> bound = conformance::bound_by_the_processor(listed->second);
    if (bound.has_value()) {
      if (result.outcome == Outcome::kPassed) return result;
      Result wider = conformance::run_case(conformance::within(item, *bound), run_, run_replicas_);
      if (wider.outcome != Outcome::kPassed) return wider;
    }
    if (result.outcome == Outcome::kPassed)
      return {.outcome = Outcome::kFailed,
              .message = base::cat("passes; take it out of ", options_.known)};
    if (result.outcome == Outcome::kFailed) ++totals_.known;
    return {.outcome = Outcome::kSkipped, .message = base::cat("known: ", listed->second)};
  }

  static Result round_trip(const Case& item) {
    const Status status = conformance::check_round_trips(item);
    if (status.ok()) return {};
    return {.outcome = Outcome::kFailed, .message = base::message_of(status)};
  }

  const ConformanceFlags& options_;
  Wanted wanted_;
  Known known_;
  conformance::RunModule run_;
  conformance::RunReplicas run_replicas_;
  Totals totals_;
  Progress progress_;
};

Status write_json(const ConformanceFlags& options, const Totals& totals) {
  if (options.json.empty()) return {};
  return write_file(options.json, base::cat("{\"backend\": ", base::json_text(options.backend),
                                            ", \"passed\": ", totals.counts[0], ", \"failed\": ",
                                            totals.counts[1], ", \"skipped\": ", totals.counts[2],
                                            ", \"cases\": [\n", totals.json, "\n]}\n"));
}

StatusOr<int> run(const ConformanceFlags& options) {
  HEDDLE_ASSIGN_OR_RETURN(std::vector<std::string> packs, conformance::find_packs(options.paths));
  Known known;
  if (!options.known.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(known, conformance::read_known(options.known));
  }
  if (!options.judge.empty()) {
    return run_against({.packs = packs,
                        .wanted = Wanted(options),
                        .backend = options.backend,
                        .judge = options.judge,
                        .seed = options.seed,
                        .draws = options.draws,
                        .silence_s = options.silence_s,
                        .known = known});
  }
  HEDDLE_ASSIGN_OR_RETURN(runtime::Device * device, runtime::find_device(options.backend));
  Runner runner(options, std::move(known), *device);
  for (const std::string& pack : packs) HEDDLE_RETURN_IF_ERROR(runner.run_pack(pack));
  HEDDLE_RETURN_IF_ERROR(write_json(options, runner.totals()));
  runner.summarise();
  return runner.totals().counts[1] == 0 ? 0 : 1;
}

std::string check_regex(const std::string& text) {
  try {
    std::regex parsed(text);
    return {};
  } catch (const std::regex_error& error) {
    return error.what();
  }
}

}  // namespace

void add_conformance_command(CLI::App& app, int& code) {
  auto options = std::make_shared<ConformanceFlags>();
  CLI::App* command = app.add_subcommand("conformance", "Runs cases with expected results");
  command->add_option("PATH", options->paths, "packs (*.cases.gz) or folders of them")->required();
  command->add_option("--backend", options->backend, "what runs them")->capture_default_str();
  command->add_option("--corpus", options->corpus,
                      "run the cases of this corpus: jaxtests, stablehlo, apps or spmd");
  command->add_option("--filter", options->filter, "run the cases whose name matches")
      ->check(CLI::Validator(check_regex, "REGEX"));
  command->add_option("--json", options->json, "write every outcome to this file");
  command->add_option("--known", options->known,
                      "a table of cases and causes (NAME<tab>CAUSE) that may differ, and must: one "
                      "that passes fails");
  command->add_option("--against", options->judge,
                      "instead of the expected results: on new inputs, what this backend gives");
  command->add_option("--seed", options->seed, "with --against: of the new inputs")
      ->capture_default_str();
  command->add_option("--draws", options->draws, "with --against: sets of new inputs a case")
      ->capture_default_str()
      ->check(at_least(1));
  command
      ->add_option("--silence", options->silence_s,
                   "with --against: stop a case after so many seconds")
      ->capture_default_str()
      ->check(above_zero());
  command->add_flag("--round-trips", options->round_trips,
                    "instead of running, check that text and proto give the same module back");
  command->callback([options, &code] {
    leave_disk_cache();
    const StatusOr<int> result = run(*options);
    code = result.ok() ? *result : report(result.status());
  });
}

}  // namespace heddle::tools
