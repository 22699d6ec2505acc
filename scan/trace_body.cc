#include "heddle/scan/internal/trace_body.h"

#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/pool.h"
#include "heddle/hlo/builder.h"
#include "heddle/trace/lazy_numbers.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/surroundings.h"
#include "heddle/transform/import.h"

namespace heddle::scan_internal {

using trace_internal::Recorder;
using trace_internal::Traced;

namespace {

// The result of a trace: the computation, and for each of its captures the place among the recorded
// ones.
struct Made {
  Fragment fragment;
  std::vector<size_t> captures;
  std::shared_ptr<const std::vector<Shape>> leaf_shapes;  // as Body's
};

using Recordings = trace_internal::Recordings<Made>;

// Those of a function of Heddle's have no line: programs of other lines have the same body.
absl::InlinedVector<Tensor, 4> parameters_of(const BodyRequest& request, Recorder& recorder) {
  absl::InlinedVector<Tensor, 4> all;
  const auto add = [&] {
    for (const Shape& shape : request.parameters) all.push_back(recorder.parameter(shape));
  };
  if (!trace_internal::PublicCall::is_own()) {
    add();
  } else {
    const auto shared = trace_internal::PublicCall::shared_code();
    add();
  }
  return all;
}

// Runs the user's function on placeholders. errors: Error if its result has no value
std::vector<Tensor> results_of(const BodyRequest& request, Recorder& recorder, Body& body) {
  const absl::InlinedVector<Tensor, 4> all = parameters_of(request, recorder);
  const std::span<const Tensor> parameters(all.data(), all.size());
  const std::string_view loop = request.what.substr(0, request.what.find(' '));
  const size_t first = parameters.size() - request.init.size();
  const trace_internal::LazyNumbers numbers(parameters.subspan(first), request.init, loop);
  const auto run = [&] { return request.callable.run(parameters, body.results); };
  std::vector<Tensor> results =
      request.callable.is_own ? run() : trace_internal::as_users_code(run);
  if (!request.result.empty()) {
    trace_internal::require_values(loop, request.result, results, [&] { return body.results[0]; });
  }
  return results;
}

// The trace in the form of the cache.
Made made_of(const BodyRequest& request, Traced recorded, Body& body) {
  const std::vector<Tensor> before = recorded.captures;
  Traced traced = trace_internal::in_canonical_order(std::move(recorded), request.returns_captures);
  Made made;
  for (const Tensor& capture : traced.captures) {
    const auto place = std::ranges::find(before, capture.node(), &Tensor::node);
    made.captures.push_back(static_cast<size_t>(place - before.begin()));
  }
  body.captures = std::move(traced.captures);
  bool known = false;
  made.fragment = intern(std::move(traced.module), &known);
  if (known) count(&Counters::combine_hits);
  return made;
}

// The fragment with `name` for its entry. Interned fragments do not differ by names, so this is a
// copy.
Fragment renamed(const Fragment& fragment, std::string_view name) {
  std::string fit = trace_internal::name_in_hlo(name);
  if (fragment->entry_computation().name == fit) return fragment;
  hlo::Module module = *fragment;
  module.computations[module.entry.value].name = std::move(fit);
  return std::make_shared<const hlo::Module>(std::move(module));
}

}  // namespace

namespace {

// Traces once, compares with the last trace at this place, and keeps the trace if it differs.
std::shared_ptr<Body> traced_body(const BodyRequest& request,
                                  base::FunctionRef<void(const Body&)> check) {
  if (!request.callable.is_own) trace_internal::count_trace();
  const SourceLocation at = trace_internal::PublicCall::line_or({});
  const base::Span span(base::Activity::kBody, request.what, at);
  using Root = Recorder::Root;
  const Root root = request.returns_captures ? Root::kWithCaptures : Root::kTuple;
  auto body = base::make_pooled<Body>();
  const uint64_t place = trace_internal::place_of(request.kind, request.callable.types, at) ^
                         (request.variant * 0x9e3779b97f4a7c15ull);
  Recordings* recordings = Recordings::of_thread();
  const auto last = recordings ? recordings->all_at(place) : nullptr;
  // A named Function promises that it need not be traced again, so numbers are part of it.
  const bool are_constants = request.callable.identity.known();
  Recorder recorder(request.what, trace_internal::expected_of(last), false,
                    are_constants ? Recorder::Numbers::kConstants : Recorder::Numbers::kWithStarts);
  recorder.set_place(place);
  const std::vector<Tensor> results = results_of(request, recorder, *body);
  const bool is_expected = recorder.ends_as_expected(results, request.what, root);
  if (is_expected) {
    const Made& made = (*last)[recorder.which_was_expected()]->made;
    body->leaf_shapes = made.leaf_shapes;
    check(*body);
    if (!recorder.has_other_numbers()) {
      count(&Counters::combine_hits);
      for (size_t i : made.captures) body->captures.push_back(recorder.captures()[i]);
      body->fragment = made.fragment;
      return body;
    }
    recorder.take_numbers();
  } else {
    body->leaf_shapes =
        std::make_shared<const std::vector<Shape>>(shapes_of(results, request.what));
    check(*body);
  }
  Traced recorded = recorder.finish_as_recorded(results, request.what, root);
  std::optional<trace_internal::Recording> recording = recorder.recording_of(recorded);
  Made made = made_of(request, std::move(recorded), *body);
  made.leaf_shapes = body->leaf_shapes;
  body->fragment = made.fragment;
  if (recording && recordings) recordings->keep(place, {*std::move(recording), std::move(made)});
  return body;
}

}  // namespace

BodyPtr body_for(BodyRequest request, base::FunctionRef<void(const Body&)> check) {
  const Callable& callable = request.callable;
  if (!callable.identity.known()) return traced_body(request, check);
  trace_internal::append_surroundings(request.structure);
  BodyKey key{callable.identity,
              request.kind,
              callable.types,
              request.structure,
              {request.parameters.begin(), request.parameters.end()}};
  if (BodyPtr found = find_body(key)) {
    count(&Counters::combine_hits);
    return found;
  }
  const TracingFunction tracing(key, callable.name);
  std::shared_ptr<Body> body = traced_body(request, check);
  if (!callable.name.empty()) body->fragment = renamed(body->fragment, callable.name);
  // A value of the trace around this one differs at each call.
  if (std::ranges::none_of(body->captures, &Tensor::is_traced)) keep_body(std::move(key), body);
  return body;
}

std::vector<Shape> shapes_of(std::span<const Tensor> tensors, std::string_view what) {
  std::vector<Shape> shapes;
  shapes.reserve(tensors.size());
  for (const Tensor& tensor : tensors)
    shapes.push_back(trace_internal::node_of(tensor, what).shape);
  return shapes;
}

namespace {

// "a tensor f32[3]", "a vector of 2", "nothing".
std::string described(const std::optional<TreeSpec>& part, const std::string& path,
                      const TreeSpec& whole, std::span<const Shape> shapes) {
  if (!part) return "nothing";
  if (part->kind != TreeSpec::Kind::kLeaf) return describe(*part);
  const std::vector<std::string> paths = leaf_paths(whole);
  const auto leaf = std::ranges::find(paths, path) - paths.begin();
  return to_string(shapes[static_cast<size_t>(leaf)]);
}

}  // namespace

void check_carry(std::string_view what, std::string_view name, const Argument& in,
                 const TreeSpec& out, std::span<const Shape> out_shapes) {
  const TreeSpec entering = in.spec();
  const auto type_of = [&](const Tensor& leaf) -> const Shape& {
    return trace_internal::node_of(leaf, what).shape;
  };
  if (entering == out && std::ranges::equal(in.leaves, out_shapes, same_type, type_of)) return;
  const std::vector<Shape> in_shapes = shapes_of(in.leaves, what);
  if (entering != out) {
    const auto words = [&](const TreeDifference& d) {
      return base::cat(name, d.path, " enters as ", described(d.first, d.path, entering, in_shapes),
                       " and leaves as ", described(d.second, d.path, out, out_shapes));
    };
    // The other way round finds a key that leaves alone, beside one that enters alone.
    const TreeDifference found = tree_difference(entering, out);
    TreeDifference other = tree_difference(out, entering);
    std::swap(other.first, other.second);
    trace_internal::refuse(words(found),
                           other.path == found.path ? "" : base::cat("; ", words(other)),
                           "; return the structure that ", name, " started with");
  }
  std::vector<std::string> paths = leaf_paths(entering);
  std::string wrong, repair;
  bool grows = false;
  for (size_t i = 0; i < paths.size(); ++i) {
    const Shape& a = in_shapes[i];
    const Shape& b = out_shapes[i];
    if (same_type(a, b)) continue;
    bool dtype = a.dtype() != b.dtype();
    bool shape = a.dimensions() != b.dimensions();
    grows |=
        !dtype && a.rank() == b.rank() && a.rank() > 0 && a.element_count() < b.element_count();
    base::append(wrong, wrong.empty() ? "" : "; ", name, paths[i], " enters as ", a,
                 " and leaves as ", b, " (",
                 dtype && shape ? "dtype and shape differ"
                 : dtype        ? "dtypes differ"
                                : "shapes differ",
                 ")");
    const std::string number = dtype ? number_advice(in.leaves[i], b.dtype()) : "";
    if (repair.empty() && !number.empty()) repair = base::cat("; it starts as ", number);
  }
  if (wrong.empty()) return;
  const Shape& out_shape = out_shapes[0];
  if (what == "fori_loop" && paths.size() == 1 && out_shape.rank() == 0 &&
      out_shape.dtype() == s32 && is_floating(in_shapes[0].dtype()))
    repair = "; the body takes (i, value), the index first, and returns the next value";
  if (repair.empty() && grows) {
    repair = base::cat("; start it as what leaves or, where it grows at each step, ",
                       what == "scan" ? "return what is new as y"
                                      : "start it with its last size and write with at(i).set");
  }
  if (repair.empty()) repair = "; cast or reshape the step's result, or start it as what leaves";
  trace_internal::refuse(wrong, repair);
}

void check_step(std::string_view what, std::string_view name, const Argument& in,
                const TreeSpec& out, std::span<const Tensor> leaves) {
  trace_internal::require_values(what, name, leaves, [&] { return out; });
  check_carry(what, name, in, out, shapes_of(leaves, what));
}

namespace {

// A fragment on a tuple, and the fragment that it was made of. The same one comes again, so that
// the loop around it is found by its callee.
struct OnTuple {
  Fragment fragment;
  std::vector<Shape> state;
  std::vector<size_t> pick;
  std::vector<size_t> through;
  bool bare;
  Fragment made;
  [[nodiscard]] size_t instruction_count() const {
    return static_cast<size_t>(made->instruction_count());
  }
};

Fragment make_on_tuple(const Fragment& fragment, const std::vector<Shape>& state,
                       const std::vector<size_t>& pick, const std::vector<size_t>& through,
                       bool bare) {
  hlo::Module module;
  hlo::ComputationId callee = transform::import(module, *fragment);
  hlo::ComputationBuilder builder(module, module.at(callee).name);
  hlo::InstructionId tuple = builder.parameter(Shape::tuple(state));
  auto must = [](StatusOr<hlo::InstructionId> id) { return value_or_throw(std::move(id), {}); };
  auto element = [&](hlo::InstructionId of, size_t i) {
    return must(builder.add(hlo::Opcode::kGetTupleElement, {of},
                            hlo::TupleIndexAttrs{.index = static_cast<int64_t>(i)}));
  };
  std::vector<hlo::InstructionId> arguments;
  for (size_t i : pick) arguments.push_back(element(tuple, i));
  hlo::InstructionId root =
      must(builder.add(hlo::Opcode::kCall, arguments, hlo::CallAttrs{}, {callee}));
  if (bare) {
    root = element(root, 0);
  } else if (!through.empty()) {
    std::vector<hlo::InstructionId> results;
    size_t count = builder.shape(root).elements().size();
    for (size_t i = 0; i < count; ++i) results.push_back(element(root, i));
    for (size_t i : through) results.push_back(element(tuple, i));
    root = must(builder.add(hlo::Opcode::kTuple, results));
  }
  module.entry = module.add(std::move(builder).finish(root));
  return std::make_shared<const hlo::Module>(std::move(module));
}

}  // namespace

Fragment on_tuple(const Fragment& fragment, const std::vector<Shape>& state,
                  const std::vector<size_t>& pick, const std::vector<size_t>& through, bool bare) {
  using Table = trace_internal::LastOfPlace<OnTuple>;
  Table* table = Table::of_thread();
  const uint64_t place = trace_internal::place_of(fragment.get(), nullptr, {});
  const Table::EntryPtr last = table ? table->at(place) : nullptr;
  if (last && last->fragment == fragment && last->state == state && last->pick == pick &&
      last->through == through && last->bare == bare)
    return last->made;
  OnTuple kept{fragment, state, pick, through, bare};
  kept.made = make_on_tuple(fragment, state, pick, through, bare);
  Fragment made = kept.made;
  if (table && kept.instruction_count() <= trace_internal::kMaxRecording)
    table->keep(place, std::move(kept));
  return made;
}

}  // namespace heddle::scan_internal
