// compile(fn): a function that is traced and compiled once for each set of argument types. Later
// calls do not run fn's C++ code.
//
//   auto step = compile(
//       [](State s, Tensor batch) { return update(s, batch); }, {.name = "step", .donate = {0}});
//   for (const Tensor& batch : batches) state = step(state, batch);
//   std::cout << step.stats() << '\n' << step.explain_miss() << '\n';
//
// It makes the promise of a named Function (scan/function.h): fn computes the same whenever it is
// called with arguments of the same types. fn reads everything else, a global or a variable that it
// captures by reference, only while it is traced. {.check = true} traces again at each call, and
// gives an error that says what has changed. HEDDLE_LOG_COMPILED=1 writes each explain_miss() to
// stderr. Reading a value inside of fn (item, to_vector, if) is an error on its line, or, with
// {.full_graph = false}, makes such calls eager, which is told: never a silent break.
//
// It is a function like any other for trace, grad, scan and other compiled functions: they record
// it as a call.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/compile/graphs.h"
#include "heddle/trace/identity.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/static.h"

namespace heddle {

// "120 calls, 2 graphs traced in 0.4 ms, 2 compiles in 21 ms"
std::string to_string(const FunctionStats& stats);
std::ostream& operator<<(std::ostream& out, const FunctionStats& stats);

namespace compile_internal {

// `fn` under its name of compile().
template <class Fn>
class Named {
 public:
  Named(const Fn& fn, const std::string& name) : fn_(fn), name_(name) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t id() const { return 0; }
  template <class... Args>
  requires std::is_invocable_v<const Fn&, Args...>
  decltype(auto) operator()(Args&&... args) const {
    return std::invoke(fn_, std::forward<Args>(args)...);
  }

 private:
  const Fn& fn_;
  const std::string& name_;
};

}  // namespace compile_internal

// What hlo_text() shows of a compiled function.
enum class ProgramStage : uint8_t { kTraced, kLowered };

// What compile() returns. Copies share the graphs. Several threads may call it at once. One that
// was moved from is empty, and every use of it is an Error that says so.
template <class Fn>
class [[nodiscard]] CompiledFunction {
 public:
  CompiledFunction(Fn fn, FunctionOptions options, SourceLocation at)
      : shared_(std::make_shared<const Shared>(std::move(fn), std::move(options), at)) {}

