#include "heddle/hlo/opcode.h"

#include <array>
#include <unordered_map>

namespace heddle::hlo {
namespace {

struct OpcodeRow {
  std::string_view text;
  int operands;
  int called;
  uint32_t traits;
};

constexpr OpcodeRow kOpcodeRows[] = {
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) \
  {text, operands, called, traits},
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
};

const OpcodeRow& row_of(Opcode opcode) { return kOpcodeRows[static_cast<size_t>(opcode)]; }

}  // namespace

std::string_view to_string(Opcode opcode) { return row_of(opcode).text; }
int operand_count(Opcode opcode) { return row_of(opcode).operands; }
int called_count(Opcode opcode) { return row_of(opcode).called; }
bool has_trait(Opcode opcode, Trait trait) { return (row_of(opcode).traits & trait) != 0; }

std::optional<Opcode> parse_opcode(std::string_view text) {
  static const auto* const kByText = [] {
    auto* map = new std::unordered_map<std::string_view, Opcode>();
    for (int i = 0; i < kOpcodeCount; ++i)
      map->emplace(kOpcodeRows[i].text, static_cast<Opcode>(i));
    return map;
  }();
  auto found = kByText->find(text);
  if (found == kByText->end()) return std::nullopt;
  return found->second;
}

}  // namespace heddle::hlo
