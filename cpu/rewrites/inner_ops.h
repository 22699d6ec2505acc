// What one instruction alone reads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

inline constexpr size_t kMostInnerOps = 64;

enum class Inner : uint8_t {
  kNot,
  kLast,     // it belongs to them, and its operands do not
  kThrough,  // its operands may belong to them too
};

// Finds the instructions that one of them alone reads, by itself or through others.
class InnerOps {
 public:
  explicit InnerOps(const Computation& from) : from_(&from), uses_(from.instructions.size()) {
    for (const Instruction& user : from.instructions)
      for (const InstructionId operand : user.operands) ++uses_[operand.value];
    ++uses_[from.root.value];
  }

  // Those from `operands`, which the one instruction reads, on; kind(instruction) tells of each. It
  // stops beyond kMostInnerOps.
  template <class Kind>
  [[nodiscard]] std::set<InstructionId> under(const std::vector<InstructionId>& operands,
                                              const Kind& kind) const {
    std::set<InstructionId> inner;
    std::map<InstructionId, int64_t> seen;  // uses by others of them
    std::vector<InstructionId> queue = operands;
    while (!queue.empty() && inner.size() <= kMostInnerOps) {
      const InstructionId next = queue.back();
      queue.pop_back();
      const Inner is = kind(from_->at(next));
      if (is == Inner::kNot || ++seen[next] < uses_[next.value]) continue;
      inner.insert(next);
      if (is == Inner::kLast) continue;
      for (const InstructionId operand : from_->at(next).operands) queue.push_back(operand);
    }
    return inner;
  }
  [[nodiscard]] int64_t uses(InstructionId id) const { return uses_[id.value]; }

 private:
  const Computation* from_;
  std::vector<int64_t> uses_;
};

}  // namespace heddle::cpu
