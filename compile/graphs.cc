#include "heddle/compile/graphs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "heddle/base/settings.h"
#include "heddle/compile/compile.h"
#include "heddle/compile/internal/padded.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/tiles.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/mesh.h"
#include "heddle/trace/node.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/rows.h"
#include "heddle/trace/surroundings.h"

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

// One thread traces at a time: two functions that call each other, traced on two threads with a
// lock each, would wait for each other.
std::recursive_mutex& trace_mutex() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

// The shard_map and the named vmaps around: sizes of their axes are part of what is traced.
std::string surroundings() {
  std::string text;
  trace_internal::append_surroundings(text);
  return text;
}

// What the thread that holds trace_mutex() is tracing, outermost first.
struct Tracing {
  const Graphs* graphs;
  const Call* call;
  std::vector<TreeSpec> structure;
  std::string surroundings;
};
std::vector<Tracing>& tracing() {
  static auto& all = *new std::vector<Tracing>;
  return all;
}

class Traces {
 public:
  Traces(const Graphs* graphs, const Call& call) {
    tracing().push_back({graphs, &call, call.structure(), surroundings()});
  }
  ~Traces() { tracing().pop_back(); }
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;
};

using ShardingPtr = std::shared_ptr<const hlo::Sharding>;

bool is_same(const ShardingPtr& a, const ShardingPtr& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool have_same_types(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.is_valid() && y.is_valid() && same_type(x.shape(), y.shape()) &&
           is_same(x.node()->sharding, y.node()->sharding);
  });
}

bool has_rows(const Call& call, size_t leaf) {
  return call.rows.leaves != nullptr && call.rows.leaves->have[leaf];
}
// The type that a leaf is run with.
Shape padded(const Call& call, size_t leaf) {
  const Shape& shape = call.leaves[leaf].shape();
  return has_rows(call, leaf) ? of_rows(shape, call.rows.size) : shape;
}
bool has_type(const Call& call, size_t leaf, const Shape& type) {
  const Shape& shape = call.leaves[leaf].shape();
  if (!has_rows(call, leaf)) return same_type(shape, type);
  if (shape.dtype() != type.dtype() || type.rank() == 0 || call.rows.size != type.dimension(0))
    return false;
  return std::ranges::equal(std::span(shape.dimensions()).subspan(1),
                            std::span(type.dimensions()).subspan(1));
}

bool fits(const Graph& graph, const Call& call) {
  const std::vector<SignatureLeaf>& leaves = graph.program.signature().arguments;
  if (graph.surroundings != surroundings()) return false;
  if (graph.types != call.types || graph.shardings.size() != call.leaves.size()) return false;
  if ((graph.rows.leaves == nullptr) != (call.rows.leaves == nullptr)) return false;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    if (!leaf.is_valid() || !has_type(call, i, leaves[i].shape)) return false;
    if (!is_same(leaf.node()->sharding, graph.shardings[i])) return false;
  }
  return call.has_structure(graph.structure);
}

// ----- why a call has no graph

std::string sharding_text(const ShardingPtr& sharding) {
  return sharding ? to_string(*sharding) : "no sharding";
}

// "f32[11,4] padded to f32[16,4]"
std::string type_text(const Call& call, size_t leaf) {
  const std::string own = to_string(call.leaves[leaf].shape());
  return has_rows(call, leaf) ? base::cat(own, " padded to ", to_string(padded(call, leaf))) : own;
}

// How a call differs from a graph.
struct Difference {
  int64_t size = 0;  // leaves, or more where the structure is another
  std::string what;  // "arg0.h is f32[4]"
  std::string was;   // "it is f32[3]"
};

std::string described(const std::optional<TreeSpec>& spec) {
  return spec ? describe(*spec) : "missing";
}

std::string named_or_none(const std::string& surroundings) {
  return surroundings.empty() ? "no shard_map or named vmap" : surroundings;
}

