#include "heddle/trace/compiled_program.h"

#include <algorithm>
#include <ostream>

#include "heddle/runtime/registry.h"
#include "heddle/trace/node.h"
#include "heddle/trace/run_module.h"

namespace heddle {

struct CompiledProgram::State {
  Program program;
  CompileOptions options;
  std::shared_ptr<runtime::Executable> executable;
  ExecuteOptions run_options;
};

namespace {

using runtime::BufferPtr;

// Executables tell parameters and results by type alone.
void check_types(std::string_view name, std::string_view what, const std::vector<Shape>& have,
                 std::vector<Leaf> want, SourceLocation at) {
  if (have.size() != want.size()) {
    throw Error(invalid_argument("with_executable: the executable has ", have.size(), " ", what,
                                 "; program ", name, " has ", want.size(),
                                 "; load one that was compiled of this program"),
                at);
  }
  for (size_t i = 0; i < have.size(); ++i) {
    if (same_type(have[i], want[i].shape)) continue;
    throw Error(
        invalid_argument("with_executable: of the ", what, " of the executable number ", i, " is ",
                         to_string(have[i]), "; ", want[i].path, " of program ", name, " is ",
                         to_string(want[i].shape), "; load one that was compiled of this program"),
        at);
  }
}

std::vector<Leaf> parameters_of(const Signature& signature) {
  std::vector<Leaf> all = signature.arguments;
  all.insert(all.end(), signature.captures.begin(), signature.captures.end());
  return all;
}

Error elsewhere(const CompiledProgram& program, std::string_view argument, const Device& there,
                SourceLocation at) {
  return Error(invalid_argument(
                   "run: ", argument, " is on ", there.name(), "; program ",
                   program.signature().name, " was compiled for ", program.device().name(),
                   "; make the tensor there, under a DefaultDevice, or compile the program for ",
                   there.name()),
               at);
}

}  // namespace

CompiledProgram Program::compile(Device& device, const CompileOptions& options,
                                 SourceLocation at) const {
  auto executable = value_or_throw(trace_internal::executable_for(module(), device, options), at);
  return CompiledProgram(std::make_shared<const CompiledProgram::State>(
      CompiledProgram::State{*this, options, std::move(executable), {}}));
}

CompiledProgram Program::compile(const CompileOptions& options, SourceLocation at) const {
  return compile(*value_or_throw(runtime::find_default_device(), at), options, at);
}

CompiledProgram Program::compile(std::string_view device, const CompileOptions& options,
                                 SourceLocation at) const {
  StatusOr<Device*> found = runtime::find_device(device);
  throw_if_error(annotate(found.status(), "compile ", signature().name, ": "), at);
  return compile(**found, options, at);
}

CompiledProgram Program::with_executable(std::shared_ptr<runtime::Executable> executable,
                                         SourceLocation at) const {
  if (executable == nullptr) {
    throw Error(invalid_argument("with_executable: there is no executable; load or compile one"),
                at);
  }
  check_types(signature().name, "parameters", executable->parameter_shapes(),
              parameters_of(signature()), at);
  check_types(signature().name, "results", executable->result_shapes(), signature().results, at);
  return CompiledProgram(std::make_shared<const CompiledProgram::State>(
      CompiledProgram::State{*this, {}, std::move(executable), {}}));
}

Device& CompiledProgram::device() const { return state_->executable->device(); }
const CompileOptions& CompiledProgram::options() const { return state_->options; }
const Program& CompiledProgram::program() const { return state_->program; }
const Signature& CompiledProgram::signature() const { return program().signature(); }
const TreeSpec& CompiledProgram::result_spec() const { return program().result_spec(); }
const std::vector<TreeSpec>& CompiledProgram::argument_specs() const {
  return program().argument_specs();
}
ProgramCost CompiledProgram::cost() const { return state_->executable->cost(); }
const std::shared_ptr<runtime::Executable>& CompiledProgram::executable() const {
  return state_->executable;
}

CompiledProgram CompiledProgram::with(ExecuteOptions options, SourceLocation at) const {
  const int arguments = static_cast<int>(signature().arguments.size());
  for (auto it = options.donate.begin(); it != options.donate.end(); ++it) {
    if (*it < 0 || *it >= arguments) {
      throw Error(invalid_argument("with: donates argument ", *it, "; program ", signature().name,
                                   " has ", arguments, ", counted from 0",
                                   signature().captures.empty()
                                       ? ""
                                       : ", and what it captures cannot be donated: pass it"),
                  at);
    }
    if (std::find(options.donate.begin(), it, *it) != it) {
      throw Error(invalid_argument("with: donates argument ", *it, " twice; name it once"), at);
    }
  }
  State state = *state_;
  state.run_options = std::move(options);
  return CompiledProgram(std::make_shared<const State>(std::move(state)));
}

std::vector<Tensor> CompiledProgram::run(std::span<const Tensor> arguments,
                                         SourceLocation at) const {
  const std::vector<Tensor> all = program().operands(arguments, at);
  const std::vector<BufferPtr> buffers = trace_internal::buffers_of(all, "run", at);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Device& there = buffers[i]->device();
    if (&there == &device()) continue;
    throw elsewhere(*this,
                    i < arguments.size() ? cat("argument ", signature().arguments[i].path)
                                         : signature().captures[i - arguments.size()].path,
                    there, at);
  }
  return trace_internal::run_executable(*state_->executable, buffers, at, state_->run_options);
}

std::string to_string(const CompiledProgram& program) {
  std::string out = cat(program.signature().name, " on ", program.device().name());
  for (const BackendOption& option : program.options().backend_options)
    append(out, ", ", option.name, "=", option.value);
  return out;
}

std::ostream& operator<<(std::ostream& out, const CompiledProgram& program) {
  return out << to_string(program);
}

}  // namespace heddle
