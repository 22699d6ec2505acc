#include "heddle/compile/graphs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "heddle/base/hash.h"
#include "heddle/base/settings.h"
#include "heddle/base/text/utf8.h"
#include "heddle/compile/compile.h"
#include "heddle/compile/internal/explain.h"
#include "heddle/compile/internal/matching.h"
#include "heddle/compile/internal/padded.h"
#include "heddle/compile/internal/turn.h"
#include "heddle/hlo/attributes.h"
#include "heddle/runtime/cache/identity.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/node.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/rows.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/expand_checks.h"

namespace heddle::compile_internal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool checks_all() {
  static const bool kChecks = setting<Setting::kCheckCompiled>();
  return kChecks;
}
bool logs_misses() {
  static const bool kLogs = setting<Setting::kLogCompiled>();
  return kLogs;
}

Device& device_of(const FunctionOptions& options) {
  const StatusOr<Device*> found = runtime::find_device(*options.device);
  throw_if_error(base::annotate(found.status(), "compile: "));
  return **found;
}

}  // namespace

Graphs::Graphs(FunctionOptions options, SourceLocation made_at)
    : options_(std::move(options)), made_at_(made_at), buckets_(options_.bucket, label(), made_at) {
  if (options_.max_graphs < 1) {
    throw Error(base::invalid_argument("compile: max_graphs is ", int64_t{options_.max_graphs},
                                       "; it must be at least 1"),
                made_at);
  }
  if (!options_.full_graph && (!options_.donate.empty() || options_.device || options_.check ||
                               options_.check_nans || buckets_.are_used())) {
    throw Error(base::invalid_argument(
                    "compile: ", label(),
                    " has full_graph = false, and donate, device, check, check_nans or a bucket, "
                    "which need the full graph; leave out the one or the other"),
                made_at);
  }
}

std::string Graphs::label() const {
  return options_.name.empty() ? base::cat("the function compiled at ", made_at_)
                               : base::printable(options_.name);
}

FunctionStats Graphs::stats() const {
  const std::lock_guard lock(mutex_);
  FunctionStats stats = stats_;
  stats.calls = calls_;
  stats.eager_calls = eager_calls_;
  stats.rows = rows_;
  stats.padded_rows = padded_rows_;
  return stats;
}

std::string Graphs::explain_miss() const {
  const std::lock_guard lock(mutex_);
  return last_miss_;
}

GraphPtr Graphs::latest(std::string_view op, SourceLocation at) const {
  const std::lock_guard lock(mutex_);
  if (latest_ != nullptr) return latest_;
  throw Error(base::failed_precondition(
                  op, ": ", label(),
                  eager_.empty() ? " has no graph yet; call it first, or use lower(args..)"
                                 : " has no graph: its calls read values, and run eagerly"),
              at);
}

CompiledProgram Graphs::latest_compiled(std::string_view op, SourceLocation at) const {
  const GraphPtr graph = latest(op, at);
  const std::lock_guard lock(graph->mutex);
  if (!graph->compiled.empty()) return graph->compiled.back();
  throw Error(
      base::failed_precondition(op, ": ", label(), " was only called in traces, which compile it",
                                " as a part of theirs; use lower(args..).cost()"),
      at);
}

std::string Graphs::cache_key(SourceLocation at) const {
  const hlo::Module form = transform::canonicalize(latest("cache_key", at)->program.module());
  const std::string identity = runtime::module_identity(form);
  base::Hasher hasher;
  hasher.add_bytes(identity.data(), identity.size());
  hasher.add_word(options_.check_nans ? 1 : 0);
  return to_string(hasher.digest());
}

std::shared_ptr<const RowLeaves> Graphs::row_leaves(const Call& call) const {
  const auto is_it = [&](const auto& known) {
    return known.types == call.types && call.has_structure(known.structure);
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(row_plans_, is_it);
    if (found != row_plans_.end()) return found->leaves;
  }
  std::vector<TreeSpec> structure = call.structure();
  auto leaves = std::make_shared<const RowLeaves>(buckets_.leaves_of(structure, options_.donate));
  const std::lock_guard lock(mutex_);
  // A list that grows at each call gives structures without end; their graphs are an Error soon.
  if (row_plans_.size() < static_cast<size_t>(int64_t{options_.max_graphs}))
    row_plans_.push_back({call.types, std::move(structure), leaves});
  return leaves;
}

Call Graphs::with_rows(const Call& call) const {
  if (!buckets_.are_used() || trace_internal::Recorder::current() != nullptr) return call;
  Call with = call;
  with.rows.leaves = row_leaves(call);
  with.rows.count = buckets_.rows_of(*with.rows.leaves, call.leaves);
  with.rows.size = buckets_.size_for(with.rows.count);
  return with;
}

