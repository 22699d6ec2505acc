// A dynamic-slice of a dynamic-slice, whose starts XLA's CPU adds to make one of the two, before
// either is clamped to the array: of {0, 1, 2, 3, 4}, from 4 on 3 elements and of these from 0 on
// 2, it gives {3, 4} and not {2, 3}. Starts that are within the array are added rightly.
#include <algorithm>

#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/rewrite.h"
#include "heddle/pjrt/internal/sources.h"
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

bool is_constant_within(const Instruction& constant, int64_t last) {
  if (constant.opcode != Opcode::kConstant) return false;
  const int64_t value = constant.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0);
  return value >= 0 && value <= last;
}

// Whether a start may be outside: it is no number within 0 .. last, and no clamp holds it there.
bool is_loose(const hlo::Computation& computation, InstructionId start, int64_t last) {
  const Instruction& now = computation.at(start);
  if (now.opcode != Opcode::kClamp) return !is_constant_within(now, last);
  return !is_constant_within(computation.at(now.operands[0]), last) ||
         !is_constant_within(computation.at(now.operands[2]), last);
}

int64_t last_start(const hlo::Computation& computation, const Instruction& slice, int64_t d) {
  return computation.at(slice.operands[0]).shape.dimension(d) - slice.shape.dimension(d);
}

bool has_loose_start(const hlo::Computation& computation, const Instruction& slice) {
  for (int64_t d = 0; d < slice.shape.rank(); ++d) {
    const InstructionId start = slice.operands[static_cast<size_t>(d) + 1];
    if (is_loose(computation, start, last_start(computation, slice, d))) return true;
  }
  return false;
}

bool is_array_slice(const Instruction& instruction) {
  return instruction.opcode == Opcode::kDynamicSlice && instruction.shape.rank() > 0;
}

// The slices that read another, and those that are read so, by computation and instruction.
std::vector<std::vector<bool>> nested_slices(const hlo::Module& module) {
  std::vector<std::vector<bool>> out;
  for (const hlo::Computation& computation : module.computations)
    out.emplace_back(computation.instructions.size());
  const Sources sources(module);
  const auto through = [&](const Source& at, size_t) {
    return is_seen_through(sources.at(at).opcode);
  };
  for (size_t c = 0; c < out.size(); ++c) {
    for (size_t i = 0; i < out[c].size(); ++i) {
      const Instruction& slice = module.computations[c].instructions[i];
      if (!is_array_slice(slice)) continue;
      std::set<Source> found;
      const bool is_all = sources.collect({{hlo::ComputationId(c), slice.operands[0], {}}},
                                          Sources::Loops::kAny, through, found);
      if (!is_all) out[c][i] = true;
      for (const Source& each : found) {
        if (!is_array_slice(sources.at(each))) continue;
        out[c][i] = out[each.computation.value][each.instruction.value] = true;
      }
    }
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

Instruction with_clamped_starts(transform::Rebuilder& to, InstructionId i) {
  Instruction slice = to.mapped(i);
  transform::Emitter emit(to.builder(), to.old(i));
  for (int64_t d = 0; d < slice.shape.rank(); ++d) {
    const auto at = static_cast<size_t>(d) + 1;
    const int64_t last = last_start(to.from(), to.old(i), d);
    if (!is_loose(to.from(), to.old(i).operands[at], last)) continue;
    slice.operands[at] = clamped(emit, slice.operands[at], last);
  }
  return slice;
}

}  // namespace

hlo::Module expand_nested_slices(const hlo::Module& module) {
  const std::vector<std::vector<bool>> nested = nested_slices(module);
  transform::ModuleRebuilder into(module);
  for (const hlo::ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    for (const InstructionId i : to.order()) {
      if (nested[id.value][i.value] && has_loose_start(to.from(), to.old(i))) {
        to.replace(i, to.builder().append(with_clamped_starts(to, i)));
      } else {
        to.copy(i);
      }
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::pjrt
