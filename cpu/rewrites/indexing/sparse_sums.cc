#include "heddle/cpu/rewrites/indexing/sparse_sums.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int kMostSteps = 1000;     // of one proof
constexpr int64_t kLeastSparse = 2;  // times the part

bool adds(const Computation& combiner) {
  const Instruction& root = combiner.root_instruction();
  return root.opcode == Opcode::kAdd && root.operands.size() == 2 &&
         root.operands[0] != root.operands[1] && combiner.parameters.size() == 2 &&
         std::ranges::all_of(root.operands, [&](InstructionId id) {
           return combiner.at(id).opcode == Opcode::kParameter;
         });
}

// A splat of one number.
const Literal* splat_of(const Computation& in, InstructionId id) {
  while (in.at(id).opcode == Opcode::kBroadcast || in.at(id).opcode == Opcode::kReshape)
    id = in.at(id).operands[0];
  const Instruction& from = in.at(id);
  if (from.opcode != Opcode::kConstant || !from.shape.is_array()) return nullptr;
  const Literal& literal = from.attrs.get<hlo::ConstantAttrs>().literal;
  return literal.element_count() == 1 && !literal.is_elided() ? &literal : nullptr;
}

bool is_real(DType dtype) { return is_floating(dtype) || is_integer(dtype); }

bool is_zero_splat(const Computation& in, InstructionId id) {
  const Literal* number = splat_of(in, id);
  return number != nullptr && number->to_double(0) == 0;
}

// Proofs that arrays have no -0.0.
class NoNegativeZeros {
 public:
  explicit NoNegativeZeros(const hlo::Module& module) : module_(module) {
    for (size_t c = 0; c < module.computations.size(); ++c) {
      for (const Instruction& instruction : module.computations[c].instructions) {
        for (const ComputationId called : instruction.called)
          callers_.push_back({called, ComputationId(c), &instruction});
      }
    }
  }

  bool of(ComputationId in, InstructionId id) {
    steps_ = 0;
    assumed_.clear();
    return holds(in, id);
  }

 private:
  struct Call {
    ComputationId called, caller;
    const Instruction* instruction;
  };

  bool holds(ComputationId in, InstructionId id) {
    const Computation& computation = module_.at(in);
    const Instruction& at = computation.at(id);
    if (++steps_ > kMostSteps || !at.shape.is_array()) return false;
    if (!is_floating(at.shape.dtype())) return is_integer(at.shape.dtype());
    const auto operand = [&](size_t i) { return holds(in, at.operands[i]); };
    switch (at.opcode) {
      case Opcode::kConstant: {
        const Literal* number = splat_of(computation, id);
        return number != nullptr &&
               !(number->to_double(0) == 0 && std::signbit(number->to_double(0)));
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kCopy: return operand(0);
      case Opcode::kAdd: return operand(0) || operand(1);  // only -0.0 + -0.0 is -0.0
      case Opcode::kDynamicUpdateSlice: return operand(0) && operand(1);
      case Opcode::kSelect: return operand(1) && operand(2);
      case Opcode::kScatter:
        return at.operands.size() == 3 && adds(module_.at(at.called[0])) && operand(0);
      case Opcode::kGetTupleElement: return element_holds(in, at);
      default: return false;
    }
  }

  // Of a loop's state, by induction over its turns.
  bool element_holds(ComputationId in, const Instruction& element) {
    const Instruction& of = module_.at(in).at(element.operands[0]);
    const int64_t index = element.attrs.get<hlo::TupleIndexAttrs>().index;
    if (of.opcode == Opcode::kTuple) return holds(in, of.operands[static_cast<size_t>(index)]);
    if (of.opcode == Opcode::kWhile) return state_holds(in, of, index);
    if (of.opcode != Opcode::kParameter) return false;
    const auto calls = [&](const Call& call) { return call.called == in; };
    const auto call = std::ranges::find_if(callers_, calls);
    return call != callers_.end() && std::ranges::count_if(callers_, calls) == 1 &&
           call->instruction->opcode == Opcode::kWhile &&
           state_holds(call->caller, *call->instruction, index);
  }

  bool state_holds(ComputationId in, const Instruction& loop, int64_t index) {
    const auto before = assumed_;
    if (!assumed_.emplace(&loop, index).second) return true;
    const auto i = static_cast<size_t>(index);
    const Instruction& initial = module_.at(in).at(loop.operands[0]);
    const Instruction& next = module_.at(loop.called[0]).root_instruction();
    const bool holds_always = initial.opcode == Opcode::kTuple && next.opcode == Opcode::kTuple &&
                              holds(in, initial.operands[i]) &&
                              holds(loop.called[0], next.operands[i]);
    if (!holds_always) assumed_ = before;  // with all that was found of it
    return holds_always;
  }

  const hlo::Module& module_;
  std::vector<Call> callers_;
  std::set<std::pair<const Instruction*, int64_t>> assumed_;  // elements of loops' states
  int steps_ = 0;
};

// Floats that are added at one place are added to x in another order than to 0.
bool keeps_order(const Computation& in, const Instruction& scatter) {
  const auto& attrs = scatter.attrs.get<hlo::ScatterAttrs>();
  return !is_floating(scatter.shape.dtype()) || attrs.unique_indices ||
         (!attrs.scatter_dims_to_operand_dims.empty() &&
          in.at(scatter.operands[1]).shape.element_count() ==
              std::ssize(attrs.scatter_dims_to_operand_dims));
}

// A gather of the windows that a scatter of these updates changes.
hlo::GatherAttrs windows_of(const hlo::ScatterAttrs& attrs, const hlo::Value& x,
                            const hlo::Value& updates) {
  hlo::GatherAttrs gather{.offset_dims = attrs.update_window_dims,
                          .collapsed_slice_dims = attrs.inserted_window_dims,
                          .start_index_map = attrs.scatter_dims_to_operand_dims,
                          .operand_batching_dims = attrs.input_batching_dims,
                          .start_indices_batching_dims = attrs.scatter_indices_batching_dims,
                          .index_vector_dim = attrs.index_vector_dim};
  size_t next = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool is_one = std::ranges::count(attrs.inserted_window_dims, d) > 0 ||
                        std::ranges::count(attrs.input_batching_dims, d) > 0;
    gather.slice_sizes.push_back(is_one ? 1 : updates.size(attrs.update_window_dims[next++]));
  }
  return gather;
}

