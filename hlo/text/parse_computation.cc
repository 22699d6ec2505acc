// [ENTRY] %name [(p: shape, ..) -> shape] { lines }[, execution_thread="t"]
#include "heddle/hlo/text/internal/parser.h"
#include "heddle/hlo/text/internal/shapes.h"

namespace heddle::hlo::text {

bool Parser::read_name(std::string_view& name) {
  in_.accept('%');
  name = in_.word();
  return !name.empty() || in_.fail_expected("a name");
}

bool Parser::read_computation() {
  size_t at = in_.position();
  bool is_entry = in_.accept_word("ENTRY");
  if (is_entry && module_.entry.valid())
    return in_.fail_at(at, base::invalid_argument("a second computation is marked ENTRY"));
  at = in_.position();
  std::string_view name;
  std::optional<Shape> result;
  if (!read_name(name) || (in_.peek() == '(' && !read_signature(result))) return false;
  Scope scope;
  scope.computation.name = name;
  if (!read_body(scope)) return false;
  if (result && !same_type(*result, scope.computation.result_shape())) {
    return in_.fail_at(at, base::invalid_argument("the signature's result is ", to_string(*result),
                                                  "; the root's type is ",
                                                  to_string(scope.computation.result_shape())));
  }
  if (in_.accept(',')) {
    if (!in_.accept_word("execution_thread")) return in_.fail_expected("execution_thread=");
    if (!in_.expect('=') || !in_.read_string(scope.computation.execution_thread)) return false;
    if (scope.computation.execution_thread == "main") scope.computation.execution_thread.clear();
  }
  ComputationId id;
  if (!finish(scope, at, id)) return false;
  if (is_entry) module_.entry = id;
  return computations_.emplace(name, id).second ||
         in_.fail_at(at,
                     base::invalid_argument("a computation named ", name, " was defined before"));
}

// Of the parameters the lines tell more, so only the result is looked at.
bool Parser::read_signature(std::optional<Shape>& result) {
  auto read_parameter = [&] {
    Shape ignored;
    std::string_view name;
    return read_name(name) && in_.expect(':') && read_shape(in_, ignored);
  };
  return in_.expect('(') && read_items(in_, ')', read_parameter) && in_.expect("->") &&
         read_shape(in_, result.emplace());
}

// The lines in their braces; sets the root.
bool Parser::read_body(Scope& scope) {
  if (!in_.expect('{')) return false;
  while (!in_.accept('}')) {
    if (!read_line(scope)) return false;
  }
  size_t count = scope.computation.instructions.size();
  if (count == 0) return in_.fail("a computation has no instructions");
  if (!scope.computation.root.valid()) scope.computation.root = InstructionId(count - 1);
  return true;
}

bool Parser::finish(Scope& scope, size_t at, ComputationId& id) {
  if (!number_parameters(scope, at)) return false;
  int64_t nodes = scope.type_nodes[scope.computation.root.value];
  return add(std::move(scope.computation), at, nodes, id);
}

bool Parser::number_parameters(Scope& scope, size_t at) {
  std::vector<InstructionId>& parameters = scope.computation.parameters;
  auto count = static_cast<int64_t>(scope.parameters.size());
  parameters.resize(scope.parameters.size());
  for (auto [number, id] : scope.parameters) {
    if (number < 0 || number >= count || parameters[static_cast<size_t>(number)].valid()) {
      return in_.fail_at(
          at, base::invalid_argument(
                  "computation ", scope.computation.name, ": parameter ", number, " of ", count,
                  " is out of range or stands twice; numbers are 0 .. n-1, each once"));
    }
    parameters[static_cast<size_t>(number)] = id;
  }
  return true;
}

bool Parser::add(Computation computation, size_t at, int64_t type_nodes, ComputationId& id) {
  if (static_cast<int64_t>(module_.computations.size()) >= limits_.computations) {
    return in_.fail_at(at, base::resource_exhausted("the text has more than ", limits_.computations,
                                                    " computations"));
  }
  id = module_.add(std::move(computation));
  result_nodes_.push_back(type_nodes);
  return true;
}

}  // namespace heddle::hlo::text
