// Replay: a trace that comes again is compared with what the last one recorded, instruction by
// instruction, and nothing is built while they agree. A callable promises nothing by its type, so
// it runs at each call; this makes that cost next to nothing. A guess that is wrong costs the
// comparison: what agreed so far is copied, and recording goes on. Private to Heddle.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/containers/few.h"
#include "heddle/base/source_location.h"
#include "heddle/base/system/of_this_thread.h"
#include "heddle/hlo/module.h"

namespace heddle::trace_internal {

// A computation with its callees (entry = the computation itself), shared by all that call it.
using Fragment = std::shared_ptr<const hlo::Module>;

// What a trace recorded. All that is made of the trace follows from it: it is equal to another one
// only if opcodes, types, operands, attributes, callees and the user's lines are.
struct Recording {
  hlo::Computation computation;  // in the order of recording, with its root
  std::vector<std::pair<Fragment, hlo::ComputationId>> imports;  // in the order of their first call
  size_t captures = 0;                           // parameters that are captured values
  std::vector<hlo::InstructionId> numbers = {};  // those of them that are C++ numbers

  [[nodiscard]] const Fragment& import(hlo::ComputationId id) const;
  [[nodiscard]] bool is_number(size_t instruction) const;
};

// The last traces at one place, newest first and null behind them: x[i][j] is two traces in a line.
// Whoever expects them keeps them.
inline constexpr size_t kMostExpected = 8;
using Expected = std::array<const Recording*, kMostExpected>;

// One instruction that is about to be recorded.
struct Step {
  hlo::Opcode opcode;
  std::span<const hlo::InstructionId> operands;
  const hlo::Attrs& attrs;
  std::span<const Fragment> called;
  const Shape* declared;  // null: inferred
  const hlo::FrontendAttributes& frontend_attributes;
  const std::string& backend_config;
  const hlo::Sharding* sharding;  // null: none
  SourceLocation at;
};

// Follows a recording, and another one that begins alike where they disagree. It is on from the
// beginning to the end of the last of them that agrees.
class Replay {
 public:
  explicit Replay(const Expected& expected) : all_(expected), expected_(all_[0]) {}

  [[nodiscard]] bool is_on() const { return expected_ != nullptr; }
  // The place among the expected ones of that which is followed.
  [[nodiscard]] size_t which() const { return which_; }
  [[nodiscard]] const hlo::Instruction& at(hlo::InstructionId id) const {
    return expected_->computation.at(id);
  }

  // The id of the recording's next instruction where it is this one; else an id that is not valid,
  // and nothing is matched.
  hlo::InstructionId match(const Step& step);
  hlo::InstructionId match_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                     SourceLocation at);
  // A constant. `may_differ`: also where the recording has another number of this type, or takes
  // one as an operand.
  hlo::InstructionId match_number(const Literal& number, SourceLocation at, bool may_differ);
  // A scalar constant, where the recording that is followed has the same.
  hlo::InstructionId match_same_number(const void* bytes, DType dtype, SourceLocation at);
  // Only where the recording takes a number of this type as an operand.
  hlo::InstructionId match_operand(const Shape& shape, SourceLocation at);
  [[nodiscard]] bool is_operand(hlo::InstructionId matched) const {
    return expected_->is_number(matched.value);
  }
  // Whether a number was matched that is another one in the recording.
  [[nodiscard]] bool has_other_numbers() const {
    return std::ranges::any_of(given_, &Given::is_other);
  }
  // Whether all of the recording was matched, and its root is this: the lone id, or the tuple of
  // the ids.
  [[nodiscard]] bool ends_with(std::span<const hlo::InstructionId> root, bool is_bare,
                               size_t captures);

  // Turns off. Calls keep(instruction, fragments that it calls, is another number) for each one
  // that was matched.
  template <class Keep>
  void stop(Keep&& keep);

 private:
  [[nodiscard]] const hlo::Instruction* next() const {
    const auto& all = expected_->computation.instructions;
    return matched_ < all.size() ? &all[matched_] : nullptr;
  }
  // try_match() of the recording that is followed, and then of those that begin alike.
  template <class TryMatch>
  hlo::InstructionId first_match(const TryMatch& try_match);
  [[nodiscard]] bool matches(const Step& step) const;
  [[nodiscard]] bool ends_here(std::span<const hlo::InstructionId> root, bool is_bare,
                               size_t captures) const;
  void list_same();  // in given_
  // Goes on with the next one that has the same instructions until here.
  bool switch_over();
  [[nodiscard]] bool begins_alike(const Recording& other) const;
  [[nodiscard]] bool next_is_number() const;

  Expected all_;
  size_t which_ = 0;
  const Recording* expected_;  // null: off
  size_t matched_ = 0;
  base::Few<SourceLocation, 8> parameters_;  // where the matched ones were made
  // Constants that may differ, in order.
  struct Given {
    hlo::InstructionId id;
    Literal value;
    bool is_other;  // than that of the recording
  };
  std::vector<Given> given_;
  // Further ones, which are as in the recording that is followed.
  base::Few<hlo::InstructionId, 8> same_;
};

