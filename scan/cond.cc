#include "heddle/scan/cond.h"

#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"
#include "heddle/scan/internal/trace_body.h"
#include "heddle/scan/until.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/run_module.h"

namespace heddle::scan_internal {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::PublicCall;

// One kind for each branch that is traced at each call: branches of one type, as in a vector, are
// separate places. A Function has one body everywhere.
constexpr std::array<char, 64> kBranch{};

// The program of a conditional that ran outside a trace. It takes the chooser, the operands, and
// the captures of each branch. With the types of the branches' parameters these say all types.
struct ReadyConditional {
  std::vector<trace_internal::Fragment> branches;
  size_t operands;
  Shape chooser;
  uint64_t device;  // serial number
  runtime::ProgramHandle program;
};
using ReadyConditionals = trace_internal::LastOfPlace<ReadyConditional>;

// The chooser as HLO's index.
using ToIndex = base::FunctionRef<Tensor(const Tensor&)>;

// The traced branches of one conditional, with agreeing results.
class Branches {
 public:
  Branches(std::string_view what, const Argument& operands) : what_(what), operands_(operands) {
    trace_internal::require_values(what, "operands", operands.leaves, operands.spec);
    for (const Tensor& leaf : operands.leaves) shapes_.push_back(leaf.node()->shape);
  }

  // `result`: what errors call its result, "result of NAME".
  void add(const Callable& callable, std::string_view result) {
    const size_t kind = callable.identity.known() ? 0 : bodies_.size() % kBranch.size();
    BodyPtr body = body_for({.what = what_,
                             .kind = &kBranch[kind],
                             .callable = callable,
                             .structure = operands_.structure,
                             .parameters = {shapes_.data(), shapes_.size()},
                             .init = operands_.leaves,
                             .result = result},
                            [](const Body&) {});
    bodies_.push_back(std::move(body));
    if (bodies_.size() > 1) check_agree(bodies_.size() - 1);
  }
  void add_both(const Callable& on_true, const Callable& on_false) {
    bodies_.reserve(2);
    add(on_true, "result of on_true");
    add(on_false, "result of on_false");
  }
  void add_all(std::span<const Callable> callables) {
    bodies_.reserve(callables.size());
    for (size_t i = 0; i < callables.size(); ++i)
      add(callables[i], base::cat("result of branch ", i));
  }

  [[nodiscard]] const TreeSpec& result() const { return bodies_[0]->results[0]; }

  // Outside of a trace: makes the program once for the bodies, and finds it again by them.
  std::vector<Tensor> run_at_once(const Tensor& chooser, ToIndex to_index) const {
    std::vector<runtime::BufferPtr> buffers;
    buffers.reserve(1 + operands_.leaves.size() + bodies_.size());
    absl::InlinedVector<std::span<const Tensor>, 6> lists{{&chooser, 1}, operands_.leaves};
    for (const BodyPtr& body : bodies_) lists.emplace_back(body->captures);
    runtime::Device& device = trace_internal::append_buffers(lists, buffers, what_);
    return trace_internal::run_at_once(*executable_on(device, chooser, to_index), buffers);
  }

  std::vector<Tensor> emit_conditional(const Tensor& index) const {
    std::vector<std::span<const Tensor>> captures;
    for (const BodyPtr& body : bodies_) captures.emplace_back(body->captures);
    return emit_conditional(index, operands_.leaves, captures);
  }

  // HLO's conditional: each branch takes one tuple of the operands and its captures.
  std::vector<Tensor> emit_conditional(const Tensor& index, std::span<const Tensor> leaves,
                                       std::span<const std::span<const Tensor>> captures) const {
    std::vector<Tensor> operands{index};
    std::vector<trace_internal::Fragment> called;
    for (size_t branch = 0; branch < bodies_.size(); ++branch) {
      const BodyPtr& body = bodies_[branch];
      std::vector<Tensor> values(leaves.begin(), leaves.end());
      values.insert(values.end(), captures[branch].begin(), captures[branch].end());
      std::vector<size_t> pick(values.size());
      for (size_t i = 0; i < pick.size(); ++i) pick[i] = i;
      called.push_back(on_tuple(body->fragment, shapes_of(values, what_), pick, {}, false));
      operands.push_back(emit({.opcode = Opcode::kTuple, .operands = std::move(values)}));
    }
    return trace_internal::emit_many({.opcode = Opcode::kConditional,
                                      .operands = std::move(operands),
                                      .called = std::move(called)});
  }

