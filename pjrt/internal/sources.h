// Where an array comes from, through tuples, barriers, calls, branches and loops, of all
// computations of a module: XLA puts called computations in the place of calls, the taken branch
// in that of a conditional and the body in that of a loop of one trip, and then sees what no one
// computation shows.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::pjrt {

// A result of an instruction, or an element of the tuple that it is.
struct Source {
  hlo::ComputationId computation;
  hlo::InstructionId instruction;
  std::vector<int64_t> element;  // of a tuple: the index, of tuples in it the further ones

  friend bool operator<(const Source& a, const Source& b) {
    return std::tie(a.computation.value, a.instruction.value, a.element) <
           std::tie(b.computation.value, b.instruction.value, b.element);
  }
};

class Sources {
 public:
  // Which operands of an op the walk goes on to; of ops that pass values on it is not asked.
  using Through = std::function<bool(const Source& at, size_t operand)>;
  enum class Loops : uint8_t {
    kAny,      // a value of a loop comes from its start and from its step
    kOneTrip,  // likewise, but for loops that state more than one trip: those are where it is from
  };

  explicit Sources(const hlo::Module& module);

  // All that `from` comes from, itself too; where more than kMost, none and `false`.
  bool collect(std::vector<Source> from, Loops loops, const Through& through,
               std::set<Source>& found) const;

  [[nodiscard]] const hlo::Instruction& at(const Source& source) const {
    return module_.at(source.computation).at(source.instruction);
  }

  static constexpr size_t kMost = 2000;

 private:
  struct Caller {
    hlo::ComputationId computation;
    hlo::InstructionId instruction;
    size_t number;  // of the called computation among those of the instruction
  };

  void add_next(const Source& at, Loops loops, const Through& through,
                std::vector<Source>& next) const;
  void add_callers(const Source& parameter, Loops loops, std::vector<Source>& next) const;

  const hlo::Module& module_;
  std::vector<std::vector<Caller>> callers_;  // by computation
};

}  // namespace heddle::pjrt
