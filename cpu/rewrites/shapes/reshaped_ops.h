// Ops, and what they alone read, on arrays of other dimensions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "heddle/cpu/rewrites/inner_ops.h"
#include "heddle/cpu/rewrites/shapes/splits.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

// Elementwise ops; reshapes and folds too.
Inner elementwise_kind(const Instruction& instruction);
Inner reshaped_kind(const Instruction& instruction);

// A number in all places.
bool is_spread_number(const Computation& computation, const Instruction& instruction);
// The elements lie in memory, or a step writes them there in order.
bool is_memory(const Instruction& instruction);

class ReshapedOps {
 public:
  ReshapedOps(const hlo::Module& module, transform::Rebuilder& to) : module_(module), to_(to) {}

  // What is written from now on stands at `id`: ops of `inner` get other dimensions, and other
  // arrays that they read a reshape. Without splits the new arrays have these sizes.
  void begin(InstructionId id, std::set<InstructionId> inner, std::optional<Splits> splits,
             Dims sizes = {});

  // The instruction with its dimensions split so.
  hlo::Value reshaped(InstructionId id, const Splits& splits);

  // The new dimensions reach its operands: they are read here alone, or it is a repeat.
  [[nodiscard]] bool is_through(InstructionId id) const;
  // The splits of the operand of an instruction with these ones. Nothing: it has none.
  [[nodiscard]] std::optional<Splits> splits_before(const Instruction& old,
                                                    const Splits& splits) const;
  // A sum that was written in other dimensions.
  [[nodiscard]] bool is_reshaped_sum(InstructionId id) const { return sums_.contains(id); }

 private:
  hlo::Value reshaped_leaf(InstructionId id, const Splits& splits);
  hlo::Value reshaped_op(InstructionId id, const Splits& splits);
  [[nodiscard]] Dims sizes(const Splits& splits) const {
    return splits_ ? sizes_of(splits) : sizes_;
  }

  const hlo::Module& module_;
  transform::Rebuilder& to_;
  std::set<InstructionId> sums_;
  InstructionId id_;
  std::set<InstructionId> inner_;
  std::optional<Splits> splits_;
  Dims sizes_;
  std::map<std::pair<InstructionId, Splits>, hlo::Value> written_;
};

// A sum of one array from zero on.
bool is_sum(const hlo::Module& module, const Computation& computation,
            const Instruction& instruction);

// The splits of the operand of a broadcast of these.
Splits splits_under(const Instruction& broadcast, const Splits& splits);

}  // namespace heddle::cpu
