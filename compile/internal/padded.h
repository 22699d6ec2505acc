// A function traced for a bucket: on padded arguments and the number of rows that are the caller's.
#pragma once

#include <string>
#include <vector>

#include "heddle/compile/graphs.h"

namespace heddle::compile_internal {

// The program of a call as it is, or of the padded one where it has rows.
Program trace_once(const Call& call, const std::string& name);

struct PaddedProgram {
  Program program;
  std::vector<bool> cut;  // results that have rows
};
// Traces it for the bucket of the call and for another one, whose difference tells what follows the
// rows.
//
// errors   Error of the traces; where rows are mixed and the function does not ask which are the
//          caller's; where a result follows the rows otherwise than in axis 0
PaddedProgram trace_padded(const Call& call, const Buckets& buckets, const std::string& name,
                           const std::string& label);

// Where results differ by more than rounding: "result[0] at 3 is 0.25, and 0.36 without padding".
// "" where they do not. Reads both.
std::string padding_shows(const Signature& signature, const std::vector<Tensor>& padded,
                          const std::vector<Tensor>& without);

}  // namespace heddle::compile_internal
