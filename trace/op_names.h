// What users call the ops and programs. Private to Heddle.
#pragma once

#include <string>
#include <string_view>

#include "heddle/hlo/opcode.h"

namespace heddle::trace_internal {

// The function that records the op: "exp" for exponential, "concat" for concatenate, "shift_left"
// for shift-left.
std::string_view user_name(hlo::Opcode opcode);

// The name of a user's Function as one of HLO: letters, digits, '_', '-' and '.' stay, and anything
// else becomes '_'.
std::string name_in_hlo(std::string_view name);

// What errors call a program: "program step"; "the program" where the function has no name, and
// HLO calls it main.
std::string program_named(std::string_view name);

}  // namespace heddle::trace_internal
