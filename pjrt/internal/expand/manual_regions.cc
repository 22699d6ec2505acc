// What shard_map computes lies between SPMDFullToShardShape and SPMDShardToFullShape. XLA's
// propagation of shardings takes a constant that is read there and outside for one of the region,
// its readers outside too, and then dies of it (Check failed in Array::Reshape). So the region has
// constants of its own. Of a part that a loop, a branch or a call around it gives it dies too:
// derivatives keep arrays of all parts (transform/derivatives/internal/devices.h).
#include <algorithm>
#include <map>

#include "heddle/base/located_status.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/sharding/shard_map.h"

namespace heddle::pjrt {
namespace {

bool begins(const Instruction& instruction) {
  return hlo::is_custom(instruction, "SPMDFullToShardShape");
}

// Which depend on nothing: constants, and what is computed of them.
std::vector<bool> free_of_operands(const Computation& computation) {
  std::vector<bool> out(computation.instructions.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    const bool is_made = instruction.opcode == Opcode::kConstant ||
                         instruction.opcode == Opcode::kIota ||
                         instruction.opcode == Opcode::kBroadcast;
    out[i] = is_made && std::ranges::all_of(instruction.operands,
                                            [&](auto operand) { return out[operand.value]; });
  }
  return out;
}

// Copies a computation, with constants of its own for what is inside.
class Separated {
 public:
  Separated(transform::ModuleRebuilder& module, hlo::ComputationId id)
      : to_(module, id),
        inside_(transform::parts_of_devices(to_.from())),
        free_(free_of_operands(to_.from())) {}

  Computation run() {
    for (InstructionId i : to_.order()) {
      if (!inside_[i.value] || begins(to_.old(i))) {
        to_.copy(i);
        continue;
      }
      Instruction now = to_.mapped(i);
      for (size_t k = 0; k < now.operands.size(); ++k) {
        const InstructionId operand = to_.old(i).operands[k];
        if (free_[operand.value]) now.operands[k] = own(operand);
      }
      to_.replace(i, to_.builder().append(std::move(now)));
    }
    return std::move(to_).finish();
  }

 private:
  InstructionId own(InstructionId old) {
    if (const auto known = own_.find(old); known != own_.end()) return known->second;
    Instruction now = to_.mapped(old);
    now.name.clear();
    now.extras.mutate().sharding.mutate().type = hlo::Sharding::Type::kManual;
    for (size_t k = 0; k < now.operands.size(); ++k)
      now.operands[k] = own(to_.old(old).operands[k]);
    return own_[old] = to_.builder().append(std::move(now));
  }

  transform::Rebuilder to_;
  std::vector<bool> inside_, free_;
  std::map<InstructionId, InstructionId> own_;
};

}  // namespace

StatusOr<hlo::Module> with_own_constants(const hlo::Module& module) {
  const auto first_in = [](const Computation& computation) {
    return std::ranges::find_if(computation.instructions, begins);
  };
  transform::ModuleRebuilder to(module);
  for (hlo::ComputationId id : to.order()) {
    const Computation& computation = module.at(id);
    const auto first = first_in(computation);
    const bool has_region = first != computation.instructions.end();
    if (has_region && id != module.entry &&
        transform::parts_of_devices(computation)[computation.root.value])
      return with_location(
          base::unimplemented(
              "compile ", module.name,
              ": a loop, a branch or a call gives what a shard_map in it computes, of which XLA's "
              "partitioner dies; put it into the shard_map"),
          to_string(first->at));
    to.replace(id, Separated(to, id).run());
  }
  return std::move(to).finish();
}

}  // namespace heddle::pjrt
