// [ROOT] %name = [shape] opcode(operands), attribute=value, ..
#include <algorithm>

#include "heddle/hlo/internal/check_type.h"
#include "heddle/hlo/internal/normal_form.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/text/internal/parser.h"
#include "heddle/hlo/text/internal/shapes.h"

namespace heddle::hlo::text {
namespace {

// Read and dropped: XLA itself drops the first, and the second says what the default says.
bool is_dropped(Opcode opcode, std::string_view name) {
  bool all_reduce = opcode == Opcode::kAllReduce || opcode == Opcode::kAllReduceStart;
  return name == "mode" && all_reduce;
}

// What a reader cannot do without, but for: broadcast of a scalar, map over all dimensions, and
// shuffle, whose attributes we do not know.
bool is_required(Opcode opcode, const FieldText& field, const Shape* operand) {
  if (field.presence != Presence::kRequired) return false;
  if (opcode == Opcode::kBroadcast) return operand != nullptr && operand->rank() > 0;
  return opcode != Opcode::kMap && opcode != Opcode::kShuffle;
}

}  // namespace

int64_t type_nodes(const Shape& shape) {
  int64_t count = 1;
  for (const Shape& element : shape.elements()) count += type_nodes(element);
  return count;
}

bool Parser::read_line(Scope& scope) {
  size_t start = in_.position();
  bool is_root = in_.accept_word("ROOT") && in_.peek() != '=';
  if (!is_root) in_.rewind(start);
  size_t at = in_.position();
  if (is_root && scope.computation.root.valid())
    return in_.fail_at(start, base::invalid_argument("a second instruction is marked ROOT"));
  std::string_view name;
  InstructionId id;
  if (!read_name(name) || !in_.expect('=')) return false;
  if (!read_instruction(scope, name, /*with_attributes=*/true, id)) return false;
  if (!scope.ids.insert(name, id.value)) {
    return in_.fail_at(at, base::invalid_argument("an instruction named ", name,
                                                  " was defined before in this computation"));
  }
  if (is_root) scope.computation.root = id;
  return true;
}

bool Parser::read_instruction(Scope& scope, std::string_view name, bool with_attributes,
                              InstructionId& id) {
  Draft draft;
  draft.has_shape = at_shape(in_);
  if (draft.has_shape && !read_shape(in_, draft.instruction.shape)) return false;
  return read_opcode(draft) && read_operands(scope, draft) &&
         read_attrs(scope, draft, with_attributes) && append(scope, draft, name, id);
}

bool Parser::read_opcode(Draft& draft) {
  draft.at = in_.position();
  std::string_view word = in_.word();
  if (auto opcode = parse_opcode(word)) {
    draft.instruction.opcode = *opcode;
    return true;
  }
  if (strip_async(word, draft)) return true;
  in_.rewind(draft.at);
  return word.empty() ? in_.fail_expected(draft.has_shape ? "an opcode" : "a shape or an opcode")
                      : in_.fail("there is no opcode ", word.substr(0, 60));
}

bool Parser::read_attrs(Scope& scope, Draft& draft, bool with_attributes) {
  const Opcode opcode = draft.instruction.opcode;
  if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) {
    return !with_attributes || read_attributes(scope, draft, {}, nullptr);
  }
  return visit_struct(opcode, [&]<class Struct>(std::type_identity<Struct>) {
    return read_struct<Struct>(scope, draft, with_attributes);
  });
}

// Not inlined: attributes may hold computations, whose lines come here again, and one frame with a
// variable of every struct would overflow the stack.
template <class Struct>
[[gnu::noinline]] bool Parser::read_struct(Scope& scope, Draft& draft, bool with_attributes) {
  Struct attrs;
  std::span<const FieldText> fields = kFieldTexts<Struct>;
  const bool ok = with_attributes ? read_attributes(scope, draft, fields, &attrs)
                                  : check_complete(scope, draft, fields);
  if (ok) draft.instruction.attrs = std::move(attrs);
  return ok;
}

bool Parser::read_attributes(Scope& scope, Draft& draft, std::span<const FieldText> fields,
                             void* attrs) {
  while (in_.accept(',')) {
    draft.attribute_at = in_.position();
    std::string_view name = in_.word();
    if (name.empty()) return in_.fail_expected("name=");
    if (!in_.expect('=') || !read_attribute(scope, draft, name, fields, attrs)) return false;
  }
  return !in_.failed() && check_complete(scope, draft, fields);
}

