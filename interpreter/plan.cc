#include "heddle/interpreter/internal/plan.h"

#include <algorithm>
#include <cstring>

#include "heddle/base/located_status.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/internal/lift.h"
#include "heddle/interpreter/internal/sizes.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"

namespace heddle::interpreter {
namespace {

// Each level of calls takes some hundred bytes of stack in several functions; what people write
// nests some dozens deep.
constexpr int kMaxDepth = 512;

std::string place_of(const Computation& computation, InstructionId id) {
  const Instruction& instruction = computation.at(id);
  std::string name = instruction.name.empty() ? base::cat("#", id.value) : instruction.name;
  return computation.name.empty() ? name : base::cat(name, " of ", computation.name);
}

Status located(const Status& status, const Instruction& instruction) {
  if (instruction.at.known()) return with_location(status, to_string(instruction.at));
  const Metadata& metadata = instruction.extras->metadata;
  if (metadata.source_file.empty()) return status;
  return with_location(status, base::cat(metadata.source_file, ":", metadata.source_line));
}

// A module for several devices runs on one alone as long as nothing asks which device this is, or
// for the others.
Status check_alone(const Module& module, const Instruction& instruction) {
  const int64_t replicas = module.extras->replica_count, partitions = module.extras->num_partitions;
  if ((replicas <= 1 && partitions <= 1) || !joins_devices(instruction)) return {};
  return base::unimplemented(
      "is for the module's ", replicas, " replicas and ", partitions,
      " partitions, and the interpreter is one device; run it on a backend with as many");
}

// Bytes are all that there is of the value.
bool is_plain_scalar(const Shape& shape) { return shape.is_scalar() && !shape.has_layout(); }

// Plans one computation: gives each value a slot, and each use its kind.
class RoutineMaker {
 public:
  RoutineMaker(const Module& module, const Computation& computation,
               std::vector<InstructionId> order)
      : module_(module),
        computation_(computation),
        order_(std::move(order)),
        values_(computation.instructions.size()) {}

  StatusOr<Routine> make() {
    routine_.computation = &computation_;
    find_readers();
    // Arguments are bound before the first step, so no parameter may have a slot that a step has
    // left.
    for (InstructionId id : order_) {
      if (at(id).opcode == Opcode::kParameter) add_parameter(id);
    }
    for (size_t i = 0; i < order_.size(); ++i) {
      HEDDLE_RETURN_IF_ERROR(explain(order_[i], add(order_[i], static_cast<int64_t>(i))));
    }
    routine_.root = use(computation_.root, kAtRoot, 0);
    if (is_plain(at(computation_.root), Opcode::kTuple) && !root_is_read_)
      routine_.root.kind = Source::Kind::kResult;
    return std::move(routine_);
  }

  // Why one device alone cannot run what was made, where it cannot.
  [[nodiscard]] const Status& alone() const { return alone_; }

 private:
  static constexpr int64_t kNever = -1;
  static constexpr int64_t kAtRoot = INT64_MAX;

  // Where a value lies and how it is read. Positions are those of the order; operand numbers tell
  // the uses of one step apart.
  struct Value {
    bool is_constant = false;        // and no scalar
    DType scalar = DType::kInvalid;  // in the table of scalars
    uint32_t index = 0;              // in that table, or of its slot or of the constant
    int64_t last_read = kNever;
    size_t last_operand = 0;
    bool whole = false;                  // read otherwise than by get-tuple-element
    std::vector<int64_t> element_reads;  // by element: its last read by get-tuple-element
  };

  Value& value_of(InstructionId id) { return values_[id.value]; }
  const Instruction& at(InstructionId id) const { return computation_.at(id); }

  void find_readers() {
    for (size_t i = 0; i < order_.size(); ++i) {
      const Instruction& instruction = at(order_[i]);
      for (size_t k = 0; k < instruction.operands.size(); ++k) {
        note_read(instruction, instruction.operands[k], static_cast<int64_t>(i), k);
      }
    }
    root_is_read_ = value_of(computation_.root).last_read != kNever;
    value_of(computation_.root).last_read = kAtRoot;
    value_of(computation_.root).last_operand = 0;
    value_of(computation_.root).whole = true;
  }

  void note_read(const Instruction& user, InstructionId id, int64_t position, size_t operand) {
    Value& value = value_of(id);
    value.last_read = position;
    value.last_operand = operand;
    if (!is_plain(user, Opcode::kGetTupleElement)) {
      value.whole = true;
      return;
    }
    value.element_reads.resize(at(id).shape.elements().size(), kNever);
    value.element_reads[static_cast<size_t>(user.attrs.get<TupleIndexAttrs>().index)] = position;
  }

  Status explain(InstructionId id, const Status& status) const {
    if (status.ok()) return status;
    return located(
        base::annotate(status, to_string(at(id).opcode), ": ", place_of(computation_, id), " "),
        at(id));
  }

  // An op that the run does itself, and not by its rule.
  bool is_plain(const Instruction& instruction, Opcode opcode) const {
    return instruction.opcode == opcode && !depends_on_sizes(computation_, instruction);
  }

