// What is known of a computation before code is written for it: which values are computed where
// they are used, which instructions are steps of their own, and in what order these run.
//
// Tuples come apart into leaves. A leaf is an array or a scalar that one instruction makes; tuple
// and get-tuple-element only name leaves again. An instruction is
//   lazy   it has no place in memory: each element is computed where a step reads it
//   a step it computes its leaves at a point of the program: a loop nest, a call, a loop
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "heddle/base/ids.h"
#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Elements that stand apart are brought together once if they are read so many times; of what is
// computed, one in so many is computed where it is read.
inline constexpr int64_t kManyReads = 4;
inline constexpr int64_t kMostColumns = 8;  // of rows that shuffles bring into lanes

using LeafId = Id<struct LeafTag>;

struct Leaf {
  const Shape* shape = nullptr;
  InstructionId producer;
};

class Region {
 public:
  Region(const hlo::Module& module, const Computation& computation);

  [[nodiscard]] const Computation& computation() const { return *computation_; }
  [[nodiscard]] const std::vector<Leaf>& leaves() const { return leaves_; }
  [[nodiscard]] std::span<const LeafId> leaves_of(InstructionId id) const {
    return leaves_of_[id.value];
  }
  [[nodiscard]] LeafId leaf(InstructionId id) const { return leaves_of_[id.value][0]; }
  [[nodiscard]] std::span<const LeafId> results() const { return leaves_of(computation_->root); }
  // Of all parameters, in order.
  [[nodiscard]] const std::vector<LeafId>& parameters() const { return parameters_; }

  [[nodiscard]] bool is_lazy(LeafId leaf) const { return is_lazy_[leaf.value]; }
  // Where boxes begin, by dimension: the step reads joined arrays, in each box one part of each.
  // Nothing: it reads none.
  using Cuts = std::vector<std::set<int64_t>>;
  [[nodiscard]] const Cuts* cuts(InstructionId step) const {
    const auto found = cuts_.find(step);
    return found == cuts_.end() ? nullptr : &found->second;
  }
  // Computed where it is read, in one place.
  [[nodiscard]] bool is_part_of_one(LeafId leaf) const {
    return is_lazy(leaf) && uses_[leaf.value].size() == 1;
  }
  [[nodiscard]] bool has_effects() const { return std::ranges::count(has_effect_, true) > 0; }
  // The steps in the order to run them.
  [[nodiscard]] const std::vector<InstructionId>& steps() const { return order_; }
  // The leaves, none of them lazy, that a step reads itself or through lazy ones; each once.
  [[nodiscard]] std::span<const LeafId> reads(InstructionId step) const {
    return reads_[step.value];
  }
  // A step reads this leaf at the position that it writes alone.
  [[nodiscard]] bool reads_in_place(InstructionId step, LeafId leaf) const;
  // The product that the transpose alone reads: it is written in the transpose's order at once. Not
  // valid: none.
  [[nodiscard]] InstructionId product_of(InstructionId transpose) const;
  // A lazy leaf is computed from the leaf, by itself or through others.
  [[nodiscard]] bool reaches(LeafId lazy, LeafId leaf) const;
  // How many steps read the leaf, and one more for each time that it is a result.
  [[nodiscard]] int read_count(LeafId leaf) const { return read_count_[leaf.value]; }
  // All others that read the leaf come before the step, and it is no result.
  [[nodiscard]] bool reads_last(InstructionId step, LeafId leaf) const;
  // A product takes or makes an array of these sizes.
  [[nodiscard]] bool has_product_of(const Shape& shape) const {
    return multiplied_.contains(shape.dimensions());
  }

 private:
  struct Use {
    InstructionId user;
    int operand;
  };
  void find_leaves();
  void find_uses();
  void find_costs();
  void find_products();
  void find_lazy();
  class LazyChoice;
  void choose_lazy();
  [[nodiscard]] bool takes_as_long_as_row(InstructionId id, int64_t size) const;
  [[nodiscard]] bool may_be_lazy(InstructionId id) const;
  [[nodiscard]] bool is_memory_in_order(InstructionId id) const;
  [[nodiscard]] bool is_as_cheap_as_a_read(InstructionId id) const;
  [[nodiscard]] bool is_cheap(InstructionId id) const;
  [[nodiscard]] bool is_padded(const Use& use) const;
  [[nodiscard]] bool is_cheaper_twice(InstructionId id) const;
  [[nodiscard]] bool widens_cheaply(InstructionId id) const;
  [[nodiscard]] bool is_number(InstructionId id) const;
  [[nodiscard]] bool is_sum(InstructionId id) const;
  bool cuts(InstructionId step, InstructionId read);
  [[nodiscard]] bool is_part_of_target(InstructionId part, InstructionId step) const;
  [[nodiscard]] bool is_part_of_overwritten(InstructionId part,
                                            std::span<const InstructionId> home) const;
  [[nodiscard]] bool overwrites_for(InstructionId step, InstructionId other,
                                    std::span<const InstructionId> home) const;
  [[nodiscard]] bool is_read_in(InstructionId step, InstructionId id,
                                std::span<const InstructionId> home, int levels) const;
  [[nodiscard]] bool updates(InstructionId step, InstructionId before) const;
  void collect(InstructionId id, InstructionId step, std::vector<bool>& seen);
  void order_steps();
  [[nodiscard]] std::set<InstructionId> undone(InstructionId step,
                                               const std::vector<bool>& done) const;
  void visit(InstructionId step, std::vector<bool>& done);
  void visit_alone(InstructionId step, std::vector<bool>& done);
  [[nodiscard]] bool is_of_group(InstructionId step) const;
  void visit_readers(LeafId target, InstructionId step, std::vector<bool>& done);
  void find_replaced();
  [[nodiscard]] bool depends(InstructionId step, InstructionId on) const;