  // Calls it with trees of Tensors, and Statics. Statics, structures, dtypes, shapes and shardings
  // choose the graph; a new set is traced and compiled now.
  //
  // returns  what fn returns, perhaps pending
  // errors   Error: those of trace() and CompiledProgram::run(); ResourceExhausted if the call
  //          would make one graph more than max_graphs; it says what is new
  // cost     a call whose graph is there traces, lowers, compiles and moves nothing
  auto operator()(SourceLocation at = SourceLocation::here()) const { return call_at(at); }
  template <class A>
  auto operator()(const A& a, SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a);
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b, SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b);
  }
  template <class A, class B, class C>
  auto operator()(const A& a, const B& b, const C& c,
                  SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c);
  }
  template <class A, class B, class C, class D>
  auto operator()(const A& a, const B& b, const C& c, const D& d,
                  SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c, d);
  }
  template <class A, class B, class C, class D, class E>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e,
                  SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c, d, e);
  }
  template <class A, class B, class C, class D, class E, class F>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                  SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c, d, e, f);
  }
  template <class A, class B, class C, class D, class E, class F, class G>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                  const G& g, SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c, d, e, f, g);
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                  const G& g, const H& h, SourceLocation at = SourceLocation::here()) const {
    return call_at(at, a, b, c, d, e, f, g, h);
  }
  // With more arguments: call_at(SourceLocation::here(), ..).
  template <class... Args>
  auto call_at(SourceLocation given, const Args&... args) const {
    const SourceLocation at = trace_internal::PublicCall::users_line(
        given, shared_ != nullptr ? shared_->graphs.made_at() : given);
    return with_call(
        at, "call",
        [&](Graphs& graphs, const Call& call) {
          const compile_internal::GraphPtr graph = graphs.find_if_full(call);
          TreeSpec eager;
          const std::vector<Tensor> results = graph == nullptr
                                                  ? graphs.run_eagerly(call, eager)
                                                  : graphs.run(*graph, call.leaves, at);
          std::span<const Tensor> rest(results);
          const TreeSpec& spec = graph == nullptr ? eager : graph->program.result_spec(at);
          return unflatten<Out<Args...>>(spec, rest);
        },
        args...);
  }

  // The program for such arguments, traced if it is new: lower(x).hlo_text(),
  // lower(x).compile().cost(). Placeholders will do as arguments. With a bucket the program takes
  // padded arguments, and the number of rows, an s32, after them.
  template <class... Args>
  requires(!(std::is_same_v<Args, SourceLocation> || ...))  //
      TypedProgram<typename decltype(trace_internal::returned_by<const Fn, Args...>())::type,
                   Args...> lower(const Args&... args)
  const {
    const SourceLocation at = shared("lower", {}).graphs.made_at();
    return with_call(
        at, "lower",
        [&](Graphs& graphs, const Call& call) {
          return TypedProgram<Out<Args...>, Args...>(graphs.find(call)->program);
        },
        args...);
  }
  // Why such a call would be traced; "" if it would not, also since it is eager.
  template <class... Args>
  [[nodiscard]] std::string explain(const Args&... args) const {
    return with_call(
        {}, "explain", [](Graphs& graphs, const Call& call) { return graphs.explain(call); },
        args...);
  }
  // Why the last call that traced or compiled did so, in one sentence that names the argument and
  // its path, what it is, and what it was in the nearest graph; "" before the first call.
  [[nodiscard]] std::string explain_miss(SourceLocation at = SourceLocation::here()) const {
    return shared("explain_miss", at).graphs.explain_miss();
  }
  [[nodiscard]] FunctionStats stats(SourceLocation at = SourceLocation::here()) const {
    return shared("stats", at).graphs.stats();
  }
  // The program of the graph that was called last. errors: Error before the first call
  [[nodiscard]] Program program(SourceLocation at = SourceLocation::here()) const {
    return shared("program", at).graphs.latest("program", at)->program;
  }
  // Of the graph that was called last. `stage`: as traced, or with its scans lowered to whiles, as
  // PJRT plugins get it. errors: Error before the first call
  [[nodiscard]] std::string hlo_text(ProgramStage stage = ProgramStage::kTraced,
                                     SourceLocation at = SourceLocation::here()) const {
    const Program traced = shared("hlo_text", at).graphs.latest("hlo_text", at)->program;
    return stage == ProgramStage::kTraced ? traced.hlo_text(at) : traced.lowered(at).hlo_text(at);
  }
  // Of the executable that ran last: operations and bytes of a run, as far as the backend knows,
  // and the memory that it needs. errors: Error before the first call outside of a trace
  [[nodiscard]] ProgramCost cost(SourceLocation at = SourceLocation::here()) const {
    return shared("cost", at).graphs.latest_compiled("cost", at).cost(at);
  }
  [[nodiscard]] ProgramMemory memory(SourceLocation at = SourceLocation::here()) const {
    return shared("memory", at).graphs.latest_compiled("memory", at).memory(at);
  }
  // 32 hexadecimal digits of what the graph that was called last computes: its canonical form and
  // the options that change its code. Graphs that share an executable on a device have the same
  // key, in each process. errors: Error before the first call
  [[nodiscard]] std::string cache_key(SourceLocation at = SourceLocation::here()) const {
    return shared("cache_key", at).graphs.cache_key(at);
  }

  // As for a Function: loops know a compiled function by its id and trace it once.
  [[nodiscard]] const std::string& name() const { return shared("name", {}).graphs.options().name; }
  [[nodiscard]] uint64_t id() const { return shared("id", {}).id; }
  // For Heddle's own code. errors: Error if it was moved from
  void require_here(std::string_view op) const { (void)shared(op, {}); }

 private:
  using Graphs = compile_internal::Graphs;
  using Call = compile_internal::Call;
  template <class... Args>
  using Out = typename decltype(trace_internal::returned_by<const Fn, Args...>())::type;

  struct Shared {
    Shared(Fn function, FunctionOptions options, SourceLocation at)
        : fn(std::move(function)), graphs(std::move(options), at) {}
    Fn fn;
    mutable Graphs graphs;
    uint64_t id = trace_internal::next_function_id();
  };

  [[nodiscard]] const Shared& shared(std::string_view op, SourceLocation at) const {
    if (shared_ == nullptr) trace_internal::throw_moved_from(op, "compiled function", at);
    return *shared_;
  }

  // use(graphs, call)
  template <class Use, class... Args>
  auto with_call(SourceLocation at, std::string_view op, Use&& use, const Args&... args) const {
    const Shared& self = shared(op, at);
    constexpr bool kAreTrees = (is_tree<Args>() && ...);
    constexpr bool kIsConst =
        std::is_invocable_v<const Fn&, Args...> || !std::is_invocable_v<Fn&, Args...>;
    static_assert((tree_internal::is_tree_or_explained<Args> && ...),
                  "an argument of a compiled function is a tree of Tensors, and a struct of them "
                  "needs its kFields; write scalar(float(x)) for a C++ number that changes, and "
                  "Static{x} for one that the code depends on");
    static_assert(kIsConst,
                  "a compiled function keeps no state of its own: leave out `mutable`, and pass "
                  "what changes as an argument and a result");
    if constexpr (!kAreTrees || !kIsConst) {
      (tree_internal::explain<Args>(), ...);
      return trace_internal::Refused();
    } else {
      std::vector<Tensor> leaves;
      leaves.reserve(sizeof...(Args));
      (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
      const auto has_structure = [&](const std::vector<TreeSpec>& specs) {
        [[maybe_unused]] size_t i = 0;
        return specs.size() == sizeof...(Args) && (heddle::has_structure(args, specs[i++]) && ...);
      };
      const auto structure = [&] { return std::vector<TreeSpec>{tree_spec(args)...}; };
      const auto run = [&](std::span<const Tensor> traced, TreeSpec& out) {
        const compile_internal::Named named(self.fn, self.graphs.options().name);
        return trace_internal::Traceable<Args...>(named, at)(structure(), traced, out);
      };
      return use(self.graphs, Call{trace_internal::type_tag<std::tuple<Args...>>(), leaves,
                                   has_structure, structure, run, at});
    }
  }

  std::shared_ptr<const Shared> shared_;
};