Difference difference(const Graph& graph, const Call& call) {
  constexpr int64_t kOtherStructure = int64_t{1} << 32;
  const std::vector<TreeSpec> have = call.structure();
  const std::vector<TreeSpec>& want = graph.structure;
  if (have.size() != want.size()) {
    return {2 * kOtherStructure,
            base::cat("it has ", have.size(), have.size() == 1 ? " argument" : " arguments"),
            base::cat("it has ", want.size())};
  }
  Difference found;
  for (size_t i = 0; i < have.size(); ++i) {
    if (have[i] == want[i]) continue;
    if (found.size++ > 0) continue;
    const TreeDifference first = tree_difference(have[i], want[i]);
    found.what = base::cat("arg", i, first.path, " is ", described(first.first));
    found.was = base::cat("it is ", described(first.second));
  }
  if (found.size > 0) {
    found.size += kOtherStructure;
    return found;
  }
  const std::vector<SignatureLeaf>& leaves = graph.program.signature().arguments;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    if (!leaf.is_valid()) continue;
    const ShardingPtr& sharding = leaf.node()->sharding;
    const bool fits_type = has_type(call, i, leaves[i].shape);
    if (fits_type && is_same(sharding, graph.shardings[i])) continue;
    if (found.size++ > 0) continue;
    found.what = base::cat(leaves[i].path, fits_type ? " has " : " is ",
                           fits_type ? sharding_text(sharding) : type_text(call, i));
    found.was = fits_type ? base::cat("it has ", sharding_text(graph.shardings[i]))
                          : base::cat("it is ", to_string(leaves[i].shape));
  }
  const bool is_padded = call.rows.leaves != nullptr, was_padded = graph.rows.leaves != nullptr;
  if (found.size == 0 && is_padded != was_padded)
    return {1,
            is_padded ? "its rows are padded" : "it is called inside of a trace, without padding",
            was_padded ? "they are padded" : "they are not"};
  if (found.size == 0 && graph.surroundings != surroundings())
    return {1, base::cat("it is called inside of ", named_or_none(surroundings())),
            base::cat("it was inside of ", named_or_none(graph.surroundings))};
  if (found.size == 0)
    found = {1, "its arguments have other C++ types of equal structure", "they have others"};
  else if (found.size > 1)
    base::append(found.what, ", and ", found.size - 1,
                 found.size > 2 ? " more differ" : " differs");
  return found;
}

// ----- what has changed behind a function's back

std::string capture_text(const Tensor& tensor) {
  return base::cat("#", tensor.id(), " ", to_string(tensor.shape()));
}

// "" where the two programs are the same.
std::string change(const Program& was, const Program& is) {
  const std::vector<Tensor>&before = was.captures(), &now = is.captures();
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i].is_traced() || before[i].id() == now[i].id()) continue;
    return base::cat("it captures ", capture_text(now[i]), ", and captured ",
                     capture_text(before[i]));
  }
  if (before.size() != now.size())
    return base::cat("it captures ", now.size(), " tensors, and captured ", before.size());
  if (hlo::equal(was.module(), is.module())) return "";
  const auto& old_code = was.module().entry_computation().instructions;
  const auto& new_code = is.module().entry_computation().instructions;
  for (size_t i = 0; i < std::min(old_code.size(), new_code.size()); ++i) {
    const hlo::Instruction &a = old_code[i], &b = new_code[i];
    if (a.opcode != b.opcode || !same_type(a.shape, b.shape)) {
      return base::cat("it computes ", to_string(b.opcode), " ", to_string(b.shape),
                       ", and computed ", to_string(a.opcode), " ", to_string(a.shape),
                       b.at.known() ? base::cat(", at ", to_string(b.at)) : "");
    }
    if (!hlo::equal(a, b)) {
      return base::cat("a number or an attribute of ", to_string(b.opcode), " ", to_string(b.shape),
                       " is another", b.at.known() ? base::cat(", at ", to_string(b.at)) : "");
    }
  }
  return base::cat("it computes ", new_code.size(), " operations, and computed ", old_code.size());
}

}  // namespace

