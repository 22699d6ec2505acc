// Packs: scalar instructions of one region that do the same side by side, to be computed as the
// lanes of one vector. A body of many scalar carries, one for each leaf of a tree, is made of such.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/cpu/lower/regions/region.h"

namespace heddle::cpu {

class Packs {
 public:
  static constexpr size_t kFewest = 4;  // lanes that are worth it

  // `lanes`: the most members of a pack of 4-byte elements.
  Packs(const Region& region, int64_t lanes);

  [[nodiscard]] size_t size() const { return members_.size(); }
  [[nodiscard]] bool empty() const { return members_.empty(); }
  // -1: none.
  [[nodiscard]] int pack_of(InstructionId id) const { return pack_of_[id.value]; }
  [[nodiscard]] const std::vector<InstructionId>& members(int pack) const {
    return members_[static_cast<size_t>(pack)];
  }

 private:
  void sort(const Computation& computation, std::vector<InstructionId>& part) const;
  // Packs of at most so many members.
  void add(std::span<const InstructionId> part, size_t most);
  void drop_lone(const Region& region);

  std::vector<int> pack_of_;  // by instruction
  std::vector<std::vector<InstructionId>> members_;
};

}  // namespace heddle::cpu
