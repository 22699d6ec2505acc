#include "heddle/cpu/rewrites/indexing/stack_choices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/indexing/affine_indices.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::GatherAttrs;

constexpr size_t kMostChoices = 16;

// A gather of single elements of a stack.
class StackChoice {
 public:
  StackChoice(const Computation& from, const AffineIndices& indices, const Instruction& gather)
      : from_(from), gather_(gather), attrs_(gather.attrs.get<GatherAttrs>()) {
    is_choice_ = is_stack() && is_of_elements() && find_places(indices);
  }

  [[nodiscard]] bool is_choice() const { return is_choice_; }

  // The last array, or the one before it where the index is at most its number, and so on: an index
  // that is outside counts as the nearest one.
  hlo::Value run(const hlo::Values& pieces, const hlo::Value& indices) const {
    const Dims& sizes = gather_.shape.dimensions();
    const auto piece = [&](size_t i) {
      return broadcast(drop_dimension(pieces[i], along_), sizes, places_);
    };
    const hlo::Value number =
        reshape(attrs_.index_vector_dim < indices.rank()
                    ? slice(indices, attrs_.index_vector_dim, static_cast<int64_t>(part_), 1)
                    : indices,
                sizes);
    hlo::Value chosen = piece(pieces.size() - 1);
    for (size_t i = pieces.size() - 1; i-- > 0;)
      chosen = select(number <= number.number(static_cast<double>(i)), piece(i), chosen);
    return chosen;
  }

 private:
  [[nodiscard]] const Instruction& stack() const { return from_.at(gather_.operands[0]); }

  bool is_stack() {
    if (stack().opcode != Opcode::kConcatenate || stack().operands.size() > kMostChoices ||
        stack().shape.is_dynamic() || gather_.shape.is_dynamic() ||
        gather_.shape.element_count() == 0)
      return false;
    along_ = dimensions_of(stack())[0];
    const auto found = std::ranges::find(attrs_.start_index_map, along_);
    part_ = static_cast<size_t>(found - attrs_.start_index_map.begin());
    return found != attrs_.start_index_map.end() &&
           std::ranges::all_of(stack().operands, [&](InstructionId piece) {
             return from_.at(piece).shape.dimension(along_) == 1;
           });
  }
  [[nodiscard]] bool is_of_elements() const {
    return attrs_.offset_dims.empty() &&
           std::ranges::all_of(attrs_.slice_sizes, [](int64_t size) { return size == 1; });
  }

  // Which dimension of the result each other one of the stack is: its index is the place there.
  bool find_places(const AffineIndices& indices) {
    const Instruction& all = from_.at(gather_.operands[1]);
    const int64_t vector = attrs_.index_vector_dim;
    const auto batch_of = [&](int64_t d) { return d - (d > vector ? 1 : 0); };
    for (int64_t d = 0; d < stack().shape.rank(); ++d) {
      if (d == along_) continue;
      const auto batched = std::ranges::find(attrs_.operand_batching_dims, d);
      if (batched != attrs_.operand_batching_dims.end()) {
        const auto k = static_cast<size_t>(batched - attrs_.operand_batching_dims.begin());
        places_.push_back(batch_of(attrs_.start_indices_batching_dims[k]));
        continue;
      }
      const auto mapped = std::ranges::find(attrs_.start_index_map, d);
      if (mapped == attrs_.start_index_map.end() || all.opcode != Opcode::kConcatenate ||
          all.operands.size() != attrs_.start_index_map.size() || dimensions_of(all)[0] != vector)
        return false;
      const InstructionId part =
          all.operands[static_cast<size_t>(mapped - attrs_.start_index_map.begin())];
      const Affine* own = indices.of(part);
      if (own == nullptr || own->constant != 0 || from_.at(part).shape.dimension(vector) != 1)
        return false;
      int64_t place = -1;
      for (size_t k = 0; k < own->steps.size(); ++k) {
        if (own->steps[k] == 0) continue;
        if (own->steps[k] != 1 || place >= 0) return false;
        place = batch_of(static_cast<int64_t>(k));
      }
      if (place < 0 || gather_.shape.dimension(place) != stack().shape.dimension(d)) return false;
      places_.push_back(place);
    }
    return std::ranges::adjacent_find(places_, std::ranges::greater_equal()) == places_.end();
  }

  const Computation& from_;
  const Instruction& gather_;
  const GatherAttrs& attrs_;
  int64_t along_ = 0;
  size_t part_ = 0;  // of the index: the number of the array
  Dims places_;
  bool is_choice_ = false;
};

}  // namespace

StatusOr<hlo::Module> choose_from_stacks(const hlo::Module& module) {
  IndicesInTurn indices(module);
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        if (old.opcode != Opcode::kGather || to.old(old.operands[0]).opcode != Opcode::kConcatenate)
          return {};
        const StackChoice choice(to.from(), indices.in(to.from()), old);
        if (!choice.is_choice()) return {};
        to.in_place_of(id);
        return choice.run(to.operands(old.operands[0]), to.operands(id)[1]);
      });
}

}  // namespace heddle::cpu
