// Integers that a computation has whatever it is given.
#pragma once

#include <cstdint>
#include <optional>
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

// Values of iotas, constants, and elementwise ops on such: i, (i + 1) % n, clip(i + 1, 0, n - 1);
// also what the turns of a while have from before it.
class KnownIndices {
 public:
  explicit KnownIndices(const hlo::Module& module);

  // Null: they depend on what the module is given, or are many.
  const Known* of(hlo::ComputationId in, hlo::InstructionId id);

 private:
  const Known* of_operand(const hlo::Instruction& x, size_t k) { return of(in_, x.operands[k]); }
  std::optional<Known> values_of(const hlo::Instruction& x);
  std::optional<Known> of_operands(const hlo::Instruction& x);
  std::optional<Known> of_broadcast(const hlo::Instruction& x);
  std::optional<Known> of_reshape(const hlo::Instruction& x);
  std::optional<Known> of_fold(const hlo::Instruction& x);
  std::optional<Known> of_state(const hlo::Instruction& x);

  struct Entry {
    bool is_asked = false;
    std::optional<Known> known;
  };
  // The while whose body or condition a computation is, and nothing else's.
  struct Loop {
    hlo::ComputationId in;
    const hlo::Instruction* loop = nullptr;  // null: it is the body of none
  };
  const hlo::Module& module_;
  hlo::ComputationId in_;                  // of what is looked at
  std::vector<std::vector<Entry>> known_;  // by computation and instruction
  std::vector<Loop> loops_;                // by computation
  int64_t elements_ = 0;                   // of all values
  int depth_ = 0;                          // of calls of of()
};

}  // namespace heddle::cpu
