// Sums of arrays, most of each of them zeros around a few rows.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "heddle/cpu/rewrites/inner_ops.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

// The additions that one of them alone reads, and what they add: its terms.
class PadSum {
 public:
  explicit PadSum(transform::Rebuilder& to)
      : to_(to), ops_(to.from()), adds_pads_(to.from().instructions.size()) {
    for (size_t i = 0; i < adds_pads_.size(); ++i) {
      const Instruction& sum = to.from().instructions[i];
      adds_pads_[i] =
          sum.opcode == Opcode::kPad ||
          (sum.opcode == Opcode::kAdd && std::ranges::any_of(sum.operands, [&](InstructionId each) {
             return adds_pads_[each.value];
           }));
    }
  }

  // Whether `sum` adds arrays, and all(term) holds for each of them.
  template <class All>
  bool has(InstructionId sum, const All& all) {
    const Instruction& old = to_.old(sum);
    if (kind_of(old) == Inner::kNot || !adds_pads_[sum.value] || !old.shape.is_array() ||
        old.shape.is_dynamic())
      return false;
    seen_.clear();
    inner_ = ops_.under(old.operands, kind_of);
    inner_.insert(sum);
    return inner_.size() <= kMostInnerOps && has_under(sum, all);
  }

  // The sum of of(term) in the same order; absent values, which are zeros, give an absent one.
  template <class Of>
  hlo::Value sum(InstructionId id, const Of& of) {
    std::map<InstructionId, hlo::Value> made;
    return sum_under(id, of, made);
  }

 private:
  template <class Of>
  hlo::Value sum_under(InstructionId id, const Of& of, std::map<InstructionId, hlo::Value>& made) {
    if (!inner_.contains(id)) return of(id);
    const auto found = made.find(id);
    if (found != made.end()) return found->second;
    const auto& operands = to_.old(id).operands;
    const hlo::Value a = sum_under(operands[0], of, made), b = sum_under(operands[1], of, made);
    hlo::Value all = a ? a : b;
    if (a && b) {
      all = a + b;
    } else if (all && !is_integer(all.dtype())) {
      all = all + all.number(0);  // -0 + 0 is 0
    }
    return made.emplace(id, all).first->second;
  }
  static Inner kind_of(const Instruction& instruction) {
    return instruction.opcode == Opcode::kAdd ? Inner::kThrough : Inner::kNot;
  }
  template <class All>
  bool has_under(InstructionId id, const All& all) {
    if (!inner_.contains(id)) return all(id);
    if (!seen_.insert(id).second) return true;
    return std::ranges::all_of(to_.old(id).operands,
                               [&](InstructionId each) { return has_under(each, all); });
  }

  transform::Rebuilder& to_;
  InnerOps ops_;
  std::vector<bool> adds_pads_;  // by instruction: a term of it is padded
  std::set<InstructionId> inner_, seen_;
};

}  // namespace heddle::cpu