  Status add(InstructionId id, int64_t position) {
    if (has_unbounded_dimension(at(id).shape))
      return base::unimplemented("is ", at(id).shape,
                                 "; every dimension must have a size or a bound");
    if (depends_on_sizes(computation_, at(id))) return add_rule(id, position);
    switch (at(id).opcode) {
      case Opcode::kParameter: return {};  // bound already
      case Opcode::kConstant: return add_constant(id, at(id).attrs.get<ConstantAttrs>().literal);
      case Opcode::kGetTupleElement: return add_element(id, position);
      case Opcode::kTuple: add_tuple(id, position); return {};
      default: return add_rule(id, position);
    }
  }

  // Gives the value its place. A place among the scalars is never given twice.
  void allocate(InstructionId id) {
    Value& value = value_of(id);
    if (is_plain_scalar(at(id).shape)) {
      value.scalar = at(id).shape.dtype();
      value.index = static_cast<uint32_t>(routine_.scalars.size());
      routine_.scalars.emplace_back();
    } else if (free_.empty()) {
      value.index = routine_.slot_count++;
    } else {
      value.index = free_.back();
      free_.pop_back();
    }
  }

  void release(const Value& value) {
    if (value.scalar == DType::kInvalid) free_.push_back(value.index);
  }

  void add_parameter(InstructionId id) {
    const Value& value = value_of(id);
    if (!value.whole) return;
    const auto number = static_cast<uint32_t>(at(id).attrs.get<ParameterAttrs>().number);
    allocate(id);
    routine_.bindings.push_back({number, value.index, value.scalar});
  }

  Status add_constant(InstructionId id, const Literal& literal) {
    if (literal.is_elided()) {
      return base::failed_precondition(
          "is elided, {...}, so its value is not known; print the module with all its constants");
    }
    if (is_plain_scalar(at(id).shape)) {
      allocate(id);
      std::memcpy(routine_.scalars.back().bytes, literal.bytes(),
                  static_cast<size_t>(literal.byte_size()));
      return {};
    }
    value_of(id).is_constant = true;
    value_of(id).index = static_cast<uint32_t>(routine_.constants.size());
    routine_.constants.push_back(literal);
    return {};
  }

  // The use of a value as operand number `operand` of the step at `position`.
  Source use(InstructionId id, int64_t position, size_t operand) {
    const Value& value = value_of(id);
    if (value.is_constant) return {.kind = Source::Kind::kConstant, .index = value.index};
    if (value.scalar != DType::kInvalid) {
      return {.kind = Source::Kind::kScalar, .scalar = value.scalar, .index = value.index};
    }
    const bool last = value.last_read == position && value.last_operand == operand;
    if (last) release(value);
    return {.kind = last ? Source::Kind::kLastSlot : Source::Kind::kSlot, .index = value.index};
  }

  // Takes the operands first: the result may have the slot that the last use of one leaves.
  Step make_step(Step::Kind kind, InstructionId id, int64_t position) {
    Step step;
    step.kind = kind;
    step.instruction = &at(id);
    step.first_source = static_cast<uint32_t>(routine_.sources.size());
    step.source_count = static_cast<uint32_t>(at(id).operands.size());
    for (size_t k = 0; k < at(id).operands.size(); ++k) {
      routine_.sources.push_back(use(at(id).operands[k], position, k));
    }
    return step;
  }

  void finish(Step step, InstructionId id) {
    const Value& value = value_of(id);
    allocate(id);
    step.slot = value.index;
    step.scalar = value.scalar;
    step.unused = value.last_read == kNever;
    if (step.unused) release(value);
    routine_.steps.push_back(step);
  }

  // None where it takes a rule.
  ScalarOp scalar_op_of(const Instruction& instruction) const {
    const ScalarRule rule = evaluation(instruction.opcode).scalar;
    if (rule == nullptr || !is_plain_scalar(instruction.shape)) return {};
    if (instruction.operands.empty() || instruction.operands.size() > ScalarOp::kMaxOperands)
      return {};
    for (InstructionId id : instruction.operands) {
      if (!is_plain_scalar(at(id).shape)) return {};
    }
    return rule(instruction.attrs, at(instruction.operands[0]).shape.dtype(),
                instruction.shape.dtype());
  }

  Status add_rule(InstructionId id, int64_t position) {
    const Slot<EvaluateFn>& evaluate = evaluation(at(id).opcode).evaluate;
    if (!evaluate) return base::unimplemented(evaluate.reason());
    if (alone_.ok()) alone_ = explain(id, check_alone(module_, at(id)));
    Step step = make_step(Step::Kind::kRule, id, position);
    step.rule = evaluate.rule();
    step.at_sizes = depends_on_sizes(computation_, at(id));
    step.scalar_op = scalar_op_of(at(id));
    if (step.scalar_op.apply != nullptr) step.kind = Step::Kind::kScalarOp;
    finish(step, id);
    return {};
  }

