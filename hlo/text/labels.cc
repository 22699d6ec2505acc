#include "heddle/hlo/text/internal/labels.h"

#include "heddle/hlo/text/internal/called.h"
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/fields.h"

namespace heddle::hlo {
namespace {

void write_fields(std::string& out, std::span<const text::FieldText> fields, const void* attrs,
                  size_t max_length) {
  for (const text::FieldText& field : fields) {
    if (field.presence == text::Presence::kNever) continue;
    if (field.presence == text::Presence::kUnlessUsual && field.is_usual(attrs)) continue;
    std::string value;
    field.write(value, attrs);
    if (value.size() > max_length) value.replace(max_length, std::string::npos, "..");
    base::append(out, "\n", field.name, "=", value);
  }
}

}  // namespace

std::string label_of(const Instruction& instruction, size_t number) {
  return instruction.name.empty() ? base::cat(to_string(instruction.opcode), ".", number)
                                  : instruction.name;
}

std::string label_of(const Computation& computation, size_t number) {
  return computation.name.empty() ? base::cat("computation.", number) : computation.name;
}

std::string what_it_does(const Instruction& instruction, const DotOptions& options) {
  std::string out(to_string(instruction.opcode));
  if (instruction.opcode == Opcode::kParameter) {
    base::append(out, " ", instruction.attrs.get<ParameterAttrs>().number);
  } else if (instruction.opcode == Opcode::kConstant) {
    out.push_back(' ');
    text::write_literal(out, instruction.attrs.get<ConstantAttrs>().literal,
                        options.max_constant_elements);
  }
  visit_attrs(instruction.opcode, instruction.attrs, [&](const auto& attrs) {
    write_fields(out, text::kFieldTexts<std::remove_cvref_t<decltype(attrs)>>, &attrs,
                 options.max_attribute_length);
  });
  return out;
}

std::string_view role_of(const Computation& computation, const Instruction& instruction,
                         size_t slot) {
  const bool predicate = !instruction.operands.empty() &&
                         computation.at(instruction.operands[0]).shape.dtype() == pred;
  const text::CalledKeys keys = text::called_keys(instruction.opcode, predicate);
  for (const text::CalledKey& key : keys.keys) {
    if (key.slot == slot) return key.name;
  }
  return keys.list;
}

}  // namespace heddle::hlo
