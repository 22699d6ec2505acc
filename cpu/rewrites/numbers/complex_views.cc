#include "heddle/cpu/rewrites/numbers/complex_views.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

// The shape with both parts of an element side by side.
Shape with_parts(const Shape& part) {
  std::vector<int64_t> sizes = part.dimensions();
  sizes.push_back(2);
  return {part.dtype(), std::move(sizes)};
}

class ViewedLoop {
 public:
  ViewedLoop(transform::ModuleRebuilder& module, transform::Rebuilder& to, InstructionId id)
      : module_(module),
        to_(to),
        id_(id),
        loop_(to.mapped(id)),
        body_(module.into().at(loop_.called[0])),
        condition_(module.into().at(loop_.called[1])) {}

  // The loop on arrays that are complex; not valid: it reads none.
  InstructionId run() && {
    const Instruction initial = to_.at(loop_.operands[0]);
    if (initial.opcode != Opcode::kTuple || body_.root_instruction().opcode != Opcode::kTuple)
      return {};
    is_viewed_.resize(initial.operands.size());
    Instruction views = initial;
    std::vector<Shape> shapes;
    for (size_t k = 0; k < is_viewed_.size(); ++k) {
      if (const InstructionId whole = whole_of(initial.operands[k]);
          whole.valid() && is_only_sliced(k)) {
        is_viewed_[k] = true;
        views.operands[k] = view_of(whole);
      }
      shapes.push_back(to_.at(views.operands[k]).shape);
    }
    if (std::ranges::none_of(is_viewed_, [](bool each) { return each; })) return {};
    state_ = views.shape = Shape::tuple(std::move(shapes));
    Instruction loop = loop_;
    loop.operands = {to_.builder().append(std::move(views))};
    loop.shape = state_;
    loop.called = {module_.add(viewed(body_)), module_.add(viewed(condition_))};
    return to_.builder().append(std::move(loop));
  }

 private:
  // The complex array whose parts the tuple has; not valid: it has others.
  [[nodiscard]] InstructionId whole_of(InstructionId tuple) const {
    const Instruction& pair = to_.at(tuple);
    if (pair.opcode != Opcode::kTuple || pair.operands.size() != 2) return {};
    const Instruction &re = to_.at(pair.operands[0]), &im = to_.at(pair.operands[1]);
    const bool is_pair = re.opcode == Opcode::kReal && im.opcode == Opcode::kImag &&
                         re.operands == im.operands &&
                         is_complex(to_.at(re.operands[0]).shape.dtype());
    return is_pair ? re.operands[0] : InstructionId();
  }

  static int64_t index_of_element(const Instruction& element) {
    return element.attrs.get<hlo::TupleIndexAttrs>().index;
  }
  // Element k of the state.
  static bool is_element(const Computation& in, const Instruction& x, size_t k) {
    return x.opcode == Opcode::kGetTupleElement && x.operands[0] == in.parameters[0] &&
           index_of_element(x) == static_cast<int64_t>(k);
  }
  // A part of it.
  static bool is_part_of_element(const Computation& in, const Instruction& x, size_t k) {
    return x.opcode == Opcode::kGetTupleElement && is_element(in, in.at(x.operands[0]), k);
  }

  // No turn changes it, none reads it but by slices of its parts, and nothing reads it in the end.
  [[nodiscard]] bool is_only_sliced(size_t k) const {
    const Computation& outside = to_.from();
    const auto takes_it = [&](const Instruction& each) {
      return std::ranges::find(each.operands, id_) != each.operands.end() &&
             (each.opcode != Opcode::kGetTupleElement ||
              index_of_element(each) == static_cast<int64_t>(k));
    };
    const auto asks = [&](const Instruction& each) { return is_element(condition_, each, k); };
    return is_element(body_, body_.at(body_.root_instruction().operands[k]), k) &&
           outside.root != id_ && std::ranges::none_of(outside.instructions, takes_it) &&
           std::ranges::none_of(condition_.instructions, asks) &&
           std::ranges::all_of(body_.instructions, [&](const Instruction& user) {
             return takes_slices_alone(user, k);
           });
  }
  [[nodiscard]] bool takes_slices_alone(const Instruction& user, size_t k) const {
    for (size_t o = 0; o < user.operands.size(); ++o) {
      const Instruction& read = body_.at(user.operands[o]);
      if (is_element(body_, read, k) && user.opcode != Opcode::kGetTupleElement &&
          (&user != &body_.root_instruction() || o != k))
        return false;
      if (is_part_of_element(body_, read, k) &&
          (user.opcode != Opcode::kDynamicSlice || o != 0 ||
           std::ssize(user.operands) != 1 + read.shape.rank()))
        return false;
    }
    return true;
  }