GraphPtr Graphs::find_known(const Call& call, bool* is_latest) const {
  const std::lock_guard lock(mutex_);
  if (latest_ != nullptr && latest_->is_for_good && fits(latest_->types, call)) {
    if (is_latest != nullptr) *is_latest = true;
    return latest_;
  }
  const auto found = std::ranges::find_if(
      graphs_, [&](const GraphPtr& graph) { return fits(graph->types, call); });
  return found == graphs_.end() ? nullptr : *found;
}

bool Graphs::is_eager(const Call& call) const {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const CallTypes& types) { return fits(types, call); };
  return std::ranges::any_of(eager_, is_it);
}

std::string Graphs::explain(const Call& asked) const {
  const trace_internal::PublicCall explaining("explain", asked.at);
  const Call call = with_rows(asked);
  const bool is_known = find_known(call) != nullptr || is_eager(call);
  return is_known ? "" : base::cat(label(), ": ", why(call));
}

// "arg0.h is f32[4]; in graph 1, the nearest, it is f32[3]"
std::string Graphs::why(const Call& call) const {
  const std::lock_guard lock(mutex_);
  if (latest_ != nullptr && !latest_->is_for_good && fits(latest_->types, call)) {
    return base::cat("graph ", latest_->number,
                     ", the last one, is not used again: ", latest_->captures_traced);
  }
  if (graphs_.empty()) return "it is the first call";
  Difference least{std::numeric_limits<int64_t>::max(), {}, {}};
  const Graph* nearest = nullptr;
  for (const GraphPtr& graph : graphs_) {
    Difference found = difference(*graph, call);
    if (found.size > least.size) continue;  // the last of equal ones
    least = std::move(found);
    nearest = graph.get();
  }
  return base::printable(base::cat(least.what, "; in graph ", nearest->number,
                                   graphs_.size() > 1 ? ", the nearest, " : " ", least.was));
}

void Graphs::tell_miss(std::string text) {
  if (logs_misses()) std::fprintf(stderr, "heddle: %s\n", text.c_str());
  const std::lock_guard lock(mutex_);
  last_miss_ = std::move(text);
}

GraphPtr Graphs::find(const Call& asked) {
  const bool checks = options_.check || checks_all();
  if (checks || buckets_.are_used()) {
    const trace_internal::HigherOrderCall calling("call", asked.at);
    return find(with_rows(asked), checks);
  }
  return find(asked, checks);
}

GraphPtr Graphs::find_if_full(const Call& call) {
  if (options_.full_graph || trace_internal::Recorder::current() != nullptr) return find(call);
  if (is_eager(call)) return nullptr;
  try {
    return find(call);
  } catch (const TracedReadError& error) {
    if (find_known(call) != nullptr) throw;  // it read none when the graph was traced
    if (!is_eager(call)) {
      const std::lock_guard lock(mutex_);
      // Types without end are traced each time, so that the list has one.
      if (eager_.size() < static_cast<size_t>(int64_t{options_.max_graphs}))
        eager_.push_back(types_of(call));
    }
    tell_miss(base::cat(label(), ": no graph for the call at ", call.at,
                        ", which runs each operation at once: ", error.what()));
    return nullptr;
  }
}

std::vector<Tensor> Graphs::run_eagerly(const Call& call, TreeSpec& out) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  eager_calls_.fetch_add(1, std::memory_order_relaxed);
  return call.run(call.leaves, out);
}

GraphPtr Graphs::find(const Call& call, bool checks) {
  bool is_latest = false;
  if (GraphPtr known = find_known(call, &is_latest)) {
    if (checks) check_unchanged(*known, call);
    if (checks) check_padding(*known, call);
    if (is_latest) return known;
    const std::lock_guard lock(mutex_);
    latest_ = known;
    return known;
  }
  const trace_internal::HigherOrderCall tracing("trace", call.at);
  for (;;) {
    const Turn turn(this, call, Turn::Of::kGraph);
    if (GraphPtr known = find_known(call)) return known;  // another thread traced it
    if (!turn.is_mine()) continue;
    GraphPtr made = trace(call);
    if (checks) check_padding(*made, call);
    return made;
  }
}

void Graphs::require_room(const std::string& reason) const {
  if (graphs_.size() < static_cast<size_t>(int64_t{options_.max_graphs})) return;
  throw Error(base::resource_exhausted(
      label(), ": this call needs a graph more, and max_graphs is ", int64_t{options_.max_graphs},
      ": ", reason,
      buckets_.are_used() ? "; give its bucket fewer sizes"
                          : "; pad what varies to a few sizes, as .bucket does",
      ", pass a Static that varies as a Tensor, or give compile a greater max_graphs"));
}

