#include "heddle/trace/recorder.h"

#include <algorithm>
#include <map>

#include "heddle/base/counters.h"
#include "heddle/base/located_status.h"
#include "heddle/hlo/literal.h"
#include "heddle/trace/error.h"
#include "heddle/trace/run_module.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/import.h"

namespace heddle::trace_internal {
namespace {

thread_local Recorder* current_recorder = nullptr;
thread_local bool own_functions = false;

uint64_t next_serial() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

[[noreturn]] void throw_foreign(const Node& node, std::string_view op, SourceLocation at) {
  const Scope& scope = *node.scope;
  if (scope.finished) throw Error(escaped_error(node, op), at);
  std::string made = node.where.known() ? cat(", made at ", to_string(node.where)) : "";
  throw Error(
      failed_precondition(op, ": operand is a traced ", to_string(node.shape), made, ", of ",
                          name_of(scope), ", which is running elsewhere",
                          "; a traced value may be used in its own trace and those inside it only"),
      at);
}

// The captures' parameters, the last ones of `entry`, in the order of their first use; those that
// nothing uses come last.
std::vector<size_t> captures_by_use(const hlo::Computation& entry, size_t captures) {
  const size_t arguments = entry.parameters.size() - captures;
  std::vector<bool> seen(entry.parameters.size());
  std::vector<size_t> order;
  auto note = [&](size_t parameter) {
    if (seen[parameter]) return;
    seen[parameter] = true;
    order.push_back(parameter);
  };
  for (const hlo::Instruction& instruction : entry.instructions) {
    for (hlo::InstructionId id : instruction.operands) {
      if (id.value >= arguments && id.value < entry.parameters.size()) note(id.value);
    }
  }
  for (size_t i = arguments; i < entry.parameters.size(); ++i) note(i);
  return order;
}

// Numbers the captures' parameters by first use. Parameters are the first instructions, by number;
// a root that hands the captures on has them at its end.
void sort_captures(hlo::Computation& entry, std::vector<Tensor>& captures, bool in_root) {
  if (captures.size() < 2) return;
  const std::vector<size_t> order = captures_by_use(entry, captures.size());
  if (std::ranges::is_sorted(order)) return;
  const size_t first = entry.parameters.size() - captures.size();
  std::vector<hlo::InstructionId> now(entry.parameters);
  std::vector<Tensor> sorted;
  std::vector<hlo::Instruction> parameters;
  for (size_t i = 0; i < order.size(); ++i) {
    now[order[i]] = entry.parameters[first + i];
    sorted.push_back(captures[order[i] - first]);
    parameters.push_back(std::move(entry.instructions[order[i]]));
    parameters.back().attrs = hlo::ParameterAttrs{.number = static_cast<int64_t>(first + i)};
  }
  std::ranges::move(parameters, entry.instructions.begin() + static_cast<std::ptrdiff_t>(first));
  for (hlo::Instruction& instruction : entry.instructions) {
    for (hlo::InstructionId& id : instruction.operands) {
      if (id.value < now.size()) id = now[id.value];
    }
  }
  captures = std::move(sorted);
  if (!in_root) return;
  hlo::Instruction& root = entry.instructions[entry.root.value];
  std::ranges::sort(root.operands.end() - static_cast<std::ptrdiff_t>(order.size()),
                    root.operands.end(), {}, &hlo::InstructionId::value);
  std::vector<Shape> results;
  for (hlo::InstructionId id : root.operands) results.push_back(entry.at(id).shape);
  root.shape = Shape::tuple(std::move(results));
}

}  // namespace

Recorder* Recorder::current() { return current_recorder; }

Recorder::Recorder(std::string what, SourceLocation at, bool is_named)
    : scope_(std::make_shared<Scope>()), outer_(current_recorder), builder_(module_) {
  scope_->what = std::move(what);
  scope_->where = at;
  scope_->is_named = is_named;
  scope_->serial = next_serial();
  scope_->recorder = this;
  current_recorder = this;
}

Recorder::~Recorder() {
  scope_->finished = true;
  scope_->recorder = nullptr;
  current_recorder = outer_;
}

Tensor Recorder::wrap(hlo::InstructionId id, SourceLocation at) const {
  auto node = std::make_shared<Node>();
  node->shape = builder_.shape(id);
  node->where = at;
  node->scope = scope_;
  node->instruction = id;
  return Tensor(std::move(node));
}

Tensor Recorder::parameter(const Shape& shape, SourceLocation at, const Tensor* like) {
  const Node* node = like ? like->node().get() : nullptr;
  hlo::InstructionId id = builder_.parameter(shape);
  SourceLocation where = node && node->where.known() ? node->where : at;
  builder_.mutable_at(id).at = where;
  if (node && node->sharding)
    builder_.mutable_at(id).extras.mutate().sharding = Box<hlo::Sharding>(*node->sharding);
  if (like && like->is_placeholder()) capture_of_.try_emplace(node->id, id);
  return wrap(id, where);
}

hlo::InstructionId Recorder::capture(const Tensor& tensor, const Node& node) {
  hlo::InstructionId id = builder_.parameter(node.shape);
  builder_.mutable_at(id).at = node.where;
  if (node.sharding)
    builder_.mutable_at(id).extras.mutate().sharding = Box<hlo::Sharding>(*node.sharding);
  captures_.push_back(tensor);
  return id;
}

hlo::InstructionId Recorder::use(const Tensor& tensor, std::string_view op, SourceLocation at) {
  const Node& node = node_of(tensor, op, at);
  if (node.scope == scope_) return node.instruction;
  if (!node.scope) {
    auto [found, is_new] = capture_of_.try_emplace(node.id);
    if (is_new) found->second = capture(tensor, node);
    return found->second;
  }
  for (Recorder* outer = outer_; outer != nullptr; outer = outer->outer_) {
    if (outer->scope_ != node.scope) continue;
    auto [found, is_new] = capture_of_traced_.try_emplace(&node);
    if (is_new) found->second = capture(tensor, node);
    return found->second;
  }
  throw_foreign(node, op, at);
}

// Backwards over what has the dtype: numbers are what is looked for, and an array that is no number
// ends it, since then the dtype is meant. Constants of ops take the dtype of what they meet.
std::optional<Number> Recorder::number_behind(hlo::InstructionId id) const {
  const hlo::Computation& computation = builder_.computation();
  const DType dtype = builder_.shape(id).dtype();
  const size_t arguments = computation.parameters.size() - captures_.size();
  std::optional<Number> found;
  std::vector<bool> seen(id.value + size_t{1});
  std::vector<hlo::InstructionId> next{id};
  while (!next.empty()) {
    const hlo::InstructionId now = next.back();
    next.pop_back();
    if (seen[now.value]) continue;
    seen[now.value] = true;
    const hlo::Instruction& instruction = computation.at(now);
    const auto noted =
        std::ranges::find(scope_->numbers, now, &std::pair<hlo::InstructionId, Number>::first);
    if (noted != scope_->numbers.end()) {
      found = noted->second;
    } else if (instruction.opcode == hlo::Opcode::kParameter) {
      const auto place = std::ranges::find(computation.parameters, now);
      const size_t number = static_cast<size_t>(place - computation.parameters.begin());
      if (number < arguments || number - arguments >= captures_.size()) return std::nullopt;
      if (!(found = trace_internal::number_behind(captures_[number - arguments])))
        return std::nullopt;
    } else if (instruction.opcode != hlo::Opcode::kConstant) {
      bool has_operand = false;
      for (hlo::InstructionId operand : instruction.operands) {
        const Shape& shape = builder_.shape(operand);
        if (!shape.is_tuple() && shape.dtype() != dtype) continue;
        has_operand = true;
        next.push_back(operand);
      }
      if (!has_operand) return std::nullopt;
    }
  }
  return found;
}

hlo::ComputationId Recorder::import(const Fragment& fragment) {
  auto [found, is_new] = imported_.try_emplace(fragment.get());
  if (is_new) {
    fragments_.push_back(fragment);
    found->second = transform::import(module_, *fragment);
  }
  return found->second;
}

hlo::InstructionId Recorder::add(const Operation& operation) {
  std::string_view op = user_name(operation.opcode);
  std::vector<hlo::InstructionId> operands;
  operands.reserve(operation.operands.size());
  for (const Tensor& operand : operation.operands)
    operands.push_back(use(operand, op, operation.at));
  builder_.set_location(operation.at);
  if (operation.takes_tuple)
    operands = {value_or_throw(builder_.add(hlo::Opcode::kTuple, operands), operation.at)};
  std::vector<hlo::ComputationId> called;
  for (const Fragment& fragment : operation.called) called.push_back(import(fragment));
  auto id = builder_.add(operation.opcode, operands, operation.attrs, std::move(called),
                         operation.declared ? &*operation.declared : nullptr);
  if (!id.ok())
    throw Error(in_user_words(id.status(), operation.opcode, operation.operands), operation.at);
  if (!operation.frontend_attributes.empty()) {
    builder_.mutable_at(*id).extras.mutate().frontend_attributes = operation.frontend_attributes;
  }
  if (!operation.backend_config.empty())
    builder_.mutable_at(*id).extras.mutate().backend_config = operation.backend_config;
  if (operation.sharding)
    builder_.mutable_at(*id).extras.mutate().sharding = Box<hlo::Sharding>(*operation.sharding);
  return *id;
}

Tensor Recorder::record_one(const Operation& operation) {
  return wrap(add(operation), operation.at);
}

std::vector<Tensor> Recorder::record(const Operation& operation) {
  hlo::InstructionId id = add(operation);
  if (!builder_.shape(id).is_tuple()) return {wrap(id, operation.at)};
  std::vector<Tensor> results;
  for (int64_t i = 0; i < builder_.shape(id).element_shapes(); ++i) {
    auto element =
        builder_.add(hlo::Opcode::kGetTupleElement, {id}, hlo::TupleIndexAttrs{.index = i});
    if (!element.ok()) throw Error(element.status(), operation.at);
    results.push_back(wrap(*element, operation.at));
  }
  return results;
}

Tensor Recorder::constant(Literal literal, SourceLocation at) {
  builder_.set_location(at);
  return wrap(builder_.constant(std::move(literal)), at);
}

std::vector<Tensor> Recorder::paste(const Fragment& fragment, std::span<const Tensor> operands,
                                    SourceLocation at) {
  const hlo::Computation& body = fragment->entry_computation();
  const uint32_t shift = import(fragment).value - fragment->entry.value;
  std::vector<hlo::InstructionId> now(body.instructions.size());
  for (size_t i = 0; i < body.parameters.size(); ++i)
    now[body.parameters[i].value] = use(operands[i], scope_->what, at);
  for (size_t i = 0; i < body.instructions.size(); ++i) {
    if (now[i].valid() || i == body.root.value) continue;
    hlo::Instruction instruction = body.instructions[i];
    for (hlo::InstructionId& id : instruction.operands) id = now[id.value];
    for (hlo::ComputationId& id : instruction.called) id = hlo::ComputationId(id.value + shift);
    if (!instruction.extras->control_predecessors.empty()) {
      for (hlo::InstructionId& id : instruction.extras.mutate().control_predecessors)
        id = now[id.value];
    }
    now[i] = builder_.append(std::move(instruction));
  }
  std::vector<Tensor> results;
  for (hlo::InstructionId id : body.at(body.root).operands)
    results.push_back(wrap(now[id.value], at));
  return results;
}

Traced Recorder::finish(std::span<const Tensor> results, std::string_view what, SourceLocation at,
                        Root kind) {
  Traced traced = finish_as_recorded(results, what, at, kind);
  // C++ leaves open which operand of f(x) + g(x) is evaluated first, and compilers differ: what is
  // recorded is put in the order of its use.
  traced.module = transform::in_canonical_order(std::move(traced.module));
  sort_captures(traced.module.computations[traced.module.entry.value], traced.captures,
                kind == Root::kWithCaptures);
  return traced;
}

Traced Recorder::finish_as_recorded(std::span<const Tensor> results, std::string_view what,
                                    SourceLocation at, Root kind) {
  std::vector<hlo::InstructionId> ids;
  for (const Tensor& result : results) ids.push_back(use(result, what, at));
  hlo::InstructionId root;
  if (kind == Root::kBare) {
    root = ids[0];
  } else {
    if (kind == Root::kWithCaptures) {
      const std::vector<hlo::InstructionId>& parameters = builder_.computation().parameters;
      ids.insert(ids.end(), parameters.end() - static_cast<std::ptrdiff_t>(captures_.size()),
                 parameters.end());
    }
    auto tuple = builder_.add(hlo::Opcode::kTuple, ids);
    if (!tuple.ok()) throw Error(tuple.status(), at);
    root = *tuple;
  }
  hlo::Computation computation = std::move(builder_).finish(root);
  computation.name = scope_->what;
  module_.name = scope_->what;
  module_.entry = module_.add(std::move(computation));
  return {std::move(module_), std::move(captures_)};
}

namespace {

// Functions that call the user's: an error in them is one of the op that it names.
constexpr std::string_view kCallUsers[] = {
    "associative_scan", "call",          "cond",      "conditional", "fori_loop",
    "linalg::funm",     "map",           "reduce",    "scan",        "scatter",
    "sort_by",          "reduce_window", "shard_map", "while",       "while_loop",
    "switch_case"};

bool calls_users(std::string_view what) { return std::ranges::count(kCallUsers, what) > 0; }

// How long the name of an op is that a message begins with; 0 where it begins with none.
size_t named_length(std::string_view message) {
  const size_t end = message.find(": ");
  const bool is_name =
      end != std::string_view::npos &&
      message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-:.0123456789") == end + 1;
  return is_name ? end : 0;
}

// What a function is made of throws errors that name the part, at the line where the user called
// the function: to him it is the function's error.
std::vector<Tensor> named(std::string_view what, SourceLocation at,
                          FunctionRef<std::vector<Tensor>()> fn) {
  try {
    return fn();
  } catch (const Error& error) {
    const std::string message = message_of(error.status());
    const size_t length = named_length(message);
    const bool is_ours =
        std::string_view(error.where().file) == at.file && error.where().line == at.line;
    if (!is_ours || length == 0 || calls_users(what)) throw;
    throw Error(with_message(error.status(), cat(what, message.substr(length))), at);
  }
}

}  // namespace

OwnFunctions::OwnFunctions(bool own) : before_(own_functions) {
  own_functions = own_functions || own;
}
OwnFunctions::~OwnFunctions() { own_functions = before_; }

void count_trace() {
  if (!own_functions) count(&Counters::traces);
}

std::vector<Tensor> in_program(std::string_view what, SourceLocation at,
                               FunctionRef<std::vector<Tensor>()> fn) {
  const OwnFunctions own(!calls_users(what));
  if (Recorder::current() != nullptr) return named(what, at, fn);
  Traced traced = [&] {
    Recorder recorder(std::string(what), at);
    std::vector<Tensor> results = named(what, at, fn);
    return recorder.finish_as_recorded(results, what, at);
  }();
  return run_module(traced.module, traced.captures, what, at);
}

Tensor emit(const Operation& operation) {
  if (Recorder* recorder = Recorder::current()) return recorder->record_one(operation);
  return in_program(user_name(operation.opcode), operation.at,
                    [&] { return std::vector<Tensor>{emit(operation)}; })[0];
}

std::vector<Tensor> emit_many(const Operation& operation) {
  if (Recorder* recorder = Recorder::current()) return recorder->record(operation);
  return in_program(user_name(operation.opcode), operation.at,
                    [&] { return emit_many(operation); });
}

Tensor emit_constant(Literal literal, SourceLocation at) {
  if (Recorder* recorder = Recorder::current()) return recorder->constant(std::move(literal), at);
  return in_program("constant", at,
                    [&] { return std::vector<Tensor>{emit_constant(literal, at)}; })[0];
}

Traced trace_flat(std::string what, std::span<const Shape> shapes,
                  FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn, SourceLocation at,
                  std::span<const Tensor> like, bool is_named) {
  count_trace();
  Recorder recorder(what, at, is_named);
  std::vector<Tensor> arguments;
  arguments.reserve(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    arguments.push_back(recorder.parameter(shapes[i], at, i < like.size() ? &like[i] : nullptr));
    if (i < like.size()) keep_number(arguments.back(), like[i], {});
  }
  std::vector<Tensor> results = fn(arguments);
  return recorder.finish(results, what, at);
}

Fragment scalar_fragment(std::string_view what, std::span<const Shape> shapes,
                         FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn,
                         SourceLocation at) {
  count_trace();
  Recorder recorder(std::string(what), at);
  std::vector<Tensor> parameters;
  for (const Shape& shape : shapes) parameters.push_back(recorder.parameter(shape, at));
  std::vector<Tensor> results = fn(parameters);
  Traced traced = recorder.finish(
      results, what, at, results.size() == 1 ? Recorder::Root::kBare : Recorder::Root::kTuple);
  if (!traced.captures.empty()) {
    throw Error(invalid_argument(
                    what, ": its function captures ", to_string(traced.captures[0]),
                    "; a function of single elements may use its arguments and C++ numbers only"),
                at);
  }
  return std::make_shared<const hlo::Module>(std::move(traced.module));
}

Fragment scalar_computation(hlo::Opcode opcode, DType dtype) {
  thread_local std::map<std::pair<hlo::Opcode, DType>, Fragment> memo;
  Fragment& fragment = memo[{opcode, dtype}];
  if (!fragment) {
    hlo::Module module;
    hlo::ComputationBuilder builder(module, std::string(to_string(opcode)));
    hlo::InstructionId a = builder.parameter(Shape::scalar(dtype));
    hlo::InstructionId b = builder.parameter(Shape::scalar(dtype));
    hlo::InstructionId root = value_or_throw(builder.add(opcode, {a, b}), {});
    module.entry = module.add(std::move(builder).finish(root));
    fragment = std::make_shared<const hlo::Module>(std::move(module));
  }
  return fragment;
}

}  // namespace heddle::trace_internal
