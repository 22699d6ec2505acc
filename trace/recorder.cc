#include "heddle/trace/recorder.h"

#include <algorithm>
#include <map>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/pool.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/error.h"
#include "heddle/trace/lazy_numbers.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/rows.h"
#include "heddle/trace/run/run_module.h"
#include "heddle/trace/run/varying_numbers.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/import.h"

namespace heddle::trace_internal {
namespace {

thread_local Recorder* current_recorder = nullptr;

// Each running trace takes a few KiB of the stack, of which a thread may have 8 MiB.
constexpr size_t kMostNested = 300;
thread_local size_t running_traces = 0;

uint64_t next_serial() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

[[noreturn]] void throw_foreign(const Node& node, std::string_view op, SourceLocation at) {
  const Scope& scope = *node.scope;
  if (scope.finished) throw Error(escaped_error(node, op), at);
  std::string made = node.where.known() ? base::cat(", made at ", to_string(node.where)) : "";
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

Recorder::Recorder(std::string_view what, const Expected& expected, bool is_named, Numbers numbers)
    : scope_(base::make_pooled<Scope>()),
      replay_(expected),
      outer_(current_recorder),
      numbers_policy_(outer_ && outer_->numbers_policy_ == Numbers::kConstants ? Numbers::kConstants
                                                                               : numbers) {
  if (running_traces == kMostNested) {
    refuse("is called in ", kMostNested,
           " traces inside each other, which is the most; a function that calls itself without an "
           "end reaches any number: use while_loop or scan");
  }
  ++running_traces;
  scope_->what = what;
  scope_->where = PublicCall::line_or({});
  scope_->is_named = is_named;
  scope_->serial = next_serial();
  scope_->recorder = this;
  current_recorder = this;
}

Recorder::~Recorder() {
  scope_->finished = true;
  scope_->recorder = nullptr;
  current_recorder = outer_;
  --running_traces;
}

Tensor Recorder::wrap(hlo::InstructionId id, SourceLocation at) const {
  return Tensor(base::make_pooled<Node>(shape(id), at, scope_, id));
}

// From here on what is recorded is another trace than the expected one. Numbers that differ are
// constants in it, or captures in the order of recording. Numbers that are known to vary become
// captures too.
void Recorder::leave_replay(Numbers other) {
  if (!replay_.is_on()) return;
  const size_t arguments = parameters_.size() - captures_.size();
  const std::vector<Tensor> before = std::move(captures_);
  Ids parameters;
  numbers_.clear();
  captures_.clear();
  replay_.stop([&](hlo::Instruction instruction, std::span<const Fragment> called, bool is_other) {
    const bool is_constant = instruction.opcode == hlo::Opcode::kConstant;
    const bool is_taken = is_other && other == Numbers::kMayBecomeOperands;
    if (is_taken) note_that_varies({place_, building().builder.instruction_count()});
    if (is_taken ||
        (is_constant && varies_here(instruction.attrs.get<hlo::ConstantAttrs>().literal))) {
      captures_.push_back(
          captured_number(instruction.attrs.get<hlo::ConstantAttrs>().literal, instruction.at));
      instruction.opcode = hlo::Opcode::kParameter;
    } else if (instruction.opcode == hlo::Opcode::kParameter) {
      const auto number = static_cast<size_t>(instruction.attrs.get<hlo::ParameterAttrs>().number);
      if (number >= arguments) captures_.push_back(before[number - arguments]);
    }
    const bool is_parameter = instruction.opcode == hlo::Opcode::kParameter;
    if (is_parameter)
      instruction.attrs = hlo::ParameterAttrs{.number = static_cast<int64_t>(parameters.size())};
    for (size_t i = 0; i < called.size(); ++i) instruction.called[i] = import(called[i]);
    building().builder.set_location(instruction.at);
    const hlo::InstructionId id = building().builder.append(std::move(instruction));
    if (!is_parameter) return;
    if (parameters.size() >= arguments && captures_.back().node()->number) numbers_.push_back(id);
    parameters.push_back(id);
  });
  parameters_ = std::move(parameters);
}

Tensor Recorder::take(hlo::InstructionId number, Literal literal, SourceLocation at) {
  captures_.push_back(captured_number(std::move(literal), at));
  parameters_.push_back(number);
  numbers_.push_back(number);
  return wrap(number, at);
}

// A number that is an operand from the beginning, where this trace takes any.
Tensor Recorder::number(Literal literal, SourceLocation at) {
  if (numbers_policy_ == Numbers::kConstants) return constant(std::move(literal));
  hlo::InstructionId id;
  if (replay_.is_on()) id = replay_.match_operand(literal.shape(), at);
  if (!id.valid()) {
    leave_replay();
    id = building().builder.parameter(literal.shape());
    building().builder.mutable_at(id).at = at;
  }
  return take(id, std::move(literal), at);
}

// What a loop's body takes comes through the trace around it.
void Recorder::hand_numbers_out() {
  if (outer_ == nullptr) return;
  for (Tensor& capture : captures_) {
    const Node& node = *capture.node();
    if (node.number) capture = outer_->number(*node.number, node.where);
  }
}

hlo::InstructionId Recorder::add_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                           SourceLocation at) {
  hlo::InstructionId id;
  if (replay_.is_on()) id = replay_.match_parameter(shape, sharding, at);
  if (!id.valid()) {
    leave_replay();
    id = building().builder.parameter(shape);
    building().builder.mutable_at(id).at = at;
    if (sharding)
      building().builder.mutable_at(id).extras.mutate().sharding =
          base::Box<hlo::Sharding>(*sharding);
  }
  parameters_.push_back(id);
  return id;
}

Tensor Recorder::parameter(const Shape& shape, const Tensor* like) {
  const Node* node = like ? like->node().get() : nullptr;
  SourceLocation where = node && node->where.known() ? node->where : PublicCall::line_or({});
  hlo::InstructionId id = add_parameter(shape, node ? node->sharding.get() : nullptr, where);
  if (like && like->is_placeholder()) {
    if (hlo::InstructionId& known = capture_of_.at(key_of(*node)); !known.valid()) known = id;
  }
  return wrap(id, where);
}

hlo::InstructionId Recorder::capture(const Tensor& tensor, const Node& node) {
  hlo::InstructionId id = add_parameter(node.shape, node.sharding.get(), node.where);
  captures_.push_back(tensor);
  return id;
}

hlo::InstructionId Recorder::captured(const Tensor& tensor, const Node& node) {
  const uint64_t key = key_of(node);
  if (const hlo::InstructionId known = capture_of_.at(key); known.valid()) return known;
  return capture_of_.at(key) = capture(tensor, node);
}

hlo::InstructionId& Recorder::CaptureTable::at(uint64_t key) {
  for (size_t i = 0; i < few_.size(); ++i) {
    if (few_[i].key == key) return few_.data()[i].parameter;
  }
  if (few_.size() < kFew) {
    few_.push_back({key, {}});
    return few_.data()[few_.size() - 1].parameter;
  }
  if (!many_) many_ = std::make_unique<std::unordered_map<uint64_t, hlo::InstructionId>>();
  return (*many_)[key];
}

hlo::InstructionId Recorder::use(const Tensor& tensor, std::string_view op, SourceLocation at) {
  const Node& node = node_of(tensor, op, at);
  if (node.scope == scope_) return node.instruction;
  if (!node.scope) return captured(tensor, node);
  for (Recorder* outer = outer_; outer != nullptr; outer = outer->outer_) {
    if (outer->scope_ != node.scope) continue;
    return captured(tensor, node);
  }
  throw_foreign(node, op, at);
}

// Goes backwards over what has the dtype, and looks for numbers. An array that is no number ends
// the search, since then the dtype is meant. Constants of ops take the dtype of what they meet.
std::optional<Number> Recorder::number_behind(hlo::InstructionId id) const {
  const DType dtype = shape(id).dtype();
  const size_t arguments = parameters_.size() - captures_.size();
  std::optional<Number> found;
  LazyNumbers::settle(*scope_);
  std::vector<bool> seen(id.value + size_t{1});
  std::vector<hlo::InstructionId> next{id};
  while (!next.empty()) {
    const hlo::InstructionId now = next.back();
    next.pop_back();
    if (seen[now.value]) continue;
    seen[now.value] = true;
    const hlo::Instruction& instruction = this->instruction(now);
    const auto noted =
        std::ranges::find(scope_->numbers, now, &std::pair<hlo::InstructionId, Number>::first);
    if (noted != scope_->numbers.end()) {
      found = noted->second;
    } else if (instruction.opcode == hlo::Opcode::kParameter) {
      const auto place = std::ranges::find(parameters_, now);
      const size_t number = static_cast<size_t>(place - parameters_.begin());
      if (number < arguments || number - arguments >= captures_.size()) return std::nullopt;
      if (captures_[number - arguments].node()->number) continue;
      if (!(found = trace_internal::number_behind(captures_[number - arguments])))
        return std::nullopt;
    } else if (instruction.opcode != hlo::Opcode::kConstant) {
      bool has_operand = false;
      for (hlo::InstructionId operand : instruction.operands) {
        const Shape& type = shape(operand);
        if (!type.is_tuple() && type.dtype() != dtype) continue;
        has_operand = true;
        next.push_back(operand);
      }
      if (!has_operand) return std::nullopt;
    }
  }
  return found;
}

hlo::ComputationId Recorder::import(const Fragment& fragment) {
  auto [found, is_new] = building().imported.try_emplace(fragment.get());
  if (is_new) {
    found->second = transform::import(building().module, *fragment);
    building().imports.emplace_back(fragment, found->second);
  }
  return found->second;
}

hlo::InstructionId Recorder::append(const Step& step, std::string_view function) {
  if (replay_.is_on()) {
    if (hlo::InstructionId id = replay_.match(step); id.valid()) return id;
    leave_replay();
  }
  building().builder.set_location(step.at);
  std::vector<hlo::ComputationId> called;
  for (const Fragment& fragment : step.called) called.push_back(import(fragment));
  const hlo::InstructionId id =
      value_or_throw(building().builder.add(step.opcode, step.operands, step.attrs,
                                            std::move(called), step.declared, function),
                     step.at);
  auto extras = [&]() -> auto& { return building().builder.mutable_at(id).extras.mutate(); };
  if (!step.frontend_attributes.empty()) extras().frontend_attributes = step.frontend_attributes;
  if (!step.backend_config.empty()) extras().backend_config = step.backend_config;
  // So that an error of a bucket can name it (compile/mixed_rows.h).
  if (RowScope::current() != nullptr && !function.empty() && function != user_name(step.opcode))
    extras().metadata.op_name = function;
  if (step.sharding) extras().sharding = base::Box<hlo::Sharding>(*step.sharding);
  return id;
}

namespace {

const hlo::Attrs kNoAttrs;
const hlo::FrontendAttributes kNoFrontendAttributes;
const std::string kNoConfig;

Step plain_step(hlo::Opcode opcode, std::span<const hlo::InstructionId> operands,
                const hlo::Attrs& attrs, SourceLocation at) {
  return {opcode, operands, attrs, {}, nullptr, kNoFrontendAttributes, kNoConfig, nullptr, at};
}

}  // namespace

hlo::InstructionId Recorder::add(const Operation& operation) {
  hlo::InstructionId few[kFewOperands];
  std::vector<hlo::InstructionId> many(
      operation.operands.size() > kFewOperands ? operation.operands.size() : 0);
  std::span<hlo::InstructionId> operands =
      many.empty() ? std::span(few, operation.operands.size()) : std::span(many);
  const std::string_view op = PublicCall::function_or(user_name(operation.opcode));
  const SourceLocation at = PublicCall::line_or({});
  for (size_t i = 0; i < operands.size(); ++i) operands[i] = use(operation.operands[i], op);
  hlo::InstructionId tuple;
  if (operation.takes_tuple) {
    tuple = append(plain_step(hlo::Opcode::kTuple, operands, kNoAttrs, at));
    operands = std::span(&tuple, 1);
  }
  return append({operation.opcode, operands, operation.attrs, operation.called,
                 operation.declared ? &*operation.declared : nullptr, operation.frontend_attributes,
                 operation.backend_config, operation.sharding.get(), at},
                op);
}

Tensor Recorder::record_plain(hlo::Opcode opcode, std::initializer_list<const Tensor*> operands,
                              SourceLocation given) {
  const std::string_view op = PublicCall::function_or(user_name(opcode));
  const SourceLocation at = PublicCall::line_or(given);
  hlo::InstructionId ids[kFewOperands];
  size_t count = 0;
  for (const Tensor* operand : operands) ids[count++] = use(*operand, op, at);
  return wrap(append(plain_step(opcode, std::span(ids, count), kNoAttrs, at), op), at);
}

Tensor Recorder::record_one(const Operation& operation) {
  return wrap(add(operation), PublicCall::line_or({}));
}

std::vector<Tensor> Recorder::record(const Operation& operation) {
  const SourceLocation at = PublicCall::line_or({});
  hlo::InstructionId id = add(operation);
  if (!shape(id).is_tuple()) return {wrap(id, at)};
  std::vector<Tensor> results;
  const int64_t elements = shape(id).element_shapes();
  results.reserve(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    const hlo::Attrs index = hlo::TupleIndexAttrs{.index = i};
    results.push_back(
        wrap(append(plain_step(hlo::Opcode::kGetTupleElement, std::span(&id, 1), index, at)), at));
  }
  return results;
}

Tensor Recorder::constant(Literal literal) {
  const SourceLocation at = PublicCall::line_or({});
  if (replay_.is_on()) {
    const bool may_differ = numbers_policy_ != Numbers::kConstants;
    if (hlo::InstructionId id = replay_.match_number(literal, at, may_differ); id.valid())
      return replay_.is_operand(id) ? take(id, std::move(literal), at) : wrap(id, at);
    leave_replay();
  }
  building().builder.set_location(at);
  if (varies_here(literal)) {
    const hlo::InstructionId id = building().builder.parameter(literal.shape());
    return take(id, std::move(literal), at);
  }
  return wrap(building().builder.constant(std::move(literal)), at);
}

bool Recorder::varies_here(const Literal& literal) {
  if (place_ == 0 || numbers_policy_ == Numbers::kConstants || !is_number(literal)) return false;
  return varies(next_number(building().builder.computation(), place_),
                {literal.bytes(), static_cast<size_t>(literal.byte_size())});
}

Tensor Recorder::expected_number(const void* bytes, DType dtype, SourceLocation given) {
  if (!replay_.is_on()) return {};
  const SourceLocation at = PublicCall::line_or(given);
  const hlo::InstructionId id = replay_.match_same_number(bytes, dtype, at);
  return id.valid() ? wrap(id, at) : Tensor();
}

std::vector<Tensor> Recorder::paste(const Fragment& fragment, std::span<const Tensor> operands) {
  leave_replay();
  has_pasted_ = true;
  const hlo::Computation& body = fragment->entry_computation();
  const uint32_t shift = import(fragment).value - fragment->entry.value;
  std::vector<hlo::InstructionId> now(body.instructions.size());
  for (size_t i = 0; i < body.parameters.size(); ++i)
    now[body.parameters[i].value] = use(operands[i], scope_->what);
  for (size_t i = 0; i < body.instructions.size(); ++i) {
    if (now[i].valid() || i == body.root.value) continue;
    hlo::Instruction instruction = body.instructions[i];
    for (hlo::InstructionId& id : instruction.operands) id = now[id.value];
    for (hlo::ComputationId& id : instruction.called) id = hlo::ComputationId(id.value + shift);
    if (!instruction.extras->control_predecessors.empty()) {
      for (hlo::InstructionId& id : instruction.extras.mutate().control_predecessors)
        id = now[id.value];
    }
    now[i] = building().builder.append(std::move(instruction));
  }
  std::vector<Tensor> results;
  for (hlo::InstructionId id : body.at(body.root).operands)
    results.push_back(wrap(now[id.value], PublicCall::line_or({})));
  return results;
}

Traced in_canonical_order(Traced recorded, bool root_has_captures) {
  hlo::Module& module = recorded.module;
  module = transform::in_canonical_order(std::move(module));
  sort_captures(module.computations[module.entry.value], recorded.captures, root_has_captures);
  return recorded;
}

Traced Recorder::finish(std::span<const Tensor> results, std::string_view what, Root kind) {
  return in_canonical_order(finish_as_recorded(results, what, kind), kind == Root::kWithCaptures);
}

Recorder::Ids Recorder::root_operands(std::span<const Tensor> results, std::string_view what,
                                      Root kind) {
  Ids ids;
  for (const Tensor& result : results) ids.push_back(use(result, what));
  const size_t handed_on = kind == Root::kWithCaptures ? captures_.size() : 0;
  for (size_t i = parameters_.size() - handed_on; i < parameters_.size(); ++i)
    ids.push_back(parameters_[i]);
  return ids;
}

Traced Recorder::finish_as_recorded(std::span<const Tensor> results, std::string_view what,
                                    Root kind) {
  leave_replay();  // first: numbers that vary become captures
  const Ids ids = root_operands(results, what, kind);
  hand_numbers_out();
  hlo::InstructionId root = kind == Root::kBare
                                ? ids[0]
                                : value_or_throw(building().builder.add(hlo::Opcode::kTuple, ids));
  hlo::Computation computation = std::move(building().builder).finish(root);
  computation.name = scope_->what;
  building().module.name = scope_->what;
  building().module.entry = building().module.add(std::move(computation));
  return {std::move(building().module), std::move(captures_)};
}

bool Recorder::ends_as_expected(std::span<const Tensor> results, std::string_view what, Root kind) {
  if (!replay_.is_on()) return false;
  const Ids ids = root_operands(results, what, kind);
  if (!replay_.is_on() || !replay_.ends_with(ids, kind == Root::kBare, captures_.size()))
    return false;
  if (!has_other_numbers()) hand_numbers_out();
  return true;
}

std::optional<Recording> Recorder::recording_of(const Traced& traced) {
  const hlo::Computation& entry = traced.module.entry_computation();
  if (has_pasted_ || entry.instructions.size() > kMaxRecording) return std::nullopt;
  return Recording{entry,
                   std::move(building().imports),
                   traced.captures.size(),
                   {numbers_.begin(), numbers_.end()}};
}

void count_trace() {
  if (!PublicCall::is_own()) count(&Counters::traces);
}

namespace {

// What was made of a program that ran at once.
struct Made {
  runtime::ProgramHandle program;
  uint64_t device = 0;  // serial number
};
using Programs = Recordings<Made>;

// The executable of a trace that came as expected; null where it is gone or another device's.
std::shared_ptr<runtime::Executable> still_fits(const Made& made, const runtime::Device& device) {
  return device.serial() == made.device ? made.program.get() : nullptr;
}

// A function outside of a trace: recorded and, when its trace has ended, run.
std::vector<Tensor> at_once(std::string_view what, base::FunctionRef<std::vector<Tensor>()> fn) {
  const uint64_t place = place_of(what.data(), nullptr, PublicCall::line_or({}));
  Programs* programs = Programs::of_thread();
  const auto last = programs ? programs->all_at(place) : nullptr;
  std::shared_ptr<runtime::Executable> executable;
  std::vector<runtime::BufferPtr> buffers;
  Traced traced;
  std::optional<Recording> recording;
  {
    const bool is_subscript = what == kSubscript;
    const bool has_starts = is_subscript || what.starts_with("at.");
    Recorder recorder(
        is_subscript ? "index" : what, expected_of(last), false,
        has_starts ? Recorder::Numbers::kWithStarts : Recorder::Numbers::kMayBecomeOperands);
    recorder.set_place(place);
    const std::vector<Tensor> results = fn();
    if (recorder.ends_as_expected(results, what)) {
      runtime::Device& device = append_buffers(recorder.captures(), buffers, what);
      if (!recorder.has_other_numbers())
        executable = still_fits((*last)[recorder.which_was_expected()]->made, device);
      else
        recorder.take_numbers();
    }
    if (!executable) {
      traced = recorder.finish_as_recorded(results, what);
      recording = recorder.recording_of(traced);
      buffers.clear();
      append_buffers(traced.captures, buffers, what);
    }
  }
  if (!executable) {
    runtime::Device& device = device_of(buffers, what);
    runtime::ProgramHandle handle;
    executable = value_or_throw(executable_for(std::move(traced.module), device, &handle));
    if (recording && programs)
      programs->keep(place, {*std::move(recording), {std::move(handle), device.serial()}});
  }
  return run_at_once(*executable, buffers);
}

}  // namespace

std::vector<Tensor> in_program(std::string_view what, base::FunctionRef<std::vector<Tensor>()> fn) {
  const PublicCall call(what, {});
  return Recorder::current() == nullptr ? at_once(what, fn) : fn();
}

Tensor emit(const Operation& operation) {
  if (Recorder* recorder = Recorder::current()) return recorder->record_one(operation);
  return in_program(user_name(operation.opcode),
                    [&] { return std::vector<Tensor>{emit(operation)}; })[0];
}

std::vector<Tensor> emit_many(const Operation& operation) {
  if (Recorder* recorder = Recorder::current()) return recorder->record(operation);
  return in_program(user_name(operation.opcode), [&] { return emit_many(operation); });
}

Tensor emit_constant(Literal literal) {
  if (Recorder* recorder = Recorder::current()) return recorder->constant(std::move(literal));
  return in_program("constant", [&] { return std::vector<Tensor>{emit_constant(literal)}; })[0];
}

Traced trace_flat(std::string what, std::span<const Shape> shapes,
                  base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn,
                  SourceLocation at, std::span<const Tensor> like, bool is_named) {
  const HigherOrderCall call("trace", at);
  count_trace();
  const base::Span span(base::Activity::kTrace, what, PublicCall::line_or({}));
  Recorder recorder(what, {}, is_named);
  std::vector<Tensor> arguments;
  arguments.reserve(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    arguments.push_back(recorder.parameter(shapes[i], i < like.size() ? &like[i] : nullptr));
    if (i < like.size()) keep_number(arguments.back(), like[i], {});
  }
  std::vector<Tensor> results = as_users_code([&] { return fn(arguments); });
  return recorder.finish(results, what);
}

}  // namespace heddle::trace_internal
