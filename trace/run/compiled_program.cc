#include "heddle/trace/run/compiled_program.h"

#include <algorithm>
#include <ostream>

#include "heddle/runtime/registry.h"
#include "heddle/trace/node.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/run/run_module.h"

namespace heddle {

struct CompiledProgram::State {
  Program program;
  CompileOptions options;
  std::shared_ptr<runtime::Executable> executable;
  ExecuteOptions run_options = {};
  // Of run_options.donate: "arg0.level of the program".
  std::vector<std::shared_ptr<const std::string>> donated_as = {};
};

namespace {

using runtime::BufferPtr;
using trace_internal::program_named;
using trace_internal::PublicCall;

// Executables tell parameters and results by type alone.
void check_types(std::string_view name, std::string_view what, const std::vector<Shape>& have,
                 std::vector<SignatureLeaf> want) {
  if (have.size() != want.size()) {
    throw Error(base::invalid_argument("with_executable: the executable has ", have.size(), " ",
                                       what, "; ", program_named(name), " has ", want.size(),
                                       "; load one that was compiled of this program"));
  }
  for (size_t i = 0; i < have.size(); ++i) {
    if (same_type(have[i], want[i].shape)) continue;
    throw Error(base::invalid_argument(
        "with_executable: of the ", what, " of the executable number ", i, " is ",
        to_string(have[i]), "; ", want[i].path, " of ", program_named(name), " is ",
        to_string(want[i].shape), "; load one that was compiled of this program"));
  }
}

std::vector<SignatureLeaf> parameters_of(const Signature& signature) {
  std::vector<SignatureLeaf> all = signature.arguments;
  all.insert(all.end(), signature.captures.begin(), signature.captures.end());
  return all;
}

Error elsewhere(const CompiledProgram& program, std::string_view argument, const Device& there) {
  return Error(trace_internal::invalid_argument(
      "run", ": ", argument, " is on ", there.name(), "; ", program_named(program.signature().name),
      " was compiled for ", program.device().name(),
      "; move the tensor with device_put(x, device), or compile the program for ", there.name()));
}

}  // namespace

CompiledProgram Program::compile(Device& device, const CompileOptions& options,
                                 SourceLocation at) const {
  const PublicCall call("compile", at);
  require_here("compile");
  auto executable =
      value_or_throw(trace_internal::executable_for(shared_module({}), device, options));
  return CompiledProgram(std::make_shared<const CompiledProgram::State>(
      CompiledProgram::State{*this, options, std::move(executable)}));
}

CompiledProgram Program::compile(const CompileOptions& options, SourceLocation at) const {
  const PublicCall call("compile", at);
  require_here("compile");
  return compile(*value_or_throw(runtime::find_default_device()), options);
}

CompiledProgram Program::compile(std::string_view device, const CompileOptions& options,
                                 SourceLocation at) const {
  const PublicCall call("compile", at);
  require_here("compile");
  StatusOr<Device*> found = runtime::find_device(device);
  throw_if_error(base::annotate(found.status(), "compile ", signature().name, ": "));
  return compile(**found, options);
}

CompiledProgram Program::with_executable(std::shared_ptr<runtime::Executable> executable,
                                         SourceLocation at) const {
  const PublicCall call("with_executable", at);
  require_here("with_executable");
  if (executable == nullptr) {
    throw Error(
        base::invalid_argument("with_executable: there is no executable; load or compile one"));
  }
  check_types(signature().name, "parameters", executable->parameter_shapes(),
              parameters_of(signature()));
  check_types(signature().name, "results", executable->result_shapes(), signature().results);
  return CompiledProgram(std::make_shared<const CompiledProgram::State>(
      CompiledProgram::State{*this, {}, std::move(executable)}));
}

const CompiledProgram::State& CompiledProgram::state(std::string_view op, SourceLocation at) const {
  if (state_ == nullptr) trace_internal::throw_moved_from(op, "compiled program", at);
  return *state_;
}

Device& CompiledProgram::device(SourceLocation at) const {
  return state("device", at).executable->device();
}
const CompileOptions& CompiledProgram::options(SourceLocation at) const {
  return state("options", at).options;
}
const Program& CompiledProgram::program(SourceLocation at) const {
  return state("program", at).program;
}
const Signature& CompiledProgram::signature(SourceLocation at) const {
  return state("signature", at).program.signature(at);
}
const TreeSpec& CompiledProgram::result_spec(SourceLocation at) const {
  return state("result_spec", at).program.result_spec(at);
}
const std::vector<TreeSpec>& CompiledProgram::argument_specs(SourceLocation at) const {
  return state("argument_specs", at).program.argument_specs(at);
}
ProgramCost Program::cost(SourceLocation at) const { return compile({}, at).cost(at); }

ProgramCost CompiledProgram::cost(SourceLocation at) const {
  return state("cost", at).executable->cost();
}
const std::shared_ptr<runtime::Executable>& CompiledProgram::executable(SourceLocation at) const {
  return state("executable", at).executable;
}

namespace {

using trace_internal::PartsOf;

// Reads parts of arguments: as leaves.
class Parts {
 public:
  explicit Parts(const PartsOf& of) : of_(of) {}

