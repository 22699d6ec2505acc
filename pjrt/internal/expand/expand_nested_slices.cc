// A dynamic-slice of a dynamic-slice, whose starts XLA's CPU adds to make one of the two, before
// either is clamped to the array: of {0, 1, 2, 3, 4}, from 4 on 3 elements and of these from 0 on
// 2, it gives {3, 4} and not {2, 3}. Starts that are within the array are added rightly. A gather
// of one index is a dynamic-slice there.
#include <algorithm>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/pjrt/internal/sources.h"

namespace heddle::pjrt {
namespace {

// What XLA sees through.
bool is_seen_through(Opcode opcode) {
  return opcode == Opcode::kReshape || opcode == Opcode::kTranspose || opcode == Opcode::kCopy ||
         opcode == Opcode::kBitcast || opcode == Opcode::kConvert;
}

// A slice by positions that the program computes: a dynamic-slice, or a gather of one index.
bool is_array_slice(const hlo::Computation& computation, const Instruction& now) {
  if (now.opcode == Opcode::kDynamicSlice) return now.shape.rank() > 0;
  if (now.opcode != Opcode::kGather) return false;
  const Shape& indices = computation.at(now.operands[1]).shape;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    const bool is_vector = d == now.attrs.get<hlo::GatherAttrs>().index_vector_dim;
    if (!is_vector && indices.dimension(d) != 1) return false;
  }
  return true;
}

// An operand that says where a slice starts, and the last start that each of its elements may say.
struct Start {
  size_t operand;
  std::vector<int64_t> last;
};

std::vector<Start> starts_of(const hlo::Computation& computation, const Instruction& slice) {
  const Shape& array = computation.at(slice.operands[0]).shape;
  std::vector<Start> out;
  if (slice.opcode == Opcode::kDynamicSlice) {
    for (int64_t d = 0; d < array.rank(); ++d)
      out.push_back({static_cast<size_t>(d) + 1, {array.dimension(d) - slice.shape.dimension(d)}});
    return out;
  }
  const auto& attrs = slice.attrs.get<hlo::GatherAttrs>();
  Start& start = out.emplace_back(Start{1, {}});
  for (const int64_t d : attrs.start_index_map)
    start.last.push_back(array.dimension(d) - attrs.slice_sizes[static_cast<size_t>(d)]);
  return out;
}

bool is_constant_within(const Instruction& constant, const std::vector<int64_t>& last) {
  if (constant.opcode != Opcode::kConstant) return false;
  const Literal& literal = constant.attrs.get<hlo::ConstantAttrs>().literal;
  if (literal.element_count() != static_cast<int64_t>(last.size())) return false;
  for (size_t i = 0; i < last.size(); ++i) {
    const int64_t value = literal.to_int64(static_cast<int64_t>(i));
    if (value < 0 || value > last[i]) return false;
  }
  return true;
}

// Whether a start may be outside: it is no number within 0 .. last, and no clamp holds it there.
bool is_loose(const hlo::Computation& computation, InstructionId start,
              const std::vector<int64_t>& last) {
  const Instruction& now = computation.at(start);
  if (now.opcode != Opcode::kClamp) return !is_constant_within(now, last);
  return !is_constant_within(computation.at(now.operands[0]), last) ||
         !is_constant_within(computation.at(now.operands[2]), last);
}

bool has_loose_start(const hlo::Computation& computation, const Instruction& slice) {
  return std::ranges::any_of(starts_of(computation, slice), [&](const Start& start) {
    return is_loose(computation, slice.operands[start.operand], start.last);
  });
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
      if (!is_array_slice(module.computations[c], slice)) continue;
      std::set<Source> found;
      const bool is_all = sources.collect({{hlo::ComputationId(c), slice.operands[0], {}}},
                                          Sources::Loops::kAny, through, found);
      if (!is_all) out[c][i] = true;
      for (const Source& each : found) {
        if (!is_array_slice(module.at(each.computation), sources.at(each))) continue;
        out[c][i] = out[each.computation.value][each.instruction.value] = true;
      }
    }
  }
  return out;
}

// Numbers of the type, as `like` is; those that it has not become its largest.
Literal numbers(const Shape& like, std::vector<int64_t> values) {
  const DType dtype = like.dtype();
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  Literal out(like);
  std::byte* to = out.mutable_bytes();
  for (int64_t value : values) {
    if (bits < 63) value = std::min(value, (int64_t{1} << bits) - 1);
    const Literal one = Literal::scalar(dtype, value);
    to = std::copy_n(one.bytes(), storage_bytes(dtype), to);
  }
  return out;
}

// The starts clamped to 0 .. last, in their own type, whose numbers may all be below `last`.
Value clamped(const Value& start, const std::vector<int64_t>& last) {
  Shape shape = start.shape();
  shape.clear_layout();
  Graph& graph = start.graph();
  const Value low = graph.constant(numbers(shape, std::vector<int64_t>(last.size())));
  return graph.op(Opcode::kClamp, {low, start, graph.constant(numbers(shape, last))});
}

Value with_clamped_starts(transform::Rebuilder& to, InstructionId i) {
  const Instruction& old = to.old(i);
  Instruction slice = to.mapped(i);
  Graph& graph = to.in_place_of(i);
  for (const Start& start : starts_of(to.from(), old)) {
    if (!is_loose(to.from(), old.operands[start.operand], start.last)) continue;
    InstructionId& at = slice.operands[start.operand];
    at = clamped(graph.wrap(at), start.last).id();
  }
  return graph.append(std::move(slice));
}

}  // namespace

StatusOr<hlo::Module> expand_nested_slices(const hlo::Module& module) {
  const std::vector<std::vector<bool>> nested = nested_slices(module);
  return transform::with_rewritten(
      module, [&](auto&, transform::Rebuilder& to, hlo::ComputationId id, InstructionId i) {
        const bool is_changed = nested[id.value][i.value] && has_loose_start(to.from(), to.old(i));
        return is_changed ? with_clamped_starts(to, i) : Value();
      });
}

}  // namespace heddle::pjrt
