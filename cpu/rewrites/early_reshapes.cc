#include "heddle/cpu/rewrites/early_reshapes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/inner_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kMostShortSum = 16;       // terms of sums that are joined
constexpr int64_t kMostColumnsJoined = 15;  // of arrays whose other dimensions are joined
constexpr int64_t kFewestJoined = 4096;     // elements of such arrays
constexpr int64_t kManyRows = 32;           // side by side already: vectors lie along them

// Each dimension of an array as the dimensions that a reshape makes of it.
using Splits = std::vector<Dims>;

// Nothing: the reshape joins dimensions.
std::optional<Splits> splits_of(const Shape& from, const Shape& to) {
  Splits splits;
  int64_t next = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    Dims parts;
    int64_t size = 1;
    while (next < to.rank() && size < from.dimension(d)) {
      parts.push_back(to.dimension(next));
      size *= to.dimension(next++);
    }
    if (size != from.dimension(d)) return std::nullopt;
    splits.push_back(std::move(parts));
  }
  while (next < to.rank() && !splits.empty()) splits.back().push_back(to.dimension(next++));
  return splits;
}

Dims sizes_of(const Splits& splits) {
  Dims sizes;
  for (const Dims& parts : splits) sizes.insert(sizes.end(), parts.begin(), parts.end());
  return sizes;
}

// The splits of what `first` splits into the dimensions that `then` splits.
Splits composed(const Splits& first, const Splits& then) {
  Splits all;
  size_t next = 0;
  for (const Dims& parts : first) {
    Dims sizes;
    for (size_t i = 0; i < parts.size(); ++i, ++next)
      sizes.insert(sizes.end(), then[next].begin(), then[next].end());
    all.push_back(std::move(sizes));
  }
  return all;
}

// The splits of the dimensions into which `first` splits what `all` splits. Nothing: they cut
// across.
std::optional<Splits> refined(const Splits& first, const Splits& all) {
  Splits then;
  for (size_t d = 0; d < first.size(); ++d) {
    const Shape whole(pred, first[d]), parts(pred, all[d]);
    const std::optional<Splits> own = splits_of(whole, parts);
    if (!own || sizes_of(*own) != all[d]) return std::nullopt;
    then.insert(then.end(), own->begin(), own->end());
  }
  return then;
}

// Where the dimensions of a part of the splits stand among all.
Dims places_of(const Splits& splits, const Dims& dims) {
  Dims places;
  for (const int64_t d : dims) {
    int64_t place = 0;
    for (int64_t before = 0; before < d; ++before)
      place += static_cast<int64_t>(splits[static_cast<size_t>(before)].size());
    for (size_t part = 0; part < splits[static_cast<size_t>(d)].size(); ++part)
      places.push_back(place++);
  }
  return places;
}

Inner reshaped_kind(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (!shape.is_array() || shape.is_dynamic() || shape.is_scalar()) return Inner::kNot;
  const bool folds = instruction.opcode == Opcode::kReduce && instruction.operands.size() == 2;
  return folds || instruction.opcode == Opcode::kReshape ||
                 has_trait(instruction.opcode, hlo::kElementwise)
             ? Inner::kThrough
             : Inner::kNot;
}

class ReshapeMover {
 public:
  ReshapeMover(const hlo::Module& from, transform::Rebuilder& to)
      : from_(from),
        to_(to),
        ops_(to.from()),
        is_fused_(to.from().instructions.size()),
        is_read_by_one_op_(to.from().instructions.size()) {
    for (const Instruction& user : to.from().instructions) {
      const bool is_op =
          elementwise_kind(user) == Inner::kThrough || user.opcode == Opcode::kReduce;
      if (!is_op) continue;
      for (const InstructionId operand : user.operands) {
        is_fused_[operand.value] = true;
        is_read_by_one_op_[operand.value] =
            ops_.uses(operand) == std::ranges::count(user.operands, operand);
      }
    }
  }

  // Nothing: the instruction stays.
  hlo::Value written(InstructionId id) {
    const Opcode opcode = to_.old(id).opcode;
    if (opcode == Opcode::kReshape) return moved(id);
    if (opcode == Opcode::kReduce) {
      const hlo::Value sum = joined_sums(id);
      return sum ? sum : with_fewer_dimensions(id);
    }
    return has_trait(opcode, hlo::kElementwise) && !is_read_by_one_op_[id.value]
               ? with_fewer_dimensions(id)
               : hlo::Value();
  }

