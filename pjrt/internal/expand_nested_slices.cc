// A dynamic-slice of a dynamic-slice, whose starts XLA's CPU adds to make one of the two, before
// either is clamped to the array: of {0, 1, 2, 3, 4}, from 4 on 3 elements and of these from 0 on
// 2, it gives {3, 4} and not {2, 3}. Starts that are within the array are added rightly.
#include <algorithm>

#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

// What XLA sees through.
bool is_seen_through(Opcode opcode) {
  return opcode == Opcode::kReshape || opcode == Opcode::kTranspose || opcode == Opcode::kCopy ||
         opcode == Opcode::kBitcast || opcode == Opcode::kConvert;
}

// Whether a start may be outside: no clamp holds it within 0 .. last.
bool is_loose(const hlo::Computation& computation, InstructionId start, int64_t last) {
  const Instruction& clamp = computation.at(start);
  if (clamp.opcode != Opcode::kClamp) return true;
  const auto is_within = [&](InstructionId bound) {
    const Instruction& constant = computation.at(bound);
    if (constant.opcode != Opcode::kConstant) return false;
    const int64_t value = constant.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0);
    return value >= 0 && value <= last;
  };
  return !is_within(clamp.operands[0]) || !is_within(clamp.operands[2]);
}

// A start that may be outside, of a slice that is smaller than the array.
bool has_loose_start(const hlo::Computation& computation, const Instruction& slice) {
  const Shape& from = computation.at(slice.operands[0]).shape;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t last = from.dimension(d) - slice.shape.dimension(d);
    if (last > 0 && is_loose(computation, slice.operands[static_cast<size_t>(d) + 1], last))
      return true;
  }
  return false;
}

bool is_array_slice(const Instruction& instruction) {
  return instruction.opcode == Opcode::kDynamicSlice && instruction.shape.rank() > 0;
}

// The slices that read another, and those that are read so.
std::vector<bool> nested_slices(const hlo::Computation& computation) {
  std::vector<bool> out(computation.instructions.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (!is_array_slice(computation.instructions[i])) continue;
    InstructionId from = computation.instructions[i].operands[0];
    while (is_seen_through(computation.at(from).opcode)) from = computation.at(from).operands[0];
    if (is_array_slice(computation.at(from))) out[i] = out[from.value] = true;
  }
  return out;
}

// The start clamped to 0 .. last, in its own type, whose numbers may all be below `last`.
InstructionId clamped(transform::Emitter& emit, InstructionId start, int64_t last) {
  const DType dtype = emit.shape(start).dtype();
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  if (bits < 63) last = std::min(last, (int64_t{1} << bits) - 1);
  return emit.op(Opcode::kClamp, Shape::scalar(dtype),
                 {emit.scalar(dtype, 0), start, emit.scalar(dtype, last)});
}

Instruction with_clamped_starts(hlo::ComputationBuilder& to, Instruction slice) {
  transform::Emitter emit(to, slice);
  const Shape from = emit.shape(slice.operands[0]);
  std::vector<InstructionId> operands = slice.operands;
  for (int64_t d = 0; d < from.rank(); ++d) {
    InstructionId& start = operands[static_cast<size_t>(d) + 1];
    start = clamped(emit, start, from.dimension(d) - slice.shape.dimension(d));
  }
  slice.operands = std::move(operands);
  return slice;
}

}  // namespace

bool has_nested_slices(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
    const std::vector<bool> nested = nested_slices(computation);
    for (size_t i = 0; i < nested.size(); ++i) {
      if (nested[i] && has_loose_start(computation, computation.instructions[i])) return true;
    }
    return false;
  });
}

hlo::Module expand_nested_slices(const hlo::Module& module) {
  transform::ModuleRebuilder into(module);
  for (hlo::ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    const std::vector<bool> nested = nested_slices(to.from());
    for (InstructionId i : to.order()) {
      if (nested[i.value]) {
        to.replace(i, to.builder().append(with_clamped_starts(to.builder(), to.mapped(i))));
      } else {
        to.copy(i);
      }
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::pjrt