  std::vector<int> leaves_of(const std::vector<Donated>& parts) {
    for (const Donated& item : parts) {
      const std::vector<int> found = item.path() ? of_path(*item.path()) : of_argument(item);
      for (int leaf : found) add(leaf);
    }
    return std::move(leaves_);
  }

 private:
  void add(int leaf) {
    if (std::ranges::count(leaves_, leaf) > 0) {
      throw Error(base::invalid_argument(of_.does, of_.leaves[static_cast<size_t>(leaf)].path,
                                         " twice; name it once"));
    }
    leaves_.push_back(leaf);
  }

  [[nodiscard]] std::vector<int> of_argument(const Donated& item) const {
    const int arguments = static_cast<int>(of_.specs.size());
    if (item.argument() < 0 || item.argument() >= arguments) {
      throw Error(base::invalid_argument(of_.does, "argument ", item.argument(), "; ", of_.whose,
                                         " has ", arguments, ", counted from 0", of_.captures));
    }
    const auto argument = static_cast<size_t>(item.argument());
    int first = 0;
    for (size_t i = 0; i < argument; ++i) first += static_cast<int>(leaf_count(of_.specs[i]));
    std::vector<int> leaves;
    for (size_t i = 0; i < leaf_count(of_.specs[argument]); ++i)
      leaves.push_back(first + static_cast<int>(i));
    return leaves;
  }

  // Whether `path` is `prefix`, or within it.
  static bool is_within(std::string_view path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return false;
    return path.size() == prefix.size() || path[prefix.size()] == '.' || path[prefix.size()] == '[';
  }
  // Where the argument's own path begins: at 4 of "arg0.w".
  static size_t behind_argument(std::string_view path) {
    const size_t end = path.find_first_of(".[");
    return end == std::string_view::npos ? path.size() : path[end] == '.' ? end + 1 : end;
  }

  [[nodiscard]] std::vector<int> of_path(const std::string& path) const {
    std::vector<int> whole, part;
    std::string first;  // argument that has the part
    for (size_t i = 0; i < of_.leaves.size(); ++i) {
      const std::string_view leaf = of_.leaves[i].path;
      if (is_within(leaf, path)) whole.push_back(static_cast<int>(i));
      const size_t begin = behind_argument(leaf);
      if (begin == leaf.size() || !is_within(leaf.substr(begin), path)) continue;
      const std::string argument(leaf.substr(0, leaf.find_first_of(".[")));
      if (!part.empty() && argument != first && whole.empty()) {
        throw Error(base::invalid_argument(of_.does, "\"", path, "\", which is in ", first,
                                           " and in ", argument, "; write \"", first,
                                           leaf[begin - 1] == '.' ? "." : "", path, "\""));
      }
      first = argument;
      part.push_back(static_cast<int>(i));
    }
    if (!whole.empty()) return whole;
    if (!part.empty()) return part;
    throw Error(base::invalid_argument(of_.does, "\"", path, "\"; ", of_.whose,
                                       " has no such argument, it has ", known(), of_.captures));
  }

  // The paths that there are.
  [[nodiscard]] std::string known() const {
    constexpr size_t kMost = 20;
    std::vector<std::string> paths;
    for (const SignatureLeaf& leaf : of_.leaves) {
      if (paths.size() == kMost) break;
      paths.push_back(leaf.path);
    }
    const size_t more = of_.leaves.size() - paths.size();
    return paths.empty() ? "none"
                         : base::cat(base::join(paths, ", "),
                                     more > 0 ? base::cat(" and ", more, " more") : "");
  }

