// What a program does with rows: whether row i of what it gives follows from row i of what it
// takes, so that rows which were added behind the others change nothing. Told from two traces of
// one function, for two numbers of rows.
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

// The first place where rows come together, or where the program depends on how many there are:
// "reduce f32[] at loss.cc:12 goes over the rows". "" where there is none. Errs to the safe side:
// an operation that it does not know mixes rows.
std::string mixed_rows(const TwoTraces& traces);
// The same of a program that is told how many rows are the caller's, by its last argument, and may
// mix what follows from that: the first place that does not, where rows come together all the same.
std::string unmasked_rows(const TwoTraces& traces);

enum class RowsOf : uint8_t {
  kNone,     // its type does not follow the rows
  kLeading,  // axis 0 are the rows, and no other size follows them
  kOther,
};
RowsOf rows_of(const Shape& shape, const Shape& other, const TwoTraces& traces);

}  // namespace heddle::compile_internal