  const hlo::Module* module_;
  const Computation* computation_;
  std::vector<Leaf> leaves_;
  std::vector<std::vector<LeafId>> leaves_of_;
  std::vector<LeafId> parameters_;
  std::vector<bool> is_live_;           // by instruction
  std::vector<bool> has_effect_;        // by instruction
  std::vector<std::vector<Use>> uses_;  // by leaf
  std::vector<bool> is_result_;         // by leaf
  std::vector<bool> has_place_;         // by instruction: not lazy, whatever reads it
  std::vector<bool> costs_;             // by instruction: computed where it is used, it would cost
  std::set<std::vector<int64_t>> multiplied_;  // sizes
  std::vector<bool> is_lazy_;                  // by leaf
  std::map<InstructionId, Cuts> cuts_;         // by step
  std::vector<std::vector<LeafId>> reads_;
  std::vector<std::vector<InstructionId>> readers_;  // by leaf: the steps that read it
  std::vector<int> read_count_;
  std::map<LeafId, LeafId> replaced_;  // by result of a loop's body: the element of its state
  std::vector<InstructionId> order_;
  std::vector<size_t> turn_;            // by instruction: its number in the order
  std::vector<InstructionId> waiting_;  // of visit(): for the readers of what they overwrite
};

// Rows of a matrix whose factors are written out.
inline constexpr int64_t kMaxFactorRows = 12;

// An array of sizes that are known, and of elements that a plan holds.
bool is_held(const Shape& shape);

// tuple, get-tuple-element and what else hands leaves on.
bool is_alias(const Instruction& instruction);

// A part's elements are neighbours in the whole, in the same order: rows of it, or elements of one.
// So they are for each place along the dimensions before `first`.
bool is_run(const Shape& part, const Shape& whole, int64_t first = 0);

// A reshape that only adds and removes dimensions of size 1.
bool is_degenerate_reshape(const Shape& from, const Shape& to);

// A reshape of a broadcast that joins dimensions before the last one, as repeat() and tile() do.
bool joins_repeats(const Computation& computation, const Instruction& reshape);

// The elements come from several arrays, or from one and a number around it.
bool is_cut(const Instruction& instruction);

// Whether a concatenate joins two arrays along a dimension before the last: each of its rows is a
// row of one of them.
bool joins_rows(const Instruction& instruction);

// All elements of the literal are alike.
bool is_splat(const Literal& literal);

// A scalar constant of which all bits are zero.
bool is_zero(const Instruction& instruction);

// The arrays that the step may overwrite with its results, each with the one of its number: the
// first operands of an update.
size_t updated_operands(const Instruction& instruction);

// Whether so many elements are most of a big array: what lies around them is worth its own loops.
inline bool is_mostly(int64_t elements, const Shape& array) {
  constexpr int64_t kLeastFramed = 4096;  // bytes
  return elements >= array.element_count() / 2 && array.byte_size() >= kLeastFramed;
}

// Where the part of an update or of a pad begins in the result, by dimension. Nothing: the place is
// not known, or the part is not most of a big array.
std::optional<std::vector<int64_t>> framed_start(const Computation& computation,
                                                 const Instruction& instruction);

// The real or imaginary part of a complex array, which lies in memory.
bool is_part(const Computation& computation, const Instruction& instruction);

// A complex array as it lies, f32[.., 2] or u64, or such an array as complex numbers: both have
// one place (`rewrites/numbers/complex_views.h`, `rewrites/numbers/complex_moves.h`).
bool is_complex_view(const Computation& computation, const Instruction& instruction);

// A reshape or view of an array that lies where that one does.
bool lies_as_operand(const Computation& computation, const Instruction& instruction);

// A dot whose operands are arrays of numbers that a plan holds.
bool is_plain_dot(const Computation& computation, const Instruction& dot);

// A plain dot reads each element of the operand once: the other one is a vector, or a vector for
// each place of the batch.
bool reads_once(const Computation& computation, const Instruction& dot, int operand);

// A convolution whose operands and result are all f32 or all f64, and not empty.
bool is_product_convolution(const Computation& computation, const Instruction& instruction);

// A convolution that is written as loops: one of few products, or of groups with few features.
bool is_direct_convolution(const Computation& computation, const Instruction& instruction);

// A reduce-window, a select-and-scatter whose windows have no holes, of elements that a plan holds.
bool is_plain_window(const hlo::Module& module, const Computation& computation,
                     const Instruction& instruction);
bool is_plain_selection(const hlo::Module& module, const Computation& computation,
                        const Instruction& instruction);

// A reduce-window that gives the running fold along one dimension: from the first element to each
// one, or from the last one down.
struct RunningFold {
  int64_t dimension = 0;
  bool is_reverse = false;
};
std::optional<RunningFold> running_fold(const hlo::Module& module, const Shape& from,
                                        const Instruction& instruction);

// The step is written as loops; else a kernel computes it.
bool is_loop_step(const hlo::Module& module, const Computation& computation,
                  const Instruction& instruction);

}  // namespace heddle::cpu
