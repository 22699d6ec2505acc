// A dynamic-update-slice of an array by what is computed from other places of that array. XLA's
// CPU may compute the update while it writes the array in place, and then reads elements that it
// has written: it looks for such reads before it puts a reshape of the result into the same kernel,
// and not after that (an opt-barrier is gone by then). The update goes through add-dependency, past
// which nothing is put together; a kernel more is computed, and nothing is copied.
#include <algorithm>

#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/rewrite.h"
#include "heddle/pjrt/internal/sources.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

// Whether it is the part of the array that the update is written to.
bool is_same_part(const Computation& computation, const Instruction& update,
                  const Instruction& part) {
  return part.opcode == Opcode::kDynamicSlice && part.operands[0] == update.operands[0] &&
         part.shape.dimensions() == computation.at(update.operands[1]).shape.dimensions() &&
         std::equal(part.operands.begin() + 1, part.operands.end(), update.operands.begin() + 2,
                    update.operands.end());
}

// What the update is made of, element by element: of the part that it replaces each element is read
// before it is written, so that part is left out.
std::vector<Source> made_of(const Computation& computation, hlo::ComputationId id,
                            const Instruction& update) {
  std::vector<Source> out;
  std::vector<bool> seen(computation.instructions.size());
  std::vector<InstructionId> next = {update.operands[1]};
  while (!next.empty()) {
    const InstructionId at = next.back();
    next.pop_back();
    if (seen[at.value]) continue;
    seen[at.value] = true;
    const Instruction& now = computation.at(at);
    if (is_same_part(computation, update, now)) continue;
    if (hlo::has_trait(now.opcode, hlo::kElementwise)) {
      next.insert(next.end(), now.operands.begin(), now.operands.end());
    } else {
      out.push_back({id, at, {}});
    }
  }
  return out;
}

// Of an array of several elements. Another may change nothing that is read.
bool is_array_of_some(const Shape& shape, const std::vector<int64_t>& element) {
  const Shape* at = &shape;
  for (const int64_t i : element) at = &at->elements()[static_cast<size_t>(i)];
  return at->is_array() && at->element_count() > 1;
}

// Whether the op's result may be that operand: what an earlier update wrote into the array is not.
bool is_of_the_array(const Sources& sources, const Source& at, size_t operand) {
  const Instruction& now = sources.at(at);
  if (now.opcode != Opcode::kDynamicUpdateSlice || operand == 0) return true;
  const Shape& part = sources.at({at.computation, now.operands[operand], {}}).shape;
  return operand == 1 && part.dimensions() == now.shape.dimensions();
}

bool reads_what_it_writes(const Sources& sources, hlo::ComputationId id,
                          const Computation& computation, const Instruction& update) {
  if (update.opcode != Opcode::kDynamicUpdateSlice) return false;
  const std::vector<Source> parts = made_of(computation, id, update);
  if (parts.empty()) return false;
  const auto any = [](const Source&, size_t) { return true; };
  const auto array = [&](const Source& at, size_t operand) {
    return is_of_the_array(sources, at, operand);
  };
  const auto loops = Sources::Loops::kOneTrip;
  std::set<Source> written, read;
  if (!sources.collect({{id, update.operands[0], {}}}, loops, array, written)) return true;
  if (!sources.collect(parts, loops, any, read)) return true;
  return std::ranges::any_of(read, [&](const Source& each) {
    return written.contains(each) && is_array_of_some(sources.at(each).shape, each.element);
  });
}

InstructionId written(transform::Rebuilder& to, InstructionId i) {
  Instruction now = to.mapped(i);
  transform::Emitter emit(to.builder(), to.old(i));
  Shape update = emit.shape(now.operands[1]);
  const InstructionId order = emit.op(Opcode::kAfterAll, Shape::token(), {});
  now.operands[1] = emit.op(Opcode::kAddDependency, std::move(update), {now.operands[1], order});
  return to.builder().append(std::move(now));
}

}  // namespace

hlo::Module expand_self_updates(const hlo::Module& module) {
  const Sources sources(module);
  transform::ModuleRebuilder into(module);
  for (const hlo::ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    for (const InstructionId i : to.order()) {
      if (reads_what_it_writes(sources, id, to.from(), to.old(i))) {
        to.replace(i, written(to, i));
      } else {
        to.copy(i);
      }
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::pjrt
