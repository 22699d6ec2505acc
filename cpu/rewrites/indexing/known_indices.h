// Integers that a computation has whatever it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// The elements of an array of integers or truths, which differ along some dimensions alone.
struct Known {
  hlo::Dims along;              // ascending; none of size 1
  hlo::Dims sizes;              // of these
  std::vector<int64_t> values;  // row by row

  // By dimension of the array; those that it does not differ along do not count.
  [[nodiscard]] int64_t at(const hlo::Dims& place) const;
  [[nodiscard]] bool are_alike() const;
};

// Values of iotas, constants, and elementwise ops on such: i, (i + 1) % n, clip(i + 1, 0, n - 1).
class KnownIndices {
 public:
  explicit KnownIndices(const hlo::Module& module, const hlo::Computation& computation)
      : module_(module), computation_(computation), known_(computation.instructions.size()) {}

  // Null: they depend on what it is given, or are many.
  const Known* of(hlo::InstructionId id);

 private:
  std::optional<Known> values_of(const hlo::Instruction& x);
  std::optional<Known> of_operands(const hlo::Instruction& x);
  std::optional<Known> of_broadcast(const hlo::Instruction& x);
  std::optional<Known> of_reshape(const hlo::Instruction& x);
  std::optional<Known> of_fold(const hlo::Instruction& x);

  struct Entry {
    bool is_asked = false;
    std::optional<Known> known;
  };
  const hlo::Module& module_;
  const hlo::Computation& computation_;
  std::vector<Entry> known_;  // by instruction
  int64_t elements_ = 0;      // of all values
};

}  // namespace heddle::cpu
