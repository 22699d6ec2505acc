// Sums of arrays, most of each of them zeros around a few rows.
#pragma once

#include <algorithm>
#include <set>

#include "heddle/cpu/rewrites/inner_ops.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

// The additions that one of them alone reads, and what they add: its terms.
class PadSum {
 public:
  explicit PadSum(transform::Rebuilder& to) : to_(to), ops_(to.from()) {}

  // Whether `sum` adds arrays, and all(term) holds for each of them.
  template <class All>
  bool has(hlo::InstructionId sum, const All& all) {
    const hlo::Instruction& old = to_.old(sum);
    if (kind_of(old) == Inner::kNot || !old.shape.is_array() || old.shape.is_dynamic())
      return false;
    inner_ = ops_.under(old.operands, kind_of);
    inner_.insert(sum);
    return inner_.size() <= kMostInnerOps && has_under(sum, all);
  }

  // The sum of of(term) in the same order; absent values, which are zeros, give an absent one.
  template <class Of>
  hlo::Value sum(hlo::InstructionId id, const Of& of) {
    if (!inner_.contains(id)) return of(id);
    const auto& operands = to_.old(id).operands;
    const hlo::Value a = sum(operands[0], of), b = sum(operands[1], of);
    if (a && b) return a + b;
    const hlo::Value& x = a ? a : b;
    return x.is_absent() || is_integer(x.dtype()) ? x : x + x.number(0);  // -0 + 0 is 0
  }

 private:
  static Inner kind_of(const hlo::Instruction& instruction) {
    return instruction.opcode == hlo::Opcode::kAdd ? Inner::kThrough : Inner::kNot;
  }
  template <class All>
  bool has_under(hlo::InstructionId id, const All& all) const {
    if (!inner_.contains(id)) return all(id);
    return std::ranges::all_of(to_.old(id).operands,
                               [&](hlo::InstructionId each) { return has_under(each, all); });
  }

  transform::Rebuilder& to_;
  InnerOps ops_;
  std::set<hlo::InstructionId> inner_;
};

}  // namespace heddle::cpu
