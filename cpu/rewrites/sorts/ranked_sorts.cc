#include "heddle/cpu/rewrites/sorts/ranked_sorts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/sorts/sort_keys.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using interpreter::SortKey;

// The keys of a sort that is ranked; none where it stays.
std::vector<SortKey> ranked_keys(const hlo::Module& module, const Computation& computation,
                                 const Instruction& sort) {
  if (sort.opcode != Opcode::kSort || !sort.attrs.get<hlo::SortAttrs>().is_stable) return {};
  const Shape& shape = computation.at(sort.operands[0]).shape;
  const bool is_plain = std::ranges::all_of(sort.operands, [&](InstructionId id) {
    const Shape& operand = computation.at(id).shape;
    return !operand.is_dynamic() && scalar_of(operand.dtype()).has_value();
  });
  const int64_t dimension = sort.attrs.get<hlo::SortAttrs>().dimensions[0];
  if (!is_plain || shape.element_count() == 0 || dimension != shape.rank() - 1 ||
      shape.dimension(dimension) < 2 || shape.dimension(dimension) > kMostRanked)
    return {};
  const Computation& comparator = module.at(sort.called[0]);
  const auto keys = interpreter::sort_keys(comparator);
  if (!keys || !is_scalar_computation(comparator)) return {};
  const auto has_order = [&](const SortKey& key) {
    const DType dtype = comparator.at(key.left).shape.dtype();
    return dtype == f32 || dtype == f64 || (is_integer(dtype) && storage_bytes(dtype) >= 4);
  };
  return std::ranges::all_of(*keys, has_order) ? *keys : std::vector<SortKey>();
}

class RankedSort {
 public:
  RankedSort(hlo::Graph& graph, const Instruction& sort, const Computation& comparator,
             hlo::Values operands)
      : graph_(graph),
        sort_(sort),
        comparator_(comparator),
        operands_(std::move(operands)),
        sizes_(operands_[0].sizes()),
        pairs_(sizes_),
        rank_(operands_[0].rank()) {
    pairs_.push_back(sizes_.back());
  }

  hlo::Value run(const std::vector<SortKey>& keys) {
    // Of equal elements the first comes first.
    hlo::Value before = graph_.iota(pairs_, rank_ - 1) < graph_.iota(pairs_, rank_);
    for (size_t i = keys.size(); i-- > 0;)
      before =
          ordered(as_ordered_integers(key_of(keys[i], comparator_, operands_)), keys[i], before);
    const hlo::Value ranks = reduce_sum(convert(before, s32), {rank_ - 1});
    hlo::Values results;
    for (size_t i = 0; i < operands_.size(); ++i) {
      results.push_back(placed(
          operands_[i], ranks,
          sort_.shape.is_tuple() ? sort_.shape.element(static_cast<int64_t>(i)) : sort_.shape));
    }
    return sort_.shape.is_tuple() ? graph_.tuple(results) : results[0];
  }

 private:
  // Of all pairs in a row: along the last dimension but one runs what may come before, along the
  // last one what is ranked.
  hlo::Value over_pairs(const hlo::Value& x, bool is_ranked) {
    Dims dimensions = consecutive_dimensions(std::ssize(sizes_));
    if (is_ranked) ++dimensions.back();
    return broadcast(x, pairs_, dimensions);
  }

  // By the key, and by `rest` where it is the same.
  hlo::Value ordered(const hlo::Value& keys, const SortKey& key, const hlo::Value& rest) {
    const hlo::Value other = over_pairs(keys, false), own = over_pairs(keys, true);
    return (key.is_descending ? other > own : other < own) | ((other == own) & rest);
  }

  // (x, y) -> y on scalars.
  ComputationId second(DType dtype) {
    hlo::Graph region(graph_, "");
    region.parameter(Shape::scalar(dtype));
    const hlo::Value y = region.parameter(Shape::scalar(dtype));
    return std::move(region).finish_with(y);
  }

  // Each element of the rows where its rank says.
  hlo::Value placed(const hlo::Value& x, const hlo::Value& ranks, const Shape& shape) {
    const Dims rows = consecutive_dimensions(rank_ - 1);
    return graph_.op(Opcode::kScatter, {graph_.zeros(x.shape()), ranks, x},
                     hlo::ScatterAttrs{.update_window_dims = {},
                                       .inserted_window_dims = {rank_ - 1},
                                       .scatter_dims_to_operand_dims = {rank_ - 1},
                                       .input_batching_dims = rows,
                                       .scatter_indices_batching_dims = rows,
                                       .index_vector_dim = rank_,
                                       .indices_are_sorted = false,
                                       .unique_indices = true},
                     {second(x.dtype())}, &shape);
  }

  hlo::Graph& graph_;
  const Instruction& sort_;
  const Computation& comparator_;
  const hlo::Values operands_;
  const Dims sizes_;
  Dims pairs_;
  const int64_t rank_;
};

}  // namespace

StatusOr<hlo::Module> rank_sorts(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) -> hlo::Value {
        const Instruction& old = to.old(id);
        const std::vector<SortKey> keys = ranked_keys(module, to.from(), old);
        if (keys.empty()) return {};
        return RankedSort(to.in_place_of(id), old, module.at(old.called[0]), to.operands(id))
            .run(keys);
      });
}

}  // namespace heddle::cpu
