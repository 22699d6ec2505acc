// What stands in an instruction's parentheses: names, with or without types; nested instructions; a
// parameter's number; a literal.
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/parser.h"
#include "heddle/hlo/text/internal/shapes.h"

namespace heddle::hlo::text {

bool Parser::read_operands(Scope& scope, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (!in_.expect('(')) return false;
  if (instruction.opcode == Opcode::kParameter) {
    ParameterAttrs attrs;
    if (!in_.read_int(attrs.number)) return false;
    instruction.attrs = attrs;
    return in_.expect(')');
  }
  if (instruction.opcode == Opcode::kConstant) {
    if (!draft.has_shape)
      return in_.fail_at(draft.at, base::invalid_argument(
                                       "constant: has no result type; write it before the opcode"));
    ConstantAttrs attrs;
    if (!read_literal(in_, instruction.shape, attrs.literal)) return false;
    instruction.attrs = std::move(attrs);
    return in_.expect(')');
  }
  return read_items(in_, ')', [&] {
    InstructionId id;  // first read, then appended: reading may append to the scope
    if (!read_operand(scope, id)) return false;
    instruction.operands.push_back(id);
    return true;
  });
}

bool Parser::read_operand(Scope& scope, InstructionId& id) {
  Shape declared;
  bool has_shape = at_shape(in_);
  if (has_shape && !read_shape(in_, declared)) return false;
  if (in_.peek() != '%') {
    size_t start = in_.position();
    std::string_view opcode = in_.word();
    bool nested = !opcode.empty() && in_.peek() == '(';
    in_.rewind(start);
    if (nested) return read_nested(scope, has_shape ? &declared : nullptr, opcode, id);
  }
  return read_named_operand(scope, has_shape ? &declared : nullptr, id);
}

bool Parser::read_named_operand(Scope& scope, const Shape* declared, InstructionId& id) {
  size_t at = in_.position();
  std::string_view name;
  if (!read_name(name)) return false;
  const uint32_t* found = scope.ids.find(name);
  if (found == nullptr) {
    if (scope.operands_declare && declared != nullptr)
      return declare_parameter(scope, name, *declared, id);
    return in_.fail_at(
        at, base::invalid_argument("operand ", name,
                                   " is not defined in this computation before its use here"));
  }
  id = InstructionId(*found);
  if (declared == nullptr || same_type(*declared, scope.computation.at(id).shape)) return true;
  return in_.fail_at(at, base::invalid_argument("operand ", name, " is written as ",
                                                to_string(*declared), "; it was defined as ",
                                                to_string(scope.computation.at(id).shape)));
}

// An instruction in place of an operand. It has no attributes, and a name made from its opcode.
bool Parser::read_nested(Scope& scope, Shape* declared, std::string_view opcode,
                         InstructionId& id) {
  if (!enter()) return false;
  Draft draft;
  if (declared != nullptr) {
    draft.instruction.shape = std::move(*declared);
    draft.has_shape = true;
  }
  if (!read_opcode(draft) || !read_operands(scope, draft) ||
      !read_attrs(scope, draft, /*with_attributes=*/false))
    return false;
  --depth_;
  return append(scope, draft, anonymous_name(scope, opcode), id);
}

// Nobody can refer to it: it stays out of the scope's names.
std::string_view Parser::anonymous_name(Scope& scope, std::string_view opcode) {
  std::string_view name;
  do {
    int64_t count = scope.anonymous[opcode]++;
    name = made_names_.emplace_back(count == 0 ? base::cat(opcode, ".anon")
                                               : base::cat(opcode, ".anon.", count));
  } while (scope.ids.contains(name));
  return name;
}

bool Parser::declare_parameter(Scope& scope, std::string_view name, const Shape& shape,
                               InstructionId& id) {
  Draft draft;
  draft.at = in_.position();
  draft.instruction.opcode = Opcode::kParameter;
  draft.instruction.shape = shape;
  draft.instruction.attrs = ParameterAttrs{.number = static_cast<int64_t>(scope.parameters.size())};
  draft.has_shape = true;
  return append(scope, draft, name, id) && scope.ids.insert(name, id.value);
}

}  // namespace heddle::hlo::text
