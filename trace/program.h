// trace(fn, args..) -> Program: one run of fn on placeholders, kept as HLO. Moves no byte, also for
// arguments that are placeholders.
//
//   Program p = trace(loss, cell, xs, target);
//   std::cout << p.hlo_text();
//   Tensor value = p.call<Tensor>(cell, xs, target);   // runs on the default device
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/placeholder/signature.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/calls.h"
#include "heddle/trace/error.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

namespace hlo {
struct Module;
}

class CompiledProgram;

using runtime::BackendOption;
using runtime::CompileOptions;

// call<Out>(args..) runs it on trees.
class Program : public trace_internal::Calls<Program> {
 public:
  // HLO text of the module: as traced (scans structured), constants in full.
  [[nodiscard]] std::string hlo_text() const;
  // A serialised HloModuleProto.
  [[nodiscard]] std::string hlo_proto() const;
  // Names, paths and types of arguments, captured tensors and results.
  [[nodiscard]] const Signature& signature() const;
  [[nodiscard]] const hlo::Module& module() const;
  // The same program as plain HLO, which any XLA reads: scan lowered to while, and calls of LAPACK
  // to loops (transform/lapack/expand.h).
  [[nodiscard]] Program lowered(SourceLocation at = SourceLocation::here()) const;
  // The structure that fn returned, and those of its arguments.
  [[nodiscard]] const TreeSpec& result_spec() const;
  [[nodiscard]] const std::vector<TreeSpec>& argument_specs() const;

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
  // Include trace/compiled_program.h (heddle.h has it).
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
  // It, run by an executable that was made elsewhere of the same program, as by pjrt::load.
  // errors: Error (InvalidArgument) where its parameters or results are of other types
  [[nodiscard]] CompiledProgram with_executable(std::shared_ptr<runtime::Executable> executable,
                                                SourceLocation at = SourceLocation::here()) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  friend class CompiledProgram;
  // The arguments, and then the captured tensors. errors: as run()
  [[nodiscard]] std::vector<Tensor> operands(std::span<const Tensor> arguments,
                                             SourceLocation at) const;

  std::shared_ptr<const State> state_;
};

namespace trace_internal {

// What trace() knows of one argument: its structure, to name its leaves.
Program make_program(std::string name, std::vector<TreeSpec> specs, std::span<const Tensor> leaves,
                     FunctionRef<std::vector<Tensor>(std::span<const Tensor>, TreeSpec&)> fn,
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
      : fn_(address(fn)), run_(&run<std::remove_reference_t<Fn>>), at_(at) {}

  std::vector<Tensor> operator()(const std::vector<TreeSpec>& specs, std::span<const Tensor> leaves,
                                 TreeSpec& out) const {
    return run_(fn_, specs, leaves, out);
  }
  [[nodiscard]] SourceLocation at() const { return at_; }

 private:
  using Run = std::vector<Tensor>(void*, const std::vector<TreeSpec>&, std::span<const Tensor>,
                                  TreeSpec&);

  template <class Fn>
  static void* address(Fn& fn) {
    if constexpr (std::is_function_v<Fn>)
      return reinterpret_cast<void*>(&fn);
    else
      return const_cast<void*>(static_cast<const void*>(std::addressof(fn)));
  }

  template <class Fn>
  static std::vector<Tensor> run(void* object, const std::vector<TreeSpec>& specs,
                                 std::span<const Tensor> leaves, TreeSpec& out) {
    if constexpr ((Tree<Args> && ...)) return run_on_trees<Fn>(object, specs, leaves, out);
    return {};  // trace() says why
  }
  template <class Fn>
  static std::vector<Tensor> run_on_trees(void* object, const std::vector<TreeSpec>& specs,
                                          std::span<const Tensor> leaves, TreeSpec& out) {
    if constexpr (tree_internal::is_traceable<Fn, Args...>()) {
      auto result = [&] {
        if constexpr (std::is_function_v<Fn>)
          return invoke_on<Fn, Args...>(*reinterpret_cast<Fn*>(object), specs, leaves);
        else
          return invoke_on<Fn, Args...>(*static_cast<Fn*>(object), specs, leaves);
      }();
      out = tree_spec(result);
      return flatten(result);
    }
    return {};
  }

  void* fn_;
  Run* run_;
  SourceLocation at_;
};

}  // namespace trace_internal

// Records one run of `fn` on placeholders shaped like `args`, and returns it as a program.
//
// fn       callable on trees like `args`; runs exactly once; may capture Tensors, read-only: each
//          becomes one more parameter, by id
// returns  a program of the leaves of `args`, in tree order, and then of the captured tensors
// errors   Error (InvalidArgument, FailedPrecondition) with the op, the operand types and file:line
//          where an op in `fn` is misused; with the line of the call and the path of a leaf of
//          `args` or of the result that has no value; what else `fn` throws passes untouched
// cost     no buffer is read, written or uploaded; time and memory are linear in the ops recorded
template <class... Args>
Program trace(trace_internal::Traceable<std::type_identity_t<Args>...> fn, const Args&... args) {
  static_assert(
      (tree_internal::is_tree_or_explained<Args> && ...),
      "an argument of trace is a tree of Tensors: a Tensor, a pair, tuple, vector, map or "
      "optional of them, or a struct with its kFields; capture C++ numbers instead");
  if constexpr ((Tree<Args> && ...)) {
    std::vector<TreeSpec> specs{tree_spec(args)...};
    std::vector<Tensor> leaves;
    (for_each_leaf(args, [&](const Tensor& leaf) { leaves.push_back(leaf); }), ...);
    return trace_internal::make_program(
        "main", specs, leaves,
        [&](std::span<const Tensor> traced, TreeSpec& out) { return fn(specs, traced, out); },
        fn.at());
  } else {
    (tree_internal::explain<Args>(), ...);
    return Program(nullptr);
  }
}

// The same, with the error as a Status.
template <class... Args>
StatusOr<Program> try_trace(trace_internal::Traceable<std::type_identity_t<Args>...> fn,
                            const Args&... args) {
  try {
    return trace(fn, args...);
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace heddle
