#include "heddle/cpu/lower/ranked_sorts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/cpu/lower/sort_keys.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using interpreter::SortKey;
using Numbers = std::vector<int64_t>;

constexpr int64_t kMostRanked = 128;

// The keys of a sort that is ranked; none where it stays.
std::vector<SortKey> ranked_keys(const hlo::Module& module, const hlo::Computation& computation,
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
  const hlo::Computation& comparator = module.at(sort.called[0]);
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
  RankedSort(transform::ModuleRebuilder& into, transform::Rebuilder& to, const Instruction& sort,
             const hlo::Computation& comparator)
      : into_(into),
        emit_(to.builder(), sort),
        sort_(sort),
        comparator_(comparator),
        rank_(to.from().at(sort.operands[0]).shape.rank()) {
    for (InstructionId operand : sort.operands) operands_.push_back(to[operand]);
    sizes_ = emit_.shape(operands_[0]).dimensions();
    pairs_ = sizes_;
    pairs_.push_back(sizes_.back());
  }

  InstructionId run(const std::vector<SortKey>& keys) {
    SortKeyWriter writer(emit_, comparator_, sizes_);
    InstructionId before = is_earlier();
    for (size_t i = keys.size(); i-- > 0;)
      before = ordered(as_integers(writer.key_of(keys[i], operands_)), keys[i], before);
    const InstructionId ranks = counted(before);
    std::vector<InstructionId> results;
    for (InstructionId operand : operands_) results.push_back(placed(operand, ranks));
    return sort_.shape.is_tuple() ? emit_.tuple(std::move(results)) : results[0];
  }

 private:
  // Of all pairs in a row: along the last dimension but one runs what may come before, along the
  // last one what is ranked.
  InstructionId over_pairs(InstructionId x, bool is_ranked) {
    Numbers dimensions(sizes_.size());
    std::iota(dimensions.begin(), dimensions.end(), 0);
    if (is_ranked) ++dimensions.back();
    return emit_.op(Opcode::kBroadcast, emit_.shape(x).with_dimensions(pairs_), {x},
                    hlo::DimensionsAttrs{.dimensions = dimensions});
  }
  InstructionId compared(ComparisonDirection direction, InstructionId x, InstructionId y) {
    return emit_.op(
        Opcode::kCompare, Shape(pred, pairs_), {x, y},
        hlo::CompareAttrs{.direction = direction, .type = hlo::ComparisonType::kDefault});
  }
  InstructionId masks(Opcode opcode, InstructionId x, InstructionId y) {
    return emit_.op(opcode, Shape(pred, pairs_), {x, y});
  }

  // Of equal elements the first comes first.
  InstructionId is_earlier() {
    const auto number = [&](int64_t dimension) {
      return emit_.op(Opcode::kIota, Shape(s32, pairs_), {},
                      hlo::IotaAttrs{.iota_dimension = dimension});
    };
    return compared(ComparisonDirection::kLt, number(rank_ - 1), number(rank_));
  }

  // By the key, and by `rest` where it is the same.
  InstructionId ordered(InstructionId keys, const SortKey& key, InstructionId rest) {
    const InstructionId other = over_pairs(keys, false), own = over_pairs(keys, true);
    const InstructionId less = compared(
        key.is_descending ? ComparisonDirection::kGt : ComparisonDirection::kLt, other, own);
    const InstructionId is_tie = compared(ComparisonDirection::kEq, other, own);
    return masks(Opcode::kOr, less, masks(Opcode::kAnd, is_tie, rest));
  }

  // Integers in the total order of floats: the bits of negative ones but for the sign turn around.
  InstructionId as_integers(InstructionId x) {
    const DType dtype = emit_.shape(x).dtype();
    if (!is_floating(dtype)) return x;
    const DType integer = dtype == f32 ? s32 : s64;
    const Shape shape = emit_.shape(x).with_dtype(integer);
    const auto all = [&](int64_t value) {
      return emit_.op(Opcode::kBroadcast, shape, {emit_.scalar(integer, value)},
                      hlo::DimensionsAttrs());
    };
    const bool is_short = integer == s32;
    const InstructionId bits = emit_.op(Opcode::kBitcastConvert, shape, {x});
    const InstructionId sign =
        emit_.op(Opcode::kShiftRightArithmetic, shape, {bits, all(is_short ? 31 : 63)});
    const InstructionId turned =
        emit_.op(Opcode::kAnd, shape,
                 {sign, all(is_short ? std::numeric_limits<int32_t>::max()
                                     : std::numeric_limits<int64_t>::max())});
    return emit_.op(Opcode::kXor, shape, {bits, turned});
  }

  InstructionId counted(InstructionId before) {
    const InstructionId ones = emit_.op(Opcode::kConvert, Shape(s32, pairs_), {before});
    return emit_.op(Opcode::kReduce, Shape(s32, sizes_), {ones, emit_.scalar(s32, 0)},
                    hlo::DimensionsAttrs{.dimensions = {rank_ - 1}}, {combiner(Opcode::kAdd, s32)});
  }

  // The combination of two scalars; of kCopy, the second one.
  hlo::ComputationId combiner(Opcode opcode, DType dtype) {
    hlo::ComputationBuilder to(into_.into());
    const InstructionId x = to.parameter(Shape::scalar(dtype)),
                        y = to.parameter(Shape::scalar(dtype));
    transform::Emitter emit(to, sort_);
    const InstructionId root =
        opcode == Opcode::kCopy ? y : emit.op(opcode, Shape::scalar(dtype), {x, y});
    return into_.add(std::move(to).finish(root));
  }

  // Each element of the rows where its rank says.
  InstructionId placed(InstructionId x, InstructionId ranks) {
    const Shape shape = emit_.shape(x);
    Numbers rows(static_cast<size_t>(rank_ - 1));
    std::iota(rows.begin(), rows.end(), 0);
    return emit_.op(Opcode::kScatter, shape, {emit_.zeros(shape), ranks, x},
                    hlo::ScatterAttrs{.update_window_dims = {},
                                      .inserted_window_dims = {rank_ - 1},
                                      .scatter_dims_to_operand_dims = {rank_ - 1},
                                      .input_batching_dims = rows,
                                      .scatter_indices_batching_dims = rows,
                                      .index_vector_dim = rank_,
                                      .indices_are_sorted = false,
                                      .unique_indices = true},
                    {combiner(Opcode::kCopy, shape.dtype())});
  }

  transform::ModuleRebuilder& into_;
  transform::Emitter emit_;
  const Instruction& sort_;
  const hlo::Computation& comparator_;
  const int64_t rank_;
  std::vector<InstructionId> operands_;
  Numbers sizes_, pairs_;
};

}  // namespace

hlo::Module rank_sorts(const hlo::Module& module) {
  return transform::with_rewritten(module, [&](transform::ModuleRebuilder& into,
                                               transform::Rebuilder& to, auto, InstructionId id) {
    const Instruction& old = to.old(id);
    const std::vector<SortKey> keys = ranked_keys(module, to.from(), old);
    if (keys.empty()) return InstructionId();
    return RankedSort(into, to, old, module.at(old.called[0])).run(keys);
  });
}

}  // namespace heddle::cpu
