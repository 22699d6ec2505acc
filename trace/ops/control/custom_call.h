// custom_call: a function outside of HLO, known by its name, as an operation of the trace.
//
//   // Its meaning here: heddle/interpreter/custom_call.h.
//   interpreter::register_custom_call("doubled", doubled);
//   Tensor y = custom_call("doubled", {x}, {x.shape()})[0];
#pragma once

#include <string>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/trace/tensor.h"

namespace heddle {

struct CustomCallOptions {
  // What the function is told besides its operands: any text, or where `typed` the attributes of a
  // typed call: {name = 3 : i64, ..}.
  std::string backend_config = {};
  // Kept, and kept in order, though nobody reads its results.
  base::Flag has_side_effect = false;
  // Called as XLA's typed foreign functions are (API_VERSION_TYPED_FFI).
  base::Flag typed = false;
};

// One tensor for each shape of `results`, in order, of that shape. Whether target takes the
// operands shows when the program runs; a target that nobody registered is an error then. errors:
// Error (InvalidArgument) for an empty target
std::vector<Tensor> custom_call(const std::string& target, const std::vector<Tensor>& operands,
                                const std::vector<Shape>& results,
                                const CustomCallOptions& options = {},
                                SourceLocation at = SourceLocation::here());

}  // namespace heddle
