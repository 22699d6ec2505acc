// CompiledProgram: a program for one device, compiled with options that are data. What
// Program::compile gives.
//
//   CompileOptions options{.backend_options = {{"xla_gpu_enable_fast_min_max", "true"}}};
//   auto step = trace(update, state, batch).compile("pjrt:cuda:1", options).with({.donate = {0}});
//   state = step(state, batch);
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/run/calls.h"
#include "heddle/trace/run/program.h"

namespace heddle {

using runtime::ExecuteOptions;
using runtime::ProgramCost;
using runtime::ProgramMemory;

// What a run may take the memory of: an argument by its number, from 0, with all of its leaves; or
// a part of one by its path in signature().arguments, "arg0.carry" or "arg0.carry.level". The path
// may begin behind the argument, "carry.level", where one argument alone has it.
class Donated {
 public:
  template <class T>
  requires std::is_convertible_v<T, int64_t> Donated(T argument)
      : argument_(base::Int(argument)) {}  // implicit: {.donate = {0}}
  Donated(std::string path) : argument_(-1), path_(std::move(path)) {}
  Donated(const char* path) : Donated(std::string(path)) {}  // {.donate = {"carry"}}

  [[nodiscard]] int64_t argument() const { return argument_; }
  [[nodiscard]] const std::optional<std::string>& path() const { return path_; }

 private:
  int64_t argument_;
  std::optional<std::string> path_;
};

// Some of them: {0, "carry"}, or one alone.
struct DonatedParts : std::vector<Donated> {
  DonatedParts() = default;
  DonatedParts(std::initializer_list<Donated> parts) : std::vector<Donated>(parts) {}
  DonatedParts(std::vector<Donated> parts) : std::vector<Donated>(std::move(parts)) {}
  template <class T>
  requires std::is_convertible_v<T, Donated> DonatedParts(const T& one)
      : std::vector<Donated>{Donated(one)} {}  // implicit: {.donate = 0}
};

namespace trace_internal {

// The arguments that Donated is read for, and what errors say of them.
struct PartsOf {
  const std::vector<SignatureLeaf>& leaves;
  const std::vector<TreeSpec>& specs;
  std::string_view does;           // "with: donates "
  std::string whose;               // "the program 'step'"
  std::string_view captures = {};  // why what it captures is none; empty: it captures nothing
};
// The numbers of the leaves. errors: throws Error for an argument that there is none of, a part
// that is none, with those there are, or a leaf that is named twice
std::vector<int> leaves_of(const std::vector<Donated>& parts, const PartsOf& of);

}  // namespace trace_internal

struct RunOptions {
  DonatedParts donate = {};
  // Unavailable instead of a wait, where the device has as much in flight as it may
  // (runtime/throttle.h).
  bool only_if_room = false;
  // Ends a run, with Cancelled and the line of the loop that it was in, when it asks
  // (base/system/stop.h). What was donated is gone. errors: Unimplemented on a device that cannot,
  // as any of pjrt:NAME
  StopToken stop = {};
};

// Copies refer to the same executable. May be run from several threads at once. One that was moved
// from is empty, and every use of it an Error that says so.
class [[nodiscard]] CompiledProgram : public trace_internal::Calls<CompiledProgram> {
 public:
  // Where it runs: device().name() is "pjrt:cuda:1".
  [[nodiscard]] Device& device(SourceLocation at = SourceLocation::here()) const;
  // As given to compile(); the device's own defaults are not among them. Nothing is known of those
  // of an executable that with_executable() was given.
  [[nodiscard]] const CompileOptions& options(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const Program& program(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const Signature& signature(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const TreeSpec& result_spec(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] const std::vector<TreeSpec>& argument_specs(
      SourceLocation at = SourceLocation::here()) const;
  // Bytes and flops of one run, as far as the backend knows.
  [[nodiscard]] ProgramCost cost(SourceLocation at = SourceLocation::here()) const;
  [[nodiscard]] ProgramMemory memory(SourceLocation at = SourceLocation::here()) const {
    return cost(at);  // its bytes alone
  }
  // What the backend made: arguments are those of signature(), and then its captures. For
  // pjrt::serialize, and for runs on buffers.
  [[nodiscard]] const std::shared_ptr<runtime::Executable>& executable(
      SourceLocation at = SourceLocation::here()) const;

  // The same program, whose runs have these options. What is donated is the run's memory from its
  // start on, in every copy: reading one is an error that says as what it was donated, and where.
  //
  // errors   Error (InvalidArgument) for a number that is no argument's, a path that is none, with
  //          those there are, or a tensor that is there twice; captured tensors cannot be donated,
  //          since the next run needs them
  [[nodiscard]] CompiledProgram with(const RunOptions& options,
                                     SourceLocation at = SourceLocation::here()) const;

  // Runs it; captured tensors are passed along. call<Out>(args..) does this with trees.
  //
  // returns  the leaves of what fn returned, perhaps pending
  // errors   Error: as Program::run(); InvalidArgument that names the argument and both devices
  //          where one is on another device, or is donated and there twice; Unavailable with
  //          only_if_room, which leaves donations as they were
  // cost     no byte moves between host and device
  std::vector<Tensor> run(std::span<const Tensor> arguments,
                          SourceLocation at = SourceLocation::here()) const;

  // For Heddle's own code. errors: Error where it was moved from, at a call of `op`
  void require_here(std::string_view op) const { (void)state(op, {}); }

  struct State;
  explicit CompiledProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  // errors: Error where it was moved from
  [[nodiscard]] const State& state(std::string_view op, SourceLocation at) const;
  [[nodiscard]] bool is_moved_from() const { return state_ == nullptr; }
  friend std::string to_string(const CompiledProgram& program);

  std::shared_ptr<const State> state_;
};

// One that knows what it takes and returns: what trace(..).compile() gives.
template <class Out, class... Args>
class [[nodiscard]] TypedCompiledProgram
    : public trace_internal::TypedCalls<CompiledProgram, Out, Args...> {
 public:
  using trace_internal::TypedCalls<CompiledProgram, Out, Args...>::TypedCalls;

  [[nodiscard]] TypedCompiledProgram with(const RunOptions& options,
                                          SourceLocation at = SourceLocation::here()) const {
    return TypedCompiledProgram(CompiledProgram::with(options, at));
  }
};

template <class Out, class... Args>
TypedCompiledProgram<Out, Args...> TypedProgram<Out, Args...>::compile(
    const CompileOptions& options, SourceLocation at) const {
  return TypedCompiledProgram<Out, Args...>(Program::compile(options, at));
}
template <class Out, class... Args>
TypedCompiledProgram<Out, Args...> TypedProgram<Out, Args...>::compile(
    std::string_view device, const CompileOptions& options, SourceLocation at) const {
  return TypedCompiledProgram<Out, Args...>(Program::compile(device, options, at));
}
template <class Out, class... Args>
TypedCompiledProgram<Out, Args...> TypedProgram<Out, Args...>::compile(
    Device& device, const CompileOptions& options, SourceLocation at) const {
  return TypedCompiledProgram<Out, Args...>(Program::compile(device, options, at));
}
template <class Out, class... Args>
TypedCompiledProgram<Out, Args...> TypedProgram<Out, Args...>::with_executable(
    std::shared_ptr<runtime::Executable> executable, SourceLocation at) const {
  return TypedCompiledProgram<Out, Args...>(Program::with_executable(std::move(executable), at));
}

// "step on pjrt:cuda:1, xla_gpu_..=true"
std::string to_string(const CompiledProgram& program);
std::ostream& operator<<(std::ostream& out, const CompiledProgram& program);

}  // namespace heddle
