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

// Whether an integer type has the number, which is at least 0.
[[nodiscard]] bool holds(DType dtype, int64_t number);

// How many elements of each array of a computation are picked.
class Picks {
 public:
  explicit Picks(const Computation& in);
  // Whether all readers of an array pick, and few elements in all: at most an eighth, or a half of
  // a long array where they are slices.
  [[nodiscard]] bool are_few(const Computation& in, InstructionId array) const;
  // How many operands of others it is.
  [[nodiscard]] int64_t readers(InstructionId array) const { return of_[array.value].readers; }

 private:
  struct OfArray {
    int64_t elements = 0;  // -1: something else reads it
    int64_t readers = 0;
    bool are_slices = true;
  };
  std::vector<OfArray> of_;
};

}  // namespace heddle::cpu
