// How tensors are printed: std::cout << x shows the value, in the words of numpy 2.
//
//   std::cout << x << "\n";                                // [[1.   2.5 ]\n [3.   0.25]]
//   std::string text = array_to_string(x, {.precision = 3});
//   std::cout << to_string(x);                              // ready f32[2,2]: no byte moves
#pragma once

#include <string>

#include "heddle/base/source_location.h"
#include "heddle/hlo/literal/literal_text.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// The value as numpy's str() prints it: nested brackets, columns of one width, the fewest digits
// that tell each element from its neighbours in its dtype, True and False. Of what numpy has not,
// bf16 is printed likewise, and floats of 8 bits and fewer as the f32 of their value. A traced
// tensor, a placeholder, one that was donated and one without a value have no value, and give
// to_string(x).
//
// errors   Error: InvalidArgument for options below 0; FailedPrecondition under a TransferGuard;
//          that of the run that should have made x
// cost     waits for x; a download of all its bytes, counted, also where it is shortened
std::string array_to_string(const Tensor& x, const PrintOptions& options = {},
                            SourceLocation at = SourceLocation::here());

// The same of a literal, on the host; a tuple's elements stand in lines of their own.
// errors   Error: InvalidArgument for options below 0
std::string array_to_string(const Literal& literal, const PrintOptions& options = {},
                            SourceLocation at = SourceLocation::here());

}  // namespace heddle
