#include "heddle/tools/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "heddle/hlo/builder.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tools/bench/agreement.h"

namespace heddle::tools {
namespace {

using runtime::BufferPtr;
using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

constexpr std::string_view kLoops = "+loops";
constexpr double kTimesOfChange = 2;

hlo::Module small_module() {
  hlo::Module module;
  hlo::ComputationBuilder builder(module, "main");
  const auto x = builder.parameter(Shape(f32, {4}), "x");
  module.entry = module.add(std::move(builder).finish(*builder.add(hlo::Opcode::kNegate, {x})));
  return module;
}

// One backend with one program.
class Contestant {
 public:
  Contestant(const BenchProgram& program, const BenchBackend& backend, StopToken stop)
      : program_(program), backend_(backend), stop_(std::move(stop)) {
    out_.backend = backend.name;
  }

  // Compiles, uploads and runs once, untimed: PJRT plugins compile again for donated arguments.
  void start() { fail_on(try_start()); }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] double first_ns() const { return first_ns_; }
  [[nodiscard]] const std::vector<Literal>& results() const { return results_; }

  // Compares with the expected results and, unless null, with those of another contestant.
  void compare(const Contestant* judge) {
    out_.error = difference(judge, {});
    out_.agrees = out_.error.empty();
    if (out_.agrees) return;
    const Slack slack = change_of_moved_arguments();
    out_.agrees = out_.sensitive = difference(judge, slack).empty();
  }
  [[nodiscard]] std::string difference(const Contestant* judge, const Slack& slack) const {
    std::string found = difference_from_expected(results_, program_.expected, slack);
    if (!found.empty() || judge == nullptr) return found;
    found = difference_between(results_, judge->results_, slack);
    return found.empty() ? found : base::cat("beside ", judge->backend_.name, ": ", found);
  }
  void forget_results() { results_.clear(); }

  [[nodiscard]] bool is_done(const BenchTimes& times) const {
    if (failed_ || total_ns_ >= 10 * times.seconds * 1e9) return true;
    return rounds_ >= times.rounds && total_ns_ >= times.seconds * 1e9;
  }
  // One round: calls for about so long.
  void run_for(double ns) {
    ++rounds_;
    double spent = 0;
    do {
      const StatusOr<double> call = timed_call();
      if (!call.ok()) return fail_on(call.status());
      spent += *call;
      calls_.push_back(*call);
    } while (spent < ns);
    total_ns_ += spent;
  }
  [[nodiscard]] Measurement measurement() {
    if (failed_ || calls_.empty()) return out_;
    std::ranges::sort(calls_);
    out_.call_ns_min = calls_.front();
    out_.call_ns_median = calls_[calls_.size() / 2];
    return out_;
  }

 private:
  void fail_on(const Status& status) {
    if (status.ok()) return;
    failed_ = true;
    out_.agrees = false;
    out_.error = base::message_of(status);
  }

  Status try_start() {
    runtime::Device& device = *backend_.device;
    const auto start = Clock::now();
    const hlo::Module& module = backend_.instead ? *backend_.instead : program_.module;
    HEDDLE_ASSIGN_OR_RETURN(executable_,
                            device.backend().compile(module, backend_.options, device));
    out_.compile_ms = ns_since(start) / 1e6;
    if (!executable_->can_stop()) stop_ = {};
    HEDDLE_ASSIGN_OR_RETURN(arguments_, upload(program_.arguments));
    const auto first = Clock::now();
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<BufferPtr> buffers, execute());
    first_ns_ = ns_since(first);
    out_.peak_bytes = executable_->cost().peak_bytes;
    HEDDLE_ASSIGN_OR_RETURN(results_, download(buffers));
    return {};
  }

