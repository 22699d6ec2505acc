// Emitter: short spellings of the instructions that passes write. Operands were checked before, so
// it computes types without a check.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

class Emitter {
 public:
  // Appends instructions to `to`, with the source location and metadata of `like`, from which they
  // were lowered.
  Emitter(hlo::ComputationBuilder& to, const hlo::Instruction& like) : to_(to), like_(like) {}

  [[nodiscard]] const Shape& shape(hlo::InstructionId id) const { return to_.shape(id); }
  hlo::ComputationBuilder& builder() { return to_; }

  hlo::InstructionId op(hlo::Opcode opcode, Shape shape, std::vector<hlo::InstructionId> operands,
                        hlo::Attrs attrs = {}, std::vector<hlo::ComputationId> called = {});

  hlo::InstructionId scalar(DType dtype, int64_t value);
  // An array of zeros: a scalar broadcast, so that the module has no bytes for it.
  hlo::InstructionId zeros(Shape shape);
  // x repeated along a new dimension of the given size.
  hlo::InstructionId repeat(hlo::InstructionId x, int64_t dimension, int64_t size);

  hlo::InstructionId tuple(std::vector<hlo::InstructionId> elements);
  hlo::InstructionId element(hlo::InstructionId tuple, int64_t index);
  std::vector<hlo::InstructionId> elements(hlo::InstructionId tuple);

  // x[.., start : start + size, ..] along one dimension; x itself if that is all of it.
  hlo::InstructionId slice(hlo::InstructionId x, int64_t dimension, int64_t start, int64_t size);
  // The same with a start that is an integer scalar.
  hlo::InstructionId dynamic_slice(hlo::InstructionId x, int64_t dimension,
                                   hlo::InstructionId start, int64_t size);
  // x with the block that begins at `start` along the dimension replaced by `block`, which spans
  // the other dimensions.
  hlo::InstructionId update(hlo::InstructionId x, hlo::InstructionId block, int64_t dimension,
                            hlo::InstructionId start);
  // x without a dimension of size 1, and with a new one.
  hlo::InstructionId drop_dimension(hlo::InstructionId x, int64_t dimension);
  hlo::InstructionId add_dimension(hlo::InstructionId x, int64_t dimension);
  // The arrays end to end; a single one is returned as it is.
  hlo::InstructionId concatenate(std::vector<hlo::InstructionId> xs, int64_t dimension);

 private:
  // (0, .., start, .., 0): one a dimension of x.
  std::vector<hlo::InstructionId> starts(hlo::InstructionId x, int64_t dimension,
                                         hlo::InstructionId start);

  hlo::ComputationBuilder& to_;
  const hlo::Instruction& like_;
};

}  // namespace heddle::transform