// x + a scatter of the updates into zeros, to the bit: their sums are made in x's places, and then
// added to what was there. Windows of one place have one sum, so that all of them set the same.
hlo::Value with_sums(const hlo::Value& x, const hlo::Value& indices, const hlo::Value& updates,
                     const hlo::ScatterAttrs& attrs) {
  const hlo::GatherAttrs windows = windows_of(attrs, x, updates);
  const hlo::Value before = gather(x, indices, windows);
  const hlo::Value zeros = x.graph().zeros(updates.shape());
  const hlo::Value cleared = scatter(Opcode::kParameter, x, indices, zeros, attrs);
  const hlo::Value sums = scatter(Opcode::kAdd, cleared, indices, updates, attrs);
  return scatter(Opcode::kParameter, sums, indices, before + gather(sums, indices, windows), attrs);
}

// The update is of zeros, one instruction reads it, and its part is at most half of them.
bool is_sparse(const hlo::Module& module, const Computation& in, InstructionId id) {
  const Instruction& update = in.at(id);
  size_t part = 1;
  if (update.opcode == Opcode::kScatter) {
    part = 2;
    if (update.operands.size() != 3 || !adds(module.at(update.called[0]))) return false;
  } else if (update.opcode != Opcode::kDynamicUpdateSlice) {
    return false;
  }
  const Shape& shape = update.shape;
  if (!is_real(shape.dtype()) || bit_width(shape.dtype()) < 32 ||
      !is_zero_splat(in, update.operands[0]) ||
      in.at(update.operands[part]).shape.element_count() * kLeastSparse > shape.element_count())
    return false;
  int64_t readers = id == in.root ? 1 : 0;
  for (const Instruction& each : in.instructions) readers += std::ranges::count(each.operands, id);
  return readers == 1;
}

hlo::Value summed(const hlo::Module& module, NoNegativeZeros& proofs, transform::Rebuilder& to,
                  ComputationId in, InstructionId id) {
  const Instruction& sum = to.old(id);
  if (sum.opcode != Opcode::kAdd || !sum.shape.is_array() || sum.shape.is_dynamic()) return {};
  for (const size_t i : {0, 1}) {
    const InstructionId sparse = sum.operands[i], x = sum.operands[1 - i];
    if (!is_sparse(module, to.from(), sparse) || !proofs.of(in, x)) continue;
    hlo::Graph& graph = to.in_place_of(id);
    const Instruction& old = to.old(sparse);
    if (old.opcode == Opcode::kScatter && !keeps_order(to.from(), old)) {
      const hlo::Values operands = to.operands(sparse);
      return with_sums(to.value(x), operands[1], operands[2], old.attrs.get<hlo::ScatterAttrs>());
    }
    if (old.opcode == Opcode::kScatter) {
      Instruction scatter = to.mapped(sparse);
      scatter.operands[0] = to[x];
      return graph.wrap(to.builder().append(std::move(scatter)));
    }
    hlo::Values starts = to.operands(sparse);
    const hlo::Value part = starts[1], whole = to.value(x);
    starts.erase(starts.begin(), starts.begin() + 2);
    return dynamic_update_slice(
        whole, binary(Opcode::kAdd, dynamic_slice(whole, starts, part.shape().dimensions()), part),
        starts);
  }
  return {};
}

}  // namespace

StatusOr<hlo::Module> update_sparse_sums(const hlo::Module& module) {
  NoNegativeZeros proofs(module);
  return transform::with_rewritten(
      module, [&](transform::ModuleRebuilder&, transform::Rebuilder& to, ComputationId in,
                  InstructionId id) { return summed(module, proofs, to, in, id); });
}

}  // namespace heddle::cpu