bool Parser::read_attribute(Scope& scope, Draft& draft, std::string_view name,
                            std::span<const FieldText> fields, void* attrs) {
  const Instruction& instruction = draft.instruction;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name != name || fields[i].presence == Presence::kNever) continue;
    return mark(draft, static_cast<int>(i), name) && fields[i].read(in_, attrs);
  }
  bool predicate = !instruction.operands.empty() &&
                   scope.computation.at(instruction.operands[0]).shape.dtype() == pred;
  bool known = false;
  if (!read_called(draft, called_keys(instruction.opcode, predicate), name, known)) return false;
  if (!known && !read_common(scope, draft, name, known)) return false;
  if (known) return true;
  if (is_dropped(instruction.opcode, name))
    return !in_.word().empty() || in_.fail_expected("a word");
  return in_.fail_at(draft.attribute_at,
                     base::invalid_argument(to_string(instruction.opcode), " has no attribute ",
                                            name.substr(0, 60)));
}

// What any instruction may carry.
bool Parser::read_common(Scope& scope, Draft& draft, std::string_view name, bool& known) {
  static constexpr std::string_view kNames[] = {"metadata",
                                                "sharding",
                                                "frontend_attributes",
                                                "backend_config",
                                                "control-predecessors",
                                                "parameter_replication",
                                                "statistics",
                                                "result_accuracy",
                                                "origin",
                                                "async_execution_thread"};
  auto which = std::ranges::find(kNames, name) - std::begin(kNames);
  if (which == std::ssize(kNames)) return true;
  if (name == "async_execution_thread" && draft.async == AsyncStep::kNone) return true;
  known = true;
  if (!mark(draft, kFirstCommonBit + static_cast<int>(which), name)) return false;
  if (name == "async_execution_thread") return in_.read_string(draft.execution_thread);
  InstructionExtras& extras = draft.instruction.extras.mutate();
  switch (which) {
    case 0: return Codec<Metadata>::read(in_, extras.metadata);
    case 1: return Codec<Sharding>::read(in_, extras.sharding.mutate());
    case 2: return Codec<FrontendAttributes>::read(in_, extras.frontend_attributes);
    case 3: return read_raw_or_quoted(in_, extras.backend_config);
    case 4: return read_control_predecessors(scope, extras.control_predecessors);
    case 5: return Codec<std::vector<bool>>::read(in_, extras.parameter_replication);
    case 6: return read_group(in_, extras.statistics);
    case 7: return read_group(in_, extras.result_accuracy);
    default: return read_group(in_, extras.origin);
  }
}

bool Parser::read_control_predecessors(Scope& scope, std::vector<InstructionId>& ids) {
  return in_.expect('{') && read_items(in_, '}', [&] {
           size_t at = in_.position();
           std::string_view name;
           if (!read_name(name)) return false;
           const uint32_t* found = scope.ids.find(name);
           if (found == nullptr) {
             return in_.fail_at(at, base::invalid_argument(
                                        "control predecessor ", name,
                                        " is not defined in this computation before its use here"));
           }
           ids.emplace_back(*found);
           return true;
         });
}

bool Parser::read_called(Draft& draft, const CalledKeys& keys, std::string_view name, bool& known) {
  std::vector<ComputationId>& called = draft.instruction.called;
  if (!keys.list.empty() && (name == keys.list || name == "to_apply")) {
    known = true;
    if (!mark(draft, kFirstCalledBit, name)) return false;
    return name == keys.list ? read_called_list(called) : read_callee(called.emplace_back());
  }
  for (size_t i = 0; i < keys.keys.size(); ++i) {
    const CalledKey& key = keys.keys[i];
    if (key.name != name) continue;
    known = true;
    if (called.size() < keys.keys.size()) called.resize(keys.keys.size());
    return mark(draft, kFirstCalledBit + static_cast<int>(i), name) &&
           read_callee(called[key.slot]);
  }
  return true;
}

bool Parser::read_called_list(std::vector<ComputationId>& called) {
  return in_.expect('{') &&
         read_items(in_, '}', [&] { return read_callee(called.emplace_back()); });
}

// A name, or the computation itself in braces.
bool Parser::read_callee(ComputationId& id) {
  size_t at = in_.position();
  if (in_.peek() == '{') {
    Scope inner;
    if (!enter() || !read_body(inner)) return false;
    --depth_;
    return finish(inner, at, id);
  }
  std::string_view name;
  if (!read_name(name)) return false;
  auto found = computations_.find(name);
  if (found == computations_.end())
    return in_.fail_at(
        at, base::invalid_argument("computation ", name, " is not defined before its use here"));
  id = found->second;
  return true;
}

