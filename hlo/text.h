// HLO text, as XLA prints and parses it (grammar: docs/hlo_text.md).
#pragma once

#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

struct PrintOptions {
  enum class Form : uint8_t {
    kLong,       // % names, operand types, computation signatures, layouts: XLA's default
    kShort,      // names bare, no operand types: parses back
    kCanonical,  // names replaced by number, no metadata: for comparing
  };
  Form form = Form::kLong;
  bool metadata = true;
  // Constants of more elements are printed as {...}, which cannot be run; -1: all in full.
  int64_t max_constant_elements = -1;
};

// Returns the module as text. parse_text() of it gives an equal module, in the forms kLong and kShort.
std::string print(const Module& module, const PrintOptions& options = {});
// Returns one computation of the module as text.
std::string print(const Module& module, ComputationId id, const PrintOptions& options = {});

// Reads a module (or a single computation, which becomes its entry) and verifies it. Text is hostile input.
// errors: InvalidArgument with line:column, the line and a caret; ResourceExhausted past a limit
StatusOr<Module> parse_text(std::string_view text);

// Reads "f32[2,3]{1,0}"; and prints it, layouts included.
StatusOr<Shape> parse_shape(std::string_view text);
std::string print_shape(const Shape& shape);

// Literals alone: "{1, 2, 3}" of the given type.
StatusOr<Literal> parse_literal(std::string_view text, const Shape& shape);
std::string print_literal(const Literal& literal, int64_t max_elements = -1);

}  // namespace heddle::hlo