  [[nodiscard]] StatusOr<std::vector<BufferPtr>> upload(const std::vector<Literal>& values) const {
    std::vector<BufferPtr> out;
    for (const Literal& value : values) {
      HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(),
                              runtime::to_device(*backend_.device, value, "heddle bench"));
      HEDDLE_RETURN_IF_ERROR(out.back()->await());
    }
    return out;
  }

  static StatusOr<std::vector<Literal>> download(const std::vector<BufferPtr>& buffers) {
    std::vector<Literal> out;
    for (const BufferPtr& buffer : buffers) {
      HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), runtime::to_host(*buffer, "heddle bench"));
    }
    return out;
  }

  [[nodiscard]] runtime::ExecuteOptions options() const {
    return {.donate = program_.donate, .stop = stop_};
  }

  [[nodiscard]] StatusOr<std::vector<BufferPtr>> execute() const {
    HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> results,
                            executable_->execute(arguments_, options()));
    for (const BufferPtr& result : results) HEDDLE_RETURN_IF_ERROR(result->await());
    return results;
  }

  // The results are released after the clock has stopped.
  StatusOr<double> timed_call() {
    HEDDLE_RETURN_IF_ERROR(replace_donated());
    const auto start = Clock::now();
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<BufferPtr> results, execute());
    return ns_since(start);
  }

  Status replace_donated() {
    for (const int number : program_.donate) {
      BufferPtr& argument = arguments_[static_cast<size_t>(number)];
      HEDDLE_ASSIGN_OR_RETURN(
          argument,
          runtime::to_device(*backend_.device, program_.arguments[static_cast<size_t>(number)],
                             "heddle bench"));
      HEDDLE_RETURN_IF_ERROR(argument->await());
    }
    return {};
  }

  [[nodiscard]] Slack change_of_moved_arguments() const {
    Slack out(results_.size());
    for (int turn = 0; turn < kMoves; ++turn) {
      const StatusOr<std::vector<Literal>> others = run_on(moved(program_.arguments, turn));
      if (!others.ok()) continue;
      const Slack change = changes(results_, *others);
      for (size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], kTimesOfChange * change[i]);
    }
    return out;
  }

  [[nodiscard]] StatusOr<std::vector<Literal>> run_on(const std::vector<Literal>& values) const {
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<BufferPtr> arguments, upload(values));
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<BufferPtr> buffers,
                            executable_->execute(arguments, options()));
    return download(buffers);
  }

  const BenchProgram& program_;
  const BenchBackend& backend_;
  StopToken stop_;
  Measurement out_;
  bool failed_ = false;
  std::shared_ptr<runtime::Executable> executable_;
  std::vector<BufferPtr> arguments_;
  std::vector<Literal> results_;  // of the first run
  double first_ns_ = 0;
  std::vector<double> calls_;
  double total_ns_ = 0;
  int rounds_ = 0;
};

// The first one with the expected results judges the others; else the first that runs.
const Contestant* judge_among(const std::vector<Contestant>& contestants) {
  const Contestant* first = nullptr;
  for (const Contestant& each : contestants) {
    if (each.failed()) continue;
    if (first == nullptr) first = &each;
    if (each.difference(nullptr, {}).empty()) return &each;
  }
  return first;
}

void take_turns(std::vector<Contestant>& contestants, const BenchTimes& times) {
  double slowest_ns = 0;
  for (const Contestant& each : contestants) slowest_ns = std::max(slowest_ns, each.first_ns());
  const double all_ns = times.seconds * 1e9;
  const double turn_ns =
      std::clamp(slowest_ns, all_ns / std::max(30, times.rounds), all_ns / times.rounds);
  for (bool more = true; more && !times.stop.stop_requested();) {
    more = false;
    for (Contestant& each : contestants) {
      if (each.is_done(times)) continue;
      each.run_for(turn_ns);
      more = true;
    }
  }
}

}  // namespace

StatusOr<BenchBackend> open_bench_backend(const std::string& name) {
  BenchBackend out{.name = name};
  std::string_view device = name;
  if (device.ends_with(kLoops)) {
    device.remove_suffix(kLoops.size());
    out.options.backend_options = {
        {"xla_backend_extra_options", "xla_cpu_small_while_loop_byte_threshold=1000000000"}};
  }
  HEDDLE_ASSIGN_OR_RETURN(out.device, runtime::find_device(device));
  const auto compiled = out.device->backend().compile(small_module(), out.options, *out.device);
  if (!compiled.ok()) return base::annotate(compiled.status(), "backend ", name, ": ");
  return out;
}

std::vector<Measurement> measure(const BenchProgram& program,
                                 const std::vector<BenchBackend>& backends,
                                 const BenchTimes& times) {
  std::vector<Contestant> contestants;
  for (const BenchBackend& backend : backends)
    contestants.emplace_back(program, backend, times.stop).start();
  const Contestant* judge = judge_among(contestants);
  for (Contestant& each : contestants)
    if (!each.failed()) each.compare(&each == judge ? nullptr : judge);
  for (Contestant& each : contestants) each.forget_results();
  take_turns(contestants, times);
  std::vector<Measurement> out;
  for (Contestant& each : contestants) out.push_back(each.measurement());
  return out;
}

}  // namespace heddle::tools
