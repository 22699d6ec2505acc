#include "heddle/cpu/rewrites/indexing/chosen_updates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostUpdates = 8;    // of one array
constexpr int64_t kFewestForOne = 4;  // of the array, for each one that is updated

// The scalar that a truth of each element is; not valid: there are several.
InstructionId one_truth(const Computation& in, InstructionId truths) {
  const Instruction& x = in.at(truths);
  if (x.shape.is_scalar()) return truths;
  const bool is_one = x.opcode == Opcode::kBroadcast && in.at(x.operands[0]).shape.is_scalar();
  return is_one ? x.operands[0] : InstructionId();
}

// A dynamic-update-slice, or a scatter that sets the elements of one window.
bool is_update(const hlo::Module& module, const Computation& in, const Instruction& x) {
  if (x.shape.is_dynamic() || x.shape.is_scalar()) return false;
  if (x.opcode == Opcode::kDynamicUpdateSlice)
    return std::ssize(x.operands) == 2 + x.shape.rank() &&
           in.at(x.operands[1]).shape.element_count() > 0;
  if (x.opcode != Opcode::kScatter) return false;
  const Computation& by = module.at(x.called[0]);
  return by.root == by.parameters.back() && one_window(in, x).has_value();
}

int64_t updated_elements(const Computation& in, const Instruction& update) {
  return in.at(update.operands[update.opcode == Opcode::kScatter ? 2 : 1]).shape.element_count();
}

// The updates, the first one first, that make `id` of `from`; none where it is made otherwise, or
// where most of the array is updated.
std::vector<InstructionId> updates_between(const hlo::Module& module, const Computation& in,
                                           InstructionId id, InstructionId from) {
  std::vector<InstructionId> chain;
  int64_t elements = 0;
  for (; id != from; id = in.at(id).operands[0]) {
    if (chain.size() == kMostUpdates || !is_update(module, in, in.at(id))) return {};
    elements += updated_elements(in, in.at(id));
    chain.push_back(id);
  }
  if (in.at(from).shape.element_count() < kFewestForOne * elements) return {};
  std::ranges::reverse(chain);
  return chain;
}

// The array `now` with the update `id` where `chosen`, and as it is elsewhere.
hlo::Value updated_if(transform::Rebuilder& to, InstructionId id, const hlo::Value& now,
                      const hlo::Value& chosen) {
  const Instruction& old = to.old(id);
  hlo::Values operands = to.operands(id);
  operands[0] = now;
  Dims sizes;
  hlo::Values starts;
  size_t part = 1;
  if (old.opcode == Opcode::kDynamicUpdateSlice) {
    sizes = operands[1].sizes();
    starts.assign(operands.begin() + 2, operands.end());
  } else {
    part = 2;
    const auto& attrs = old.attrs.get<hlo::ScatterAttrs>();
    const Dims& mapped = attrs.scatter_dims_to_operand_dims;
    const hlo::Value numbers = reshape(operands[1], {std::ssize(mapped)});
    starts.assign(now.sizes().size(), numbers.number(0));
    for (size_t i = 0; i < mapped.size(); ++i)
      starts[static_cast<size_t>(mapped[i])] =
          reshape(slice(numbers, 0, static_cast<int64_t>(i), 1), {});
    sizes = *one_window(to.from(), old);
  }
  // A window outside of the array is dropped by a scatter, whatever it would write.
  const hlo::Value there = reshape(dynamic_slice(now, starts, sizes), operands[part].sizes());
  operands[part] = select(broadcast(chosen, operands[part].sizes(), {}), operands[part], there);
  Instruction copy = to.mapped(id);
  copy.operands.clear();
  for (const hlo::Value& operand : operands) copy.operands.push_back(operand.id());
  return now.graph().wrap(to.builder().append(std::move(copy)));
}

hlo::Value chosen(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kSelect || !old.shape.is_array() || old.shape.is_scalar()) return {};
  const InstructionId truth = one_truth(to.from(), old.operands[0]);
  if (!truth.valid()) return {};
  bool is_negated = false;
  InstructionId from = old.operands[2];
  std::vector<InstructionId> chain = updates_between(module, to.from(), old.operands[1], from);
  if (chain.empty()) {
    is_negated = true;
    from = old.operands[1];
    chain = updates_between(module, to.from(), old.operands[2], from);
  }
  if (chain.empty()) return {};
  to.in_place_of(id);
  const hlo::Value p = is_negated ? !to.value(truth) : to.value(truth);
  hlo::Value now = to.value(from);
  for (const InstructionId update : chain) now = updated_if(to, update, now, p);
  return now;
}

}  // namespace

StatusOr<std::optional<hlo::Module>> choose_updates(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId) {
    return [&](InstructionId id) { return chosen(module, to, id); };
  });
}

}  // namespace heddle::cpu
