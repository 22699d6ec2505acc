// trace(fn, args..) -> Program: one run of fn on placeholders, kept as HLO. Moves no byte, also for
// arguments that are placeholders.
//
//   auto p = trace(loss, cell, xs, target);
//   std::cout << p.hlo_text();
//   Tensor value = p(cell, xs, target);   // runs on the default device
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/placeholder/signature.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/error.h"
#include "heddle/trace/identity.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/run/calls.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

namespace hlo {
struct Module;
std::string to_proto(const Module& module);  // heddle/hlo/wire.h
}  // namespace hlo

class CompiledProgram;
template <class Out, class... Args>
class TypedCompiledProgram;

using runtime::BackendOption;
using runtime::CompileOptions;

// call<Out>(args..) runs it on trees. What trace() returns is a TypedProgram, below, which knows
// Out. Copies are cheap; one that was moved from is empty, and every use of it an Error that says
// so.
class [[nodiscard]] Program : public trace_internal::Calls<Program> {
 public:
  // HLO text of the module: as traced (scans structured), constants in full.
  [[nodiscard]] std::string hlo_text(SourceLocation at = SourceLocation::here()) const;
  // The same for people: short names, the file and line of each instruction as a comment
  // (`// train.cc:41`), constants of more than 16 elements as {...}.
  [[nodiscard]] std::string short_text(SourceLocation at = SourceLocation::here()) const;
  // Pictures: text for Graphviz (hlo/text/pictures/dot.h), and a page for a browser, with nothing
  // to install (hlo/text/pictures/html.h).
  [[nodiscard]] std::string dot(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] std::string html(SourceLocation at = SourceLocation::here()) const;
  // A serialised HloModuleProto. Inline: only programs that call it link heddle::hlo_wire.
  [[nodiscard]] std::string hlo_proto(SourceLocation at = SourceLocation::here()) const {
    return hlo::to_proto(module_for("hlo_proto", at));
  }
  // Names, paths and types of arguments, captured tensors and results. The name is that of a named
  // Function, else "main".
  [[nodiscard]] const Signature& signature(SourceLocation at = SourceLocation::here()) const;
  // Include heddle/hlo/module.h to read it.
  [[nodiscard]] const hlo::Module& module(SourceLocation at = SourceLocation::here()) const;
  // The same program as plain HLO, which any XLA reads: scan lowered to while, and calls of LAPACK
  // to loops (transform/lapack/expand.h).
  [[nodiscard]] Program lowered(SourceLocation at = SourceLocation::here()) const;
  // The structure that fn returned, and those of its arguments.
  [[nodiscard]] const TreeSpec& result_spec(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const std::vector<TreeSpec>& argument_specs(
      SourceLocation at = SourceLocation::here()) const;

  // Runs it on the device of its arguments; captured tensors are passed along. Inside a trace it is
  // recorded there as an HLO `call`, and its arguments may be traced values. Placeholders
  // captured by fn, or given as arguments, have to be bound: bind(placeholder, value) gives a
  // program that uses `value` for it. errors: Error naming the argument that has another type, or
  // the placeholder that is unbound
  std::vector<Tensor> run(std::span<const Tensor> arguments,
                          SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] Program bind(const Tensor& placeholder, const Tensor& value,
                             SourceLocation at = SourceLocation::here()) const;

  // Compiles it for a device, "pjrt:cuda:1", or else for the default one; `options` are the
  // backend's, as data. The same program, device and options are compiled once, whoever traced it.
  // Include trace/run/compiled_program.h (heddle.h has it).
  //
  // errors   Error: NotFound that names the backends there are; InvalidArgument for an option that
  //          the backend does not know or cannot take, by name; what it says of the program
  // cost     no byte moves; a repeated call shows 0 lowerings and 0 compiles
  [[nodiscard]] CompiledProgram compile(const CompileOptions& options = {},
                                        SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] CompiledProgram compile(std::string_view device, const CompileOptions& options = {},
                                        SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] CompiledProgram compile(Device& device, const CompileOptions& options = {},
                                        SourceLocation at = SourceLocation::here()) const;
  // What a run needs on the default device, for which it is compiled: memory, and operations and
  // bytes where the backend knows. errors, cost: those of compile()
  [[nodiscard]] runtime::ProgramCost cost(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] runtime::ProgramMemory memory(SourceLocation at = SourceLocation::here()) const {
    return cost(at);  // its bytes alone
  }
  // It, run by an executable that was made elsewhere of the same program, as by pjrt::load.
  // errors: Error (InvalidArgument) where its parameters or results are of other types
  [[nodiscard]] CompiledProgram with_executable(std::shared_ptr<runtime::Executable> executable,
                                                SourceLocation at = SourceLocation::here()) const;

  // For Heddle's own code. errors: Error where it was moved from, at a call of `op`
  void require_here(std::string_view op) const { (void)state(op, {}); }
  [[nodiscard]] const std::vector<Tensor>& captures() const;  // as signature() lists them
  [[nodiscard]] const std::shared_ptr<const hlo::Module>& shared_module(SourceLocation at) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  friend class CompiledProgram;
  // errors: Error where it was moved from
  [[nodiscard]] const State& state(std::string_view op, SourceLocation at) const;
  [[nodiscard]] const hlo::Module& module_for(std::string_view function, SourceLocation at) const;
  // The arguments, and then the captured tensors. errors: as run()
  [[nodiscard]] std::vector<Tensor> operands(std::span<const Tensor> arguments) const;

  std::shared_ptr<const State> state_;
};

// A program that knows what it takes and returns: what trace() gives. It is a Program wherever one
// is wanted.
//
//   auto p = trace(loss, cell, xs, target);
//   Tensor value = p(cell, xs, target);
//   auto fast = p.compile("pjrt:cuda:1");  // typed too
template <class Out, class... Args>
class [[nodiscard]] TypedProgram : public trace_internal::TypedCalls<Program, Out, Args...> {
 public:
  using trace_internal::TypedCalls<Program, Out, Args...>::TypedCalls;