  void add_tuple(InstructionId id, int64_t position) {
    Step step = make_step(Step::Kind::kTuple, id, position);
    step.at_root = id == computation_.root && !root_is_read_;
    finish(step, id);
  }

  Status add_element(InstructionId id, int64_t position) {
    const InstructionId tuple = at(id).operands[0];
    const Value& from = value_of(tuple);
    const auto index = static_cast<size_t>(at(id).attrs.get<TupleIndexAttrs>().index);
    if (from.is_constant) {
      const Literal element = routine_.constants[from.index].elements()[index];
      return add_constant(id, element);
    }
    Step step;
    step.kind = Step::Kind::kElement;
    step.instruction = &at(id);
    step.element = static_cast<uint32_t>(index);
    step.from_argument = at(tuple).opcode == Opcode::kParameter && !from.whole;
    step.tuple = step.from_argument
                     ? static_cast<uint32_t>(at(tuple).attrs.get<ParameterAttrs>().number)
                     : from.index;
    const bool last = from.last_read == position;
    step.takes = (last || !from.whole) && from.element_reads[index] == position;
    step.drops = last && !step.from_argument;
    if (step.drops) release(from);
    finish(step, id);
    return {};
  }

  const Module& module_;
  const Computation& computation_;
  const std::vector<InstructionId> order_;
  std::vector<Value> values_;  // by instruction
  std::vector<uint32_t> free_;
  bool root_is_read_ = false;  // inside of the computation
  Routine routine_;
  Status alone_;
};

// What can run at all: from the entry, through live instructions.
class Reach {
 public:
  explicit Reach(const Module& module)
      : effects_(module.computations.size()), live_(module.computations.size()) {
    for (size_t c = 0; c < effects_.size(); ++c) {
      effects_[c] =
          std::ranges::any_of(module.computations[c].instructions,
                              [&](const Instruction& i) { return has_side_effect(i, effects_); });
    }
    std::vector<bool> called(effects_.size());
    called[module.entry.value] = true;
    for (size_t c = module.entry.value + 1; c-- > 0;) {
      if (called[c]) live_[c] = find_live(module.computations[c], called);
    }
  }

  [[nodiscard]] const std::vector<bool>& effects() const { return effects_; }
  // By instruction; empty for a computation that is never called.
  [[nodiscard]] const std::vector<bool>& live(size_t c) const { return live_[c]; }

 private:
  std::vector<bool> find_live(const Computation& computation, std::vector<bool>& called) const {
    std::vector<bool> live(computation.instructions.size());
    live[computation.root.value] = true;
    for (size_t i = live.size(); i-- > 0;) {
      const Instruction& instruction = computation.instructions[i];
      if (!live[i] && !has_side_effect(instruction, effects_)) continue;
      live[i] = true;
      for (InstructionId id : instruction.operands) live[id.value] = true;
      for (ComputationId id : instruction.called) called[id.value] = true;
    }
    return live;
  }

  std::vector<bool> effects_;
  std::vector<std::vector<bool>> live_;
};

int depth_of(const Routine& routine, const std::vector<Routine>& routines) {
  int below = 0;
  for (const Step& step : routine.steps) {
    for (ComputationId id : step.instruction->called)
      below = std::max(below, routines[id.value].depth);
  }
  return below + 1;
}

Status plan_routines(EvaluationPlan& plan) {
  const Reach reach(plan.module);
  plan.routines.resize(plan.module.computations.size());
  for (size_t c = 0; c < plan.routines.size(); ++c) {
    if (reach.live(c).empty()) continue;
    const Computation& computation = plan.module.computations[c];
    RoutineMaker maker(plan.module, computation,
                       evaluation_order(computation, reach.live(c), reach.effects()));
    HEDDLE_ASSIGN_OR_RETURN(plan.routines[c], maker.make());
    if (plan.alone.ok()) plan.alone = maker.alone();
    plan.routines[c].depth = depth_of(plan.routines[c], plan.routines);
    if (plan.routines[c].depth > kMaxDepth) {
      return base::resource_exhausted("evaluate: computations call each other more than ",
                                      kMaxDepth, " deep");
    }
  }
  return {};
}

}  // namespace

StatusOr<std::shared_ptr<const EvaluationPlan>> make_evaluation_plan(Module module) {
  HEDDLE_RETURN_IF_ERROR(verify(module));
  auto plan = std::make_shared<EvaluationPlan>();
  plan->module = std::move(module);
  HEDDLE_RETURN_IF_ERROR(plan_routines(*plan));
  return std::shared_ptr<const EvaluationPlan>(std::move(plan));
}

std::shared_ptr<const EvaluationPlan> EvaluationPlan::lifted(const LiftKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto [found, is_new] = lifted_.try_emplace(key);
  const Computation& computation = module.at(key.computation);
  if (is_new && is_liftable(computation, key.value)) {
    Module wide;
    wide.entry = wide.add(lift(computation, key.value, int64_t{1} << key.log2_size));
    if (auto made = make_evaluation_plan(std::move(wide)); made.ok())
      found->second = *std::move(made);
  }
  return found->second;
}

}  // namespace heddle::interpreter