template <class Keep>
void Replay::stop(Keep&& keep) {
  size_t parameter = 0;
  auto given = given_.begin();
  for (size_t i = 0; i < matched_; ++i) {
    hlo::Instruction instruction = expected_->computation.instructions[i];
    if (instruction.opcode == hlo::Opcode::kParameter) instruction.at = parameters_[parameter++];
    const bool is_given = given != given_.end() && given->id.value == i;
    const bool is_other = is_given && given->is_other;
    if (is_other) instruction.attrs = hlo::ConstantAttrs{.literal = std::move(given->value)};
    if (is_given) ++given;
    std::vector<Fragment> called;
    for (hlo::ComputationId id : instruction.called) called.push_back(expected_->import(id));
    keep(std::move(instruction), called, is_other);
  }
  given_.clear();
  expected_ = nullptr;
}

// A constant that may be an operand instead: a C++ number, or a few.
[[nodiscard]] inline bool is_number(const Literal& literal) {
  constexpr int64_t kMostBytes = 64;
  return literal.shape().is_array() && literal.shape().byte_size() <= kMostBytes &&
         literal.shape().byte_size() > 0 && !literal.is_elided();
}

// Longer traces are not kept, and a table lets go of long ones where it holds more than kMaxHeld
// instructions: what a thread holds is bounded, by some 200 MB a table.
inline constexpr size_t kMaxRecording = size_t{1} << 16;
inline constexpr size_t kMaxHeld = size_t{1} << 19;

// A hash of where in a program a function is traced.
uint64_t place_of(const void* kind, const void* types, SourceLocation at);

void forget_recordings();  // of all threads
uint64_t recordings_epoch();

// The last entries of each place of a program. One table a thread, so that no lookup takes a lock;
// an entry that another place overwrites is made again. A place has one of kWays slots of its row.
template <class Entry, size_t kEntries = 1>
class LastOfPlace {
 public:
  using EntryPtr = std::shared_ptr<const Entry>;
  using Entries = std::array<EntryPtr, kEntries>;
  using EntriesPtr = std::shared_ptr<const Entries>;

  // The last entries of a place, newest first and null behind them; null where there is none.
  [[nodiscard]] EntriesPtr all_at(uint64_t place) {
    forget_old();
    const Row& row = rows_[place % kRows];
    const auto own = std::ranges::find(row, place, &Slot::place);
    return own == row.end() ? nullptr : own->entries;
  }
  [[nodiscard]] EntryPtr at(uint64_t place) {
    const EntriesPtr all = all_at(place);
    return all ? (*all)[0] : nullptr;
  }
  void keep(uint64_t place, Entry entry) {
    const EntriesPtr before = all_at(place);
    auto entries = std::make_shared<Entries>();
    if (before) std::ranges::copy(before->begin(), before->end() - 1, entries->begin() + 1);
    (*entries)[0] = std::make_shared<const Entry>(std::move(entry));
    // The place's own slot, or the oldest one, comes first.
    Row& row = rows_[place % kRows];
    const auto own = std::ranges::find(row, place, &Slot::place);
    std::rotate(row.begin(), own == row.end() ? row.end() - 1 : own,
                own == row.end() ? row.end() : own + 1);
    let_go(row[0]);
    row[0] = {std::move(entries), place};
    held_ += size_of(row[0]);
    while (held_ > std::max(kMaxHeld, size_of(row[0]))) let_go(largest_but(row[0]));
  }

  // This thread's table; null where what runs is made anew.
  static LastOfPlace* of_thread() { return base::of_this_thread<LastOfPlace>(); }

 private:
  static constexpr size_t kRows = 256, kWays = 4;
  struct Slot {
    EntriesPtr entries;
    uint64_t place = 0;
  };
  using Row = std::array<Slot, kWays>;

  // In instructions.
  static size_t size_of(const Slot& slot) {
    size_t size = 0;
    if constexpr (requires(const Entry& entry) { entry.instruction_count(); }) {
      for (size_t i = 0; slot.entries && i < kEntries && (*slot.entries)[i]; ++i)
        size += (*slot.entries)[i]->instruction_count();
    }
    return size;
  }
  void let_go(Slot& slot) {
    held_ -= size_of(slot);
    slot = {};
  }
  Slot& largest_but(const Slot& kept) {
    Slot* largest = nullptr;
    for (Row& row : rows_) {
      for (Slot& slot : row) {
        if (&slot != &kept && (largest == nullptr || size_of(slot) > size_of(*largest)))
          largest = &slot;
      }
    }
    return *largest;
  }
  void forget_old() {
    if (epoch_ == recordings_epoch()) return;
    rows_ = {};
    held_ = 0;
    epoch_ = recordings_epoch();
  }

  std::array<Row, kRows> rows_;
  size_t held_ = 0;  // size_of() of all slots
  uint64_t epoch_ = 0;
};

// A trace, of at most kMaxRecording instructions, and what was made of it.
template <class Made>
struct Recorded {
  Recording recording;
  Made made;
  [[nodiscard]] size_t instruction_count() const {
    return recording.computation.instructions.size();
  }
};
template <class Made>
using Recordings = LastOfPlace<Recorded<Made>, kMostExpected>;

// `last`: Recordings<Made>::EntriesPtr, which has to outlive what expects them.
template <class EntriesPtr>
Expected expected_of(const EntriesPtr& last) {
  Expected expected{};
  for (size_t i = 0; last && i < last->size() && (*last)[i]; ++i)
    expected[i] = &(*last)[i]->recording;
  return expected;
}

}  // namespace heddle::trace_internal