GraphPtr Graphs::trace(const Call& call) {
  const std::string reason = why(call);
  {
    const std::lock_guard lock(mutex_);
    require_room(reason);
  }
  const Clock::time_point start = Clock::now();
  auto graph = [&] {
    if (call.rows.leaves == nullptr)
      return std::make_shared<Graph>(trace_once(call, options_.name), types_of(call));
    PaddedProgram traced = trace_padded(call, buckets_, options_.name, label());
    auto made = std::make_shared<Graph>(std::move(traced.program), types_of(call));
    made->cut = std::move(traced.cut);
    return made;
  }();
  // Now, so that the error has the name of compile: a run would name CompiledProgram::with.
  const Signature& signature = graph->program.signature();
  (void)trace_internal::leaves_of(
      options_.donate,
      {signature.arguments, graph->program.argument_specs(), "compile: donates ", label(),
       signature.captures.empty() ? "" : ", and what it captures cannot be donated: pass it"});
  graph->rows = call.rows;
  graph->traced_at = call.at;
  graph->captures_traced = trace_internal::RowScope::current() == nullptr
                               ? traced_capture(graph->program)
                               : "it was traced for the rows of the bucket around it";
  graph->is_for_good = graph->captures_traced.empty();
  {
    // A call inside of fn, or another thread, may have made graphs of it.
    const std::lock_guard lock(mutex_);
    const auto is_it = [&](const GraphPtr& known) { return fits(known->types, call); };
    if (const auto known = std::ranges::find_if(graphs_, is_it); known != graphs_.end())
      return latest_ = *known;
    if (graph->is_for_good) require_room(reason);
    graph->number = ++stats_.graphs;
    stats_.trace_seconds += seconds_since(start);
    if (graph->is_for_good) graphs_.push_back(graph);
    latest_ = graph;
  }
  tell_miss(
      base::cat(label(), ": graph ", graph->number, " for the call at ", call.at, ": ", reason));
  return graph;
}

void Graphs::check_unchanged(const Graph& graph, const Call& call) const {
  const std::string changed = [&] {
    const Turn running(this, call, Turn::Of::kCheck);
    return change(graph.program, trace_once(call, options_.name));
  }();
  if (changed.empty()) return;
  throw Error(base::failed_precondition(
      label(), ": it is another function than when graph ", graph.number, " was traced at ",
      graph.traced_at, ": ", changed,
      "; what a compiled function reads must not change: pass it as an argument"));
}

void Graphs::check_padding(Graph& graph, const Call& call) const {
  if (graph.rows.leaves == nullptr || call.rows.count == call.rows.size) return;
  const auto has_value = [](const Tensor& leaf) { return leaf.node()->buffer != nullptr; };
  if (!std::ranges::all_of(call.leaves, has_value)) return;  // for lower(placeholders)
  if (graph.is_padding_checked) return;
  Call exact = call;
  exact.rows = {};
  const Program program = [&] {
    const Turn running(this, exact, Turn::Of::kCheck);
    return trace_once(exact, options_.name);
  }();
  const std::vector<Tensor> without = program.run(call.leaves);
  const auto run = [&](const std::vector<Tensor>& padded) { return graph.program.run(padded); };
  const std::vector<Tensor> with = run_padded(
      graph, call.leaves[graph.rows.leaves->first].node()->buffer->device(), call.leaves, run);
  const std::string shows = padding_shows(graph.program.signature(), with, without);
  graph.is_padding_checked = shows.empty();
  if (shows.empty()) return;
  throw Error(base::failed_precondition(label(), ": of ", call.rows.count, " rows padded to ",
                                        call.rows.size, ", ", shows,
                                        "; use row_mask(x) and valid_rows(x) where rows come "
                                        "together"));
}

CompiledProgram Graphs::compiled_for(Graph& graph, Device& device) {
  const std::lock_guard lock(graph.mutex);
  for (const CompiledProgram& compiled : graph.compiled) {
    if (compiled.executable()->device().serial() == device.serial()) return compiled;
  }
  if (!graph.compiled.empty()) {
    tell_miss(base::cat(label(), ": graph ", graph.number, " is compiled for ", device.name(),
                        " too, for the call at ", trace_internal::PublicCall::line_or({}),
                        ": its arguments are there, and were on ",
                        graph.compiled.back().device().name()));
  }
  const Clock::time_point start = Clock::now();
  CompiledProgram compiled = graph.program.compile(device, {.check_nans = options_.check_nans})
                                 .with({.donate = options_.donate});
  graph.compiled.push_back(compiled);
  const std::lock_guard stats_lock(mutex_);
  ++stats_.compiles;
  stats_.compile_seconds += seconds_since(start);
  return compiled;
}

