#include "heddle/interpreter/internal/run.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "heddle/base/located_status.h"
#include "heddle/interpreter/internal/sizes.h"

namespace heddle::interpreter {
namespace {

// Elements that an elementwise body takes at a time: few enough for a dozen temporaries to stay in
// the cache.
constexpr int64_t kChunk = 2048;

class CallSite final : public Caller {
 public:
  CallSite(EvaluationRun& run, const Instruction& instruction)
      : run_(run), instruction_(instruction) {}

  Status call_and_consume(size_t which, std::span<Literal> arguments, Literal& result) override {
    HEDDLE_RETURN_IF_ERROR(run_.check_stop(instruction_));
    return run_.call(id_of(which), {arguments.data(), arguments.data()}, result);
  }
  Status call_on(size_t which, std::span<const Literal> arguments, Literal& result) override {
    HEDDLE_RETURN_IF_ERROR(run_.check_stop(instruction_));
    return run_.call(id_of(which), {arguments.data(), nullptr}, result);
  }
  StatusOr<Literal> map(size_t which, InstructionId value,
                        std::span<const Literal> arguments) override {
    return run_.map(id_of(which), value, arguments);
  }
  [[nodiscard]] const Computation& computation(size_t which) const override {
    return run_.plan().module.at(id_of(which));
  }

 private:
  [[nodiscard]] ComputationId id_of(size_t which) const { return instruction_.called[which]; }