bool Parser::check_complete(const Scope& scope, const Draft& draft,
                            std::span<const FieldText> fields) {
  if (draft.async == AsyncStep::kUpdate || draft.async == AsyncStep::kDone)
    return true;  // the start has them
  const Instruction& instruction = draft.instruction;
  const Shape* operand =
      instruction.operands.empty() ? nullptr : &scope.computation.at(instruction.operands[0]).shape;
  for (size_t i = 0; i < fields.size(); ++i) {
    if ((draft.seen >> i & 1) != 0 || !is_required(instruction.opcode, fields[i], operand))
      continue;
    return in_.fail_at(draft.at, base::invalid_argument(to_string(instruction.opcode),
                                                        ": needs the attribute ", fields[i].name));
  }
  if (called_count(instruction.opcode) == kVariadic && instruction.called.empty()) return true;
  CalledKeys called =
      called_keys(instruction.opcode, operand != nullptr && operand->dtype() == pred);
  for (size_t i = 0; i < called.keys.size(); ++i) {
    if ((draft.seen >> (kFirstCalledBit + i) & 1) != 0) continue;
    return in_.fail_at(
        draft.at, base::invalid_argument(to_string(instruction.opcode), ": needs the attribute ",
                                         called.keys[i].name));
  }
  return true;
}

bool Parser::mark(Draft& draft, int bit, std::string_view name) {
  uint64_t mask = uint64_t{1} << bit;
  if ((draft.seen & mask) != 0) {
    return in_.fail_at(draft.attribute_at,
                       base::invalid_argument(to_string(draft.instruction.opcode), ": ", name,
                                              " stands here twice"));
  }
  draft.seen |= mask;
  return true;
}

bool Parser::append(Scope& scope, Draft& draft, std::string_view name, InstructionId& id) {
  if (draft.async != AsyncStep::kNone && !wrap_async(scope, draft)) return false;
  if (!charge(scope, draft) || !infer(scope, draft)) return false;
  Instruction& instruction = draft.instruction;
  instruction.name = name;
  id = InstructionId(scope.computation.instructions.size());
  if (instruction.opcode == Opcode::kParameter)
    scope.parameters.emplace_back(instruction.attrs.get<ParameterAttrs>().number, id);
  if (instruction.opcode == Opcode::kFusion)
    module_.computations[instruction.called[0].value].is_fusion = true;
  scope.type_nodes.push_back(type_nodes(instruction.shape));
  scope.computation.instructions.push_back(std::move(instruction));
  return true;
}

// Every op goes through the types that it takes in, and large ones cost much. get-tuple-element
// takes out one.
bool Parser::charge(const Scope& scope, const Draft& draft) {
  const Instruction& instruction = draft.instruction;
  if (++instructions_ > limits_.instructions) {
    return in_.fail_at(draft.at, base::resource_exhausted("the text has more than ",
                                                          limits_.instructions, " instructions"));
  }
  if (instruction.opcode == Opcode::kGetTupleElement) return true;
  int64_t nodes = 0;
  for (InstructionId operand : instruction.operands) nodes += scope.type_nodes[operand.value];
  for (ComputationId callee : instruction.called) nodes += result_nodes_[callee.value];
  total_type_nodes_ += nodes;
  if (nodes <= limits_.type_nodes && total_type_nodes_ <= limits_.total_type_nodes) return true;
  return in_.fail_at(
      draft.at,
      base::resource_exhausted(
          to_string(instruction.opcode), ": the tuple types here have more than ",
          nodes > limits_.type_nodes ? limits_.type_nodes : limits_.total_type_nodes, " parts"));
}

bool Parser::infer(Scope& scope, Draft& draft) {
  Instruction& instruction = draft.instruction;
  operand_shapes_.clear();
  for (InstructionId operand : instruction.operands)
    operand_shapes_.push_back(&scope.computation.at(operand).shape);
  callees_.clear();
  for (ComputationId callee : instruction.called) callees_.push_back(&module_.at(callee));
  instruction.attrs =
      normal_form(instruction.opcode, operand_shapes_, std::move(instruction.attrs));
  if (draft.has_shape) {
    const Status status = check_type(instruction.opcode, operand_shapes_, instruction.attrs,
                                     callees_, instruction.shape);
    return status.ok() || in_.fail_at(draft.at, status);
  }
  auto shape =
      infer_shape(instruction.opcode, operand_shapes_, instruction.attrs, callees_, nullptr);
  if (!shape.ok()) return in_.fail_at(draft.at, shape.status());
  instruction.shape = *std::move(shape);
  return true;
}

}  // namespace heddle::hlo::text