  const PartsOf& of_;
  std::vector<int> leaves_;
};

}  // namespace

std::vector<int> trace_internal::leaves_of(const std::vector<Donated>& parts, const PartsOf& of) {
  return Parts(of).leaves_of(parts);
}

CompiledProgram CompiledProgram::with(const RunOptions& options, SourceLocation at) const {
  const PublicCall call("with", at);
  State next = state("with", at);
  const Signature& signature = next.program.signature();
  const trace_internal::PartsOf of{
      signature.arguments, next.program.argument_specs(), "with: donates ",
      program_named(signature.name),
      signature.captures.empty() ? "" : ", and what it captures cannot be donated: pass it"};
  next.run_options = {.donate = trace_internal::leaves_of(options.donate, of),
                      .only_if_room = options.only_if_room,
                      .stop = options.stop};
  next.donated_as.clear();
  for (int leaf : next.run_options.donate) {
    next.donated_as.push_back(std::make_shared<const std::string>(
        base::cat(signature.arguments[static_cast<size_t>(leaf)].path, " of ",
                  program_named(signature.name))));
  }
  return CompiledProgram(std::make_shared<const State>(std::move(next)));
}

namespace {

// A tensor that is donated may be no other argument too.
void check_passed_once(const std::vector<int>& donate, const std::vector<BufferPtr>& buffers,
                       const std::vector<SignatureLeaf>& paths) {
  for (int leaf : donate) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      const auto given = static_cast<size_t>(leaf);
      if (i == given || buffers[i] != buffers[given]) continue;
      trace_internal::refuse(paths[given].path, " is donated and passed again as ", paths[i].path,
                             "; pass copy(x) of one of them, or do not donate it");
    }
  }
}

// The buffers of arguments and captures that are as they have to be; false, at the first mistake,
// which others have words for.
bool take_buffers(const Program& program, const Device& device, std::span<const Tensor> arguments,
                  std::vector<BufferPtr>& buffers) {
  const std::vector<SignatureLeaf>& want = program.signature().arguments;
  const std::vector<Tensor>& captures = program.captures();
  if (arguments.size() != want.size()) return false;
  buffers.reserve(arguments.size() + captures.size());
  const auto take = [&](const Tensor& tensor, const Shape& type) {
    if (!tensor.is_valid()) return false;
    const trace_internal::Node& node = *tensor.node();
    if (node.scope || !node.buffer || &node.buffer->device() != &device) return false;
    if (!same_type(node.shape, type) || node.buffer->is_deleted()) return false;
    buffers.push_back(node.buffer);
    return true;
  };
  for (size_t i = 0; i < want.size(); ++i) {
    if (!take(arguments[i], want[i].shape)) return false;
  }
  return std::ranges::all_of(captures,
                             [&](const Tensor& capture) { return take(capture, capture.shape()); });
}

}  // namespace

std::vector<Tensor> CompiledProgram::run(std::span<const Tensor> arguments,
                                         SourceLocation at) const {
  const PublicCall call("run", at);
  const State& now = state("run", at);
  std::vector<BufferPtr> buffers;
  if (!take_buffers(now.program, now.executable->device(), arguments, buffers))
    buffers = trace_internal::buffers_of(now.program.operands(arguments), "run");
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Device& there = buffers[i]->device();
    if (&there == &now.executable->device()) continue;
    throw elsewhere(*this,
                    i < arguments.size()
                        ? base::cat("argument ", signature().arguments[i].path)
                        : base::cat(signature().captures[i - arguments.size()].path, ", ",
                                    signature().captures[i - arguments.size()].shape, ","),
                    there);
  }
  const std::vector<int>& donate = now.run_options.donate;
  // Of what the run took: one that fails may leave buffers as they were.
  const auto remark = [&] {
    for (size_t i = 0; i < donate.size(); ++i) {
      const auto given = static_cast<size_t>(donate[i]);
      if (!buffers[given]->is_deleted()) continue;
      trace_internal::set_remark(
          *arguments[given].node(),
          std::make_shared<const trace_internal::Remark>(
              trace_internal::Remark{{}, now.donated_as[i], PublicCall::line_or({})}));
    }
  };
  try {
    std::vector<Tensor> results =
        trace_internal::run_executable(*now.executable, buffers, now.run_options);
    remark();
    return results;
  } catch (const Error&) {
    remark();
    check_passed_once(donate, buffers, parameters_of(signature()));
    throw;
  }
}

std::string to_string(const CompiledProgram& program) {
  if (program.is_moved_from()) return "a compiled program that was moved from";
  std::string out = base::cat(program.signature().name, " on ", program.device().name());
  for (const BackendOption& option : program.options().backend_options)
    base::append(out, ", ", option.name, "=", option.value);
  return out;
}

std::ostream& operator<<(std::ostream& out, const CompiledProgram& program) {
  return out << to_string(program);
}

}  // namespace heddle