std::vector<Tensor> Graphs::record(Graph& graph, std::span<const Tensor> leaves) const {
  if (!options_.check_nans && !options_.device) return graph.program.run(leaves);
  const auto program = std::make_shared<const Program>(graph.program);
  std::shared_ptr<const hlo::Module> module(program, &program->module());  // which it keeps
  if (options_.check_nans) {
    const std::lock_guard lock(graph.mutex);
    if (graph.checked == nullptr) {
      graph.checked = std::make_shared<const hlo::Module>(
          value_or_throw(transform::with_nan_checks(graph.program.module())));
    }
    module = graph.checked;
  }
  std::vector<Tensor> operands(leaves.begin(), leaves.end());
  const std::vector<Tensor>& captures = graph.program.captures();
  operands.insert(operands.end(), captures.begin(), captures.end());
  hlo::FrontendAttributes attributes;
  if (options_.device) {
    const Device& device = device_of(options_);
    attributes.emplace_back(transform::kDeviceAttribute, device.name());
  }
  return trace_internal::emit_many({.opcode = hlo::Opcode::kCall,
                                    .operands = std::move(operands),
                                    .attrs = hlo::CallAttrs{},
                                    .called = {std::move(module)},
                                    .frontend_attributes = std::move(attributes)});
}

std::vector<Tensor> Graphs::run(Graph& graph, std::span<const Tensor> leaves, SourceLocation at) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const trace_internal::PublicCall running("call", at);
  if (trace_internal::Recorder::current() != nullptr) return record(graph, leaves);
  Device* device = nullptr;
  if (options_.device) {
    device = &device_of(options_);
  } else {
    const auto with_buffer = [](const Tensor& tensor) {
      return tensor.is_valid() && tensor.node()->buffer != nullptr;
    };
    auto found = std::ranges::find_if(leaves, with_buffer);
    const std::vector<Tensor>& captures = graph.program.captures();
    const auto captured = std::ranges::find_if(captures, with_buffer);
    device = found != leaves.end()        ? &found->node()->buffer->device()
             : captured != captures.end() ? &captured->node()->buffer->device()
                                          : value_or_throw(runtime::find_default_device());
  }
  if (graph.rows.leaves == nullptr) return compiled_for(graph, *device).run(leaves);
  const int64_t count = leaves[graph.rows.leaves->first].shape().dimension(0);
  rows_.fetch_add(count, std::memory_order_relaxed);
  padded_rows_.fetch_add(graph.rows.size - count, std::memory_order_relaxed);
  return run_padded(graph, *device, leaves, [&](const std::vector<Tensor>& padded) {
    return compiled_for(graph, *device).run(padded);
  });
}

std::vector<Tensor> Graphs::run_padded(
    const Graph& graph, Device& device, std::span<const Tensor> leaves,
    base::FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> run) const {
  const RowLeaves& with = *graph.rows.leaves;
  const int64_t size = graph.rows.size, count = leaves[with.first].shape().dimension(0);
  std::vector<Tensor> arguments(leaves.begin(), leaves.end());
  for (size_t i = 0; i < leaves.size() && count < size; ++i) {
    if (with.have[i]) arguments[i] = buckets_.pad(leaves[i], size, with.paths[i]);
  }
  arguments.push_back(trace_internal::tensor_of(
      value_or_throw(runtime::number_to_device(device, Literal::scalar(s32, count)))));
  std::vector<Tensor> results = run(arguments);
  for (size_t i = 0; i < results.size() && count < size; ++i) {
    if (graph.cut[i]) results[i] = Buckets::cut(results[i], count);
  }
  return results;
}

}  // namespace heddle::compile_internal

namespace heddle {

std::string to_string(const FunctionStats& stats) {
  const auto count = [](int64_t number, const char* what) {
    return base::cat(number, " ", what, number == 1 ? "" : "s");
  };
  const auto milliseconds = [](double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return std::string(text);
  };
  return base::cat(
      count(stats.calls, "call"),
      stats.eager_calls == 0 ? "" : base::cat(", ", stats.eager_calls, " of them eager"), ", ",
      count(stats.graphs, "graph"), " traced in ", milliseconds(stats.trace_seconds), ", ",
      count(stats.compiles, "compile"), " in ", milliseconds(stats.compile_seconds),
      stats.rows + stats.padded_rows == 0
          ? ""
          : base::cat(", ", count(stats.rows, "row"), " and ", stats.padded_rows, " of padding"));
}

std::ostream& operator<<(std::ostream& out, const FunctionStats& stats) {
  return out << to_string(stats);
}

}  // namespace heddle
