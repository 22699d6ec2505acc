// Integer arrays whose elements are sums of multiples of their places.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// constant + steps[0] * i + steps[1] * j + .. at place (i, j, ..). A dimension of size 1 has step
// 0.
struct Affine {
  int64_t constant = 0;
  hlo::Dims steps;

  // The least and the greatest element of an array of these sizes, none of them 0.
  struct Range {
    int64_t least = 0, greatest = 0;
  };
  [[nodiscard]] Range range(const hlo::Dims& sizes) const;
};

// What is known of a computation's integers before it runs.
class AffineIndices {
 public:
  AffineIndices(const hlo::Module& module, const hlo::Computation& computation);

  // Null: the elements are others, or not known.
  [[nodiscard]] const Affine* of(hlo::InstructionId id) const {
    return values_[id.value] ? &*values_[id.value] : nullptr;
  }
  // What a comparison, or an op on comparisons, gives at all places; nothing: both, or it is not
  // known.
  [[nodiscard]] std::optional<bool> truth_of(hlo::InstructionId id) const {
    return truths_[id.value];
  }

 private:
  const hlo::Instruction& at(hlo::InstructionId id) const { return computation_.at(id); }
  [[nodiscard]] std::optional<Affine> value_of(const hlo::Instruction& instruction) const;
  [[nodiscard]] std::optional<Affine> of_broadcast(const hlo::Instruction& broadcast) const;
  [[nodiscard]] std::optional<Affine> of_reshape(const hlo::Instruction& reshape) const;
  [[nodiscard]] std::optional<Affine> of_choice(const hlo::Instruction& instruction) const;
  [[nodiscard]] std::optional<bool> truth(const hlo::Instruction& instruction) const;
  [[nodiscard]] std::optional<bool> truth_of_fold(const hlo::Instruction& reduce) const;
  [[nodiscard]] std::optional<bool> compared(const hlo::Instruction& comparison) const;

  const hlo::Module& module_;
  const hlo::Computation& computation_;
  std::vector<std::optional<Affine>> values_;  // by instruction
  std::vector<std::optional<bool>> truths_;
};

// The indices of one computation after the other, as a rewriting of a module takes them.
class IndicesInTurn {
 public:
  explicit IndicesInTurn(const hlo::Module& module) : module_(module) {}

  const AffineIndices& in(const hlo::Computation& computation) {
    if (known_ != &computation) indices_.emplace(module_, computation);
    known_ = &computation;
    return *indices_;
  }

 private:
  const hlo::Module& module_;
  const hlo::Computation* known_ = nullptr;
  std::optional<AffineIndices> indices_;
};

}  // namespace heddle::cpu
