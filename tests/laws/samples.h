// Samples: for every opcode small programs of that one op, with arguments to run them on. What a
// law claims of all ops is tested on these: every element type that the op takes, rank 0, no
// elements, one and several dimensions, NaN, infinities and -0.
//
// The table (sample_table.cc) is in HLO's words: "add($t[$d], $t[$d]) -> $t[$d]" stands for one
// program a type and size.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::laws {

// One line of the table. In `line`: $t an element type of `types`, $s any element type, $d the
// sizes "", "0", "3,2" and "300", and $n the list of its dimensions; of $t also $p the real part,
// $c the complex type with such parts, $u the unsigned type as wide. Words before "(" that "|"
// parts are several ops. An operand's type may be followed by ~small (whole numbers -2 .. 3) or a
// digit: ~1.
struct Row {
  // Words: an element type, or pred int signed unsigned float complex all. A last word "+": the
  // shape rule takes more types than are sampled. Without it, a type that is not listed must be
  // refused.
  std::string_view types;
  std::string_view line;
};
std::span<const Row> rows();

// Ops without samples, and why.
struct Unsampled {
  hlo::Opcode opcode;
  std::string_view reason;
};
std::span<const Unsampled> unsampled();

// A computation that lines call.
struct Called {
  std::string_view name;
  std::string_view parameters;  // types, parted by spaces, of p0, p1, ..; $t as in the line
  std::string_view body;        // the other instructions
};
std::span<const Called> called_by_rows();

struct Sample {
  std::string line;    // with all types and sizes
  const Row* row;      // that it is of
  DType type;          // for $t
  hlo::Module module;  // the entry's root is the op
  std::vector<Literal> arguments;
};

// The samples of an op: made once, the same in every run. Throws where a line does not verify.
const std::vector<Sample>& samples_of(hlo::Opcode opcode);

// Lines that the op's shape rule must refuse: those with an element type that the table does not
// list.
struct Refused {
  std::string line;
  std::string text;  // of the module
};
std::vector<Refused> refused_of(hlo::Opcode opcode);

// The opcodes in the order of opcodes.def.
std::vector<hlo::Opcode> every_opcode();

// Names the tests of a suite that has one an opcode.
struct OpName {
  template <class Info>
  std::string operator()(const Info& info) const {
    std::string name(to_string(info.param));
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

}  // namespace heddle::laws
