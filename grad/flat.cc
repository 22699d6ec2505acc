#include "heddle/grad/flat.h"

#include <algorithm>
#include <optional>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/grad/internal/made.h"
#include "heddle/grad/internal/traced.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/runtime/transfer.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/scan/own_rule.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/run_module.h"
#include "heddle/trace/surroundings.h"
#include "heddle/transform/derivatives.h"

namespace heddle::grad_internal {
namespace {

using trace_internal::PublicCall;
using Numbers = trace_internal::Recorder::Numbers;

constexpr char kTransformed = 0;  // the kind of a body that is transformed

// What was made of a recording; of its captures the places among the recorded ones.
struct MadeOfTrace {
  Fragment module;
  std::vector<Shape> results;
  std::vector<size_t> captures;
};
using Recordings = trace_internal::Recordings<MadeOfTrace>;

// Runs fn on parameters of the recorder.
std::vector<Tensor> results_of(const FlatFunction& fn, const std::vector<Shape>& shapes,
                               std::span<const Tensor> like, trace_internal::Recorder& recorder,
                               TreeSpec& spec) {
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < shapes.size(); ++i) {
    leaves.push_back(recorder.parameter(shapes[i], i < like.size() ? &like[i] : nullptr));
    if (i < like.size()) trace_internal::keep_number(leaves.back(), like[i], {});
  }
  std::vector<TreeSpec> specs;
  std::vector<Tensor> results =
      trace_internal::as_users_code([&] { return fn.run(leaves, specs); });
  spec = specs[0];
  trace_internal::require_values(fn.what, "result", results, [&] { return spec; });
  return results;
}

std::string_view label_of(const FlatFunction& fn) { return fn.name.empty() ? fn.what : fn.name; }

MadeOfTrace made_of_trace(trace_internal::Traced recorded, Trace& out) {
  const std::vector<Tensor> before = recorded.captures;
  trace_internal::Traced trace = trace_internal::in_canonical_order(std::move(recorded), false);
  MadeOfTrace made;
  made.results = trace.module.entry_computation().result_shape().elements();
  for (const Tensor& capture : trace.captures) {
    const auto place = std::ranges::find(before, capture.node(), &Tensor::node);
    made.captures.push_back(static_cast<size_t>(place - before.begin()));
  }
  out.captures = std::move(trace.captures);
  bool known = false;
  made.module = scan_internal::intern(std::move(trace.module), &known);
  return made;
}

// Traces once, and compares with the last traces at this place: a number that differs becomes an
// operand, as in the body of a loop.
Trace traced_now(const FlatFunction& fn, const std::vector<Shape>& shapes,
                 std::span<const Tensor> like, Numbers numbers) {
  trace_internal::count_trace();
  const SourceLocation at = PublicCall::line_or({});
  const std::string_view what = label_of(fn);
  const base::Span span(base::Activity::kTrace, what, at);
  const bool takes_numbers = numbers != Numbers::kConstants;
  Recordings* recordings = takes_numbers ? Recordings::of_thread() : nullptr;
  const uint64_t place = trace_internal::place_of(fn.what.data(), fn.types, at);
  const auto last = recordings ? recordings->all_at(place) : nullptr;
  trace_internal::Recorder recorder(what, trace_internal::expected_of(last), !fn.name.empty(),
                                    numbers);
  recorder.set_place(place);
  Trace out;
  const std::vector<Tensor> results = results_of(fn, shapes, like, recorder, out.spec);
  if (recorder.ends_as_expected(results, what)) {
    const MadeOfTrace& made = (*last)[recorder.which_was_expected()]->made;
    if (!recorder.has_other_numbers()) {
      for (size_t i : made.captures) out.captures.push_back(recorder.captures()[i]);
      out.module = made.module;
      out.results = made.results;
      return out;
    }
    recorder.take_numbers();
  }
  trace_internal::Traced recorded = recorder.finish_as_recorded(results, what);
  std::optional<trace_internal::Recording> recording =
      recordings ? recorder.recording_of(recorded) : std::nullopt;
  MadeOfTrace made = made_of_trace(std::move(recorded), out);
  out.module = made.module;
  out.results = made.results;
  if (recording) recordings->keep(place, {*std::move(recording), std::move(made)});
  return out;
}

}  // namespace