Graphs::Graphs(FunctionOptions options, SourceLocation made_at)
    : options_(std::move(options)), made_at_(made_at), buckets_(options_.bucket, label(), made_at) {
  if (options_.max_graphs < 1) {
    throw Error(base::invalid_argument("compile: max_graphs is ", int64_t{options_.max_graphs},
                                       "; it must be at least 1"),
                made_at);
  }
}

std::string Graphs::label() const {
  return options_.name.empty() ? base::cat("the function compiled at ", made_at_) : options_.name;
}

FunctionStats Graphs::stats() const {
  const std::lock_guard lock(mutex_);
  FunctionStats stats = stats_;
  stats.calls = calls_;
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
  throw Error(base::failed_precondition(op, ": ", label(),
                                        " has no graph yet; call it first, or use lower(args..)"),
              at);
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
  auto leaves =
      std::make_shared<const RowLeaves>(buckets_.leaves_of(structure, options_.donate, call.at));
  const std::lock_guard lock(mutex_);
  // Structures come without end where a list grows at each call: graphs of them are an Error soon.
  if (row_plans_.size() < static_cast<size_t>(int64_t{options_.max_graphs}))
    row_plans_.push_back({call.types, std::move(structure), leaves});
  return leaves;
}

Call Graphs::with_rows(const Call& call) const {
  if (!buckets_.are_used() || trace_internal::Recorder::current() != nullptr) return call;
  Call with = call;
  with.rows.leaves = row_leaves(call);
  with.rows.count = buckets_.rows_of(*with.rows.leaves, call.leaves, call.at);
  with.rows.size = buckets_.size_for(with.rows.count, call.at);
  return with;
}

GraphPtr Graphs::find_known(const Call& call, bool* is_latest) const {
  const std::lock_guard lock(mutex_);
  if (latest_ != nullptr && latest_->is_for_good && fits(*latest_, call)) {
    if (is_latest != nullptr) *is_latest = true;
    return latest_;
  }
  const auto found =
      std::ranges::find_if(graphs_, [&](const GraphPtr& graph) { return fits(*graph, call); });
  return found == graphs_.end() ? nullptr : *found;
}

std::string Graphs::explain(const Call& asked) const {
  const Call call = with_rows(asked);
  return find_known(call) != nullptr ? "" : base::cat(label(), ": ", why(call));
}

// "arg0.h is f32[4]; in graph 1, the nearest, it is f32[3]"
std::string Graphs::why(const Call& call) const {
  const std::lock_guard lock(mutex_);
  if (graphs_.empty()) return "it is the first call";
  Difference least{std::numeric_limits<int64_t>::max(), {}, {}};
  const Graph* nearest = nullptr;
  for (const GraphPtr& graph : graphs_) {
    Difference found = difference(*graph, call);
    if (found.size > least.size) continue;  // of equal ones the last
    least = std::move(found);
    nearest = graph.get();
  }
  return base::cat(least.what, "; in graph ", nearest->number,
                   graphs_.size() > 1 ? ", the nearest, " : " ", least.was);
}

void Graphs::tell_miss(std::string text) {
  if (logs_misses()) std::fprintf(stderr, "heddle: %s\n", text.c_str());
  const std::lock_guard lock(mutex_);
  last_miss_ = std::move(text);
}

GraphPtr Graphs::find(const Call& asked) {
  const Call call = with_rows(asked);
  const bool checks = options_.check || checks_all();
  bool is_latest = false;
  if (GraphPtr known = find_known(call, &is_latest)) {
    if (checks) check_unchanged(*known, call);
    if (checks) check_padding(*known, call);
    if (is_latest) return known;
    const std::lock_guard lock(mutex_);
    latest_ = known;
    return known;
  }
  const std::lock_guard lock(trace_mutex());
  if (GraphPtr known = find_known(call)) return known;  // another thread traced it
  GraphPtr made = trace(call);
  if (checks) check_padding(*made, call);
  return made;
}

