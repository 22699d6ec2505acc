#include "heddle/cpu/lower/flat_gathers.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Dims;
using hlo::GatherAttrs;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

class FlatGather {
 public:
  FlatGather(const hlo::Computation& from, const Instruction& gather)
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

  InstructionId run(transform::Rebuilder& to) {
    transform::Emitter emit(to.builder(), gather_);
    first_ = std::ranges::min(attrs_.start_index_map);
    const InstructionId flat =
        emit.op(Opcode::kReshape, flat_shape(), {to[gather_.operands[0]]}, hlo::ReshapeAttrs());
    return emit.op(Opcode::kGather, gather_.shape, {flat, number(emit, to)}, flat_attrs());
  }

 private:
  [[nodiscard]] int64_t removed() const {
    return static_cast<int64_t>(attrs_.start_index_map.size()) - 1;
  }
  [[nodiscard]] Shape flat_shape() const {
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < shape_.rank(); ++d) {
      if (d > first_ && d <= first_ + removed()) {
        sizes.back() *= shape_.dimension(d);
      } else {
        sizes.push_back(shape_.dimension(d));
      }
    }
    return shape_.with_dimensions(std::move(sizes));
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
  InstructionId component(transform::Emitter& emit, transform::Rebuilder& to,
                          int64_t number) const {
    const InstructionId all = gather_.operands[1];
    const Instruction& joined = to.from().at(all);
    const bool is_stack =
        joined.opcode == Opcode::kConcatenate &&
        joined.attrs.get<hlo::DimensionsAttrs>().dimensions[0] == attrs_.index_vector_dim &&
        joined.operands.size() == attrs_.start_index_map.size();
    const InstructionId part = is_stack ? to[joined.operands[static_cast<size_t>(number)]]
                                        : emit.slice(to[all], attrs_.index_vector_dim, number, 1);
    return emit.drop_dimension(part, attrs_.index_vector_dim);
  }

  // Each index within its dimension, times what lies behind that.
  InstructionId number(transform::Emitter& emit, transform::Rebuilder& to) const {
    const DType dtype = indices_.dtype();
    InstructionId sum;
    for (int64_t d = first_; d <= first_ + removed(); ++d) {
      const InstructionId index = component(
          emit, to, std::ranges::find(attrs_.start_index_map, d) - attrs_.start_index_map.begin());
      const Shape shape = emit.shape(index);
      const InstructionId within =
          emit.op(Opcode::kClamp, shape,
                  {emit.scalar(dtype, 0), index, emit.scalar(dtype, shape_.dimension(d) - 1)});
      if (!sum.valid()) {
        sum = within;
        continue;
      }
      const InstructionId size =
          emit.op(Opcode::kBroadcast, shape, {emit.scalar(dtype, shape_.dimension(d))},
                  hlo::DimensionsAttrs());
      sum = emit.op(Opcode::kMultiply, shape, {sum, size});
      sum = emit.op(Opcode::kAdd, shape, {sum, within});
    }
    return sum;
  }

  const Instruction& gather_;
  const GatherAttrs& attrs_;
  const Shape &shape_, &indices_;
  int64_t first_ = 0;
};

}  // namespace

hlo::Module flatten_gathers(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [](auto&, transform::Rebuilder& to, auto, InstructionId id) {
                                     const Instruction& old = to.old(id);
                                     if (old.opcode != Opcode::kGather) return InstructionId();
                                     FlatGather gather(to.from(), old);
                                     if (!gather.is_flattened()) return InstructionId();
                                     return gather.run(to);
                                   });
}

}  // namespace heddle::cpu
