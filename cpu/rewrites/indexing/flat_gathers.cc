#include "heddle/cpu/rewrites/indexing/flat_gathers.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::GatherAttrs;

class FlatGather {
 public:
  FlatGather(const Computation& from, const Instruction& gather)
      : gather_(gather),
        attrs_(gather.attrs.get<GatherAttrs>()),
        shape_(from.at(gather.operands[0]).shape),
        indices_(from.at(gather.operands[1]).shape) {}

  // Several indices of dimensions side by side, of each of which one element is taken.
  [[nodiscard]] bool is_flattened() const {
    const Dims& map = attrs_.start_index_map;
    if (map.size() < 2 || shape_.element_count() == 0 || gather_.shape.element_count() == 0)
      return false;
    if (shape_.is_dynamic() || indices_.is_dynamic() || storage_bytes(indices_.dtype()) < 4)
      return false;
    const auto [first, last] = std::ranges::minmax(map);
    return last - first + 1 == static_cast<int64_t>(map.size()) &&
           std::ranges::all_of(
               map,
               [&](int64_t d) { return std::ranges::count(attrs_.collapsed_slice_dims, d); }) &&
           shape_.element_count() <= std::numeric_limits<int32_t>::max();
  }

  hlo::Value run(hlo::Graph& graph, const hlo::Values& operands, const hlo::Values& stacked) {
    first_ = std::ranges::min(attrs_.start_index_map);
    return graph.op(Opcode::kGather,
                    {reshape(operands[0], flat_sizes()), number(graph, operands[1], stacked)},
                    flat_attrs(), {}, &gather_.shape);
  }

  // Whether the instruction puts the indices of each dimension side by side.
  [[nodiscard]] bool is_stack(const Computation& from, const Instruction& joined) const {
    const auto is_single = [&](InstructionId id) {
      return from.at(id).shape.dimension(attrs_.index_vector_dim) == 1;
    };
    return joined.opcode == Opcode::kConcatenate &&
           dimensions_of(joined)[0] == attrs_.index_vector_dim &&
           joined.operands.size() == attrs_.start_index_map.size() &&
           std::ranges::all_of(joined.operands, is_single);
  }

 private:
  [[nodiscard]] int64_t removed() const {
    return static_cast<int64_t>(attrs_.start_index_map.size()) - 1;
  }
  [[nodiscard]] Dims flat_sizes() const {
    Dims sizes;
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      if (d > first_ && d <= first_ + removed()) {
        sizes.back() *= shape_.dimension(d);
      } else {
        sizes.push_back(shape_.dimension(d));
      }
    }
    return sizes;
  }

  // Of what remains, the first of the joined ones among it.
  [[nodiscard]] Dims renumbered(const Dims& dims) const {
    Dims out;
    for (int64_t d : dims) {
      if (d <= first_) out.push_back(d);
      if (d > first_ + removed()) out.push_back(d - removed());
    }
    return out;
  }
  [[nodiscard]] GatherAttrs flat_attrs() const {
    GatherAttrs flat = attrs_;
    flat.collapsed_slice_dims = renumbered(attrs_.collapsed_slice_dims);
    flat.operand_batching_dims = renumbered(attrs_.operand_batching_dims);
    flat.start_index_map = {first_};
    for (int64_t& d : flat.start_indices_batching_dims) d -= d > attrs_.index_vector_dim ? 1 : 0;
    flat.index_vector_dim = indices_.rank() - 1;
    flat.slice_sizes.erase(flat.slice_sizes.begin() + first_,
                           flat.slice_sizes.begin() + first_ + removed());
    return flat;
  }

  // The indices of one dimension of the array.
  [[nodiscard]] hlo::Value component(const hlo::Value& indices, const hlo::Values& stacked,
                                     int64_t number) const {
    const int64_t along = attrs_.index_vector_dim;
    return drop_dimension(
        stacked.empty() ? slice(indices, along, number, 1) : stacked[static_cast<size_t>(number)],
        along);
  }

  // Each index within its dimension, times what lies behind that.
  [[nodiscard]] hlo::Value number(hlo::Graph& graph, const hlo::Value& indices,
                                  const hlo::Values& stacked) const {
    hlo::Value sum;
    for (int64_t d = first_; d <= first_ + removed(); ++d) {
      const auto size = static_cast<double>(shape_.dimension(d));
      const hlo::Value index =
          component(indices, stacked,
                    std::ranges::find(attrs_.start_index_map, d) - attrs_.start_index_map.begin());
      const hlo::Value within =
          graph.op(Opcode::kClamp, {index.number(0), index, index.number(size - 1)});
      sum = sum ? sum * size + within : within;
    }
    return sum;
  }

  const Instruction& gather_;
  const GatherAttrs& attrs_;
  const Shape &shape_, &indices_;
  int64_t first_ = 0;
};

// Few elements of what is computed, as the parts of complex numbers are: they are computed where
// they are read, as the array lies.
bool is_of_few_computed(const Computation& computation, const Instruction& gather) {
  const Instruction& x = computation.at(gather.operands[0]);
  const bool is_computed = x.operands.size() > 0 && is_scalar_op(computation, x);
  return (is_computed || is_complex(x.shape.dtype())) &&
         gather.shape.element_count() * kManyReads <= x.shape.element_count();
}

}  // namespace

StatusOr<hlo::Module> flatten_gathers(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        if (old.opcode != Opcode::kGather) return {};
        FlatGather gather(to.from(), old);
        if (!gather.is_flattened() || is_of_few_computed(to.from(), old)) return {};
        hlo::Graph& graph = to.in_place_of(id);
        const bool is_stack = gather.is_stack(to.from(), to.old(old.operands[1]));
        return gather.run(graph, to.operands(id),
                          is_stack ? to.operands(old.operands[1]) : hlo::Values());
      });
}

}  // namespace heddle::cpu
