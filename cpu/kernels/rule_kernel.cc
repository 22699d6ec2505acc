#include <algorithm>
#include <cstring>
#include <vector>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/rendezvous.h"
#include "heddle/interpreter/run_context.h"

namespace heddle::cpu {
namespace {

using hlo::InstructionId;

class RuleKernel final : public Kernel {
 public:
  explicit RuleKernel(interpreter::Evaluator evaluator)
      : evaluator_(std::move(evaluator)),
        draws_(draws_in(evaluator_.module())),
        is_joint_(interpreter::joins_devices(evaluator_.module())) {}

  Status run(std::span<void* const> pointers) const override {
    interpreter::RunContext alone;
    return run_within(alone, pointers);
  }

  bool draws() const override { return draws_; }

  Status run_within(interpreter::RunContext& context,
                    std::span<void* const> pointers) const override {
    const hlo::Computation& entry = evaluator_.module().entry_computation();
    std::vector<Literal> arguments;
    for (size_t i = 0; i < entry.parameter_count(); ++i)
      arguments.push_back(read(entry.parameter_shape(i), pointers));
    HEDDLE_ASSIGN_OR_RETURN(const Literal result,
                            evaluator_.run_within(context, std::move(arguments)));
    write(result, pointers);
    return {};
  }

 private:
  static bool draws_in(const hlo::Module& module) {
    return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
      return std::ranges::any_of(computation.instructions, [](const hlo::Instruction& i) {
        return i.opcode == hlo::Opcode::kRng || i.opcode == hlo::Opcode::kRngGetAndUpdateState;
      });
    });
  }

  // Takes the pointers that it used from the front.
  Literal read(const Shape& shape, std::span<void* const>& pointers) const {
    if (shape.is_tuple()) {
      std::vector<Literal> elements;
      for (const Shape& element : shape.elements()) elements.push_back(read(element, pointers));
      return Literal::tuple(std::move(elements));
    }
    const void* bytes = pointers.front();
    pointers = pointers.subspan(1);
    if (is_joint_) return copied(shape, bytes);
    return Literal::borrowed(shape, bytes, nullptr);
  }

  static Literal copied(const Shape& shape, const void* bytes) {
    Literal copy = Literal::uninitialised(shape);
    if (shape.byte_size() > 0)
      std::memcpy(copy.mutable_bytes(), bytes, static_cast<size_t>(shape.byte_size()));
    return copy;
  }

  static void write(const Literal& value, std::span<void* const>& pointers) {
    if (value.is_tuple()) {
      for (const Literal& element : value.elements()) write(element, pointers);
      return;
    }
    if (value.byte_size() > 0)
      std::memcpy(pointers.front(), value.bytes(), static_cast<size_t>(value.byte_size()));
    pointers = pointers.subspan(1);
  }

  interpreter::Evaluator evaluator_;
  bool draws_;
  bool is_joint_;  // other devices read the operands, also when this one has gone on
};

}  // namespace

hlo::Module module_of(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& instruction) {
  hlo::Module alone;
  alone.name = module.name;
  // Callees keep their ids: they stand before their callers.
  if (!instruction.called.empty()) {
    hlo::ComputationId last;
    for (hlo::ComputationId id : instruction.called) {
      if (!last.valid() || id.value > last.value) last = id;
    }
    alone.computations.assign(module.computations.begin(),
                              module.computations.begin() + last.value + 1);
  }
  hlo::Computation entry;
  hlo::Instruction copy = instruction;
  copy.extras.reset();
  if (instruction.extras.has_value()) {
    hlo::InstructionExtras kept;
    kept.backend_config = instruction.extras.get().backend_config;
    kept.frontend_attributes = instruction.extras.get().frontend_attributes;
    if (hlo::is_custom(instruction, "SPMDShardToFullShape"))
      kept.sharding = instruction.extras.get().sharding;
    copy.extras = base::Box<hlo::InstructionExtras>(std::move(kept));
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    hlo::Instruction parameter;
    parameter.opcode = hlo::Opcode::kParameter;
    parameter.shape = computation.at(instruction.operands[i]).shape;
    parameter.attrs = hlo::ParameterAttrs{static_cast<int64_t>(i)};
    entry.parameters.push_back(InstructionId(entry.instructions.size()));
    entry.instructions.push_back(std::move(parameter));
    copy.operands[i] = InstructionId(i);
  }
  entry.root = InstructionId(entry.instructions.size());
  entry.instructions.push_back(std::move(copy));
  alone.entry = hlo::ComputationId(alone.computations.size());
  alone.computations.push_back(std::move(entry));
  return alone;
}

StatusOr<std::unique_ptr<Kernel>> make_rule_kernel(hlo::Module alone) {
  HEDDLE_ASSIGN_OR_RETURN(interpreter::Evaluator evaluator,
                          interpreter::Evaluator::prepare(std::move(alone)));
  return std::make_unique<RuleKernel>(std::move(evaluator));
}

}  // namespace heddle::cpu