  EvaluationRun& run_;
  const Instruction& instruction_;
};

// The bytes of a scalar as a literal, in its own buffer where that will do.
void put_scalar(const ScalarBytes& scalar, DType dtype, Literal& to) {
  if (!to.is_unique() || !to.shape().is_scalar(dtype))
    to = Literal::uninitialised(Shape::scalar(dtype));
  std::memcpy(to.mutable_bytes(), scalar.bytes, static_cast<size_t>(storage_bytes(dtype)));
}

void take_scalar(const Literal& from, DType dtype, ScalarBytes& to) {
  std::memcpy(to.bytes, from.bytes(), static_cast<size_t>(storage_bytes(dtype)));
}

// The element of an argument or of a tuple in a slot: moved out where it is not read again.
Literal argument_element(const Step& step, Arguments arguments) {
  if (step.takes && arguments.own != nullptr) {
    return std::move(arguments.own[step.tuple].mutable_elements()[step.element]);
  }
  return arguments.values[step.tuple].elements()[step.element];
}

Literal slot_element(const Step& step, Literal& tuple) {
  if (!step.takes) return tuple.elements()[step.element];
  return std::move(tuple.mutable_elements()[step.element]);
}

// A constant stays in its operand's place from run to run, unless the rule moved it out or wrote to
// its copy.
void place_constant(const Literal& constant, Literal& operand) {
  if (!operand.shares_bytes(constant)) operand = constant;
}

Status at_users_line(const Status& status, const Instruction& instruction) {
  if (!instruction.at.known()) return status;
  return with_location(status, to_string(instruction.at));
}

}  // namespace

Status EvaluationRun::check_stop(const Instruction& instruction) const {
  if (!stop_.stop_requested()) return {};
  const std::string_view name =
      instruction.name.empty() ? to_string(instruction.opcode) : std::string_view(instruction.name);
  const Status stopped =
      base::make_error(StatusCode::kCancelled, "run ", plan_.module.name, ": stopped in ", name);
  const Metadata& read = instruction.extras->metadata;  // where no trace of ours knows the line
  if (instruction.at.known() || read.source_file.empty()) return stopped;
  const std::string_view file =
      std::string_view(read.source_file).substr(read.source_file.rfind('/') + 1);
  return with_location(stopped, base::cat(file, ":", read.source_line));
}

void EvaluationRun::Frame::take(Source source, const Routine& routine, Literal& to) {
  switch (source.kind) {
    case Source::Kind::kSlot: to = slots[source.index]; return;
    case Source::Kind::kLastSlot: to = std::move(slots[source.index]); return;
    case Source::Kind::kConstant: to = routine.constants[source.index]; return;
    case Source::Kind::kScalar: put_scalar(scalars[source.index], source.scalar, to); return;
    case Source::Kind::kResult: return;
  }
}

// At the root, an earlier result takes the elements: in a loop nothing is allocated.
void EvaluationRun::Frame::make_tuple(const Step& step, const Routine& routine, Literal& result) {
  const Source* sources = routine.sources.data() + step.first_source;
  if (step.at_root && result.is_tuple() && result.elements().size() == step.source_count) {
    for (uint32_t i = 0; i < step.source_count; ++i)
      take(sources[i], routine, result.mutable_elements()[i]);
    return;
  }
  std::vector<Literal> elements(step.source_count);
  for (uint32_t i = 0; i < step.source_count; ++i) take(sources[i], routine, elements[i]);
  (step.at_root ? result : slots[step.slot]) =
      Literal::tuple(std::move(elements), step.instruction->shape);
}

void EvaluationRun::Frame::apply_scalar_op(const Step& step, const Routine& routine) {
  const Source* sources = routine.sources.data() + step.first_source;
  const std::byte* operands[ScalarOp::kMaxOperands];
  for (uint32_t i = 0; i < step.source_count; ++i) operands[i] = scalars[sources[i].index].bytes;
  step.scalar_op.apply(step.scalar_op, {operands, step.source_count}, scalars[step.slot].bytes);
}

void EvaluationRun::Frame::take_element(const Step& step, Arguments arguments) {
  if (step.scalar != DType::kInvalid) {
    const Literal& tuple = step.from_argument ? arguments.values[step.tuple] : slots[step.tuple];
    take_scalar(tuple.elements()[step.element], step.scalar, scalars[step.slot]);
    if (step.drops) slots[step.tuple] = Literal();
    return;
  }
  Literal element = step.from_argument ? argument_element(step, arguments)
                                       : slot_element(step, slots[step.tuple]);
  if (step.drops) slots[step.tuple] = Literal();
  slots[step.slot] = std::move(element);
}

void EvaluationRun::Frame::bind(const Routine::Binding& binding, Arguments arguments) {
  const Literal& argument = arguments.values[binding.parameter];
  if (binding.scalar != DType::kInvalid) {
    take_scalar(argument, binding.scalar, scalars[binding.slot]);
  } else if (arguments.own != nullptr) {
    slots[binding.slot] = std::move(arguments.own[binding.parameter]);
  } else {
    slots[binding.slot] = argument;
  }
}

void EvaluationRun::Frame::prepare(const Routine& routine) {
  if (slots.size() < routine.slot_count) slots.resize(routine.slot_count);
  if (operands.size() < routine.sources.size()) operands.resize(routine.sources.size());
  if (scalars.size() < routine.scalars.size()) scalars = routine.scalars;
}

Status EvaluationRun::call(ComputationId id, Arguments arguments, Literal& result) {
  const Routine& routine = plan_.routines[id.value];
  Frame& frame = frames_[id.value];
  frame.prepare(routine);
  for (const Routine::Binding& binding : routine.bindings) frame.bind(binding, arguments);
  for (const Step& step : routine.steps) {
    if (Status status = execute(routine, frame, step, arguments, result); !status.ok())
      return status;
  }
  frame.take(routine.root, routine, result);
  return {};
}

Status EvaluationRun::execute(const Routine& routine, Frame& frame, const Step& step,
                              Arguments arguments, Literal& result) {
  switch (step.kind) {
    case Step::Kind::kScalarOp: frame.apply_scalar_op(step, routine); return {};
    case Step::Kind::kRule: return apply_rule(routine, frame, step);
    case Step::Kind::kTuple: frame.make_tuple(step, routine, result); return {};
    case Step::Kind::kElement: frame.take_element(step, arguments); return {};
  }
  return {};
}

Status EvaluationRun::apply_rule(const Routine& routine, Frame& frame, const Step& step) {
  const Source* sources = routine.sources.data() + step.first_source;
  Literal* operands = frame.operands.data() + step.first_source;
  for (uint32_t i = 0; i < step.source_count; ++i) {
    if (sources[i].kind == Source::Kind::kConstant) {
      place_constant(routine.constants[sources[i].index], operands[i]);
    } else {
      frame.take(sources[i], routine, operands[i]);
    }
  }
  CallSite site(*this, *step.instruction);
  EvalArgs in{
      *step.instruction, {operands, step.source_count}, site, routine.computation, &context_,
      step.instruction};
  StatusOr<Literal> result = step.at_sizes ? apply_at_sizes(step, in) : step.rule(in);
  for (uint32_t i = 0; i < step.source_count; ++i) {
    const bool stays =
        sources[i].kind == Source::Kind::kConstant || sources[i].kind == Source::Kind::kScalar;
    if (!stays) operands[i] = Literal();
  }
  if (!result.ok()) return at_users_line(result.status(), *step.instruction);
  if (step.scalar != DType::kInvalid) {
    take_scalar(*result, step.scalar, frame.scalars[step.slot]);
  } else if (!step.unused) {
    frame.slots[step.slot] = *std::move(result);
  }
  return {};
}

StatusOr<Literal> EvaluationRun::apply_at_sizes(const Step& step, EvalArgs& in) {
  HEDDLE_ASSIGN_OR_RETURN(const Sized sized,
                          at_sizes(plan_.module, *in.computation, *step.instruction, in.operands));
  EvalArgs now{sized.instruction, in.operands, in.caller, in.computation, in.run, in.place};
  HEDDLE_ASSIGN_OR_RETURN(Literal result, step.rule(now));
  if (sized.cut) result = at_dimensions(result, *sized.cut);
  return fitted(std::move(result), step.instruction->shape);
}

// Runs of lifted computations are kept like frames. Null where elementwise ops do not suffice.
EvaluationRun* EvaluationRun::lifted(const EvaluationPlan::LiftKey& key) {
  auto [found, is_new] = lifted_.try_emplace(key);
  if (is_new) {
    found->second.plan = plan_.lifted(key);
    if (found->second.plan)
      found->second.run = std::make_unique<EvaluationRun>(*found->second.plan, context_);
  }
  return found->second.run.get();
}

struct EvaluationRun::MapCall {
  ComputationId computation;
  InstructionId value;
  std::span<const Literal> arguments;
};

namespace {

// Elements [start, start + count) as an array of n, the rest zeros.
Literal chunk_of(const Literal& whole, int64_t start, int64_t count, int64_t n) {
  const Shape shape(whole.shape().dtype(), {n});
  if (count == n && whole.element_count() == n) return whole.reshaped(shape);
  const auto width = static_cast<size_t>(storage_bytes(shape.dtype()));
  Literal out = Literal::uninitialised(shape);
  const auto used = width * static_cast<size_t>(count);
  std::memcpy(out.mutable_bytes(), whole.bytes() + width * static_cast<size_t>(start), used);
  std::memset(out.mutable_bytes() + used, 0, width * static_cast<size_t>(n) - used);
  return out;
}

// Puts the first `count` elements of each of a call's values at `start` of the results.
void put(const Literal& value, int64_t start, int64_t count, std::span<Literal> results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const Literal& from = value.is_tuple() ? value.elements()[i] : value;
    const auto width = static_cast<size_t>(storage_bytes(from.shape().dtype()));
    std::memcpy(results[i].mutable_bytes() + width * static_cast<size_t>(start), from.bytes(),
                width * static_cast<size_t>(count));
  }
}

}  // namespace