Trace traced(const FlatFunction& fn, const std::vector<Shape>& shapes, std::span<const Tensor> like,
             Numbers numbers) {
  const bool is_sharded = std::ranges::any_of(
      like, [](const Tensor& leaf) { return leaf.node()->sharding != nullptr; });
  // A named Function promises that it need not be traced again, so numbers are part of it.
  if (fn.identity.known()) numbers = Numbers::kConstants;
  if (!fn.identity.known() || is_sharded) return traced_now(fn, shapes, like, numbers);
  scan_internal::BodyKey key{fn.identity, &kTransformed, fn.types, fn.structure, shapes};
  trace_internal::append_surroundings(key.structure);
  if (const scan_internal::BodyPtr found = scan_internal::find_body(key)) {
    count(&Counters::combine_hits);
    return {found->fragment, found->results[0], found->result_shapes(), found->captures};
  }
  const scan_internal::TracingFunction tracing(key, fn.name);
  Trace out = traced_now(fn, shapes, like, numbers);
  // A value of the trace around this one differs at each call.
  if (std::ranges::none_of(out.captures, &Tensor::is_traced)) {
    scan_internal::keep_body(std::move(key),
                             std::make_shared<scan_internal::Body>(scan_internal::Body{
                                 out.module,
                                 out.captures,
                                 {out.spec},
                                 std::make_shared<const std::vector<Shape>>(out.results)}));
  }
  return out;
}

std::vector<Tensor> call(std::string_view what, const Fragment& module,
                         std::vector<Tensor> operands, const hlo::FrontendAttributes& attributes) {
  return trace_internal::in_program(what, [&] {
    return trace_internal::emit_many({.opcode = hlo::Opcode::kCall,
                                      .operands = std::move(operands),
                                      .attrs = hlo::CallAttrs{},
                                      .called = {module},
                                      .frontend_attributes = attributes});
  });
}

void throw_in_own_lines(const FlatFunction& fn, const std::vector<Shape>& types,
                        std::span<const Tensor> like, const Status& status,
                        base::FunctionRef<Status(const Fragment&)> make_again) {
  TreeSpec spec;
  trace_internal::Recorder recorder(label_of(fn), {}, !fn.name.empty());
  const std::vector<Tensor> results = results_of(fn, types, like, recorder, spec);
  const Fragment own =
      std::make_shared<const hlo::Module>(recorder.finish(results, label_of(fn)).module);
  const Status again = make_again(own);
  throw Error(base::annotate(again.ok() ? status : again, fn.what, ": "));
}

Derived custom_call(const FlatFunction& fn, std::string_view target, const Point& point,
                    std::initializer_list<const Trace*> traces) {
  std::vector<scan_internal::FunctionOfCall> functions;
  for (const Trace* each : traces) functions.push_back({each->module, each->captures});
  std::vector<Tensor> results = trace_internal::in_program(fn.what, [&] {
    return scan_internal::call_with_derivative(target, point.leaves, functions);
  });
  return {std::move(results), (*traces.begin())->spec, {}};
}

std::vector<Shape> types_of(std::span<const Tensor> leaves) {
  std::vector<Shape> out;
  for (const Tensor& leaf : leaves) out.push_back(leaf.shape());
  return out;
}

void require_alike(std::string_view what, std::span<const Shape> have,
                   const std::vector<Shape>& want, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < want.size() && i < have.size(); ++i) {
    if (same_type(have[i], want[i])) continue;
    trace_internal::refuse(what, paths[i], " is ", have[i], "; it must be ", want[i]);
  }
  if (have.size() == want.size()) return;
  trace_internal::refuse(what, " has ", have.size(), " leaves; it must have ", want.size());
}

std::vector<Tensor> with_captures(std::vector<Tensor> leaves, const Trace& trace) {
  leaves.insert(leaves.end(), trace.captures.begin(), trace.captures.end());
  return leaves;
}

