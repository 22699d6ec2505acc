// CompiledProgram: a program for one device, compiled with options that are data. What
// Program::compile gives.
//
//   CompileOptions options{.backend_options = {{"xla_gpu_enable_fast_min_max", "true"}}};
//   CompiledProgram step =
//       trace(update, state, batch).compile("pjrt:cuda:1", options).with({.donate = {0}});
//   state = step.call<State>(state, batch);
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/calls.h"
#include "heddle/trace/program.h"

namespace heddle {

using runtime::ExecuteOptions;
using runtime::ProgramCost;

// Copies refer to the same executable. May be run from several threads at once.
class CompiledProgram : public trace_internal::Calls<CompiledProgram> {
 public:
  // Where it runs: device().name() is "pjrt:cuda:1".
  [[nodiscard]] Device& device() const;
  // As given to compile(); the device's own defaults are not among them. Nothing is known of those
  // of an executable that with_executable() was given.
  [[nodiscard]] const CompileOptions& options() const;
  [[nodiscard]] const Program& program() const;
  [[nodiscard]] const Signature& signature() const;
  [[nodiscard]] const TreeSpec& result_spec() const;
  [[nodiscard]] const std::vector<TreeSpec>& argument_specs() const;
  // Bytes and flops of one run, as far as the backend knows.
  [[nodiscard]] ProgramCost cost() const;
  // What the backend made: arguments are those of signature(), and then its captures. For
  // pjrt::serialize, and for runs on buffers.
  [[nodiscard]] const std::shared_ptr<runtime::Executable>& executable() const;

  // The same program, whose runs have these options. `donate` counts the tensors of
  // signature().arguments from 0. Their memory is the run's, and they are donated from its start
  // on, in every copy: reading one is an error. `only_if_room`: Unavailable instead of a wait where
  // the device has as much in flight as it may (runtime/throttle.h).
  //
  // errors   Error (InvalidArgument) for a number that is no argument's, or there twice; captured
  //          tensors cannot be donated, since the next run needs them
  [[nodiscard]] CompiledProgram with(ExecuteOptions options,
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

  struct State;
  explicit CompiledProgram(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

// "step on pjrt:cuda:1, xla_gpu_..=true"
std::string to_string(const CompiledProgram& program);
std::ostream& operator<<(std::ostream& out, const CompiledProgram& program);

}  // namespace heddle
