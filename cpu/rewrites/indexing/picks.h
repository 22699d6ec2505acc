// Ops that pick elements of arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// The elements of an op that picks places of its first operand: a gather, a dynamic slice or a
// slice. 0: it is no such op.
[[nodiscard]] int64_t picked_elements(const Instruction& op);

// Whether an integer type has the number.
[[nodiscard]] bool holds(DType dtype, int64_t number);

// How many elements of each array of a computation are picked.
class Picks {
 public:
  explicit Picks(const Computation& in);
  // Whether all readers of an array pick, and few elements in all.
  [[nodiscard]] bool are_few(const Computation& in, InstructionId array) const;

 private:
  std::vector<int64_t> elements_;  // -1: something else reads it
};

}  // namespace heddle::cpu