namespace {

bool is_number(const Tensor& capture) { return capture.node()->number != nullptr; }

// What a linear part keeps may be used in a trace later: numbers become values, on the device of
// the others.
void settle_numbers(std::vector<Tensor>& captures, std::string_view what) {
  if (std::ranges::none_of(captures, is_number)) return;
  std::vector<runtime::BufferPtr> buffers;
  trace_internal::append_buffers(captures, buffers, what);
  for (size_t i = 0; i < captures.size(); ++i) {
    if (is_number(captures[i])) captures[i] = trace_internal::tensor_of(std::move(buffers[i]));
  }
}

enum class Kind : uint8_t { kGradient, kJvp, kLinearize };

// Derivatives of modules.
struct Key {
  Fragment of;
  Kind kind;
  std::vector<bool> by;
  size_t wanted;  // how many results have tangents, of kLinearize
  friend bool operator==(const Key&, const Key&) = default;
};
struct Made {
  Fragment first;      // gradient, jvp, or the forward part
  Fragment push = {};  // of kLinearize: the linear part
  std::vector<std::optional<size_t>> residuals = {};  // of it: the parameter that each one is
};
using Cache = MadeOf<Key, StatusOr<Made>>;

Fragment shared(hlo::Module module) {
  return std::make_shared<const hlo::Module>(std::move(module));
}

StatusOr<Made> make(const Key& key) {
  Made made;
  switch (key.kind) {
    case Kind::kGradient: {
      HEDDLE_ASSIGN_OR_RETURN(hlo::Module module, transform::gradient(*key.of, key.by));
      made.first = shared(std::move(module));
      break;
    }
    case Kind::kJvp: {
      HEDDLE_ASSIGN_OR_RETURN(hlo::Module module, transform::jvp(*key.of, key.by));
      made.first = shared(std::move(module));
      break;
    }
    case Kind::kLinearize: {
      HEDDLE_ASSIGN_OR_RETURN(transform::Linearized linear,
                              transform::linearize(*key.of, key.by, key.wanted));
      made.first = shared(std::move(linear.forward));
      made.push = shared(std::move(linear.pushforward));
      made.residuals = std::move(linear.residuals);
      break;
    }
  }
  return made;
}

Cache::Ptr find_or_make(Key key) {
  base::Hasher hasher;
  hasher.add_word(reinterpret_cast<uint64_t>(key.of.get()));
  hasher.add_word(static_cast<uint64_t>(key.kind));
  return Cache::all().find_or_make(hasher.digest().low, std::move(key), make);
}

std::vector<bool> by_parameter(const Point& point, const Trace& trace) {
  std::vector<bool> by = point.of;
  by.resize(point.leaves.size() + trace.captures.size());
  return by;
}

Derived derived(const Trace& trace, std::vector<Tensor> all) {
  const auto results = all.begin() + static_cast<std::ptrdiff_t>(trace.results.size());
  return {{all.begin(), results}, trace.spec, {results, all.end()}};
}

void require_scalar(const Trace& trace) {
  const Shape none = Shape::tuple({});
  const Shape& loss = trace.results.empty() ? none : trace.results[0];
  if (loss.is_scalar() && is_floating(loss.dtype())) return;
  if (loss.is_scalar())
    trace_internal::refuse("the function gives ", loss, "; it must give a scalar of floats, ",
                           is_complex(loss.dtype()) ? "take real() or abs() of it" : "cast it");
  trace_internal::refuse("the function gives ", loss,
                         "; it must give a scalar of floats, take its sum() or mean(), or use vjp");
}

}  // namespace

StatusOr<Fragment> transpose_of(const Fragment& module, const std::vector<bool>& linear) {
  using Key = std::pair<Fragment, std::vector<bool>>;
  const auto hash = reinterpret_cast<uint64_t>(module.get());
  return *MadeOf<Key, StatusOr<Fragment>>::all().find_or_make(
      hash, Key(module, linear), [](const Key& key) -> StatusOr<Fragment> {
        HEDDLE_ASSIGN_OR_RETURN(hlo::Module made, transform::transpose(*key.first, key.second));
        return shared(std::move(made));
      });
}

void require_structure(std::string_view name, const TreeSpec& have, const TreeSpec& want,
                       std::string_view whose) {
  const std::string found = unlike(have, want, std::string(name));
  if (!found.empty()) trace_internal::refuse(found, ", as ", whose, " is");
}

namespace {

bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// Whether a tensor is sure to have another number than 0: a constant of a trace, or what is in
// memory that the host can read. Others are not asked.
bool is_seen_not_zero(const Tensor& x) {
  const trace_internal::Node& node = *x.node();
  const auto differs = [](const Literal& value) { return value != Literal(value.shape()); };
  if (node.buffer) {
    const StatusOr<Literal> value = runtime::view_on_host(*node.buffer);
    return value.ok() && differs(*value);
  }
  if (!node.scope || !node.scope->recorder) return false;
  const hlo::Instruction* made = &node.scope->recorder->instruction(node.instruction);
  while (made->opcode == hlo::Opcode::kBroadcast)
    made = &node.scope->recorder->instruction(made->operands[0]);
  return made->opcode == hlo::Opcode::kConstant &&
         differs(made->attrs.get<hlo::ConstantAttrs>().literal);
}

// Checks that tensors have the types of those of `whose`, which they stand for, and that they are
// zeros where these are integers: no derivative would read them.
void require_types(std::string_view what, std::string_view name, std::span<const Tensor> have,
                   const TreeSpec& spec, std::span<const Shape> want, std::string_view whose) {
  trace_internal::require_values(what, name, have, [&] { return spec; });
  const bool may_be_none = what == "jvp" && spec.kind == TreeSpec::Kind::kLeaf;
  for (size_t i = 0; i < have.size(); ++i) {
    const Shape& type = have[i].shape();
    const bool is_alike = same_type(type, want[i]);
    if (is_differentiable(want[i].dtype())) {
      if (is_alike) continue;
      const std::string number =
          type.dtype() == want[i].dtype() ? "" : number_advice(have[i], want[i].dtype());
      trace_internal::refuse(name, leaf_paths(spec)[i], " is ", type, "; it must be ", want[i],
                             ", as ", whose, " is", number.empty() ? "" : "; it is ", number);
    } else if (!is_alike || is_seen_not_zero(have[i])) {
      trace_internal::refuse(name, leaf_paths(spec)[i], " is ", type,
                             is_alike ? " and not 0; " : "; ", whose, " is ", want[i],
                             ", which has no derivative; give zeros of that type",
                             may_be_none ? " or None{}" : "", ", or cast ", whose, " to floats");
    }
  }
}

}  // namespace

