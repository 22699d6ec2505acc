#include "heddle/scan/cond.h"

#include <array>

#include "heddle/scan/trace_body.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle::scan_internal {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::PublicCall;

// One kind a branch that is traced at each call: branches of one type, as those of a vector, are
// places of their own. A Function has one body wherever it stands.
constexpr std::array<char, 64> kBranch{};

// The branches of one conditional, traced, and made to agree.
class Branches {
 public:
  Branches(std::string_view what, const Argument& operands, SourceLocation at)
      : what_(what), operands_(operands), at_(at) {
    trace_internal::require_values(what, "operands", operands.leaves, operands.spec, at);
    shapes_ = shapes_of(operands.leaves, what, at);
  }

  void add(const Callable& callable, std::string name) {
    const std::string result = base::cat("result of ", name);
    const size_t kind = callable.identity.known() ? 0 : bodies_.size() % kBranch.size();
    BodyPtr body = body_for({.what = what_,
                             .kind = &kBranch[kind],
                             .callable = callable,
                             .structure = operands_.structure,
                             .parameters = shapes_,
                             .at = at_,
                             .init = operands_.leaves,
                             .result = result},
                            [](const Body&) {});
    bodies_.push_back(body);
    names_.push_back(std::move(name));
    if (bodies_.size() > 1) check_agree(bodies_.size() - 1);
  }

  [[nodiscard]] const TreeSpec& result() const { return bodies_[0]->results[0]; }

  // HLO's conditional: each branch takes one tuple, of the operands and of what it captures.
  std::vector<Tensor> emit_conditional(const Tensor& index) {
    std::vector<Tensor> operands{index};
    std::vector<trace_internal::Fragment> called;
    for (const BodyPtr& body : bodies_) {
      std::vector<Tensor> values = operands_.leaves;
      values.insert(values.end(), body->captures.begin(), body->captures.end());
      std::vector<size_t> pick(values.size());
      for (size_t i = 0; i < pick.size(); ++i) pick[i] = i;
      called.push_back(on_tuple(body->fragment, shapes_of(values, what_, at_), pick, {}, false));
      operands.push_back(
          emit({.opcode = Opcode::kTuple, .operands = std::move(values), .at = at_}));
    }
    return trace_internal::emit_many({.opcode = Opcode::kConditional,
                                      .operands = std::move(operands),
                                      .called = std::move(called),
                                      .at = at_});
  }

  // One branch: its body, called.
  std::vector<Tensor> emit_only() {
    std::vector<Tensor> values = operands_.leaves;
    values.insert(values.end(), bodies_[0]->captures.begin(), bodies_[0]->captures.end());
    return trace_internal::emit_many({.opcode = Opcode::kCall,
                                      .operands = std::move(values),
                                      .attrs = hlo::CallAttrs{},
                                      .called = {bodies_[0]->fragment},
                                      .at = at_});
  }

 private:
  void check_agree(size_t i) const {
    const Body& a = *bodies_[0];
    const Body& b = *bodies_[i];
    if (a.results[0] != b.results[0]) {
      throw Error(trace_internal::invalid_argument(
                      what_, ": result",
                      first_difference(a.results[0], b.results[0], base::cat(" in ", names_[0]),
                                       base::cat(" in ", names_[i])),
                      "; branches must return one structure"),
                  at_);
    }
    std::vector<std::string> paths = leaf_paths(a.results[0]);
    for (size_t leaf = 0; leaf < paths.size(); ++leaf) {
      const Shape& x = a.result_shapes[leaf];
      const Shape& y = b.result_shapes[leaf];
      if (same_type(x, y)) continue;
      throw Error(trace_internal::invalid_argument(
                      what_, ": result", paths[leaf], " is ", x, " in ", names_[0], " and ", y,
                      " in ", names_[i],
                      x.dtype() != y.dtype()
                          ? "; cast one with astype"
                          : "; branches must return equal shapes, reshape or broadcast one"),
                  at_);
    }
  }

  std::string_view what_;
  const Argument& operands_;
  SourceLocation at_;
  std::vector<Shape> shapes_;
  std::vector<BodyPtr> bodies_;
  std::vector<std::string> names_;
};

// What chooses, of which errors speak by `name`.
Tensor chooser(std::string_view what, std::string_view name, const Operand& operand) {
  if (operand.is_tensor()) {
    trace_internal::require_values(
        what, name, {&operand.tensor(), 1}, [] { return TreeSpec{}; }, operand.at());
  }
  return as_tensor(operand);
}

Tensor predicate_of(const Operand& predicate, SourceLocation at) {
  Tensor value = chooser("cond", "predicate", predicate);
  const Shape& shape = value.shape();
  if (!shape.is_scalar() || is_complex(shape.dtype())) {
    throw Error(trace_internal::invalid_argument(
                    "cond", ": predicate is ", shape,
                    "; it must be pred[], or a real scalar, which is compared with "
                    "zero; for elements use where()"),
                at);
  }
  return shape.dtype() == pred ? value : not_equal({value, at}, {0, at});
}

Tensor index_of(const Operand& index, size_t branches, SourceLocation at) {
  Tensor value = chooser("switch_case", "index", index);
  const Shape& shape = value.shape();
  if (!shape.is_scalar() || !is_integer(shape.dtype())) {
    throw Error(trace_internal::invalid_argument(
                    "switch_case", ": index is ", shape,
                    "; it must be a scalar of an integer dtype, cast it with astype(s32)"),
                at);
  }
  int64_t last = static_cast<int64_t>(branches) - 1;
  // Clamped in its own type: a u32 above 2^31 must not become negative, a wide one not wrap.
  Tensor wide = bit_width(shape.dtype()) < 32 ? value.astype(s32, at) : value;
  return clip({wide, at}, {0, at}, {last, at}).astype(s32, at);
}

}  // namespace

std::vector<Tensor> run_cond(Operand predicate, const Callable& on_true, const Callable& on_false,
                             const Argument& operands, TreeSpec* result, SourceLocation at) {
  const PublicCall call("cond", at, PublicCall::Runs::kUsersFunction);
  return trace_internal::in_program("cond", at, [&] {
    Tensor index = predicate_of(predicate, at);
    Branches branches("cond", operands, at);
    branches.add(on_true, "on_true");
    branches.add(on_false, "on_false");
    *result = branches.result();
    return branches.emit_conditional(index);
  });
}

std::vector<Tensor> run_switch(Operand index, std::span<const Callable> callables,
                               const Argument& operands, TreeSpec* result, SourceLocation at) {
  const PublicCall call("switch_case", at, PublicCall::Runs::kUsersFunction);
  if (callables.empty())
    throw Error(
        trace_internal::invalid_argument("switch_case", ": has no branches; give at least one"),
        at);
  return trace_internal::in_program("switch_case", at, [&] {
    Tensor chosen = index_of(index, callables.size(), at);
    Branches branches("switch_case", operands, at);
    for (size_t i = 0; i < callables.size(); ++i)
      branches.add(callables[i], base::cat("branch ", i));
    *result = branches.result();
    return callables.size() == 1 ? branches.emit_only() : branches.emit_conditional(chosen);
  });
}

}  // namespace heddle::scan_internal