// Makes a compiled function of `fn`: a lambda, a plain function, a member function, any callable. A
// call traces it.
//
// options  .name in HLO, errors and explanations; .donate, arguments by number or path; .device,
//          "pjrt:cuda:1"; .max_graphs; .bucket for sizes that vary (compile/bucket.h); the others
//          are in compile/graphs.h
// errors   Error if fn is a null pointer or an empty std::function, or options do not go together
template <class Fn>
requires(!std::is_convertible_v<Fn, Tensor> && !trace_internal::TakesOperands<Fn>)  //
    CompiledFunction<std::decay_t<Fn>> compile(Fn&& fn, FunctionOptions options = {},
                                               SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("compile", at);
  trace_internal::require_function("function", fn);
  return CompiledFunction<std::decay_t<Fn>>(std::forward<Fn>(fn), std::move(options), at);
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused compile(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "compile(fn) is a function: write compile(fn)(x)");
  return {};
}
// A function of Heddle's by its name: compile(exp), compile(maximum).
inline auto compile(trace_internal::ByName<Operand> fn, FunctionOptions options = {},
                    SourceLocation at = SourceLocation::here()) {
  return CompiledFunction<trace_internal::ByName<Operand>>(fn, std::move(options), at);
}
inline auto compile(trace_internal::ByName<Operand, Operand> fn, FunctionOptions options = {},
                    SourceLocation at = SourceLocation::here()) {
  return CompiledFunction<trace_internal::ByName<Operand, Operand>>(fn, std::move(options), at);
}

}  // namespace heddle