void require_tangent(std::string_view what, size_t number, std::span<const Tensor> tangent,
                     const TreeSpec& spec, const TreeSpec& argument, std::span<const Shape> types) {
  const std::string name = base::cat("tangent ", number);
  require_structure(name, spec, argument, "its argument");
  require_types(what, name, tangent, spec, types, "its argument");
}

bool has_tangent(const Tensor& x) { return is_differentiable(x.dtype()); }

std::vector<std::string> paths_of(const Point& point) {
  std::vector<std::string> out;
  for (size_t i = 0; i < point.specs.size(); ++i) {
    for (const std::string& path : leaf_paths(point.specs[i]))
      out.push_back(base::cat("arg", i, path));
  }
  return out;
}

void require_floats(const Point& point) {
  for (size_t i = 0; i < point.leaves.size(); ++i) {
    if (!point.of[i] || has_tangent(point.leaves[i])) continue;
    trace_internal::refuse(
        paths_of(point)[i], " is ", point.leaves[i].shape(),
        ", which has no derivative; cast it to floats, or take it out of what the derivative is "
        "of");
  }
}

namespace {

// The trace of a function, and what was made of it.
std::pair<Trace, Cache::Ptr> trace_and_make(Kind kind, const FlatFunction& fn, const Point& point,
                                            Wanted wanted = Wanted::kAll) {
  Trace trace;
  const auto key_of = [&](Fragment module) {
    const bool is_first = wanted == Wanted::kFirst;
    return Key{std::move(module), kind, by_parameter(point, trace),
               is_first ? leaf_count(trace.spec.children[0]) : transform::kAllResults};
  };
  const auto made_with = [&](Numbers numbers) {
    trace = traced(fn, types_of(point.leaves), point.leaves, numbers);
    if (kind == Kind::kGradient) require_scalar(trace);
    return find_or_make(key_of(trace.module));
  };
  Cache::Ptr made = made_with(Numbers::kWithStarts);
  // A number may have to be known, such as the bound of a loop that reverse mode goes back through.
  if (!made->ok()) made = made_with(Numbers::kConstants);
  if (!made->ok()) {
    throw_in_own_lines(fn, types_of(point.leaves), point.leaves, made->status(),
                       [&](const Fragment& own) { return make(key_of(own)).status(); });
  }
  return {std::move(trace), std::move(made)};
}

}  // namespace

Derived gradient(const FlatFunction& fn, const Point& point) {
  require_floats(point);
  const auto [trace, made] = trace_and_make(Kind::kGradient, fn, point);
  return derived(trace, call(fn.what, (*made)->first, with_captures(point.leaves, trace)));
}

Derived jvp(const FlatFunction& fn, const Point& point, const std::vector<Tensor>& tangents) {
  const auto [trace, made] = trace_and_make(Kind::kJvp, fn, point);
  std::vector<Tensor> operands = with_captures(point.leaves, trace);
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  return derived(trace, call(fn.what, (*made)->first, std::move(operands)));
}

struct Linear::State {
  std::string_view what;  // of static storage
  SourceLocation at;
  Cache::Ptr made;         // null: only the way back is known
  Fragment pullback = {};  // null: made of `made` when it is asked for
  std::vector<Tensor> residuals;
  std::vector<TreeSpec> arguments;
  std::vector<bool> of;       // by leaf of the arguments
  std::vector<Shape> leaves;  // their types
  TreeSpec result;
  std::vector<Shape> results;
};

