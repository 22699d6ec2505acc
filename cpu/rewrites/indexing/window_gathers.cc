#include "heddle/cpu/rewrites/indexing/window_gathers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/indexing/affine_indices.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::GatherAttrs;

constexpr int64_t kFewestNeighbours = 4;  // along a window: fewer are taken one by one

// A gather of single elements, or of whole others, by indices that are known.
class WindowGather {
 public:
  WindowGather(const Computation& from, const AffineIndices& indices, const Instruction& gather)
      : attrs_(gather.attrs.get<GatherAttrs>()),
        x_(from.at(gather.operands[0]).shape),
        result_(gather.shape) {
    find_batch(from.at(gather.operands[1]).shape);
    is_known_ = find_parts(from, indices, gather.operands[1]) && is_inside() && find_window();
  }

  [[nodiscard]] bool is_known() const { return is_known_; }

  hlo::Value run(hlo::Graph& graph, const hlo::Value& x) const {
    Dims sizes;  // of the first elements of windows
    std::vector<size_t> kept;
    for (size_t d = 0; d < batch_.size(); ++d) {
      if (d == window_) continue;
      kept.push_back(d);
      sizes.push_back(batch_[d]);
    }
    hlo::Values parts;
    for (const Affine& part : parts_) {
      hlo::Value sum = graph.full(Shape(s32, sizes), static_cast<double>(part.constant));
      for (size_t k = 0; k < kept.size(); ++k) {
        if (part.steps[kept[k]] == 0) continue;
        sum = sum +
              graph.iota(sizes, static_cast<int64_t>(k)) * static_cast<double>(part.steps[kept[k]]);
      }
      parts.push_back(add_dimension(sum, std::ssize(sizes)));
    }
    const hlo::Value starts = parts.size() == 1 ? parts[0] : concatenate(parts, std::ssize(sizes));
    GatherAttrs now = attrs_;
    const int64_t along = attrs_.start_index_map[part_];
    now.index_vector_dim = std::ssize(sizes);
    now.slice_sizes[static_cast<size_t>(along)] = batch_[window_];
    std::erase(now.collapsed_slice_dims, along);
    now.offset_dims.push_back(places_[window_]);
    std::ranges::sort(now.offset_dims);
    now.indices_are_sorted = false;
    return graph.op(Opcode::kGather, {x, starts}, now, {}, &result_);
  }

 private:
  // The dimensions of the indices beside that of their parts, and where the result has them.
  void find_batch(const Shape& indices) {
    for (int64_t d = 0; d < indices.rank(); ++d) {
      if (d != attrs_.index_vector_dim) batch_.push_back(indices.dimension(d));
    }
    places_ = other_dimensions(result_.rank(), attrs_.offset_dims);
  }

  // The index of each dimension, as functions of the places of a batch.
  bool find_parts(const Computation& from, const AffineIndices& indices, InstructionId id) {
    const Instruction& all = from.at(id);
    if (!attrs_.operand_batching_dims.empty() || x_.is_dynamic() || all.shape.is_dynamic() ||
        result_.element_count() == 0)
      return false;
    const int64_t along = attrs_.index_vector_dim;
    const size_t count = attrs_.start_index_map.size();
    const bool is_joined = all.opcode == Opcode::kConcatenate && along < all.shape.rank() &&
                           dimensions_of(all)[0] == along && all.operands.size() == count;
    for (size_t k = 0; k < count; ++k) {
      const InstructionId part = is_joined ? all.operands[k] : id;
      const Affine* value = indices.of(part);
      if (value == nullptr || (is_joined && from.at(part).shape.dimension(along) != 1))
        return false;
      Affine own = *value;
      if (along < all.shape.rank()) {
        if (!is_joined)
          own.constant += static_cast<int64_t>(k) * own.steps[static_cast<size_t>(along)];
        own.steps.erase(own.steps.begin() + along);
      }
      parts_.push_back(std::move(own));
    }
    return true;
  }

  // No index is moved to lie within the array.
  [[nodiscard]] bool is_inside() const {
    for (size_t k = 0; k < parts_.size(); ++k) {
      const auto d = static_cast<size_t>(attrs_.start_index_map[k]);
      const Affine::Range range = parts_[k].range(batch_);
      if (range.least < 0 ||
          range.greatest > x_.dimension(static_cast<int64_t>(d)) - attrs_.slice_sizes[d])
        return false;
    }
    return true;
  }

  // The last dimension of the result, where it is a window along the last one of the array or along
  // another one.
  bool find_window() {
    if (batch_.empty() || places_.back() != result_.rank() - 1 || batch_.back() < kFewestNeighbours)
      return false;
    window_ = batch_.size() - 1;
    std::optional<size_t> found;
    for (size_t k = 0; k < parts_.size(); ++k) {
      const int64_t step = parts_[k].steps[window_];
      if (step == 0) continue;
      if (step != 1 || found) return false;
      found = k;
    }
    if (!found) return false;
    part_ = *found;
    const int64_t along = attrs_.start_index_map[part_];
    // Behind all others that the result has of the array's dimensions.
    return along == x_.rank() - 1 && std::ranges::count(attrs_.collapsed_slice_dims, along) > 0;
  }

  const GatherAttrs& attrs_;
  const Shape &x_, &result_;
  Dims batch_, places_;
  std::vector<Affine> parts_;
  size_t window_ = 0, part_ = 0;  // the dimension of the batch, and the index that it moves
  bool is_known_ = false;
};

}  // namespace

StatusOr<hlo::Module> gather_windows(const hlo::Module& traced) {
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module module, transform::inline_calls(traced));
  IndicesInTurn indices(module);
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        const bool is_truth =
            old.shape.is_array() && old.shape.dtype() == pred && old.opcode != Opcode::kConstant;
        if (old.opcode != Opcode::kGather && !is_truth) return {};
        if (is_truth) {
          const std::optional<bool> truth = indices.in(to.from()).truth_of(id);
          return truth ? to.in_place_of(id).full(old.shape, *truth ? 1 : 0) : hlo::Value();
        }
        const WindowGather gather(to.from(), indices.in(to.from()), old);
        if (!gather.is_known()) return {};
        hlo::Graph& graph = to.in_place_of(id);
        return gather.run(graph, to.operands(id)[0]);
      });
}

}  // namespace heddle::cpu
