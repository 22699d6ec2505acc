#include "heddle/trace/run/program.h"

#include <algorithm>
#include <mutex>

#include "heddle/hlo/text.h"
#include "heddle/hlo/text/pictures/dot.h"
#include "heddle/hlo/text/pictures/html.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/run_module.h"
#include "heddle/transform/lapack/expand.h"
#include "heddle/transform/lower.h"

namespace heddle {

using trace_internal::PublicCall;

namespace {

// What the cache of programs gave for one module, by device: found without looking at the module
// again, and kept as long as the program.
class Compiled {
 public:
  std::shared_ptr<runtime::Executable> get(const runtime::ModulePtr& module,
                                           runtime::Device& device) {
    std::unique_lock lock(mutex_);
    for (const auto& [where, executable] : by_device_) {
      if (where == device.serial()) return executable;
    }
    lock.unlock();
    auto made = value_or_throw(trace_internal::executable_for(module, device));
    lock.lock();
    by_device_.emplace_back(device.serial(), made);
    return made;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, std::shared_ptr<runtime::Executable>>> by_device_;
};

// Traced values have no id.
bool is_same(const Tensor& a, const Tensor& b) {
  return a.is_traced() ? a.node() == b.node() : a.id() == b.id();
}

}  // namespace

struct Program::State {
  runtime::ModulePtr module;
  std::shared_ptr<Compiled> compiled = std::make_shared<Compiled>();  // of `module`
  std::vector<Tensor> captures;
  Signature signature;
  std::vector<TreeSpec> argument_specs;
  TreeSpec result_spec;
};

const Program::State& Program::state(std::string_view op, SourceLocation at) const {
  if (state_ == nullptr) trace_internal::throw_moved_from(op, "program", at);
  return *state_;
}

std::string Program::hlo_text(SourceLocation at) const {
  return hlo::print(*state("hlo_text", at).module);
}
std::string Program::short_text(SourceLocation at) const {
  return hlo::print(*state("short_text", at).module, {.form = hlo::PrintOptions::Form::kShort,
                                                      .line_comments = true,
                                                      .max_constant_elements = 16});
}
std::string Program::dot(SourceLocation at) const {
  return hlo::print_dot(*state("dot", at).module);
}
std::string Program::html(SourceLocation at) const {
  return hlo::print_html(*state("html", at).module);
}
const Signature& Program::signature(SourceLocation at) const {
  return state("signature", at).signature;
}
const hlo::Module& Program::module(SourceLocation at) const { return module_for("module", at); }
const hlo::Module& Program::module_for(std::string_view function, SourceLocation at) const {
  return *state(function, at).module;
}
const runtime::ModulePtr& Program::shared_module(SourceLocation at) const {
  return state("module", at).module;
}
const TreeSpec& Program::result_spec(SourceLocation at) const {
  return state("result_spec", at).result_spec;
}
const std::vector<TreeSpec>& Program::argument_specs(SourceLocation at) const {
  return state("argument_specs", at).argument_specs;
}

const std::vector<Tensor>& Program::captures() const { return state("captures", {}).captures; }

Program Program::lowered(SourceLocation at) const {
  const PublicCall call("lowered", at);
  auto lower = std::make_shared<State>(state("lowered", at));
  hlo::Module module = value_or_throw(transform::lower(*state_->module));
  if (transform::has_lapack(module)) module = value_or_throw(transform::expand_lapack(module));
  lower->module = std::make_shared<const hlo::Module>(std::move(module));
  lower->compiled = std::make_shared<Compiled>();
  return Program(std::move(lower));
}

namespace {

// Of a tensor that has no value, is donated or a placeholder, by the path of the argument.
void throw_unusable(const SignatureLeaf& argument, const Tensor& tensor) {
  const std::string what = base::cat("argument ", argument.path);
  trace_internal::require_values("run", what, {&tensor, 1}, [] { return TreeSpec{}; });
  (void)trace_internal::buffer_of(tensor, "run", what);
}

}  // namespace

std::vector<Tensor> Program::operands(std::span<const Tensor> arguments) const {
  const std::vector<SignatureLeaf>& want = state("run", {}).signature.arguments;
  if (arguments.size() != want.size()) {
    trace_internal::refuse(trace_internal::program_named(state_->signature.name), " was given ",
                           arguments.size(), " tensors; it takes ", want.size());
  }
  const bool is_traced = trace_internal::Recorder::current() != nullptr;
  std::vector<Tensor> all;
  all.reserve(arguments.size() + state_->captures.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_hole = !is_traced && arguments[i].is_placeholder();
    if (!arguments[i].is_valid() || arguments[i].is_donated() || is_hole)
      throw_unusable(want[i], arguments[i]);
    const Shape& have = trace_internal::node_of(arguments[i], "run").shape;
    if (!same_type(have, want[i].shape)) {
      trace_internal::refuse("argument ", want[i].path, " is ", to_string(have),
                             "; the program was traced with ", to_string(want[i].shape),
                             "; trace it for this type too, or give it what it takes");
    }
    all.push_back(arguments[i]);
  }
  for (size_t i = 0; i < state_->captures.size(); ++i) {
    const Tensor& capture = state_->captures[i];
    if (capture.is_donated())
      (void)trace_internal::buffer_of(
          capture, "run",
          base::cat("a capture of ", trace_internal::program_named(state_->signature.name)));
    all.push_back(capture);
  }
  return all;
}

std::vector<Tensor> Program::run(std::span<const Tensor> arguments, SourceLocation at) const {
  const PublicCall call("run", at);
  const std::vector<Tensor> all = operands(arguments);
  if (trace_internal::Recorder::current() != nullptr) {
    return trace_internal::emit_many({.opcode = hlo::Opcode::kCall,
                                      .operands = all,
                                      .attrs = hlo::CallAttrs{},
                                      .called = {state_->module}});
  }
  if (const auto traced = std::ranges::find_if(state_->captures, &Tensor::is_traced);
      traced != state_->captures.end()) {
    throw Error(trace_internal::failed_precondition(
        "run", ": ", trace_internal::program_named(state_->signature.name), " captured a ",
        to_string(*traced),
        ", which has no value outside of its trace;"
        " call the program inside of it, or bind a value"));
  }
  std::vector<runtime::BufferPtr> buffers = trace_internal::buffers_of(all, "run");
  auto executable =
      state_->compiled->get(state_->module, trace_internal::device_of(buffers, "run"));
  return trace_internal::run_executable(*executable, buffers);
}

Program Program::bind(const Tensor& placeholder, const Tensor& value, SourceLocation at) const {
  const PublicCall call("bind", at);
  auto bound = std::make_shared<State>(state("bind", at));
  const Shape& want = trace_internal::node_of(placeholder, "bind").shape;
  const Shape& have = trace_internal::node_of(value, "bind").shape;
  if (!same_type(want, have))
    trace_internal::refuse("value is ", have, "; the placeholder is ", want);
  auto found = std::ranges::find_if(bound->captures,
                                    [&](const Tensor& t) { return is_same(t, placeholder); });
  if (found == bound->captures.end()) {
    trace_internal::refuse(to_string(placeholder), " is not captured by ",
                           trace_internal::program_named(state_->signature.name),
                           "; pass arguments to run() instead");
  }
  *found = value;
  return Program(std::move(bound));
}

namespace trace_internal {

Program make_program(std::string_view name, std::vector<TreeSpec> specs,
                     std::span<const Tensor> leaves,
                     base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>, TreeSpec&)> fn,
                     SourceLocation at) {
  const HigherOrderCall call("trace", at);
  auto state = std::make_shared<Program::State>();
  state->signature.name = name.empty() ? "main" : name_in_hlo(name);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < specs.size(); ++i) {
    require_values("trace", base::cat("arg", i),
                   leaves.subspan(shapes.size(), leaf_count(specs[i])), [&] { return specs[i]; });
    for (std::string& path : leaf_paths(specs[i])) {
      shapes.push_back(leaves[shapes.size()].shape());
      state->signature.arguments.push_back({base::cat("arg", i, path), shapes.back()});
    }
  }
  Traced traced = trace_flat(
      state->signature.name, shapes,
      [&](std::span<const Tensor> arguments) {
        std::vector<Tensor> results = fn(arguments, state->result_spec);
        require_values("trace", "result", results, [&] { return state->result_spec; });
        return results;
      },
      at, leaves, !name.empty());
  const Shape& root = traced.module.entry_computation().result_shape();
  std::vector<std::string> paths = leaf_paths(state->result_spec);
  for (size_t i = 0; i < paths.size(); ++i) {
    state->signature.results.push_back(
        {base::cat("result", paths[i]), root.element(static_cast<int64_t>(i))});
  }
  for (const Tensor& capture : traced.captures) {
    std::string what = capture.is_traced() ? "captured value of the trace around"
                                           : base::cat("captured #", capture.id());
    state->signature.captures.push_back({std::move(what), capture.shape()});
  }
  state->argument_specs = std::move(specs);
  state->module = std::make_shared<const hlo::Module>(std::move(traced.module));
  state->captures = std::move(traced.captures);
  return Program(std::move(state));
}

}  // namespace trace_internal
}  // namespace heddle
