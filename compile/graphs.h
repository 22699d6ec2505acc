// The graphs of one compiled function: what was traced, for which arguments, and why again. Private
// to Heddle; users include compile.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/compile/bucket.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/run/program.h"

namespace heddle {

// The options of compile(fn, {..}).
struct FunctionOptions {
  std::string name = {};             // of the computation in HLO, of errors and of explanations
  DonatedParts donate = {};          // whose memory each run may take, as in RunOptions
  // Unset: the device of the arguments. Inside of a trace it must be the device of the whole.
  std::optional<std::string> device = {};
  // Traces again at each call, and throws Error if `fn` has become another function, since
  // something that it reads has changed. With a bucket, the first padded call of each graph also
  // runs without padding, and is an Error if the results differ. It is for tests and debugging;
  // HEDDLE_CHECK_COMPILED=1 does so for all.
  bool check = false;
  // Checks every float that an operation gives. The first NaN is the run's error: which operation,
  // which step of which loop, which line. Inside of a trace it checks this function's operations,
  // and not those that derivatives add. It is slow; off, it costs nothing.
  bool check_nans = false;
  // True: a function that reads a value while it is traced, as by item() or a C++ `if`, is an
  // Error. False: a call outside of traces then runs the function itself, each operation at once,
  // and so does each later call with arguments of those types; explain_miss() and
  // stats().eager_calls tell. Such a function cannot be given donate, device, check, check_nans or
  // a bucket.
  bool full_graph = true;
  base::Int max_graphs = 32;  // a call that would make one more is an Error
  // Pads arguments whose sizes along axis 0 vary freely to a few sizes. Off unless it names
  // arguments.
  Bucket bucket = {};
};

// What a compiled function has done since it was made. Seconds are wall time.
struct FunctionStats {
  int64_t calls = 0;     // outside of traces, and recorded in a trace
  int64_t eager_calls = 0;  // those of them that ran the function itself, without a full graph
  int64_t graphs = 0;    // sets of argument types and structures that it was traced for
  int64_t compiles = 0;  // of a graph for a device; an equal program may have been there already
  double trace_seconds = 0;
  double compile_seconds = 0;
  int64_t rows = 0;         // with a bucket: of all calls
  int64_t padded_rows = 0;  // the added ones
};

}  // namespace heddle

namespace heddle::compile_internal {

// The rows of a call with a bucket.
struct RowsOfCall {
  std::shared_ptr<const RowLeaves> leaves = {};  // null: it has no bucket
  int64_t count = 0;
  int64_t size = 0;  // the padded number
};

// One call, as its template sees it. Only a miss asks it for what a hit does not need.
struct Call {
  const void* types;  // stands for the C++ types of the arguments
  std::span<const Tensor> leaves;
  base::FunctionRef<bool(const std::vector<TreeSpec>&)> has_structure;
  base::FunctionRef<std::vector<TreeSpec>()> structure;
  // Runs the function on traced leaves: those of the results, and their structure.
  base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>, TreeSpec&)> run;
  SourceLocation at;
  RowsOfCall rows = {};
};

// What chooses the graph of a call.
struct CallTypes {
  const void* types = nullptr;
  std::vector<TreeSpec> structure = {};  // of the arguments
  std::vector<Shape> shapes = {};        // of the leaves, as the graph has them: perhaps padded
  std::vector<std::shared_ptr<const hlo::Sharding>> shardings = {};
  bool has_rows = false;
  std::string surroundings = {};  // shard_map and named vmaps around the call
};

// The trace for one set of arguments.
struct Graph {
  Graph(Program traced, CallTypes of) : program(std::move(traced)), types(std::move(of)) {}

  int64_t number = 0;  // from 1
  Program program;     // with a bucket its last argument is the number of rows
  CallTypes types;
  RowsOfCall rows = {};        // of the call that traced it
  std::vector<bool> cut = {};  // results that have rows
  SourceLocation traced_at = {};
  bool is_for_good = true;           // else it captures values of the trace around it
  std::string captures_traced = {};  // then those values, in words
  std::atomic<bool> is_padding_checked = false;
  std::mutex mutex = {};                            // guards the rest
  std::vector<CompiledProgram> compiled = {};       // one for each device
  std::shared_ptr<const hlo::Module> checked = {};  // for traces, with checks for NaN
};
using GraphPtr = std::shared_ptr<Graph>;

