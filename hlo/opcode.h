// Opcodes and the facts about them that need no definition. The list is hlo/opcodes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::hlo {

enum class Opcode : uint8_t {
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) enumerator,
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
};

// Bits of opcodes.def.
enum Trait : uint32_t {
  kElementwise = 1,  // element i of the result depends on element i of the operands alone
  kCommutative = 2,  // operands 0 and 1 may be swapped
  kLinear = 4,       // linear in every operand
  // the operands alone do not tell the result type: text and builders must give it
  kDeclared = 8,
  kSideEffect = 16,  // must run even where the result is unused
  kMoves = 32,       // it computes nothing: it says where elements come from
};

inline constexpr int kVariadic = -1;

inline constexpr int kOpcodeCount = 0
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) +1
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
    ;

// Returns the name in HLO text: "dynamic-update-slice".
std::string_view to_string(Opcode opcode);

// Returns the opcode with this name, if there is one.
std::optional<Opcode> parse_opcode(std::string_view text);

// Number of operands and of called computations; kVariadic where it varies.
int operand_count(Opcode opcode);
int called_count(Opcode opcode);

bool has_trait(Opcode opcode, Trait trait);

}  // namespace heddle::hlo
