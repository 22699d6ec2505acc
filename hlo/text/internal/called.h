// How instructions name the computations that they call.
#pragma once

#include <span>
#include <string_view>

#include "heddle/hlo/opcode.h"

namespace heddle::hlo::text {

struct CalledKey {
  std::string_view name;  // body=
  size_t slot = 0;        // index in Instruction::called
};

// Either a key for each called computation, in printed order, or one key for a list of any length:
// branch_computations={a, b}.
struct CalledKeys {
  std::span<const CalledKey> keys;
  std::string_view list;
};

// `predicate`: operand 0 is a pred, as a conditional's index may be.
CalledKeys called_keys(Opcode opcode, bool predicate);

}  // namespace heddle::hlo::text