  // As of a Program; what they return is typed.
  [[nodiscard]] TypedProgram lowered(SourceLocation at = SourceLocation::here()) const {
    return TypedProgram(Program::lowered(at));
  }
  [[nodiscard]] TypedProgram bind(const Tensor& placeholder, const Tensor& value,
                                  SourceLocation at = SourceLocation::here()) const {
    return TypedProgram(Program::bind(placeholder, value, at));
  }
  [[nodiscard]] TypedCompiledProgram<Out, Args...> compile(
      const CompileOptions& options = {}, SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] TypedCompiledProgram<Out, Args...> compile(
      std::string_view device, const CompileOptions& options = {},
      SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] TypedCompiledProgram<Out, Args...> compile(
      Device& device, const CompileOptions& options = {},
      SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] TypedCompiledProgram<Out, Args...> with_executable(
      std::shared_ptr<runtime::Executable> executable,
      SourceLocation at = SourceLocation::here()) const;
};

namespace trace_internal {

// What trace() knows of one argument: its structure, to name its leaves. `name`: that of a
// Function; empty: it has none.
Program make_program(std::string_view name, std::vector<TreeSpec> specs,
                     std::span<const Tensor> leaves,
                     base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>, TreeSpec&)> fn,
                     SourceLocation at);

template <class Fn, class... Args>
auto invoke_on(Fn& fn, const std::vector<TreeSpec>& specs, std::span<const Tensor> leaves) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    std::tuple<Args...> args{unflatten<Args>(specs[I], leaves)...};  // braces: left to right
    return std::apply(fn, std::move(args));
  }
  (std::index_sequence_for<Args...>());
}

// A callable by reference, and the line of the call that it is an argument of: nothing could stand
// behind a list of arguments of any length.
template <class... Args>
class Traceable {
 public:
  template <class Fn>
  requires(!std::is_same_v<std::remove_cvref_t<Fn>, Traceable>)
      Traceable(Fn&& fn, SourceLocation at = SourceLocation::here())  // implicit: as fn itself
      : fn_(callee(fn)), run_(&run<std::remove_reference_t<Fn>>), at_(at) {
    const PublicCall call("trace", at);
    if constexpr (std::is_invocable_v<Fn&, Args...>) require_function("function", fn);
    if constexpr (HasName<std::remove_cvref_t<Fn>>) name_ = fn.name();
  }

  std::vector<Tensor> operator()(const std::vector<TreeSpec>& specs, std::span<const Tensor> leaves,
                                 TreeSpec& out) const {
    return run_(fn_, specs, leaves, out);
  }
  [[nodiscard]] SourceLocation at() const { return at_; }
  [[nodiscard]] std::string_view name() const { return name_; }  // of a Function, as long as it is

