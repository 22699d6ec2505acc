// Several dimensions that are written as one: arrays that are a row in memory, and the last
// dimensions of others.
#include <algorithm>
#include <set>
#include <span>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kLongLast = 16;  // elements, that vectors go along

bool is_unit_slice(const Instruction& slice) {
  return slice.opcode == Opcode::kDynamicSlice ||
         std::ranges::all_of(slice.attrs.get<hlo::SliceAttrs>().slice,
                             [](const hlo::SliceDimension& d) { return d.stride == 1; });
}

// The last `count` dimensions of a gather are those of what it reads: all of it but in the first of
// them.
bool picks_runs(const Instruction& gather, const Shape& from, int64_t count) {
  const auto& attrs = gather.attrs.get<hlo::GatherAttrs>();
  const auto has = [](const Dims& dims, int64_t d) { return std::ranges::count(dims, d) > 0; };
  for (int64_t n = 1; n <= count; ++n) {
    const int64_t d = from.rank() - n;
    if (d < 0 || !has(attrs.offset_dims, gather.shape.rank() - n) ||
        has(attrs.collapsed_slice_dims, d) || has(attrs.operand_batching_dims, d) ||
        (n < count && attrs.slice_sizes[static_cast<size_t>(d)] != from.dimension(d)))
      return false;
  }
  return true;
}

}  // namespace

std::vector<int64_t> with_joined(const Shape& shape, int64_t count) {
  std::vector<int64_t> sizes = shape.dimensions();
  for (; count > 1; --count) {
    const int64_t last = sizes.back();
    sizes.pop_back();
    sizes.back() *= last;
  }
  return sizes;
}

bool RegionLowering::is_flat(InstructionId id) {
  std::vector<InstructionId> queue = {id};
  std::vector<bool> seen(static_cast<size_t>(computation().size()));
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    const Instruction& instruction = at(next);
    switch (instruction.opcode) {
      case Opcode::kConstant: continue;
      case Opcode::kReshape: break;
      case Opcode::kBroadcast:
        if (!at(instruction.operands[0]).shape.is_scalar()) return false;
        break;
      case Opcode::kIota:
        if (instruction.shape.rank() != 1) return false;
        break;
      case Opcode::kReal:
      case Opcode::kImag: break;
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
        if (!is_unit_slice(instruction) ||
            !is_run(instruction.shape, at(instruction.operands[0]).shape))
          return false;
        break;
      default:
        if (!is_scalar_op(computation(), instruction)) return false;
    }
    for (InstructionId operand : instruction.operands) {
      if (is_node_type(shape(region_.leaf(operand)))) continue;
      const LeafId leaf = region_.leaf(operand);
      if (!region_.is_lazy(leaf) || seen[operand.value]) continue;
      seen[operand.value] = true;
      queue.push_back(region_.leaves()[leaf.value].producer);
    }
  }
  return true;
}

// The step can be computed at places whose last `count` dimensions share a coordinate: all that it
// is made of has them whole, or not at all.
bool RegionLowering::can_join(InstructionId id, int64_t count) {
  std::vector<InstructionId> queue = {id};
  std::set<InstructionId> seen = {id};
  for (size_t next = 0; next < queue.size(); ++next) {
    const Instruction& instruction = at(queue[next]);
    const int64_t first = instruction.shape.rank() - count;
    const auto is_before = [&](int64_t d) { return d < first; };
    switch (instruction.opcode) {
      case Opcode::kConstant: continue;
      case Opcode::kIota:
        if (!is_before(instruction.attrs.get<hlo::IotaAttrs>().iota_dimension)) return false;
        continue;
      case Opcode::kBroadcast: {
        const auto& dims = dimensions_of(instruction);
        const auto before = std::ranges::count_if(dims, is_before);
        if (std::ssize(dims) == before) continue;
        if (std::ssize(dims) - before != count || !std::ranges::is_sorted(dims)) return false;
        break;
      }
      case Opcode::kReverse:
        if (!std::ranges::all_of(dimensions_of(instruction), is_before)) return false;
        break;
      case Opcode::kTranspose: {
        const auto& dims = dimensions_of(instruction);
        for (int64_t d = first; d < std::ssize(dims); ++d) {
          if (dims[static_cast<size_t>(d)] != d) return false;
        }
        break;
      }
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
        if (!is_unit_slice(instruction) ||
            !is_run(instruction.shape, at(instruction.operands[0]).shape, first))
          return false;
        break;
      case Opcode::kGather:
        if (!picks_runs(instruction, at(instruction.operands[0]).shape, count)) return false;
        break;
      default:
        if (!is_scalar_op(computation(), instruction)) return false;
    }
    const bool has_indices = instruction.opcode == Opcode::kGather;  // of no joined dimension
    for (InstructionId operand :
         std::span(instruction.operands).first(has_indices ? 1 : instruction.operands.size())) {
      const LeafId leaf = region_.leaf(operand);
      if (is_node_type(shape(leaf)) || !region_.is_lazy(leaf)) continue;
      if (seen.insert(operand).second) queue.push_back(region_.leaves()[leaf.value].producer);
    }
  }
  return true;
}

// How many last dimensions of the step, most of which are a few elements, are written as one; 1:
// each by itself.
int64_t RegionLowering::joined_dimensions(InstructionId id) {
  const Shape& shape = at(id).shape;
  if (shape.rank() < 3 || shape.dimensions().back() >= kLongLast) return 1;
  for (int64_t count = shape.rank() - 1; count > 1; --count) {
    if (can_join(id, count)) return count;
  }
  return 1;
}

// As joined_dimensions(), of an array that a step reads, and at most `most`.
int64_t RegionLowering::joined_dimensions_of(InstructionId read, int64_t most) {
  const LeafId leaf = region_.leaf(read);
  if (most < 2 || shape(leaf).dimensions().back() >= kLongLast) return 1;
  const bool is_lazy = region_.is_lazy(leaf) && !values_[leaf.value].is_buffer();
  int64_t count = most;
  while (count > 1 && is_lazy && !can_join(region_.leaves()[leaf.value].producer, count)) --count;
  return count;
}

// Writes the part of an update from these places on; as one row where that is what it is.
void RegionLowering::write_part(InstructionId id, BufferId to, std::span<const NodeId> starts) {
  const Instruction& update = at(id);
  const Shape& part = at(update.operands[1]).shape;
  const LeafId leaf = region_.leaf(update.operands[1]);
  const InstructionId producer = region_.leaves()[leaf.value].producer;
  const std::vector<int64_t> strides = row_major_strides(update.shape.dimensions());
  const bool is_lazy = region_.is_lazy(leaf) && !values_[leaf.value].is_buffer();
  const bool is_row =
      part.rank() > 1 && is_run(part, update.shape) && (!is_lazy || is_flat(producer));
  int64_t joined = is_row ? part.rank() : is_lazy ? joined_dimensions(producer) : 1;
  if (!is_run(part, update.shape, part.rank() - joined)) joined = 1;
  const std::vector<int64_t> sizes = with_joined(part, joined);
  for_each_place(sizes, lanes_along(id, sizes), [&](Place place) {
    Memo memo;
    place.is_flat = is_row;
    place.joined = is_row ? 1 : joined;
    const NodeId value = operand_element(update.operands[1], place, memo);
    const size_t last = sizes.size() - 1;
    for (size_t d = 0; d < starts.size(); ++d) {
      NodeId& base = place.coordinates[std::min(d, last)].base;
      base = b().add(base, d < last ? starts[d] : b().mul(starts[d], strides[d]));
    }
    store_at(to, update.shape, place, value);
  });
}

}  // namespace heddle::cpu
