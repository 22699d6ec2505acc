// Prints modules: hlo/text/print.cc has the module and its header, hlo/text/print_instruction.cc
// the lines.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heddle/hlo/module.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/text/internal/fields.h"
#include "heddle/hlo/text/internal/names.h"

namespace heddle::hlo::text {

class Writer {
 public:
  Writer(const Module& module, const PrintOptions& options);

  void write_module();
  void write_computation(ComputationId id);
  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  using Form = PrintOptions::Form;

  void write_header();
  void write_header_extras(const ModuleExtras& extras);
  void write_entry_layout(const ModuleExtras& extras);
  void write_signature(const Computation& computation);

  void name_instructions(const Computation& computation);
  void write_instruction(const Computation& computation, InstructionId id);
  void write_operands(const Computation& computation, const Instruction& instruction);
  void write_fields(std::span<const FieldText> fields, const void* attrs);
  void write_called(const Computation& computation, const Instruction& instruction);
  void write_called_list(std::string_view key, const std::vector<ComputationId>& called);
  void write_extras(const Instruction& instruction);
  void write_metadata(const Instruction& instruction);
  void write_line_comment(const Instruction& instruction);
  void write_text(std::string_view key, const std::string& value);

  void write_name(std::string_view name) { base::append(out_, is_long() ? "%" : "", name); }
  void write_name(ComputationId id) { write_name(computations_.name(id.value)); }
  void write_name(InstructionId id) { write_name(instructions_.name(id.value)); }

  [[nodiscard]] bool is_long() const { return options_.form == Form::kLong; }
  [[nodiscard]] bool is_canonical() const { return options_.form == Form::kCanonical; }
  // Row-major layouts say nothing to people.
  [[nodiscard]] bool shows_layout(const Shape& shape) const;
  [[nodiscard]] bool has_metadata() const {
    return options_.metadata && !options_.line_comments && !is_canonical();
  }

  const Module& module_;
  const PrintOptions& options_;
  Names computations_;
  Names instructions_;  // of the computation that is being written
  std::string out_;
};

}  // namespace heddle::hlo::text