GraphPtr Graphs::trace(const Call& call) {
  for (const Tracing& outer : tracing()) {
    if (outer.graphs != this || outer.call->types != call.types ||
        outer.surroundings != surroundings() || !have_same_types(outer.call->leaves, call.leaves) ||
        !call.has_structure(outer.structure))
      continue;
    throw Error(base::failed_precondition(
                    label(),
                    ": calls itself, with arguments of the same types; nothing would end "
                    "that: use while_loop or scan"),
                call.at);
  }
  const std::string reason = why(call);
  {
    const std::lock_guard lock(mutex_);
    if (graphs_.size() >= static_cast<size_t>(int64_t{options_.max_graphs})) {
      throw Error(base::resource_exhausted(
                      label(), ": this call needs a graph more, and max_graphs is ",
                      int64_t{options_.max_graphs}, ": ", reason,
                      buckets_.are_used() ? "; give its bucket fewer sizes"
                                          : "; pad what varies to a few sizes, as .bucket does",
                      ", pass a Static that varies as a Tensor, or give compile a greater "
                      "max_graphs"),
                  call.at);
    }
  }
  const Clock::time_point start = Clock::now();
  auto graph = [&] {
    const Traces running(this, call);
    if (call.rows.leaves == nullptr)
      return std::make_shared<Graph>(trace_once(call, options_.name));
    PaddedProgram traced = trace_padded(call, buckets_, options_.name, label());
    auto made = std::make_shared<Graph>(std::move(traced.program));
    made->cut = std::move(traced.cut);
    return made;
  }();
  graph->types = call.types;
  graph->structure = call.structure();
  graph->rows = call.rows;
  graph->surroundings = surroundings();
  graph->traced_at = call.at;
  for (const Tensor& leaf : call.leaves) graph->shardings.push_back(leaf.node()->sharding);
  {
    const std::lock_guard lock(mutex_);  // a call inside of fn may have made graphs of it
    graph->number = ++stats_.graphs;
  }
  tell_miss(
      base::cat(label(), ": graph ", graph->number, " for the call at ", call.at, ": ", reason));
  const std::lock_guard lock(mutex_);
  stats_.trace_seconds += seconds_since(start);
  graph->is_for_good = trace_internal::RowScope::current() == nullptr &&
                       std::ranges::none_of(graph->program.captures(), &Tensor::is_traced);
  if (graph->is_for_good) graphs_.push_back(graph);
  return latest_ = std::move(graph);
}

void Graphs::check_unchanged(const Graph& graph, const Call& call) const {
  const std::lock_guard lock(trace_mutex());
  const std::string changed = [&] {
    const Traces running(this, call);
    return change(graph.program, trace_once(call, options_.name));
  }();
  if (changed.empty()) return;
  throw Error(base::failed_precondition(
                  label(), ": it is another function than when graph ", graph.number,
                  " was traced at ", graph.traced_at, ": ", changed,
                  "; what a compiled function reads must not change: pass it as an argument"),
              call.at);
}

void Graphs::check_padding(Graph& graph, const Call& call) const {
  if (graph.rows.leaves == nullptr || call.rows.count == call.rows.size) return;
  const auto has_value = [](const Tensor& leaf) { return leaf.node()->buffer != nullptr; };
  if (!std::ranges::all_of(call.leaves, has_value)) return;  // for lower(placeholders)
  if (graph.is_padding_checked) return;
  Call exact = call;
  exact.rows = {};
  const Program program = [&] {
    const std::lock_guard lock(trace_mutex());
    const Traces running(this, exact);
    return trace_once(exact, options_.name);
  }();
  const std::vector<Tensor> without = program.run(call.leaves, call.at);
  const auto run = [&](const std::vector<Tensor>& padded) {
    return graph.program.run(padded, call.at);
  };
  const std::vector<Tensor> with =
      run_padded(graph, call.leaves[graph.rows.leaves->first].node()->buffer->device(), call.leaves,
                 run, call.at);
  const std::string shows = padding_shows(graph.program.signature(), with, without);
  graph.is_padding_checked = shows.empty();
  if (shows.empty()) return;
  throw Error(base::failed_precondition(label(), ": of ", call.rows.count, " rows padded to ",
                                        call.rows.size, ", ", shows,
                                        "; use row_mask(x) and valid_rows(x) where rows come "
                                        "together"),
              call.at);
}

