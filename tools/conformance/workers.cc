#include "heddle/tools/conformance/workers.h"

#include "heddle/tools/conformance/child.h"

namespace heddle::conformance {
namespace {

// Calls `visit` with each wanted case from number `start` on, until it has an error.
template <class Visit>
Status for_each_case(const WorkerOptions& options, int64_t start, Visit visit) {
  int64_t number = 0;
  for (const std::string& path : options.packs) {
    HEDDLE_ASSIGN_OR_RETURN(PackReader pack, PackReader::open(path));
    while (true) {
      HEDDLE_ASSIGN_OR_RETURN(const std::optional<Case> item, pack.next());
      if (!item.has_value()) break;
      const int64_t at = number++;
      if (at < start || (options.wanted != nullptr && !options.wanted(*item))) continue;
      HEDDLE_RETURN_IF_ERROR(visit(at, *item));
    }
  }
  return {};
}

// Lines that a worker writes: "N name" before the case of that number, "= A message" with its
// outcome. Returns the exit status.
int work(const WorkerOptions& options, const CompareCase& compare, int64_t start, int to) {
  const Status status = for_each_case(options, start, [&](int64_t at, const Case& item) -> Status {
    say(to, base::cat(at, " ", item.name));
    HEDDLE_ASSIGN_OR_RETURN(const Comparison found, compare(item));
    say(to, base::cat("= ", static_cast<int>(found.agreement), " ", found.message));
    return {};
  });
  if (!status.ok()) say(to, base::cat("! ", base::message_of(status)));
  return status.ok() ? 0 : 1;
}

// The messages of a worker until it fell silent.
struct WorkerState {
  int64_t next = 0;      // the number of the case after the last one that began
  bool pending = false;  // that case has no outcome
  std::string name;
  std::string error;
};

void read_messages(Child& worker, const ReportCase& report, WorkerState& state) {
  while (const std::optional<std::string> line = worker.line()) {
    if (line->starts_with("= ")) {
      state.pending = false;
      report(state.name, {static_cast<Agreement>((*line)[2] - '0'), line->substr(4)}, false);
    } else if (line->starts_with("! ")) {
      state.error = line->substr(2);
    } else {
      const size_t space = line->find(' ');
      state.next = std::stoll(line->substr(0, space)) + 1;
      state.name = line->substr(space + 1);
      state.pending = true;
    }
  }
}

}  // namespace

Status run_in_workers(const WorkerOptions& options, const CompareCase& compare,
                      const ReportCase& report) {
  for (WorkerState state;;) {
    Child worker([&](int to) { return work(options, compare, state.next, to); }, options.silence_s);
    if (!worker.is_made()) return base::internal_error("no worker can be made");
    state.pending = false;
    read_messages(worker, report, state);
    if (!state.error.empty()) return base::invalid_argument(state.error);
    if (!state.pending) return {};
    report(state.name, {Agreement::kSkipped, worker.fate()}, true);
  }
}

}  // namespace heddle::conformance
