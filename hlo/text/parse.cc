// The module as a whole: `HloModule name, ..`, computations; or computations alone; or one
// instruction alone.
#include "heddle/hlo/text.h"
#include "heddle/hlo/text/internal/elements.h"
#include "heddle/hlo/text/internal/parser.h"
#include "heddle/hlo/text/internal/shapes.h"
#include "heddle/hlo/verify.h"

namespace heddle::hlo {
namespace text {

StatusOr<Module> Parser::run() {
  if (!read_module() || !check_entry_layout()) return in_.status();
  if (header_ != ModuleExtras{}) module_.extras = base::Box<ModuleExtras>(std::move(header_));
  HEDDLE_RETURN_IF_ERROR(check_aliases(module_));  // all else was checked line by line
  return std::move(module_);
}

bool Parser::read_module() {
  bool has_header = in_.accept_word("HloModule");
  if (has_header && !read_header()) return false;
  if (!has_header && at_bare_instruction()) return read_bare_instruction();
  do {
    if (!read_computation()) return false;
  } while (!in_.at_end());
  if (in_.failed()) return false;
  if (!module_.entry.valid()) module_.entry = ComputationId(module_.computations.size() - 1);
  if (!has_header) module_.name = module_.entry_computation().name;
  return true;
}

// A computation starts with ENTRY, or with a name and then '{' or a signature: `(name:` or `() ->`.
bool Parser::at_bare_instruction() {
  size_t start = in_.position();
  bool bare = false;
  if (!in_.accept_word("ENTRY")) {
    in_.accept('%');
    bare = in_.word().empty() || in_.peek() != '{';
    if (in_.accept('(')) {
      in_.accept('%');
      bool names_parameter = !in_.word().empty() && in_.accept(':');
      bare = !names_parameter && !(in_.accept(')') && in_.accept("->"));
    }
  }
  in_.rewind(start);
  return bare && !in_.at_end();
}

// Its operands carry their types and become the parameters.
bool Parser::read_bare_instruction() {
  size_t start = in_.position();
  Scope scope;
  scope.operands_declare = true;
  in_.accept_word("ROOT");
  std::string_view name;
  size_t before_name = in_.position();
  in_.accept('%');
  name = in_.word();
  if (name.empty() || !in_.accept('=')) {
    name = {};
    in_.rewind(before_name);
  }
  InstructionId root;
  if (!read_instruction(scope, name, /*with_attributes=*/true, root)) return false;
  if (!in_.at_end()) return in_.fail_expected("nothing after a single instruction");
  scope.computation.name = module_.name;
  scope.computation.root = root;
  return finish(scope, start, module_.entry);
}

// The layout may order dimensions as it likes; types and sizes are the entry's. What says nothing
// new is dropped.
bool Parser::check_entry_layout() {
  if (!layout_at_) return true;
  const Computation& entry = module_.entry_computation();
  std::vector<Shape>& layouts = header_.entry_parameter_layouts;
  if (layouts.size() != entry.parameter_count()) {
    return in_.fail_at(*layout_at_, base::invalid_argument(
                                        "entry_computation_layout has ", layouts.size(),
                                        " parameters; the entry has ", entry.parameter_count()));
  }
  bool news = header_.entry_result_layout != entry.result_shape();
  for (size_t i = 0; i < layouts.size(); ++i) {
    news |= layouts[i] != entry.parameter_shape(i);
    if (same_type(layouts[i], entry.parameter_shape(i))) continue;
    return in_.fail_at(
        *layout_at_, base::invalid_argument("entry_computation_layout has ", to_string(layouts[i]),
                                            " for parameter ", i, "; the entry has ",
                                            to_string(entry.parameter_shape(i))));
  }
  if (!same_type(header_.entry_result_layout, entry.result_shape())) {
    return in_.fail_at(
        *layout_at_, base::invalid_argument("entry_computation_layout has the result ",
                                            to_string(header_.entry_result_layout),
                                            "; the entry's is ", to_string(entry.result_shape())));
  }
  if (news) return true;
  layouts.clear();
  header_.entry_result_layout = Shape();
  return true;
}

bool Parser::enter() {
  if (++depth_ <= limits_.depth) return true;
  return in_.fail_at(
      in_.position(),
      base::resource_exhausted("operands and computations nest deeper than ", limits_.depth));
}

}  // namespace text

StatusOr<Module> parse_text(std::string_view text) { return text::Parser(text).run(); }

StatusOr<Shape> parse_shape(std::string_view text) {
  TextCursor in(text);
  Shape shape;
  if (text::read_shape(in, shape) && !in.at_end()) in.fail_expected("the end");
  if (in.failed()) return in.status();
  return shape;
}

StatusOr<Literal> parse_literal(std::string_view text, const Shape& shape) {
  HEDDLE_RETURN_IF_ERROR(check_shape(shape));
  TextCursor in(text);
  Literal literal;
  if (text::read_literal(in, shape, literal) && !in.at_end()) in.fail_expected("the end");
  if (in.failed()) return in.status();
  return literal;
}

}  // namespace heddle::hlo