// Safe from any thread. A function is traced once for each set of arguments, however many threads
// call it; calls of known graphs never wait for that. A trace holds no lock, so that the function
// may take the user's own locks; for other arguments it may run on another thread meanwhile.
class Graphs {
 public:
  Graphs(FunctionOptions options, SourceLocation made_at);

  // The graph for these arguments, traced now if there is none. errors: Error of the trace, or that
  // max_graphs is reached; an Error if `fn` calls itself with arguments of the same types
  GraphPtr find(const Call& call);
  // The same; null if the function reads values, and may: run_eagerly() is then the call.
  GraphPtr find_if_full(const Call& call);
  // The leaves of what the function returns, and their structure. errors: those of the function
  std::vector<Tensor> run_eagerly(const Call& call, TreeSpec& out);
  // Runs it, or records it in the running trace. errors: those of CompiledProgram::run
  std::vector<Tensor> run(Graph& graph, std::span<const Tensor> leaves, SourceLocation at);

  [[nodiscard]] const FunctionOptions& options() const { return options_; }
  [[nodiscard]] SourceLocation made_at() const { return made_at_; }
  // "step", or "the function compiled at train.cc:7".
  [[nodiscard]] std::string label() const;
  [[nodiscard]] FunctionStats stats() const;
  [[nodiscard]] std::string explain_miss() const;
  // What a call would do: "" if there is a graph for it.
  [[nodiscard]] std::string explain(const Call& call) const;
  // errors: Error if there is none yet, at a call of `op`
  [[nodiscard]] GraphPtr latest(std::string_view op, SourceLocation at) const;
  // Of the latest graph, for the device that it was compiled for last. errors: also where it was
  // only recorded in traces
  [[nodiscard]] CompiledProgram latest_compiled(std::string_view op, SourceLocation at) const;
  [[nodiscard]] std::string cache_key(SourceLocation at) const;

 private:
  // The same call with its rows, if it has a bucket. Inside of a trace it has none: sizes are
  // known.
  [[nodiscard]] Call with_rows(const Call& call) const;
  [[nodiscard]] std::shared_ptr<const RowLeaves> row_leaves(const Call& call) const;
  // With `checks`, the graph that is found is compared with what the function is now.
  GraphPtr find(const Call& call, bool checks);
  // `is_latest`: set if it is the graph that was called last.
  [[nodiscard]] GraphPtr find_known(const Call& call, bool* is_latest = nullptr) const;
  // Whether it was found to read values.
  [[nodiscard]] bool is_eager(const Call& call) const;
  [[nodiscard]] std::string why(const Call& call) const;
  GraphPtr trace(const Call& call);
  // With mutex_ locked. errors: throws Error where the call needs a graph more than there may be
  void require_room(const std::string& reason) const;
  void check_unchanged(const Graph& graph, const Call& call) const;
  void check_padding(Graph& graph, const Call& call) const;
  CompiledProgram compiled_for(Graph& graph, Device& device);
  // Records the call in the running trace, as the options say.
  std::vector<Tensor> record(Graph& graph, std::span<const Tensor> leaves) const;
  // Calls run(arguments of the program) and cuts its results.
  std::vector<Tensor> run_padded(
      const Graph& graph, Device& device, std::span<const Tensor> leaves,
      base::FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> run) const;
  void tell_miss(std::string text);

  FunctionOptions options_;
  SourceLocation made_at_;
  Buckets buckets_;
  std::atomic<int64_t> calls_ = 0, eager_calls_ = 0, rows_ = 0, padded_rows_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  // By the types and the structure of the arguments.
  struct RowPlan {
    const void* types;
    std::vector<TreeSpec> structure;
    std::shared_ptr<const RowLeaves> leaves;
  };
  mutable std::vector<RowPlan> row_plans_;
  std::vector<GraphPtr> graphs_;
  std::vector<CallTypes> eager_;  // calls that read values
  GraphPtr latest_;
  FunctionStats stats_;
  std::string last_miss_;
};

}  // namespace heddle::compile_internal
