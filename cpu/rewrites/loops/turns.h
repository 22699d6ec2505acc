// Values that a turn of a counted loop computes by itself: it needs rows of arrays that the loop
// does not change, or its own number, and nothing that earlier turns left. And values that later
// turns do not need: they are rows of what the loop stacks, or terms of sums.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "heddle/cpu/lower/control/counted_loop.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// A product of few rows with a big matrix: it takes as long as reading the matrix.
inline bool is_thin(int64_t rows, int64_t elements_of_matrix) {
  return rows <= 8 && elements_of_matrix >= 1024;
}

// A while whose state is a tuple of arrays, and that counts its turns. The module outlives it.
class Turns {
 public:
  // Nothing where the loop, which stands in `around`, is another one.
  static std::optional<Turns> of(const hlo::Module& module, const Region& around,
                                 const hlo::Instruction& loop);

  enum class Needs : uint8_t {
    kNothing,  // the same in all turns
    kTurn,     // its rows and its number
    kState,    // what turns before it left; or it is not known
  };
  [[nodiscard]] Needs needs(LeafId leaf) const { return needs_[leaf.value]; }
  // Row t, or n - 1 - t, of an array that all turns share, in turn t: a carried one, a constant or
  // an iota. All rows that count as known are of one order.
  [[nodiscard]] bool is_row(LeafId leaf) const { return is_row_[leaf.value]; }
  [[nodiscard]] bool is_counter(LeafId leaf) const {
    return leaf == body_.parameters()[counted_.counter];
  }
  // Nobody but the stacks reads the leaf, by itself or through other such leaves.
  [[nodiscard]] bool is_for_stacks(LeafId leaf) const { return is_for_stacks_[leaf.value]; }

  // A carried array of which each turn writes its own row, or to which each turn adds: nobody else
  // reads it in the loop.
  struct Stack {
    size_t carry = 0;
    LeafId part;  // the row, with its dimension of size 1; what is added
    // What a sum does with it: kAdd or kSubtract.
    std::optional<hlo::Opcode> sum;
  };
  [[nodiscard]] const std::vector<Stack>& stacks() const { return stacks_; }

  [[nodiscard]] int64_t count() const { return counted_.turns; }
  // Other loops or branches run the loop, perhaps often.
  [[nodiscard]] bool is_repeated() const { return is_repeated_; }
  [[nodiscard]] size_t counter() const { return counted_.counter; }
  [[nodiscard]] bool goes_backward() const { return order_ == Row::kFromEnd; }
  [[nodiscard]] const Region& body() const { return body_; }
  [[nodiscard]] const hlo::Instruction& producer(LeafId leaf) const {
    return body_.computation().at(body_.leaves()[leaf.value].producer);
  }
  [[nodiscard]] const Shape& shape(LeafId leaf) const { return *body_.leaves()[leaf.value].shape; }
  // The number of the parameter that the leaf is; nothing: it is computed.
  [[nodiscard]] std::optional<size_t> carry_of(LeafId leaf) const;
  // The operands of what makes the leaf; none of a parameter or a row.
  [[nodiscard]] std::vector<LeafId> operands(LeafId leaf) const;
  // An instruction that batch() can do for all turns at once, in so much memory.
  [[nodiscard]] bool is_batched(const hlo::Instruction& instruction) const;

 private:
  Turns(const hlo::Module& module, const Region& around, const hlo::Instruction& loop);
  void find_needs();
  void find_needs_of(hlo::InstructionId id);
  [[nodiscard]] bool is_of_one(const hlo::Instruction& instruction) const;
  [[nodiscard]] bool fits(const Shape& shape) const;
  [[nodiscard]] bool takes_row(const hlo::Instruction& slice);
  void find_stacks();
  [[nodiscard]] std::optional<Stack> sum_in(size_t carry) const;
  void count_reads();
  void find_what_is_for_stacks();

  const hlo::Module* module_;
  Region condition_, body_;
  bool counts_ = false, is_repeated_ = false;
  CountedLoop counted_;
  Row order_ = Row::kUnknown;
  // By leaf of the body.
  std::vector<int64_t> reads_;  // operands and results that are the leaf
  std::vector<Needs> needs_;
  std::vector<bool> is_row_, is_for_stacks_;
  std::vector<Stack> stacks_;
};

// The regions of computations with loops, each made once.
class Regions {
 public:
  explicit Regions(const hlo::Module& module) : module_(module) {}
  const Region& of(const hlo::Computation& computation) {
    return made_.try_emplace(&computation, module_, computation).first->second;
  }

 private:
  const hlo::Module& module_;
  std::map<const hlo::Computation*, Region> made_;
};

}  // namespace heddle::cpu
