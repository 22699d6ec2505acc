// Replay: a trace that comes again is compared with what the last one recorded, instruction by
// instruction, and nothing is built while they agree. A callable promises nothing by its type, so
// it runs at each call; this makes that cost next to nothing. A guess that is wrong costs the
// comparison: what agreed so far is copied, and recording goes on. Private to Heddle.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/hlo/module.h"

namespace heddle::trace_internal {

// A computation with its callees (entry = the computation itself), shared by all that call it.
using Fragment = std::shared_ptr<const hlo::Module>;

// What a trace recorded. All that is made of the trace follows from it: it is equal to another one
// only if opcodes, types, operands, attributes, callees and the user's lines are.
struct Recording {
  hlo::Computation computation;  // in the order of recording, with its root
  std::vector<std::pair<Fragment, hlo::ComputationId>> imports;  // in the order of their first call
  size_t captures = 0;  // parameters that are captured values
};
using RecordingPtr = std::shared_ptr<const Recording>;

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

// Follows a recording. It is on from the beginning to the first disagreement.
class Replay {
 public:
  explicit Replay(RecordingPtr expected) : expected_(std::move(expected)) {}

  [[nodiscard]] bool is_on() const { return expected_ != nullptr; }
  [[nodiscard]] const hlo::Instruction& at(hlo::InstructionId id) const {
    return expected_->computation.at(id);
  }

  // The id of the recording's next instruction where it is this one; else an id that is not valid,
  // and nothing is matched.
  hlo::InstructionId match(const Step& step);
  hlo::InstructionId match_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                     SourceLocation at);
  hlo::InstructionId match_constant(const Literal& literal, SourceLocation at);
  // Whether all of the recording was matched, and its root is this: the lone id, or the tuple of
  // the ids.
  [[nodiscard]] bool ends_with(std::span<const hlo::InstructionId> root, bool is_bare,
                               size_t captures) const;

  // Turns off. Calls keep(instruction, fragments that it calls) for each one that was matched.
  template <class Keep>
  void stop(Keep&& keep);

 private:
  [[nodiscard]] const hlo::Instruction* next() const {
    const auto& all = expected_->computation.instructions;
    return matched_ < all.size() ? &all[matched_] : nullptr;
  }
  [[nodiscard]] const Fragment& import(hlo::ComputationId id) const;

  RecordingPtr expected_;
  size_t matched_ = 0;
  std::vector<SourceLocation> parameters_;  // where the matched ones were made
};

template <class Keep>
void Replay::stop(Keep&& keep) {
  size_t parameter = 0;
  for (size_t i = 0; i < matched_; ++i) {
    hlo::Instruction instruction = expected_->computation.instructions[i];
    if (instruction.opcode == hlo::Opcode::kParameter) instruction.at = parameters_[parameter++];
    std::vector<Fragment> called;
    for (hlo::ComputationId id : instruction.called) called.push_back(import(id));
    keep(std::move(instruction), called);
  }
  expected_ = nullptr;
}

// Longer traces are not kept: what a thread holds is bounded.
inline constexpr size_t kMaxRecording = 512;

// A hash of where in a program a function is traced.
uint64_t place_of(const void* kind, const void* types, SourceLocation at);

void forget_recordings();  // of all threads
uint64_t recordings_epoch();

// The last entry of each place of a program. One table a thread, so that no lookup takes a lock; an
// entry that another place overwrites is made again. A table holds at most kSlots entries.
template <class Entry>
class LastOfPlace {
 public:
  using EntryPtr = std::shared_ptr<const Entry>;

  // The last entry of a place, or null.
  [[nodiscard]] EntryPtr at(uint64_t place) {
    Slot& slot = slots_[place % kSlots];
    if (slot.epoch != recordings_epoch()) slot = {};
    return slot.place == place ? slot.entry : nullptr;
  }
  void keep(uint64_t place, Entry entry) {
    slots_[place % kSlots] = {std::make_shared<const Entry>(std::move(entry)), place,
                              recordings_epoch()};
  }

  // This thread's table; null when the thread's variables are being destroyed: what still runs then
  // is made anew.
  static LastOfPlace* of_thread() {
    thread_local bool is_gone = false;  // has no destructor, so that it may be read at any time
    struct Owner {
      std::unique_ptr<LastOfPlace> table = std::make_unique<LastOfPlace>();
      ~Owner() { is_gone = true; }
    };
    if (is_gone) return nullptr;
    thread_local const Owner kOwner;
    return kOwner.table.get();
  }

 private:
  struct Slot {
    EntryPtr entry;
    uint64_t place = 0;
    uint64_t epoch = 0;
  };
  static constexpr size_t kSlots = 1024;
  std::array<Slot, kSlots> slots_;
};

// A trace, of at most kMaxRecording instructions, and what was made of it.
template <class Made>
struct Recorded {
  Recording recording;
  Made made;
};
template <class Made>
using Recordings = LastOfPlace<Recorded<Made>>;

}  // namespace heddle::trace_internal