 private:
  union Callee {
    void* object;
    void (*function)();
  };
  using Run = std::vector<Tensor>(Callee, const std::vector<TreeSpec>&, std::span<const Tensor>,
                                  TreeSpec&);

  template <class Fn>
  static Callee callee(Fn& fn) {
    if constexpr (std::is_function_v<Fn>)
      return {.function = reinterpret_cast<void (*)()>(&fn)};
    else
      return {.object = const_cast<void*>(static_cast<const void*>(std::addressof(fn)))};
  }

  template <class Fn>
  static std::vector<Tensor> run(Callee callee, const std::vector<TreeSpec>& specs,
                                 std::span<const Tensor> leaves, TreeSpec& out) {
    if constexpr ((TensorTree<Args> && ...)) return run_on_trees<Fn>(callee, specs, leaves, out);
    return {};  // trace() says why
  }
  template <class Fn>
  static std::vector<Tensor> run_on_trees(Callee callee, const std::vector<TreeSpec>& specs,
                                          std::span<const Tensor> leaves, TreeSpec& out) {
    if constexpr (tree_internal::is_traceable<Fn, Args...>()) {
      auto result = [&] {
        if constexpr (std::is_function_v<Fn>)
          return invoke_on<Fn, Args...>(*reinterpret_cast<Fn*>(callee.function), specs, leaves);
        else
          return invoke_on<Fn, Args...>(*static_cast<Fn*>(callee.object), specs, leaves);
      }();
      out = tree_spec(result);
      return flatten(result);
    }
    return {};
  }

  Callee fn_;
  Run* run_;
  SourceLocation at_;
  std::string_view name_;
};

// What fn returns of such arguments; None where it returns no tree or does not take them: Traceable
// says why.
template <class Fn, class... Args>
auto returned_by() {
  if constexpr ((TensorTree<Args> && ...)) {
    if constexpr (std::is_invocable_v<Fn&, Args...>) {
      using Result = std::remove_cvref_t<std::invoke_result_t<Fn&, Args...>>;
      if constexpr (TensorTree<Result>)
        return std::type_identity<Result>();
      else
        return std::type_identity<None>();
    } else {
      return std::type_identity<None>();
    }
  } else {
    return std::type_identity<None>();
  }
}
template <class Fn, class... Args>
using TypedProgramOf =
    TypedProgram<typename decltype(returned_by<std::remove_reference_t<Fn>, Args...>())::type,
                 Args...>;

template <class... Args>
Program trace_of(const Traceable<Args...>& fn, const Args&... args) {
  static_assert(
      (tree_internal::is_tree_or_explained<Args> && ...),
      "an argument of trace is a tree of Tensors: a Tensor, a pair, tuple, vector, map or "
      "optional of them, or a struct with its kFields; capture C++ numbers instead");
  if constexpr ((TensorTree<Args> && ...)) {
    std::vector<TreeSpec> specs{tree_spec(args)...};
    std::vector<Tensor> leaves;
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    return make_program(
        fn.name(), specs, leaves,
        [&](std::span<const Tensor> traced, TreeSpec& out) { return fn(specs, traced, out); },
        fn.at());
  } else {
    (tree_internal::explain<Args>(), ...);
    std::terminate();  // never compiled
  }
}

// linalg::trace(x, k) sums a diagonal, and keeps its calls beside using namespace heddle::linalg.
template <class Fn>
concept NoTensor = !std::is_same_v<std::remove_cvref_t<Fn>, Tensor>;
template <class Fn, class A>
concept NoDiagonal = NoTensor<Fn> || !std::is_arithmetic_v<A>;

template <class Fn, class... Args>
TypedProgramOf<Fn, Args...> typed_trace(Fn& fn, SourceLocation at, const Args&... args) {
  return TypedProgramOf<Fn, Args...>(trace_of<Args...>(Traceable<Args...>(fn, at), args...));
}