  InstructionId view_of(InstructionId complex) {
    const Shape& shape = to_.at(complex).shape;
    Instruction view;
    view.opcode = Opcode::kBitcastConvert;
    view.shape = with_parts(shape.with_dtype(real_part(shape.dtype())));
    view.operands = {complex};
    return to_.builder().append(std::move(view));
  }

  // A body or condition on the new state.
  [[nodiscard]] Computation viewed(const Computation& from) const {
    const auto is_viewed = [&](const Instruction& x, const auto& is) {
      for (size_t k = 0; k < is_viewed_.size(); ++k) {
        if (is_viewed_[k] && is(from, x, k)) return true;
      }
      return false;
    };
    hlo::Graph graph(module_, from.name);
    std::vector<InstructionId> now;
    for (const Instruction& old : from.instructions) {
      graph.set_origin(old);
      Instruction copy = old;
      for (InstructionId& operand : copy.operands) operand = now[operand.value];
      if (copy.extras.has_value()) copy.extras.mutate().control_predecessors.clear();
      if (is_viewed(old, is_part_of_element)) {  // slices of it take their part
        now.push_back(copy.operands[0]);
        continue;
      }
      if (old.opcode == Opcode::kDynamicSlice &&
          is_viewed(from.at(old.operands[0]), is_part_of_element)) {
        now.push_back(part_of_slice(graph, copy, index_of_element(from.at(old.operands[0]))).id());
        continue;
      }
      if (is_viewed(old, is_element)) copy.shape = with_parts(old.shape.elements()[0]);
      const bool is_state = old.opcode == Opcode::kParameter || &old == &from.root_instruction();
      if (is_state && old.shape.is_tuple()) copy.shape = state_;
      now.push_back(graph.append(std::move(copy)).id());
    }
    return std::move(graph.builder()).finish(now[from.root.value]);
  }

  static hlo::Value part_of_slice(hlo::Graph& graph, const Instruction& slice, int64_t part) {
    hlo::Values starts;
    for (size_t o = 1; o < slice.operands.size(); ++o)
      starts.push_back(graph.wrap(slice.operands[o]));
    starts.push_back(starts.empty() ? graph.number(s32, 0) : starts[0].number(0));
    const Dims& sizes = slice.shape.dimensions();
    Dims both_sizes = sizes;
    both_sizes.push_back(2);
    const hlo::Value both = dynamic_slice(graph.wrap(slice.operands[0]), starts, both_sizes);
    return reshape(hlo::slice(both, std::ssize(sizes), part, 1), sizes);
  }

  transform::ModuleRebuilder& module_;
  transform::Rebuilder& to_;
  const InstructionId id_;
  const Instruction loop_;
  const Computation body_, condition_;
  std::vector<bool> is_viewed_;  // by element of the state
  Shape state_;
};

}  // namespace

StatusOr<hlo::Module> view_complex_inputs(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [](transform::ModuleRebuilder& into, transform::Rebuilder& to,
                                      auto, InstructionId id) -> hlo::Value {
                                     if (to.old(id).opcode != Opcode::kWhile) return {};
                                     const InstructionId now = ViewedLoop(into, to, id).run();
                                     return now.valid() ? to.in_place_of(id).wrap(now)
                                                        : hlo::Value();
                                   });
}

}  // namespace heddle::cpu
