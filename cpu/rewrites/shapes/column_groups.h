// Which arrays with a short last dimension are computed as their columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// The elements of loops' states that are a tuple of columns each: those of a body's parameter, its
// condition's, and of what the loop takes and gives.
class ColumnStates {
 public:
  explicit ColumnStates(const hlo::Module& module);

  // The elements of the computation's parameter that may be columns: a body's.
  [[nodiscard]] std::set<int64_t> may_split(hlo::ComputationId body) const;
  void split(hlo::ComputationId body, const std::set<int64_t>& elements);

  // The elements that are, of the parameter of a body or a condition.
  [[nodiscard]] const std::set<int64_t>& of(hlo::ComputationId called) const;
  // The state's shape with tuples in place of such elements.
  [[nodiscard]] Shape shape(const Shape& state, hlo::ComputationId called) const;

 private:
  [[nodiscard]] bool may_split(const hlo::Computation& in, const hlo::Instruction& loop) const;

  const hlo::Module& module_;
  std::map<hlo::ComputationId, const hlo::Instruction*> loops_;  // by their bodies
  std::map<hlo::ComputationId, std::set<int64_t>> split_;        // also of conditions
};

// How an op takes part.
enum class Part {
  kNone,
  // It gives an array of columns:
  kAlike,       // all of one value, as a broadcast of an array without the dimension
  kEach,        // the op on a column of each operand that is read by columns
  kPieces,      // a concatenation
  kRange,       // a slice of some columns
  kUpdate,      // an update of one column
  kTransposed,  // the columns of the operand, along another dimension there
  kElement,     // of a loop's state
  // It reads columns alone:
  kFolded,  // a reduction along them
  kTaken,   // one of them
  kTurned,  // a transpose
};

struct ColumnSplit {
  struct Read {
    hlo::InstructionId operand;
    int64_t axis = 0;
  };
  Part part = Part::kNone;
  int64_t axis = 0;         // the dimension that has an array for each of its places
  std::vector<Read> reads;  // operands that are read by columns, along which dimensions
};

// The groups of ops of one computation that are split.
class ColumnGroups {
 public:
  // Adds the elements of the computation's state to `states`.
  ColumnGroups(const hlo::Module& module, hlo::ComputationId id, ColumnStates& states);

  [[nodiscard]] bool has_any() const;
  [[nodiscard]] bool is_split(hlo::InstructionId id) const { return gives(splits_[id.value].part); }
  [[nodiscard]] const ColumnSplit& of(hlo::InstructionId id) const { return splits_[id.value]; }
  // The elements of a tuple that are tuples of columns.
  [[nodiscard]] const std::set<int64_t>& elements_of(hlo::InstructionId tuple) const;

 private:
  // Of all ops of a group.
  struct Sums {
    int64_t work = 0;       // elements that they compute
    int64_t crossings = 0;  // elements that are taken apart or put together at its border
    int64_t written = 0;    // ops on columns
    bool has_gain = false, has_state = false, has_columns = false, moves = false;

    [[nodiscard]] bool pays() const;
  };

  static bool gives(Part part) { return part != Part::kNone && part < Part::kFolded; }
  const hlo::Instruction& at(hlo::InstructionId id) const { return computation_.at(id); }

  // Of the op alone, whose operands are known.
  [[nodiscard]] ColumnSplit split_of(hlo::InstructionId id) const;
  [[nodiscard]] ColumnSplit split_of_reduce(const hlo::Instruction& reduce) const;
  [[nodiscard]] ColumnSplit split_of_broadcast(const hlo::Instruction& broadcast) const;
  [[nodiscard]] ColumnSplit split_of_concatenate(const hlo::Instruction& pieces) const;
  [[nodiscard]] ColumnSplit split_of_slice(const hlo::Instruction& slice) const;
  [[nodiscard]] ColumnSplit split_of_update(const hlo::Instruction& update) const;
  [[nodiscard]] ColumnSplit split_of_transpose(const hlo::Instruction& transpose) const;
  [[nodiscard]] ColumnSplit split_of_each(const hlo::Instruction& instruction) const;

  [[nodiscard]] bool is_own(const hlo::Instruction& element) const;
  [[nodiscard]] bool is_given(const hlo::Instruction& element) const;
  size_t root(size_t i);
  void find_tuples();
  void join_groups();
  void count_crossings(std::map<size_t, Sums>& sums);
  void add(hlo::InstructionId id, Sums& to) const;
  void choose();

  const hlo::Module& module_;
  const hlo::Computation& computation_;
  const ColumnStates& states_;
  std::set<int64_t> own_;                                   // of the computation's state
  std::map<hlo::InstructionId, std::set<int64_t>> tuples_;  // with elements of columns
  std::vector<ColumnSplit> splits_;                         // by instruction
  std::vector<size_t> groups_;
};

// The last dimension, else the first, where it is short and the others have many places.
std::optional<int64_t> short_axis(const Shape& shape);

}  // namespace heddle::cpu