  // The only branch: a call of its body.
  std::vector<Tensor> emit_only() {
    std::vector<Tensor> values(operands_.leaves.begin(), operands_.leaves.end());
    values.insert(values.end(), bodies_[0]->captures.begin(), bodies_[0]->captures.end());
    return trace_internal::emit_many({.opcode = Opcode::kCall,
                                      .operands = std::move(values),
                                      .attrs = hlo::CallAttrs{},
                                      .called = {bodies_[0]->fragment}});
  }

 private:
  using ExecutablePtr = std::shared_ptr<runtime::Executable>;

  [[nodiscard]] ExecutablePtr executable_on(runtime::Device& device, const Tensor& chooser,
                                            ToIndex to_index) const {
    ReadyConditionals* table = is_plain(chooser) ? ReadyConditionals::of_thread() : nullptr;
    const uint64_t place = trace_internal::place_of(bodies_.front()->fragment.get(),
                                                    bodies_.back()->fragment.get(), {});
    const auto last = table ? table->all_at(place) : nullptr;
    if (last && fits(*last->front(), device, chooser)) {
      if (ExecutablePtr executable = last->front()->program.get()) return executable;
    }
    runtime::ProgramHandle handle;
    ExecutablePtr executable = value_or_throw(
        trace_internal::executable_for(traced(chooser, to_index).module, device, &handle));
    if (table) {
      ReadyConditional ready{
          {}, operands_.leaves.size(), chooser.shape(), device.serial(), std::move(handle)};
      for (const BodyPtr& body : bodies_) ready.branches.push_back(body->fragment);
      table->keep(place, std::move(ready));
    }
    return executable;
  }

  // Shardings are part of a program, but of no key here.
  [[nodiscard]] bool is_plain(const Tensor& chooser) const {
    const auto has_none = [](const Tensor& leaf) { return leaf.node()->sharding == nullptr; };
    return has_none(chooser) && std::ranges::all_of(operands_.leaves, has_none) &&
           std::ranges::all_of(bodies_, [&](const BodyPtr& body) {
             return std::ranges::all_of(body->captures, has_none);
           });
  }

  [[nodiscard]] bool fits(const ReadyConditional& ready, const runtime::Device& device,
                          const Tensor& chooser) const {
    return ready.device == device.serial() && ready.operands == operands_.leaves.size() &&
           ready.chooser == chooser.shape() &&
           std::ranges::equal(
               ready.branches, bodies_, {}, {},
               [](const BodyPtr& body) -> const auto& { return body->fragment; });
  }

  // Traced on parameters of its own: two values that are one tensor now may be two the next time.
  [[nodiscard]] trace_internal::Traced traced(const Tensor& chooser, ToIndex to_index) const {
    trace_internal::Recorder recorder(what_);
    const auto parameter = [&](const Tensor& like) {
      return recorder.parameter(like.shape(), like.node()->number ? nullptr : &like);
    };
    const auto parameters = [&](std::span<const Tensor> leaves) {
      std::vector<Tensor> all;
      for (const Tensor& leaf : leaves) all.push_back(parameter(leaf));
      return all;
    };
    const Tensor chosen = parameter(chooser);
    const std::vector<Tensor> leaves = parameters(operands_.leaves);
    std::vector<std::vector<Tensor>> captures;
    for (const BodyPtr& body : bodies_) captures.push_back(parameters(body->captures));
    const std::vector<std::span<const Tensor>> spans(captures.begin(), captures.end());
    const std::vector<Tensor> results = emit_conditional(to_index(chosen), leaves, spans);
    return recorder.finish(results, what_);
  }

  [[nodiscard]] std::string name_of(size_t branch) const {
    if (what_ == "cond") return branch == 0 ? "on_true" : "on_false";
    return base::cat("branch ", branch);
  }

  void check_agree(size_t i) const {
    const Body& a = *bodies_[0];
    const Body& b = *bodies_[i];
    if (a.results[0] == b.results[0] &&
        std::ranges::equal(a.result_shapes(), b.result_shapes(), same_type))
      return;
    if (a.results[0] != b.results[0]) {
      trace_internal::refuse(
          "result",
          first_difference(a.results[0], b.results[0], base::cat(" in ", name_of(0)),
                           base::cat(" in ", name_of(i))),
          "; branches must return one structure");
    }
    std::vector<std::string> paths = leaf_paths(a.results[0]);
    for (size_t leaf = 0; leaf < paths.size(); ++leaf) {
      const Shape& x = a.result_shapes()[leaf];
      const Shape& y = b.result_shapes()[leaf];
      if (same_type(x, y)) continue;
      trace_internal::refuse(
          "result", paths[leaf], " is ", x, " in ", name_of(0), " and ", y, " in ", name_of(i),
          x.dtype() != y.dtype() ? "; cast one with astype"
                                 : "; branches must return equal shapes, reshape or broadcast one");
    }
  }

