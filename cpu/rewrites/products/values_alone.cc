#include "heddle/cpu/rewrites/products/values_alone.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kValues = 1;

// syevd gives vectors, values and info; gesdd what is left of a, values, u, v^T and info.
bool reads_values_alone(const Computation& computation, InstructionId call) {
  if (computation.root == call) return false;
  const int64_t info = computation.at(call).shape.element_shapes() - 1;
  return std::ranges::all_of(computation.instructions, [&](const Instruction& user) {
    if (std::ranges::find(user.operands, call) == user.operands.end()) return true;
    if (user.opcode != Opcode::kGetTupleElement) return false;
    const int64_t index = user.attrs.get<hlo::TupleIndexAttrs>().index;
    return index == kValues || index == info;
  });
}

// A call that finds vectors that nobody reads.
bool finds_unread_vectors(const Computation& computation, InstructionId id) {
  const Instruction& call = computation.at(id);
  if (call.opcode != Opcode::kCustomCall || call.operands.size() != 1) return false;
  const Shape* const operands[] = {&computation.at(call.operands[0]).shape};
  const std::string_view routine = hlo::lapack_routine(call, operands);
  return (routine == "syevd" || routine == "heevd" || routine == "gesdd") &&
         hlo::lapack_option(call.extras.get().backend_config, "mode") != "78" &&
         reads_values_alone(computation, id);
}

}  // namespace

StatusOr<std::optional<hlo::Module>> find_values_alone(const hlo::Module& module) {
  std::optional<hlo::Module> out;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      if (!finds_unread_vectors(computation, InstructionId(static_cast<int32_t>(i)))) continue;
      if (!out) out = module;
      std::string& config = out->computations[c].instructions[i].extras.mutate().backend_config;
      const std::string_view mode = hlo::lapack_option(config, "mode");
      config.replace(static_cast<size_t>(mode.data() - config.data()), mode.size(), "78");  // 'N'
    }
  }
  return out;
}

}  // namespace heddle::cpu
