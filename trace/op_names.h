// What users call the ops, and their shape rules' errors in those words. Private to Heddle.
#pragma once

#include <span>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/opcode.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// The function that records the op: "exp" for exponential, "concat" for concatenate, "shift_left"
// for shift-left.
std::string_view user_name(hlo::Opcode opcode);

// A shape rule's error with the name of the function that the user called in front, and the cast
// that mends an operand's dtype behind.
Status in_user_words(const Status& status, hlo::Opcode opcode, std::span<const Tensor> operands);

// The name of a user's Function as one of HLO: letters, digits, '_', '-' and '.' stay, and anything
// else becomes '_'.
std::string name_in_hlo(std::string_view name);

// What errors call a program: "program step"; "the program" where the function has no name, and
// HLO calls it main.
std::string program_named(std::string_view name);

}  // namespace heddle::trace_internal
