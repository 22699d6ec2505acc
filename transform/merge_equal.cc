// merge-equal: of several instructions that compute the same from the same operands, the first
// stays.
//
//   a = negate(x)
//   b = negate(x)           =>          a = negate(x)
//   c = add(a, b)                       c = add(a, a)
//
// It is one forward walk: the operands of an instruction are merged before it, so equal values have
// equal operand ids. Equal computations are merged before their callers, so equal loops become one.
// Equal outputs of a scan are read as one, and remove-unused drops the others.
#include <algorithm>
#include <unordered_map>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

template <class Id>
using Seen = std::unordered_map<base::Hash128, Id, base::HashOfHash>;

// Outputs of a scan that are one value in its body are one stacked array: the first is read.
void read_first_of_equal(const hlo::Module& module, const Instruction& scan, Instruction& now) {
  if (scan.opcode != Opcode::kScan || scan.extras->sharding.has_value()) return;
  const Instruction& root = module.at(scan.called[0]).root_instruction();
  const auto carries = static_cast<size_t>(scan.attrs.get<hlo::ScanAttrs>().num_carries);
  const int64_t index = now.attrs.get<hlo::TupleIndexAttrs>().index;
  if (root.opcode != Opcode::kTuple || index + carries >= root.operands.size()) return;
  const InstructionId value = root.operands[static_cast<size_t>(index)];
  const auto first = std::ranges::find(root.operands, value) - root.operands.begin();
  now.attrs = hlo::TupleIndexAttrs{.index = first};
}

Computation merged(ModuleRebuilder& module, ComputationId id) {
  Rebuilder to(module, id);
  Seen<InstructionId> seen;
  seen.reserve(to.from().instructions.size());
  for (InstructionId i : to.order()) {
    Instruction now = to.mapped(i);
    if (now.opcode == Opcode::kGetTupleElement)
      read_first_of_equal(module.into(), to.at(now.operands[0]), now);
    InstructionId* first = module.effects().may_merge(now) ? &seen[hlo::hash_of(now)] : nullptr;
    if (first != nullptr && first->valid() && hlo::equal(to.at(*first), now)) {
      to.replace(i, *first);
      continue;
    }
    to.replace(i, to.builder().append(std::move(now)));
    if (first != nullptr) *first = to[i];
  }
  Computation computation = std::move(to).finish();
  sweep(computation, module.effects());
  return computation;
}

}  // namespace

StatusOr<hlo::Module> merge_equal(const hlo::Module& module) {
  ModuleRebuilder to(module);
  Seen<ComputationId> seen;
  for (ComputationId id : to.order()) {
    Computation now = merged(to, id);
    auto [found, fresh] = seen.try_emplace(hlo::hash_of(now));
    if (!fresh && hlo::equal(to.into().at(found->second), now)) {
      to.replace(id, found->second);
    } else {
      found->second = to.replace(id, std::move(now));
    }
  }
  return std::move(to).finish();
}

}  // namespace heddle::transform