 private:
  hlo::Value moved(InstructionId id) {
    const Instruction& reshape = to_.old(id);
    const InstructionId from = reshape.operands[0];
    if (!is_fused_[id.value] || reshape.shape.is_dynamic() || reshape.shape.element_count() == 0 ||
        is_degenerate_reshape(to_.old(from).shape, reshape.shape))
      return {};
    inner_ = ops_.under(reshape.operands, reshaped_kind);
    if (inner_.empty() || inner_.size() > kMostInnerOps) return {};
    splits_ = splits_of(to_.old(from).shape, reshape.shape);
    sizes_ = reshape.shape.dimensions();
    undone_ = 0;
    seen_.clear();
    if (!may_move(from, splits_.value_or(Splits{}))) return {};
    if (to_.old(from).opcode == Opcode::kReduce && undone_ == 0) return {};
    written_.clear();
    id_ = id;
    return reshaped(from, splits_.value_or(Splits{}));
  }

  // An op, with what it alone reads, or a fold, on arrays of few columns: neighbouring dimensions
  // are one where no broadcast and no fold tells them apart.
  hlo::Value with_fewer_dimensions(InstructionId id) {
    const Instruction& old = to_.old(id);
    const bool folds = old.opcode == Opcode::kReduce;
    const Instruction& top = folds ? to_.old(old.operands[0]) : old;
    const Shape& shape = top.shape;
    if (!shape.is_array() || shape.is_dynamic() || shape.rank() < (folds ? 2 : 3) ||
        shape.dimensions().back() > kMostColumnsJoined || shape.element_count() < kFewestJoined ||
        (folds && old.operands.size() != 2))
      return {};
    inner_ = ops_.under(old.operands, elementwise_kind);
    if (!folds) inner_.insert(id);
    if (inner_.size() > kMostInnerOps) return {};
    starts_.assign(shape.dimensions().size(), false);
    starts_[0] = true;
    seen_.clear();
    ops_read_.clear();
    has_broadcast_ = folds;
    if (folds) start_where_differs(old.attrs.get<hlo::DimensionsAttrs>().dimensions);
    const InstructionId from = folds ? old.operands[0] : id;
    const bool is_stored = folds && !inner_.contains(from);
    const bool is_there =
        is_stored ? is_memory(top) && !joins_repeats(to_.from(), top) : sees_leaves(from);
    if (!is_there) return {};
    if (!has_broadcast_ || !std::ranges::count(starts_, false)) return {};
    // Rows that are few become more, or a fold takes them with the columns.
    const bool has_more_rows =
        !starts_[starts_.size() - 2] && shape.dimension(shape.rank() - 2) < kManyRows;
    if (!has_more_rows && (!folds || starts_.back())) return {};
    splits_ = Splits();
    size_t group = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const bool starts = starts_[static_cast<size_t>(d)];
      splits_->push_back(starts ? Dims{1} : Dims{});
      if (starts) group = splits_->size() - 1;
      (*splits_)[group][0] *= shape.dimension(d);
    }
    const Dims joined = sizes_of(*splits_);
    for (const InstructionId read : ops_read_)
      if (shapes_.at(read) != joined) return {};
    written_.clear();
    id_ = id;
    if (!folds) {
      shapes_[id] = joined;
      return reshape(reshaped(id, *splits_), shape.dimensions());
    }
    to_.in_place_of(id);
    const hlo::Value x = is_stored ? reshape(to_.value(from), joined) : reshaped(from, *splits_);
    Instruction now = to_.mapped(id);
    Dims dims;
    for (const int64_t d : old.attrs.get<hlo::DimensionsAttrs>().dimensions)
      if (starts_[static_cast<size_t>(d)]) dims.push_back(places_of(*splits_, {d})[0]);
    now.operands[0] = x.id();
    now.attrs = hlo::DimensionsAttrs{dims};
    Dims kept;
    for (size_t d = 0; d < joined.size(); ++d)
      if (std::ranges::count(dims, static_cast<int64_t>(d)) == 0) kept.push_back(joined[d]);
    now.shape = Shape(now.shape.dtype(), kept);
    const hlo::Value fold = to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
    return kept == old.shape.dimensions() ? fold : reshape(fold, old.shape.dimensions());
  }
  void start_where_differs(const Dims& dims) {
    for (size_t d = 1; d < starts_.size(); ++d)
      if (std::ranges::count(dims, d) != std::ranges::count(dims, d - 1)) starts_[d] = true;
  }
  // Whether what is under it lies in memory, has broadcasts in order, or has the same dimensions.
  bool sees_leaves(InstructionId id) {
    const Instruction& old = to_.old(id);
    if (old.shape.is_scalar()) return true;
    if (!seen_.emplace(id, Splits()).second) return true;
    if (inner_.contains(id))
      return std::ranges::all_of(old.operands,
                                 [&](InstructionId operand) { return sees_leaves(operand); });
    if (is_number(old)) return true;
    if (old.opcode == Opcode::kBroadcast) {
      if (joins_repeats(to_.from(), to_.old(old.operands[0]))) return false;
      const auto& dims = old.attrs.get<hlo::DimensionsAttrs>().dimensions;
      start_where_differs(dims);
      return has_broadcast_ = std::ranges::is_sorted(dims);
    }
    if (has_trait(old.opcode, hlo::kElementwise)) {
      ops_read_.push_back(id);
      return shapes_.contains(id);
    }
    return is_memory(old) && !joins_repeats(to_.from(), old);
  }
  static Inner elementwise_kind(const Instruction& instruction) {
    return has_trait(instruction.opcode, hlo::kElementwise) ? reshaped_kind(instruction)
                                                            : Inner::kNot;
  }

  // Whether the elements under it lie in memory, or are numbers, or come from such by a broadcast.
  bool may_move(InstructionId id, const Splits& splits) {
    const Instruction& old = to_.old(id);
    if (old.shape.is_scalar() || !seen_.emplace(id, splits).second) return true;
    if (is_through(id)) {
      const std::optional<Splits> before = splits_before(old, splits);
      undone_ += before && joins_repeats(to_.from(), old);
      return before && std::ranges::all_of(old.operands, [&](InstructionId operand) {
               return may_move(operand, *before);
             });
    }
    if (is_number(old)) return true;
    if (old.opcode == Opcode::kBroadcast) {
      const InstructionId from = old.operands[0];
      return splits_ && (!is_through(from) || may_move(from, of(old, splits)));
    }
    return is_memory(old);
  }
  static bool is_memory(const Instruction& old) {
    return old.opcode == Opcode::kReshape ||
           (!hlo::does(old.opcode, hlo::kPicks) && old.opcode != Opcode::kPad &&
            old.opcode != Opcode::kConcatenate && old.opcode != Opcode::kIota);
  }
  // The reshape moves to its operands: they are read here alone, or it is a repeat.
  [[nodiscard]] bool is_through(InstructionId id) const {
    return inner_.contains(id) || joins_repeats(to_.from(), to_.old(id));
  }
  // The splits of the operand of a broadcast.
  [[nodiscard]] static Splits of(const Instruction& broadcast, const Splits& splits) {
    Splits own;
    for (const int64_t d : broadcast.attrs.get<hlo::DimensionsAttrs>().dimensions)
      own.push_back(splits[static_cast<size_t>(d)]);
    return own;
  }
  [[nodiscard]] bool is_number(const Instruction& old) const {
    return old.opcode == Opcode::kBroadcast && to_.old(old.operands[0]).shape.is_scalar();
  }

  // The splits of the operand of an instruction with these ones. Nothing: it has none.
  [[nodiscard]] std::optional<Splits> splits_before(const Instruction& old,
                                                    const Splits& splits) const {
    if (old.opcode != Opcode::kReduce && old.opcode != Opcode::kReshape) return splits;
    if (!splits_) return old.opcode == Opcode::kReduce ? std::nullopt : std::optional(splits);
    const Shape& from = to_.old(old.operands[0]).shape;
    if (old.opcode == Opcode::kReshape) {
      if (const auto parts = splits_of(from, old.shape)) return composed(*parts, splits);
      const auto parts = splits_of(old.shape, from);
      return parts ? refined(*parts, splits) : std::nullopt;
    }
    size_t next = 0;
    Splits all;
    const auto& folded = old.attrs.get<hlo::DimensionsAttrs>().dimensions;
    for (int64_t d = 0; d < from.rank(); ++d) {
      const bool is_folded = std::ranges::count(folded, d) > 0;  // stays whole
      all.push_back(is_folded ? Dims{from.dimension(d)} : splits[next++]);
    }
    return all;
  }

  hlo::Value reshaped(InstructionId id, const Splits& splits) {
    if (to_.old(id).shape.is_scalar()) return to_.value(id);
    const std::pair key(id, splits);
    const auto found = written_.find(key);
    if (found != written_.end()) return found->second;
    return written_.emplace(key, reshaped_once(id, splits)).first->second;
  }

  hlo::Value reshaped_once(InstructionId id, const Splits& splits) {
    const Instruction& old = to_.old(id);
    const Dims sizes = splits_ ? sizes_of(splits) : sizes_;
    if (!is_through(id)) {
      to_.in_place_of(id_);
      if (old.opcode != Opcode::kBroadcast) return reshape(to_.value(id), sizes);
      const InstructionId from = old.operands[0];
      if (is_number(old)) return hlo::broadcast(to_.value(from), sizes, {});
      const Splits own = of(old, splits);
      const hlo::Value x =
          is_through(from) ? reshaped(from, own) : reshape(to_.value(from), sizes_of(own));
      return hlo::broadcast(x, sizes,
                            places_of(splits, old.attrs.get<hlo::DimensionsAttrs>().dimensions));
    }
    const Splits all = *splits_before(old, splits);
    if (old.opcode == Opcode::kReshape) return reshaped(old.operands[0], all);
    Instruction now = to_.mapped(id);
    hlo::Values operands;
    if (old.opcode == Opcode::kReduce) {
      operands = {reshaped(old.operands[0], all), to_.value(old.operands[1])};
      now.attrs =
          hlo::DimensionsAttrs{places_of(all, old.attrs.get<hlo::DimensionsAttrs>().dimensions)};
    } else {
      for (const InstructionId operand : old.operands) operands.push_back(reshaped(operand, all));
    }
    now.shape = Shape(now.shape.dtype(), sizes);
    now.operands.clear();
    for (const hlo::Value& operand : operands) now.operands.push_back(operand.id());
    const hlo::Value result = to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
    if (old.opcode == Opcode::kReduce && fold_of(from_.at(old.called[0])) == Op::kAdd &&
        is_zero(to_.old(old.operands[1])))
      moved_sums_.insert(result.id());
    return result;
  }

  // A short sum of a short sum that a reshape moved past.
  hlo::Value joined_sums(InstructionId id) {
    const Instruction& outer = to_.old(id);
    const InstructionId read = to_.value(outer.operands[0]).id();
    if (!moved_sums_.contains(read) || outer.operands.size() != 2 || !outer.shape.is_array() ||
        fold_of(from_.at(outer.called[0])) != Op::kAdd || !is_zero(to_.old(outer.operands[1])))
      return {};
    const Instruction inner = to_.at(read);
    const Shape& from = to_.at(inner.operands[0]).shape;
    if (outer.shape.element_count() * kMostShortSum < from.element_count()) return {};
    Dims kept, dims = inner.attrs.get<hlo::DimensionsAttrs>().dimensions;
    for (int64_t d = 0; d < from.rank(); ++d)
      if (std::ranges::count(dims, d) == 0) kept.push_back(d);
    for (const int64_t d : outer.attrs.get<hlo::DimensionsAttrs>().dimensions)
      dims.push_back(kept[static_cast<size_t>(d)]);
    std::ranges::sort(dims);
    Instruction now = to_.mapped(id);
    now.operands[0] = inner.operands[0];
    now.attrs = hlo::DimensionsAttrs{dims};
    return to_.in_place_of(id).wrap(to_.builder().append(std::move(now)));
  }

  const hlo::Module& from_;
  transform::Rebuilder& to_;
  InnerOps ops_;
  std::vector<bool> is_fused_;  // a loop may compute what reads it
  std::vector<bool> is_read_by_one_op_;
  std::map<InstructionId, Dims> shapes_;  // of ops that have fewer dimensions
  std::set<InstructionId> moved_sums_;
  // Of the reshape that moves now.
  InstructionId id_;
  std::set<InstructionId> inner_;
  std::optional<Splits> splits_;
  Dims sizes_;
  int64_t undone_ = 0;  // repeats
  std::set<std::pair<InstructionId, Splits>> seen_;
  // Of the op that has fewer dimensions now.
  std::vector<bool> starts_;  // a dimension is not joined with the one before
  std::vector<InstructionId> ops_read_;
  bool has_broadcast_ = false;
  std::map<std::pair<InstructionId, Splits>, hlo::Value> written_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> reshape_early(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, hlo::ComputationId) {
    return
        [mover = ReshapeMover(module, to)](InstructionId id) mutable { return mover.written(id); };
  });
}

}  // namespace heddle::cpu
