// A function traced for a bucket: on padded arguments and the number of rows that are the caller's.
#pragma once

#include <string>
#include <vector>

#include "heddle/compile/graphs.h"

namespace heddle::compile_internal {

// The program of a call, or of the padded call if it has rows.
Program trace_once(const Call& call, const std::string& name);

struct PaddedProgram {
  Program program;
  std::vector<bool> cut;  // results that have rows
};
// Traces it for the bucket of the call and for another one. Their difference tells what follows the
// rows.
//
// errors   Error of the traces; if rows are mixed and the function does not ask which are the
//          caller's; if a result follows the rows in another way than in axis 0
PaddedProgram trace_padded(const Call& call, const Buckets& buckets, const std::string& name,
                           const std::string& label);

// The place where results differ by more than rounding: "result[0] at 3 is 0.25, and 0.36 without
// padding". "" if they do not differ. Reads both.
std::string padding_shows(const Signature& signature, const std::vector<Tensor>& padded,
                          const std::vector<Tensor>& without);

}  // namespace heddle::compile_internal
