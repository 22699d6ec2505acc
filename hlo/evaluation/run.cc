#include "heddle/hlo/evaluation/internal/run.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::hlo {
namespace {

// Elements that an elementwise body takes at a time: few enough for a dozen temporaries to stay in the cache.
constexpr int64_t kChunk = 2048;

class CallSite final : public Caller, public RandomSource {
 public:
  CallSite(EvaluationRun& run, const Instruction& instruction) : run_(run), instruction_(instruction) {}

  StatusOr<Literal> call_and_consume(size_t which, std::span<Literal> arguments) override {
    return run_.call(id_of(which), {arguments.data(), arguments.data()});
  }
  StatusOr<Literal> call_on(size_t which, std::span<const Literal> arguments) override {
    return run_.call(id_of(which), {arguments.data(), nullptr});
  }
  StatusOr<Literal> map(size_t which, InstructionId value, std::span<const Literal> arguments) override {
    return run_.map(id_of(which), value, arguments);
  }
  [[nodiscard]] const Computation& computation(size_t which) const override {
    return run_.plan().module.at(id_of(which));
  }
  [[nodiscard]] uint64_t seed() const override { return run_.seed(); }
  WideCounter advance(uint64_t by) override { return run_.advance_random(by); }

 private:
  [[nodiscard]] ComputationId id_of(size_t which) const { return instruction_.called[which]; }

  EvaluationRun& run_;
  const Instruction& instruction_;
};

Literal take(Source source, std::vector<Literal>& slots, const Routine& routine) {
  switch (source.kind) {
    case Source::Kind::kSlot: return slots[source.index];
    case Source::Kind::kLastSlot: return std::move(slots[source.index]);
    case Source::Kind::kConstant: return routine.constants[source.index];
  }
  return {};
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
  Literal element = std::move(tuple.mutable_elements()[step.element]);
  if (step.drops) tuple = Literal();
  return element;
}

// At the root of a loop's body, the tuple that the argument came in takes the results: nothing is allocated.
Literal make_tuple(const Routine& routine, const Step& step, std::vector<Literal>& slots, Arguments arguments) {
  const Source* sources = routine.sources.data() + step.first_source;
  if (step.recycled >= 0 && arguments.own != nullptr) {
    Literal tuple = std::move(arguments.own[step.recycled]);
    std::vector<Literal>& elements = tuple.mutable_elements();
    for (uint32_t i = 0; i < step.source_count; ++i) elements[i] = take(sources[i], slots, routine);
    return tuple;
  }
  std::vector<Literal> elements(step.source_count);
  for (uint32_t i = 0; i < step.source_count; ++i) elements[i] = take(sources[i], slots, routine);
  return Literal::tuple(std::move(elements));
}

// A constant stays in its operand's place from run to run, unless the rule moved it out or wrote to its copy.
void place_constant(const Literal& constant, Literal& operand) {
  if (constant.is_tuple() || operand.bytes() != constant.bytes()) operand = constant;
}

Status located(const Status& status, const Instruction& instruction) {
  if (!instruction.at.known()) return status;
  return make_error(status.code(), message_of(status), " [", to_string(instruction.at), "]");
}

}  // namespace

StatusOr<Literal> EvaluationRun::call(ComputationId id, Arguments arguments) {
  const Routine& routine = plan_.routines[id.value];
  Frame& frame = frames_[id.value];
  if (frame.slots.size() < routine.slot_count) frame.slots.resize(routine.slot_count);
  if (frame.operands.size() < routine.sources.size()) frame.operands.resize(routine.sources.size());
  for (const auto& [parameter, slot] : routine.bindings) {
    if (arguments.own != nullptr) {
      frame.slots[slot] = std::move(arguments.own[parameter]);
    } else {
      frame.slots[slot] = arguments.values[parameter];
    }
  }
  for (const Step& step : routine.steps) {
    if (Status status = execute(routine, frame, step, arguments); !status.ok()) return status;
  }
  return take(routine.root, frame.slots, routine);
}

Status EvaluationRun::execute(const Routine& routine, Frame& frame, const Step& step, Arguments arguments) {
  switch (step.kind) {
    case Step::Kind::kRule: return apply_rule(routine, frame, step);
    case Step::Kind::kTuple:
      frame.slots[step.slot] = make_tuple(routine, step, frame.slots, arguments);
      return {};
    case Step::Kind::kElement:
      frame.slots[step.slot] = step.from_argument ? argument_element(step, arguments)
                                                  : slot_element(step, frame.slots[step.tuple]);
      return {};
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
      operands[i] = take(sources[i], frame.slots, routine);
    }
  }
  CallSite site(*this, *step.instruction);
  EvalArgs in{*step.instruction, {operands, step.source_count}, site, routine.computation};
  StatusOr<Literal> result = step.rule(in);
  for (uint32_t i = 0; i < step.source_count; ++i) {
    if (sources[i].kind != Source::Kind::kConstant) operands[i] = Literal();
  }
  if (!result.ok()) return located(result.status(), *step.instruction);
  if (!step.unused) frame.slots[step.slot] = *std::move(result);
  return {};
}

// Runs of lifted computations are kept like frames. Null where the value is not had by elementwise ops.
EvaluationRun* EvaluationRun::lifted(const EvaluationPlan::LiftKey& key) {
  auto [found, is_new] = lifted_.try_emplace(key);
  if (is_new) {
    found->second.plan = plan_.lifted(key);
    if (found->second.plan) found->second.run = std::make_unique<EvaluationRun>(*found->second.plan);
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

StatusOr<Literal> EvaluationRun::map(ComputationId id, InstructionId value, std::span<const Literal> arguments) {
  const Shape& scalar = plan_.module.at(id).at(value).shape;
  const std::vector<int64_t>& dimensions = arguments[0].shape().dimensions();
  std::vector<Literal> results;
  if (!scalar.is_tuple()) results.push_back(Literal::uninitialised(Shape(scalar.dtype(), dimensions)));
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
    HEDDLE_ASSIGN_OR_RETURN(Literal value, run->call(run->plan().module.entry, {chunks.data(), chunks.data()}));
    put(value, start, count, results);
  }
  return {};
}

// One call an element, for bodies that are more than elementwise.
Status EvaluationRun::map_elements(const MapCall& call, std::span<Literal> results) {
  if (call.value != plan_.module.at(call.computation).root) {
    return internal_error("map of an inner value that is not elementwise");
  }
  std::vector<Literal> scalars;
  for (const Literal& argument : call.arguments) scalars.emplace_back(Shape::scalar(argument.shape().dtype()));
  for (int64_t at = 0; at < call.arguments[0].element_count(); ++at) {
    for (size_t i = 0; i < scalars.size(); ++i) {
      const auto width = static_cast<size_t>(storage_bytes(scalars[i].shape().dtype()));
      std::memcpy(scalars[i].mutable_bytes(), call.arguments[i].bytes() + width * static_cast<size_t>(at), width);
    }
    HEDDLE_ASSIGN_OR_RETURN(Literal value, this->call(call.computation, {scalars.data(), nullptr}));
    put(value, at, 1, results);
  }
  return {};
}

}  // namespace heddle::hlo