  std::string_view what_;
  const Argument& operands_;
  absl::InlinedVector<Shape, 2> shapes_;
  absl::InlinedVector<BodyPtr, 2> bodies_;
};

// The chooser; errors call it `name`.
Tensor chooser(std::string_view what, std::string_view name, const Operand& operand) {
  if (operand.is_tensor()) {
    trace_internal::require_values(what, name, {&operand.tensor(), 1}, [] { return TreeSpec{}; });
  }
  return as_tensor(operand);
}

void require_predicate(std::string_view name, const Shape& shape, std::string_view repair) {
  if (shape.is_scalar() && !is_complex(shape.dtype())) return;
  trace_internal::refuse(name, " is ", shape,
                         "; it must be pred[], or a real scalar, which is compared with zero; ",
                         repair);
}

Tensor predicate_of(const Operand& predicate) {
  Tensor value = chooser("cond", "predicate", predicate);
  const Shape& shape = value.shape();
  require_predicate("predicate", shape, "for elements use where()");
  return shape.dtype() == pred ? value : not_equal(value, 0);
}

Tensor index_of(const Operand& index, size_t branches) {
  Tensor value = chooser("switch_case", "index", index);
  const Shape& shape = value.shape();
  if (!shape.is_scalar() || !is_integer(shape.dtype())) {
    trace_internal::refuse("index is ", shape,
                           "; it must be a scalar of an integer dtype, cast it with astype(s32)");
  }
  int64_t last = static_cast<int64_t>(branches) - 1;
  // It is clamped in its own type: a u32 above 2^31 must not become negative, and a wide one must
  // not wrap.
  Tensor wide = bit_width(shape.dtype()) < 32 ? value.astype(s32) : value;
  return clip(wide, 0, last).astype(s32);
}

// The chooser, if no trace is running and it is a scalar of the dtype with a value: it needs no
// check, and no step before the conditional. Else null.
const Tensor* array_that_chooses(const Operand& operand, DType dtype) {
  if (trace_internal::Recorder::current() != nullptr || !operand.is_tensor()) return nullptr;
  const Tensor& value = operand.tensor();
  if (!value.is_valid() || value.node()->buffer == nullptr) return nullptr;
  return value.node()->shape.is_scalar(dtype) ? &value : nullptr;
}

}  // namespace

Tensor is_not_yet(const Tensor& until) {
  const PublicCall call("scan_until", {});
  const Tensor value = chooser("scan_until", "what until returns", until);
  require_predicate("what until returns", value.shape(), "use all() or any()");
  return value.dtype() == pred ? logical_not(value) : equal(value, 0);
}

std::vector<Tensor> run_cond(Operand predicate, const Callable& on_true, const Callable& on_false,
                             const Argument& operands, TreeSpec* result) {
  if (const Tensor* value = array_that_chooses(predicate, pred)) {
    Branches branches("cond", operands);
    branches.add_both(on_true, on_false);
    *result = branches.result();
    return branches.run_at_once(*value, [](const Tensor& chosen) { return chosen; });
  }
  return trace_internal::in_program("cond", [&] {
    Tensor index = predicate_of(predicate);
    Branches branches("cond", operands);
    branches.add_both(on_true, on_false);
    *result = branches.result();
    return branches.emit_conditional(index);
  });
}

std::vector<Tensor> run_switch(Operand index, std::span<const Callable> callables,
                               const Argument& operands, TreeSpec* result) {
  if (callables.empty()) trace_internal::refuse("has no branches; give at least one");
  if (const Tensor* value = array_that_chooses(index, s32); value && callables.size() > 1) {
    Branches branches("switch_case", operands);
    branches.add_all(callables);
    *result = branches.result();
    return branches.run_at_once(
        *value, [&](const Tensor& chosen) { return index_of(chosen, callables.size()); });
  }
  return trace_internal::in_program("switch_case", [&] {
    Tensor chosen = index_of(index, callables.size());
    Branches branches("switch_case", operands);
    branches.add_all(callables);
    *result = branches.result();
    return callables.size() == 1 ? branches.emit_only() : branches.emit_conditional(chosen);
  });
}

}  // namespace heddle::scan_internal