CompiledProgram Graphs::compiled_for(Graph& graph, Device& device, SourceLocation at) {
  const std::lock_guard lock(graph.mutex);
  for (const CompiledProgram& compiled : graph.compiled) {
    if (compiled.executable()->device().serial() == device.serial()) return compiled;
  }
  if (!graph.compiled.empty()) {
    tell_miss(base::cat(label(), ": graph ", graph.number, " is compiled for ", device.name(),
                        " too, for the call at ", at, ": its arguments are there, and were on ",
                        graph.compiled.back().device().name()));
  }
  const Clock::time_point start = Clock::now();
  CompiledProgram compiled = graph.program.compile(device, {.check_nans = options_.check_nans}, at)
                                 .with({.donate = options_.donate}, at);
  graph.compiled.push_back(compiled);
  const std::lock_guard stats_lock(mutex_);
  ++stats_.compiles;
  stats_.compile_seconds += seconds_since(start);
  return compiled;
}

std::vector<Tensor> Graphs::run(Graph& graph, std::span<const Tensor> leaves, SourceLocation at) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const trace_internal::PublicCall running("call", at);
  if (trace_internal::Recorder::current() != nullptr) return graph.program.run(leaves, at);
  Device* device = nullptr;
  if (options_.device) {
    device = value_or_throw(runtime::find_device(*options_.device), at);
  } else {
    const auto with_buffer = [](const Tensor& tensor) {
      return tensor.is_valid() && tensor.node()->buffer != nullptr;
    };
    auto found = std::ranges::find_if(leaves, with_buffer);
    const std::vector<Tensor>& captures = graph.program.captures();
    const auto captured = std::ranges::find_if(captures, with_buffer);
    device = found != leaves.end()        ? &found->node()->buffer->device()
             : captured != captures.end() ? &captured->node()->buffer->device()
                                          : value_or_throw(runtime::find_default_device(), at);
  }
  if (graph.rows.leaves == nullptr) return compiled_for(graph, *device, at).run(leaves, at);
  const int64_t count = leaves[graph.rows.leaves->first].shape().dimension(0);
  rows_.fetch_add(count, std::memory_order_relaxed);
  padded_rows_.fetch_add(graph.rows.size - count, std::memory_order_relaxed);
  return run_padded(
      graph, *device, leaves,
      [&](const std::vector<Tensor>& padded) {
        return compiled_for(graph, *device, at).run(padded, at);
      },
      at);
}

std::vector<Tensor> Graphs::run_padded(
    const Graph& graph, Device& device, std::span<const Tensor> leaves,
    base::FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> run,
    SourceLocation at) const {
  const RowLeaves& with = *graph.rows.leaves;
  const int64_t size = graph.rows.size, count = leaves[with.first].shape().dimension(0);
  std::vector<Tensor> arguments(leaves.begin(), leaves.end());
  for (size_t i = 0; i < leaves.size() && count < size; ++i) {
    if (with.have[i]) arguments[i] = buckets_.pad(leaves[i], size, with.paths[i], at);
  }
  arguments.push_back(trace_internal::tensor_of(
      value_or_throw(runtime::number_to_device(device, Literal::scalar(s32, count)), at), at));
  std::vector<Tensor> results = run(arguments);
  for (size_t i = 0; i < results.size() && count < size; ++i) {
    if (graph.cut[i]) results[i] = Buckets::cut(results[i], count, at);
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
      count(stats.calls, "call"), ", ", count(stats.graphs, "graph"), " traced in ",
      milliseconds(stats.trace_seconds), ", ", count(stats.compiles, "compile"), " in ",
      milliseconds(stats.compile_seconds),
      stats.rows + stats.padded_rows == 0
          ? ""
          : base::cat(", ", count(stats.rows, "row"), " and ", stats.padded_rows, " of padding"));
}

std::ostream& operator<<(std::ostream& out, const FunctionStats& stats) {
  return out << to_string(stats);
}

}  // namespace heddle
