#include "heddle/cpu/rewrites/indexing/strided_scatters.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/indexing/affine_indices.h"
#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ScatterAttrs;

// StridedPlaces of one dimension of the array: start, start + step, ..
struct StridedPlaces {
  int64_t start = 0, step = 1, count = 1;
  int64_t batch = -1;  // the dimension of the indices that counts them; -1: there is one place
};

class StridedScatter {
 public:
  StridedScatter(const Computation& in, const AffineIndices& indices, const Instruction& scatter)
      : in_(in), scatter_(scatter), attrs_(scatter.attrs.get<ScatterAttrs>()) {
    is_known_ = has_plain_form() && find_places(indices);
  }
  [[nodiscard]] bool is_known() const { return is_known_; }

  hlo::Value run(const hlo::Values& operands, const Combiner& combiner) const {
    Dims split, start, size, order;
    for (int64_t d = 0; d < scatter_.shape.rank(); ++d) {
      const StridedPlaces& places = places_[static_cast<size_t>(d)];
      const int64_t all = scatter_.shape.dimension(d), step = places.step;
      split.push_back(all / step);
      start.push_back(places.start / step);
      size.push_back(places.count);
      if (step > 1) {
        split.push_back(step);
        start.push_back(places.start % step);
        size.push_back(1);
      }
    }
    const hlo::Value x = reshape(operands[0], split);
    std::vector<hlo::SliceDimension> slices;
    hlo::Values starts;
    for (size_t d = 0; d < start.size(); ++d) {
      slices.push_back({.start = start[d], .limit = start[d] + size[d]});
      starts.push_back(x.graph().constant(Literal::scalar(s64, start[d])));
    }
    const hlo::Value part = reshape(in_order_of_array(operands[2]), size);
    const hlo::Value now = combiner.of(slice(x, slices), part);
    return reshape(dynamic_update_slice(x, now, starts), scatter_.shape.dimensions());
  }

 private:
  bool has_plain_form() const {
    return scatter_.operands.size() == 3 && !scatter_.shape.is_dynamic() &&
           attrs_.input_batching_dims.empty() && attrs_.scatter_indices_batching_dims.empty() &&
           !updates().is_dynamic() && updates().element_count() > 0 &&
           std::ranges::is_permutation(attrs_.inserted_window_dims,
                                       attrs_.scatter_dims_to_operand_dims);
  }
  [[nodiscard]] const Shape& updates() const { return in_.at(scatter_.operands[2]).shape; }

  // The component of the index vectors, as an array; not valid: it is not one.
  [[nodiscard]] InstructionId component(size_t k) const {
    const Instruction& all = in_.at(scatter_.operands[1]);
    const int64_t along = attrs_.index_vector_dim;
    if (attrs_.scatter_dims_to_operand_dims.size() == 1) return scatter_.operands[1];
    const bool is_joined = all.opcode == Opcode::kConcatenate && dimensions_of(all)[0] == along &&
                           all.operands.size() == attrs_.scatter_dims_to_operand_dims.size();
    return is_joined ? all.operands[k] : InstructionId();
  }

  // Along the whole of dimensions that the windows have, else as the indices say.
  bool find_places(const AffineIndices& indices) {
    const Shape& array = scatter_.shape;
    places_.resize(static_cast<size_t>(array.rank()));
    auto window = attrs_.update_window_dims.begin();
    for (int64_t d = 0; d < array.rank(); ++d) {
      if (std::ranges::count(attrs_.inserted_window_dims, d) > 0) continue;
      if (updates().dimension(*window++) != array.dimension(d)) return false;
      places_[static_cast<size_t>(d)].count = array.dimension(d);
    }
    std::vector<bool> is_counted(in_.at(scatter_.operands[1]).shape.dimensions().size());
    bool has_step = false;
    for (size_t k = 0; k < attrs_.scatter_dims_to_operand_dims.size(); ++k) {
      const InstructionId id = component(k);
      const Affine* at = id.valid() ? indices.of(id) : nullptr;
      const int64_t d = attrs_.scatter_dims_to_operand_dims[k];
      StridedPlaces& places = places_[static_cast<size_t>(d)];
      if (at == nullptr || !read(*at, in_.at(id).shape, places, is_counted)) return false;
      const int64_t last = places.start + places.step * (places.count - 1);
      if (places.start < 0 || last >= array.dimension(d) || array.dimension(d) % places.step != 0)
        return false;
      has_step |= places.step > 1;
    }
    // Each other dimension of the indices would write its windows to the same places.
    for (size_t b = 0; b < is_counted.size(); ++b) {
      const bool is_vector = static_cast<int64_t>(b) == attrs_.index_vector_dim;
      if (!is_vector && !is_counted[b] &&
          in_.at(scatter_.operands[1]).shape.dimension(static_cast<int64_t>(b)) > 1)
        return false;
    }
    return has_step;
  }

  // One dimension of the indices counts the places, upwards.
  static bool read(const Affine& at, const Shape& indices, StridedPlaces& places,
                   std::vector<bool>& is_counted) {
    places.start = at.constant;
    for (size_t b = 0; b < at.steps.size(); ++b) {
      if (at.steps[b] == 0) continue;
      if (places.batch >= 0 || at.steps[b] < 0 || is_counted[b]) return false;
      is_counted[b] = true;
      places.batch = static_cast<int64_t>(b);
      places.step = at.steps[b];
      places.count = indices.dimension(static_cast<int64_t>(b));
    }
    return true;
  }

  // The updates with the array's dimensions in their order; those without a count are left out.
  [[nodiscard]] hlo::Value in_order_of_array(const hlo::Value& updates) const {
    // Which dimension of the updates each one of the indices is.
    const Dims batches = other_dimensions(updates.rank(), attrs_.update_window_dims);
    const auto of_batch = [&](int64_t b) {
      return batches[static_cast<size_t>(b - (b > attrs_.index_vector_dim ? 1 : 0))];
    };
    Dims order;
    auto window = attrs_.update_window_dims.begin();
    for (int64_t d = 0; d < scatter_.shape.rank(); ++d) {
      const StridedPlaces& places = places_[static_cast<size_t>(d)];
      if (std::ranges::count(attrs_.inserted_window_dims, d) == 0)
        order.push_back(*window++);
      else if (places.batch >= 0)
        order.push_back(of_batch(places.batch));
    }
    for (const int64_t d : other_dimensions(updates.rank(), order))
      order.push_back(d);  // of size 1
    return order == consecutive_dimensions(updates.rank()) ? updates : transpose(updates, order);
  }

  const Computation& in_;
  const Instruction& scatter_;
  const ScatterAttrs& attrs_;
  std::vector<StridedPlaces> places_;  // by dimension of the array
  bool is_known_ = false;
};

}  // namespace

StatusOr<hlo::Module> update_strided_scatters(const hlo::Module& module) {
  IndicesInTurn indices(module);
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& scatter = to.old(id);
        if (scatter.opcode != Opcode::kScatter) return {};
        const std::optional<Combiner> combiner = combiner_of(module.at(scatter.called[0]));
        if (!combiner) return {};
        const StridedScatter strided(to.from(), indices.in(to.from()), scatter);
        if (!strided.is_known()) return {};
        to.in_place_of(id);
        return strided.run(to.operands(id), *combiner);
      });
}

}  // namespace heddle::cpu
