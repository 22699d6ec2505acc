// One spelling for attributes that text and protos spell in several ways, so that equal
// instructions are equal structs.
#pragma once

#include <span>

#include "heddle/hlo/attrs.h"
#include "heddle/hlo/opcode.h"
#include "heddle/hlo/shape.h"

namespace heddle::hlo {

// Returns the attributes as readers and builders keep them:
//   compare: type is kDefault where it says what the operands' type says anyway
//   operand_precision: empty where every entry is the default
//   map: dimensions are 0 .. rank-1 where none were given
// Attributes of a struct that the opcode does not have, or operands that are missing, are left to
// the verifier.
Attrs normal_form(Opcode opcode, std::span<const Shape* const> operands, Attrs attrs);

}  // namespace heddle::hlo
