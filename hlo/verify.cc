#include "heddle/hlo/verify.h"

#include <algorithm>

#include "heddle/hlo/internal/check_type.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

class Verifier {
 public:
  Verifier(const Module& module, Stage stage) : module_(module), stage_(stage) {}

  Status run() {
    if (module_.entry.value >= module_.computations.size()) {
      return base::invalid_argument("module ", module_.name, ": has no entry computation");
    }
    const Dims devices = {std::max<int64_t>(module_.extras->replica_count, 1),
                          std::max<int64_t>(module_.extras->num_partitions, 1)};
    if (!device_count(devices)) {
      return base::invalid_argument("module ", module_.name, ": is for ", devices[0],
                                    " replicas of ", devices[1], " partitions; must be at most ",
                                    kMaxDevices, " devices");
    }
    for (size_t i = 0; i < module_.computations.size(); ++i) {
      HEDDLE_RETURN_IF_ERROR(base::annotate(check(i), "module ", module_.name, ", computation ",
                                            module_.computations[i].name, ": "));
    }
    return check_aliases(module_);
  }

 private:
  Status check(size_t number) {
    const Computation& computation = module_.computations[number];
    if (computation.root.value >= computation.instructions.size()) {
      return base::invalid_argument("has no root");
    }
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      if (const Status status = check(computation, number, i); !status.ok()) {
        const std::string& name = computation.instructions[i].name;
        return base::annotate(status, name.empty() ? base::cat("#", i) : name, ": ");
      }
    }
    return check_parameters(computation);
  }

  Status check(const Computation& computation, size_t number, size_t i) {
    const Instruction& instruction = computation.instructions[i];
    if (stage_ != Stage::kTraced && instruction.opcode == Opcode::kScan) {
      return base::invalid_argument(
          "scan: is not legal here; lower it to while first (heddle opt --passes lower-scan)");
    }
    operands_.clear();
    for (InstructionId id : instruction.operands) {
      if (id.value >= i)
        return base::invalid_argument("operand ", id.value, " is not defined before its use");
      operands_.push_back(&computation.at(id).shape);
    }
    callees_.clear();
    for (ComputationId id : instruction.called) {
      if (id.value >= number)
        return base::invalid_argument("callee ", id.value, " is not defined before its caller");
      callees_.push_back(&module_.at(id));
    }
    if (instruction.extras.has_value()) {
      for (InstructionId id : instruction.extras->control_predecessors) {
        if (id.value >= i)
          return base::invalid_argument("control predecessor ", id.value, " is not defined before");
      }
      if (instruction.extras->sharding.has_value())
        HEDDLE_RETURN_IF_ERROR(check_sharding(*instruction.extras->sharding));
    }
    return check_type(instruction.opcode, operands_, instruction.attrs, callees_,
                      instruction.shape);
  }

  static Status check_parameters(const Computation& computation) {
    size_t found = 0;
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode != Opcode::kParameter) continue;
      ++found;
      int64_t n = instruction.attrs.get<ParameterAttrs>().number;
      if (n < 0 || n >= static_cast<int64_t>(computation.parameters.size()) ||
          computation.parameters[static_cast<size_t>(n)] != InstructionId(i)) {
        return base::invalid_argument(
            "parameter ", n, " stands twice or out of range; numbers are 0 .. n-1, each once");
      }
    }
    if (found != computation.parameters.size()) {
      return base::invalid_argument("has ", found, " parameters; numbers go up to ",
                                    computation.parameters.size());
    }
    return {};
  }

  const Module& module_;
  const Stage stage_;
  std::vector<const Shape*> operands_;
  std::vector<const Computation*> callees_;
};

// `index` must lead to a part of `shape`.
Status check_index(const Shape& shape, const std::vector<int64_t>& index, std::string_view what) {
  const Shape* at = &shape;
  for (int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(at->elements().size())) {
      return base::invalid_argument("input_output_alias: ", what, " {", base::join(index, ","),
                                    "} is not in ", to_string(shape));
    }
    at = &at->element(i);
  }
  return {};
}

}  // namespace

Status check_aliases(const Module& module) {
  if (!module.extras.has_value()) return {};
  const Computation& entry = module.entry_computation();
  for (const InputOutputAlias& alias : module.extras->input_output_alias) {
    HEDDLE_RETURN_IF_ERROR(check_index(entry.result_shape(), alias.output_index, "output"));
    if (alias.parameter < 0 || alias.parameter >= static_cast<int64_t>(entry.parameter_count())) {
      return base::invalid_argument("input_output_alias: there is no parameter ", alias.parameter);
    }
    HEDDLE_RETURN_IF_ERROR(check_index(entry.parameter_shape(static_cast<size_t>(alias.parameter)),
                                       alias.parameter_index, "parameter index"));
  }
  return {};
}

Status verify(const Module& module, Stage stage) { return Verifier(module, stage).run(); }

}  // namespace heddle::hlo
