// What pictures of a module write into their boxes (dot.h, html.h). As it is: who draws escapes it.
#pragma once

#include <string>
#include <string_view>

#include "heddle/hlo/module.h"
#include "heddle/hlo/text/pictures/dot.h"

namespace heddle::hlo {

// "tanh.3", also where it has no name.
std::string label_of(const Instruction& instruction, size_t number);
std::string label_of(const Computation& computation, size_t number);

// "reduce\ndimensions={0}", or "constant 1.5": a line for each attribute that is not the usual.
std::string what_it_does(const Instruction& instruction, const DotOptions& options);

// What the callee in a slot is for: "body", "to_apply", "branch_computations".
std::string_view role_of(const Computation& computation, const Instruction& instruction,
                         size_t slot);

}  // namespace heddle::hlo