template <class Fn, class... Args>
StatusOr<TypedProgramOf<Fn, Args...>> try_typed_trace(Fn& fn, SourceLocation at,
                                                      const Args&... args) {
  try {
    return typed_trace(fn, at, args...);
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace trace_internal

// Records one run of `fn` on placeholders shaped like `args`, and returns it as a program.
//
// fn       callable on trees like `args`; runs exactly once; may capture Tensors, read-only: each
//          becomes one more parameter, by id
// returns  a program of the leaves of `args`, in tree order, and then of the captured tensors; it
//          knows the types of `args` and of what fn returned: p(args..), a TypedProgram
// errors   Error (InvalidArgument, FailedPrecondition) with the op, the operand types and file:line
//          where an op in `fn` is misused; with the line of the call and the path of a leaf of
//          `args` or of the result that has no value; what else `fn` throws passes untouched
// cost     no buffer is read, written or uploaded; time and memory are linear in the ops recorded
template <class Fn>
requires trace_internal::NoTensor<Fn>  //
auto trace(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at);
}
template <class Fn, class A>
requires trace_internal::NoDiagonal<Fn, A> &&(!trace_internal::TakesOperands<Fn>)  //
    auto trace(Fn&& fn, const A& a, SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a);
}
template <class Fn, class A, class B>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto trace(Fn&& fn, const A& a, const B& b, SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b);
}
template <class Fn, class A, class B, class C>
auto trace(Fn&& fn, const A& a, const B& b, const C& c,
           SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c);
}
template <class Fn, class A, class B, class C, class D>
auto trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d,
           SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c, d);
}
template <class Fn, class A, class B, class C, class D, class E>
auto trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e,
           SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c, d, e);
}
template <class Fn, class A, class B, class C, class D, class E, class F>
auto trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
           SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c, d, e, f);
}
template <class Fn, class A, class B, class C, class D, class E, class F, class G>
auto trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
           const G& g, SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c, d, e, f, g);
}
template <class Fn, class A, class B, class C, class D, class E, class F, class G, class H>
auto trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
           const G& g, const H& h, SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, a, b, c, d, e, f, g, h);
}
// A function of Heddle's by its name: trace(exp, x), trace(fmod, x, y).
inline auto trace(trace_internal::ByName<Operand> fn, const Tensor& x,
                  SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, x);
}
inline auto trace(trace_internal::ByName<Operand, Operand> fn, const Tensor& x, const Tensor& y,
                  SourceLocation at = SourceLocation::here()) {
  return trace_internal::typed_trace(fn, at, x, y);
}
// With more than 8 arguments: nothing could stand behind a list of any length, so the callable
// knows the line, and what comes out knows no types.
template <class... Args>
requires(sizeof...(Args) > 8) Program
    trace(trace_internal::Traceable<std::type_identity_t<Args>...> fn, const Args&... args) {
  return trace_internal::trace_of<Args...>(fn, args...);
}

// The same, with the error as a Status.
template <class Fn>
auto try_trace(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at);
}
template <class Fn, class A>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto try_trace(Fn&& fn, const A& a, SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a);
}
template <class Fn, class A, class B>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto try_trace(Fn&& fn, const A& a, const B& b, SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b);
}
template <class Fn, class A, class B, class C>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c,
               SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c);
}
template <class Fn, class A, class B, class C, class D>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d,
               SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c, d);
}
template <class Fn, class A, class B, class C, class D, class E>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e,
               SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c, d, e);
}
template <class Fn, class A, class B, class C, class D, class E, class F>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
               SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c, d, e, f);
}
template <class Fn, class A, class B, class C, class D, class E, class F, class G>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
               const G& g, SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c, d, e, f, g);
}
template <class Fn, class A, class B, class C, class D, class E, class F, class G, class H>
auto try_trace(Fn&& fn, const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
               const G& g, const H& h, SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, a, b, c, d, e, f, g, h);
}
inline auto try_trace(trace_internal::ByName<Operand> fn, const Tensor& x,
                      SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, x);
}
inline auto try_trace(trace_internal::ByName<Operand, Operand> fn, const Tensor& x, const Tensor& y,
                      SourceLocation at = SourceLocation::here()) {
  return trace_internal::try_typed_trace(fn, at, x, y);
}
template <class... Args>
requires(sizeof...(Args) >
         8) StatusOr<Program> try_trace(trace_internal::Traceable<std::type_identity_t<Args>...> fn,
                                        const Args&... args) {
  try {
    return trace_internal::trace_of<Args...>(fn, args...);
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace heddle
