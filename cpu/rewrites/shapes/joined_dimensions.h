// Arrays of few columns with fewer dimensions.
#pragma once

#include "heddle/cpu/rewrites/shapes/reshaped_ops.h"

namespace heddle::cpu {

// Ops and folds on arrays of few columns, as the maximum of f32[1000,5,5] over the last dimension,
// on f32[5000,5]: neighbouring dimensions are one where no broadcast and no fold tells them apart,
// if the rows side by side are few or the fold takes them with the columns.
class JoinedDimensions {
 public:
  JoinedDimensions(const hlo::Module& module, transform::Rebuilder& to)
      : to_(to), reads_(to.from()), ops_(module, to) {}

  // An op, with what it alone reads, or a fold. Nothing: it stays.
  hlo::Value written(InstructionId id);

 private:
  bool find_joined(InstructionId id, InstructionId top);
  void start_where_differs(const Dims& dims);
  bool sees_leaves(InstructionId id);
  [[nodiscard]] Splits joined(const Shape& shape) const;
  hlo::Value fold(InstructionId id, const hlo::Value& x, const Splits& splits);

  transform::Rebuilder& to_;
  InnerOps reads_;
  ReshapedOps ops_;
  std::map<InstructionId, Dims> sizes_;  // of ops that have fewer dimensions
  // Of the op that is looked at.
  std::set<InstructionId> inner_, seen_;
  std::vector<bool> starts_;  // a dimension is not joined with the one before
  std::vector<InstructionId> ops_read_;
  bool has_broadcast_ = false;
};

}  // namespace heddle::cpu
