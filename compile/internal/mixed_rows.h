// What a program does with rows: whether row i of its results follows from row i of its arguments,
// so that rows added behind the others change nothing. Two traces of one function, for two numbers
// of rows, tell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::compile_internal {

// One function, traced for `rows` and for `other_rows` rows.
struct TwoTraces {
  const hlo::Module& module;
  const hlo::Module& other;
  int64_t rows;
  int64_t other_rows;
};

// The first place where rows come together, or where the program depends on their number: "reduce
// f32[] at loss.cc:12 goes over the rows". "" if there is none. It errs on the safe side: an
// unknown operation mixes rows.
std::string mixed_rows(const TwoTraces& traces);
// The same for a program whose last argument is the number of the caller's rows. It may mix rows in
// values that follow from that number. Gives the first place where rows come together in other
// values.
std::string unmasked_rows(const TwoTraces& traces);

// Whether the op has a rule of its own here, as hlo::Rows::kByRule says of it.
bool has_rule_of_rows(hlo::Opcode opcode);

enum class RowsOf : uint8_t {
  kNone,     // its type does not follow the rows
  kLeading,  // axis 0 are the rows, and no other size follows them
  kOther,
};
RowsOf rows_of(const Shape& shape, const Shape& other, const TwoTraces& traces);

}  // namespace heddle::compile_internal