std::pair<Derived, Linear> linearize(const FlatFunction& fn, const Point& point, Wanted wanted) {
  auto [trace, made] = trace_and_make(Kind::kLinearize, fn, point, wanted);
  auto state = std::make_shared<Linear::State>();
  state->what = fn.what;
  state->at = PublicCall::line_or({});
  state->made = std::move(made);
  state->arguments = point.specs;
  state->of = point.of;
  state->result = wanted == Wanted::kFirst ? trace.spec.children[0] : trace.spec;
  state->results = trace.results;
  state->results.resize(leaf_count(state->result));
  state->leaves = types_of(point.leaves);
  std::vector<Tensor> operands = with_captures(point.leaves, trace);
  settle_numbers(operands, fn.what);
  const Made& parts = **state->made;
  Derived out = derived(trace, call(fn.what, parts.first, operands));
  auto computed = out.derivatives.begin();
  for (const std::optional<size_t>& operand : parts.residuals)
    state->residuals.push_back(operand ? operands[*operand] : *computed++);
  out.derivatives.clear();
  return {std::move(out), Linear(std::move(state))};
}

Linear transposed(const FlatFunction& fn, const Point& point) {
  require_floats(point);
  const Trace trace = traced(fn, types_of(point.leaves), point.leaves);
  const std::vector<bool> by = by_parameter(point, trace);
  StatusOr<Fragment> pullback = transpose_of(trace.module, by);
  if (!pullback.ok()) {
    throw_in_own_lines(
        fn, types_of(point.leaves), point.leaves, pullback.status(),
        [&](const Fragment& own) { return transform::transpose(*own, by).status(); });
  }
  auto state = std::make_shared<Linear::State>();
  state->what = fn.what;
  state->at = PublicCall::line_or({});
  state->pullback = *std::move(pullback);
  state->residuals = trace.captures;
  state->result = trace.spec;
  state->results = trace.results;
  return Linear(std::move(state));
}

namespace {

std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Fragment& pushforward_of(const Linear::State& state) {
  if (hlo::has_custom_pullback(*(*state.made)->push)) {
    throw Error(base::unimplemented(state.what,
                                    ": a function in it has a custom_vjp, which has "
                                    "reverse mode only; write a custom_jvp for both"));
  }
  return (*state.made)->push;
}

// The pullback of a linear part, made at its first use.
Fragment pullback_of(const Linear::State& state) {
  if (state.pullback) return state.pullback;
  const auto hash = reinterpret_cast<uint64_t>((*state.made)->push.get());
  return MadeOf<Fragment, hlo::Module>::all().find_or_make(
      hash, (*state.made)->push, [&](const Fragment& pushforward) {
        auto module = transform::transpose(*pushforward, state.residuals.size());
        if (!module.ok()) throw Error(base::annotate(module.status(), state.what, ": "));
        return *std::move(module);
      });
}

}  // namespace

std::vector<Tensor> Linear::push(const std::vector<Tensor>& leaves, const TreeSpec& spec) const {
  const PublicCall call_of_it(state_->what, state_->at);
  for (size_t i = 0, next = 0; i < spec.children.size(); ++i) {
    const size_t count = leaf_count(spec.children[i]);
    require_tangent(state_->what, i, std::span(leaves).subspan(next, count), spec.children[i],
                    state_->arguments[i], std::span(state_->leaves).subspan(next));
    next += count;
  }
  std::vector<Tensor> tangents;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (state_->of[i]) tangents.push_back(leaves[i]);
  }
  return call(state_->what, pushforward_of(*state_), joined(state_->residuals, tangents));
}

std::vector<Tensor> Linear::pull(const std::vector<Tensor>& cotangents,
                                 const TreeSpec& spec) const {
  const PublicCall call_of_it(state_->what, state_->at);
  require_structure("cotangent", spec, state_->result, "the result");
  require_types(state_->what, "cotangent", cotangents, spec, state_->results, "the result");
  return call(state_->what, pullback_of(*state_), joined(state_->residuals, cotangents));
}

std::vector<Tensor> Linear::push_each(const std::vector<Tensor>& tangents) const {
  return call_each(state_->what, pushforward_of(*state_), state_->residuals, tangents);
}
std::vector<Tensor> Linear::pull_each(const std::vector<Tensor>& cotangents) const {
  return call_each(state_->what, pullback_of(*state_), state_->residuals, cotangents);
}

Tensor stopped(const Tensor& x) {
  const Shape& shape = trace_internal::node_of(x, "stop_gradient").shape;
  if (!is_floating(shape.dtype()) && !is_complex(shape.dtype())) return x;
  return trace_internal::emit(
      {.opcode = hlo::Opcode::kBitcastConvert, .operands = {x}, .declared = shape});
}

}  // namespace heddle::grad_internal
