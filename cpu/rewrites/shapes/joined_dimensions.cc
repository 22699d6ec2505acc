#include "heddle/cpu/rewrites/shapes/joined_dimensions.h"

#include <algorithm>

#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostColumnsJoined = 15;  // of arrays whose other dimensions are joined
constexpr int64_t kFewestJoined = 4096;     // elements of such arrays
constexpr int64_t kManyRows = 32;           // side by side already: vectors lie along them

}  // namespace

hlo::Value JoinedDimensions::written(InstructionId id) {
  const Instruction& old = to_.old(id);
  const bool folds = old.opcode == Opcode::kReduce;
  if (folds && old.operands.size() != 2) return {};
  const InstructionId top = folds ? old.operands[0] : id;
  const Shape& shape = to_.old(top).shape;
  if (!shape.is_array() || shape.is_dynamic() || shape.rank() < (folds ? 2 : 3) ||
      shape.dimensions().back() > kMostColumnsJoined || shape.element_count() < kFewestJoined)
    return {};
  inner_ = reads_.under(old.operands, elementwise_kind);
  if (!folds) inner_.insert(id);
  if (inner_.size() > kMostInnerOps || !find_joined(id, top)) return {};
  const Splits splits = joined(shape);
  const Dims sizes = sizes_of(splits);
  if (std::ranges::any_of(ops_read_, [&](InstructionId read) { return sizes_.at(read) != sizes; }))
    return {};
  ops_.begin(id, inner_, splits);
  if (!folds) {
    sizes_[id] = sizes;
    return reshape(ops_.reshaped(id, splits), shape.dimensions());
  }
  to_.in_place_of(id);
  const bool is_computed = inner_.contains(top);
  return fold(id, is_computed ? ops_.reshaped(top, splits) : reshape(to_.value(top), sizes),
              splits);
}

// Which dimensions of `top`, the op or what the fold folds, are joined. False: none.
bool JoinedDimensions::find_joined(InstructionId id, InstructionId top) {
  const bool folds = id != top;
  const Instruction& read = to_.old(top);
  starts_.assign(read.shape.dimensions().size(), false);
  starts_[0] = true;
  seen_.clear();
  ops_read_.clear();
  has_broadcast_ = folds;
  if (folds) start_where_differs(dimensions_of(to_.old(id)));
  const bool is_there = folds && !inner_.contains(top)
                            ? is_memory(read) && !joins_repeats(to_.from(), read)
                            : sees_leaves(top);
  if (!is_there || !has_broadcast_ || !std::ranges::count(starts_, false)) return false;
  // Rows that are few become more, or a fold takes them with the columns.
  const bool has_more_rows =
      !starts_[starts_.size() - 2] && read.shape.dimension(read.shape.rank() - 2) < kManyRows;
  return has_more_rows || (folds && !starts_.back());
}

void JoinedDimensions::start_where_differs(const Dims& dims) {
  for (size_t d = 1; d < starts_.size(); ++d)
    if (std::ranges::count(dims, d) != std::ranges::count(dims, d - 1)) starts_[d] = true;
}

// Whether what is under it lies in memory, has broadcasts in order, or has the same dimensions.
bool JoinedDimensions::sees_leaves(InstructionId id) {
  const Instruction& old = to_.old(id);
  if (old.shape.is_scalar() || !seen_.insert(id).second) return true;
  if (inner_.contains(id))
    return std::ranges::all_of(old.operands,
                               [&](InstructionId operand) { return sees_leaves(operand); });
  if (is_spread_number(to_.from(), old)) return true;
  if (old.opcode == Opcode::kBroadcast) {
    if (joins_repeats(to_.from(), to_.old(old.operands[0]))) return false;
    start_where_differs(dimensions_of(old));
    return has_broadcast_ = std::ranges::is_sorted(dimensions_of(old));
  }
  if (has_trait(old.opcode, hlo::kElementwise)) {
    ops_read_.push_back(id);
    return sizes_.contains(id);
  }
  return is_memory(old) && !joins_repeats(to_.from(), old);
}

// Each group of dimensions stands at its first one.
Splits JoinedDimensions::joined(const Shape& shape) const {
  Splits splits;
  size_t group = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool starts = starts_[static_cast<size_t>(d)];
    splits.push_back(starts ? Dims{1} : Dims{});
    if (starts) group = splits.size() - 1;
    splits[group][0] *= shape.dimension(d);
  }
  return splits;
}

hlo::Value JoinedDimensions::fold(InstructionId id, const hlo::Value& x, const Splits& splits) {
  const Instruction& old = to_.old(id);
  Instruction now = to_.mapped(id);
  Dims dims;
  for (const int64_t d : dimensions_of(old))
    if (starts_[static_cast<size_t>(d)]) dims.push_back(places_of(splits, {d})[0]);
  now.operands[0] = x.id();
  now.attrs = hlo::DimensionsAttrs{dims};
  const Dims kept = without_dimensions(x.shape(), dims).dimensions();
  now.shape = Shape(now.shape.dtype(), kept);
  const hlo::Value fold = to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  return kept == old.shape.dimensions() ? fold : reshape(fold, old.shape.dimensions());
}

}  // namespace heddle::cpu
