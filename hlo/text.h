// HLO text, as XLA prints and parses it (grammar: docs/hlo_text.md).
#pragma once

#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

struct PrintOptions {
  enum class Form : uint8_t {
    kLong,       // % names, computation signatures: XLA's default
    kShort,      // bare names, no signatures: XLA's short form
    kCanonical,  // names replaced by numbers, no metadata: for comparing
  };
  Form form = Form::kLong;
  bool metadata = true;
  // For people: the user's file, without its folders, and line as a comment, `// train.cc:41`, no
  // other metadata, and no layouts that are row-major.
  bool line_comments = false;
  bool operand_types = false;  // f32[2]{0} %x for %x, as older XLAs print
  // Constants of more elements are printed as {...}, which cannot be run; -1: all in full.
  int64_t max_constant_elements = -1;
};

// Returns the module as text. parse_text() of it gives an equal module, in every form; with the
// names, metadata and header that it had, in the forms kLong and kShort. Names that text cannot
// carry are changed, missing ones made.
std::string print(const Module& module, const PrintOptions& options = {});
// Returns one computation of the module as text.
std::string print(const Module& module, ComputationId id, const PrintOptions& options = {});

// Reads a module (or a single computation, which becomes its entry) and verifies it. Text is
// hostile input.
// errors: InvalidArgument with line:column, the line and a caret; ResourceExhausted past a limit
StatusOr<Module> parse_text(std::string_view text);

// Reads "f32[2,3]{1,0}"; and prints it, layouts included.
StatusOr<Shape> parse_shape(std::string_view text);
std::string print_shape(const Shape& shape);

// Literals alone: "{1, 2, 3}" of the given type.
StatusOr<Literal> parse_literal(std::string_view text, const Shape& shape);
std::string print_literal(const Literal& literal, int64_t max_elements = -1);

}  // namespace heddle::hlo
