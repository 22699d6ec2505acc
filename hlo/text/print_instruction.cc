// One line: `  ROOT %name = shape opcode(operands), attributes`.
#include "heddle/hlo/text/internal/called.h"
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/shapes.h"
#include "heddle/hlo/text/internal/writer.h"

namespace heddle::hlo::text {

void Writer::name_instructions(const Computation& computation) {
  instructions_ = Names(!is_long());
  if (is_canonical()) return instructions_.number("tmp_", computation.instructions.size());
  for (const Instruction& instruction : computation.instructions)
    instructions_.add(instruction.name);
  for (size_t i = 0; i < instructions_.size(); ++i) {
    if (!instructions_.is_missing(i)) continue;
    const Instruction& instruction = computation.instructions[i];
    instructions_.make(i, instruction.name.empty()
                              ? base::cat(to_string(instruction.opcode), ".", i)
                              : instruction.name);
  }
}

void Writer::write_instruction(const Computation& computation, InstructionId id) {
  const Instruction& instruction = computation.at(id);
  out_.append(id == computation.root ? "  ROOT " : "  ");
  write_name(id);
  out_.append(" = ");
  write_shape(out_, instruction.shape, shows_layout(instruction.shape));
  base::append(out_, " ", to_string(instruction.opcode), "(");
  write_operands(computation, instruction);
  out_.push_back(')');
  bool called_first = instruction.opcode == Opcode::kCall;  // is_composite stands behind to_apply
  if (called_first) write_called(computation, instruction);
  visit_attrs(instruction.opcode, instruction.attrs, [&](const auto& attrs) {
    write_fields(kFieldTexts<std::remove_cvref_t<decltype(attrs)>>, &attrs);
  });
  if (!called_first) write_called(computation, instruction);
  if (instruction.extras.has_value()) write_extras(instruction);
  if (has_metadata()) write_metadata(instruction);
  if (!instruction.extras->backend_config.empty()) {
    out_.append(", backend_config=");
    write_raw_or_quoted(out_, instruction.extras->backend_config);
  }
  if (options_.line_comments) write_line_comment(instruction);
  out_.push_back('\n');
}

void Writer::write_operands(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode == Opcode::kParameter) {
    base::append(out_, instruction.attrs.get<ParameterAttrs>().number);
  } else if (instruction.opcode == Opcode::kConstant) {
    write_literal(out_, instruction.attrs.get<ConstantAttrs>().literal,
                  options_.max_constant_elements);
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    write_separator(out_, i, /*index_comments=*/is_long());
    if (options_.operand_types) {
      write_shape(out_, computation.at(instruction.operands[i]).shape, /*layouts=*/true);
      out_.push_back(' ');
    }
    write_name(instruction.operands[i]);
  }
}

void Writer::write_fields(std::span<const FieldText> fields, const void* attrs) {
  for (const FieldText& field : fields) {
    if (field.presence == Presence::kNever) continue;
    if (field.presence == Presence::kUnlessUsual && field.is_usual(attrs)) continue;
    base::append(out_, ", ", field.name, "=");
    field.write(out_, attrs);
  }
}

void Writer::write_called(const Computation& computation, const Instruction& instruction) {
  if (instruction.called.empty()) return;
  bool predicate = !instruction.operands.empty() &&
                   computation.at(instruction.operands[0]).shape.dtype() == pred;
  CalledKeys called = called_keys(instruction.opcode, predicate);
  if (!called.list.empty()) return write_called_list(called.list, instruction.called);
  for (const CalledKey& key : called.keys) {
    if (key.slot >= instruction.called.size()) continue;
    base::append(out_, ", ", key.name, "=");
    write_name(instruction.called[key.slot]);
  }
}

void Writer::write_called_list(std::string_view key, const std::vector<ComputationId>& called) {
  base::append(out_, ", ", key, "={");
  for (size_t i = 0; i < called.size(); ++i) {
    if (i > 0) out_.append(", ");
    write_name(called[i]);
  }
  out_.push_back('}');
}

void Writer::write_text(std::string_view key, const std::string& value) {
  if (!value.empty()) base::append(out_, ", ", key, "=", value);
}

void Writer::write_extras(const Instruction& instruction) {
  const InstructionExtras& extras = *instruction.extras;
  if (!extras.parameter_replication.empty()) {
    out_.append(", parameter_replication=");
    Codec<std::vector<bool>>::write(out_, extras.parameter_replication);
  }
  if (extras.sharding.has_value()) {
    out_.append(", sharding=");
    Codec<Sharding>::write(out_, *extras.sharding);
  }
  if (!extras.frontend_attributes.empty()) {
    out_.append(", frontend_attributes=");
    Codec<FrontendAttributes>::write(out_, extras.frontend_attributes);
  }
  if (!extras.control_predecessors.empty()) {
    out_.append(", control-predecessors={");
    for (size_t i = 0; i < extras.control_predecessors.size(); ++i) {
      if (i > 0) out_.append(", ");
      write_name(extras.control_predecessors[i]);
    }
    out_.push_back('}');
  }
  write_text("statistics", extras.statistics);
  write_text("result_accuracy", extras.result_accuracy);
  if (!is_canonical()) write_text("origin", extras.origin);
}

// An instruction that was traced has no metadata, but the user's line.
void Writer::write_metadata(const Instruction& instruction) {
  static const Metadata kNone;
  const Metadata& own = instruction.extras->metadata;
  bool has_own = instruction.extras.has_value() && own != kNone;
  if (!has_own && !instruction.at.known()) return;
  out_.append(", metadata=");
  Codec<Metadata>::write(out_, has_own ? own
                                       : Metadata{.source_file = instruction.at.file,
                                                  .source_line = instruction.at.line});
}

void Writer::write_line_comment(const Instruction& instruction) {
  const Metadata& own = instruction.extras->metadata;
  const bool has_own = instruction.extras.has_value() && own.source_line != 0;
  if (!has_own && !instruction.at.known()) return;
  std::string file = has_own ? own.source_file : instruction.at.file;
  file.erase(0, file.rfind('/') + 1);
  std::erase_if(file, [](char c) { return c == '\n' || c == '\r'; });
  base::append(out_, "  // ", file, ":", has_own ? own.source_line : int64_t{instruction.at.line});
}

}  // namespace heddle::hlo::text