StatusOr<Literal> EvaluationRun::map(ComputationId id, InstructionId value,
                                     std::span<const Literal> arguments) {
  const Shape& scalar = plan_.module.at(id).at(value).shape;
  const std::vector<int64_t>& dimensions = arguments[0].shape().dimensions();
  std::vector<Literal> results;
  if (!scalar.is_tuple())
    results.push_back(Literal::uninitialised(Shape(scalar.dtype(), dimensions)));
  for (const Shape& each : scalar.elements()) {
    results.push_back(Literal::uninitialised(Shape(each.dtype(), dimensions)));
  }
  HEDDLE_RETURN_IF_ERROR(map_chunks({id, value, arguments}, results));
  if (scalar.is_tuple()) return Literal::tuple(std::move(results));
  return std::move(results[0]);
}

// Sizes of chunks are powers of two, so that few are ever planned.
Status EvaluationRun::map_chunks(const MapCall& call, std::span<Literal> results) {
  const int64_t total = call.arguments[0].element_count();
  std::vector<Literal> chunks(call.arguments.size());
  for (int64_t start = 0; start < total; start += kChunk) {
    const int64_t count = std::min(total - start, kChunk);
    const auto log2_size = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(count - 1)));
    EvaluationRun* run = lifted({call.computation, call.value, log2_size});
    if (run == nullptr) return map_elements(call, results);
    for (size_t i = 0; i < chunks.size(); ++i) {
      chunks[i] = chunk_of(call.arguments[i], start, count, int64_t{1} << log2_size);
    }
    Literal value;
    HEDDLE_RETURN_IF_ERROR(
        run->call(run->plan().module.entry, {chunks.data(), chunks.data()}, value));
    put(value, start, count, results);
  }
  return {};
}

// One call an element, for bodies that are more than elementwise.
Status EvaluationRun::map_elements(const MapCall& call, std::span<Literal> results) {
  if (call.value != plan_.module.at(call.computation).root) {
    return base::internal_error("map of an inner value that is not elementwise");
  }
  std::vector<Literal> scalars;
  for (const Literal& argument : call.arguments)
    scalars.emplace_back(Shape::scalar(argument.shape().dtype()));
  Literal value;
  for (int64_t at = 0; at < call.arguments[0].element_count(); ++at) {
    for (size_t i = 0; i < scalars.size(); ++i) {
      const auto width = static_cast<size_t>(storage_bytes(scalars[i].shape().dtype()));
      std::memcpy(scalars[i].mutable_bytes(),
                  call.arguments[i].bytes() + width * static_cast<size_t>(at), width);
    }
    HEDDLE_RETURN_IF_ERROR(this->call(call.computation, {scalars.data(), nullptr}, value));
    put(value, at, 1, results);
  }
  return {};
}

}  // namespace heddle::interpreter
