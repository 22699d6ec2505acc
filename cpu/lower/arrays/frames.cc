// A part that is most of an array, and what lies around it: pads, and updates at a known place.
#include <algorithm>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

namespace {

// Of an update at a constant place; of padding that takes nothing away and goes around.
std::optional<std::vector<int64_t>> fixed_start(const Computation& computation,
                                                const Instruction& instruction) {
  std::vector<int64_t> start;
  if (instruction.opcode == Opcode::kPad) {
    for (const hlo::PadDimension& d : instruction.attrs.get<hlo::PadAttrs>().padding) {
      if (d.low < 0 || d.high < 0 || d.interior != 0) return std::nullopt;
      start.push_back(d.low);
    }
    return start;
  }
  if (instruction.opcode != Opcode::kDynamicUpdateSlice) return std::nullopt;
  const Shape& part = computation.at(instruction.operands[1]).shape;
  for (int64_t d = 0; d < part.rank(); ++d) {
    const int64_t most = instruction.shape.dimension(d) - part.dimension(d);
    const Instruction& from = computation.at(instruction.operands[static_cast<size_t>(d) + 2]);
    if (most > 0 && from.opcode != Opcode::kConstant) return std::nullopt;
    start.push_back(most == 0
                        ? 0
                        : std::clamp<int64_t>(
                              from.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0), 0, most));
  }
  return start;
}

}  // namespace

std::optional<std::vector<int64_t>> framed_start(const Computation& computation,
                                                 const Instruction& instruction) {
  auto start = fixed_start(computation, instruction);
  if (!start) return std::nullopt;
  const size_t part = instruction.opcode == Opcode::kPad ? 0 : 1;
  const int64_t kept = computation.at(instruction.operands[part]).shape.element_count();
  if (!is_mostly(kept, instruction.shape)) return std::nullopt;
  return start;
}

// Calls body(place) for the places around a part of an array: before and behind it along each
// dimension, within what earlier ones leave.
void RegionLowering::for_each_around(const Shape& all, std::span<const int64_t> start,
                                     std::span<const int64_t> sizes, Scalar widest,
                                     const std::function<void(Place)>& body) {
  std::vector<int64_t> from(sizes.size());
  std::vector<int64_t> counts(all.dimensions().begin(), all.dimensions().end());
  const auto visit = [&] {
    for_each_place(counts, widest, [&](Place place) { body(moved(std::move(place), from)); });
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t size = counts[d];
    counts[d] = start[d];
    visit();
    from[d] = start[d] + sizes[d], counts[d] = size - from[d];
    visit();
    from[d] = start[d], counts[d] = sizes[d];
  }
}

Place RegionLowering::moved(Place place, std::span<const int64_t> by) {
  for (size_t d = 0; d < by.size(); ++d)
    place.coordinates[d].base = b().add(place.coordinates[d].base, by[d]);
  return place;
}

// Writes the padding value around the operand's elements, of which there are `sizes` by dimension,
// side by side; over all of the array where they are few.
void RegionLowering::fill_around(InstructionId id, BufferId to, std::span<const int64_t> sizes) {
  const Instruction& pad = at(id);
  const Scalar widest = widest_scalar(id);
  const auto fill = [&](const Place& place) {
    Memo memo;
    store_at(to, pad.shape, place, operand_element(pad.operands[1], {}, memo));
  };
  if (!is_mostly(product_of(sizes), pad.shape)) {
    const int64_t count[] = {pad.shape.element_count()};
    return for_each_place(count, widest, [&](Place place) {
      place.is_flat = true;
      fill(place);
    });
  }
  std::vector<int64_t> start;
  for (const hlo::PadDimension& d : pad.attrs.get<hlo::PadAttrs>().padding)
    start.push_back(std::max<int64_t>(d.low, 0));
  for_each_around(pad.shape, start, sizes, widest, fill);
}

// Rows of a few elements, of which only the rows are padded: whole vectors of them are shuffled.
// Returns false, with nothing written, for other paddings.
bool RegionLowering::emit_padded_rows(InstructionId id, BufferId to) {
  const Instruction& instruction = at(id);
  const Shape& from = at(instruction.operands[0]).shape;
  const auto& padding = instruction.attrs.get<hlo::PadAttrs>().padding;
  const std::vector<int64_t>& sizes = instruction.shape.dimensions();
  const auto rows = narrow_rows(id, sizes, kMostMoved);
  if (!rows || product_of(std::span(sizes).subspan(*rows + 1)) > kMostMoved) return false;
  for (size_t d = 0; d <= *rows; ++d) {
    if (padding[d].low != 0 || padding[d].high != 0 || padding[d].interior != 0) return false;
  }
  Memo of_filling;
  const NodeId filling = operand_element(instruction.operands[1], {}, of_filling);
  const BufferId places[] = {to};
  write_narrow(sizes, *rows, lanes_of_rows(id, sizes[*rows]), places,
               [&](Place place) -> std::vector<NodeId> {
                 for (size_t d = *rows + 1; d < sizes.size(); ++d) {
                   const int64_t step = padding[d].interior + 1;
                   const int64_t shifted = b().bits_of(place.coordinates[d].base) - padding[d].low;
                   if (shifted < 0 || shifted % step != 0 ||
                       shifted / step >= from.dimension(static_cast<int64_t>(d)))
                     return {filling};
                   place.coordinates[d].base = b().index(shifted / step);
                 }
                 Memo memo;
                 return {operand_element(instruction.operands[0], place, memo)};
               });
  return true;
}

// All of the padding first, then what of the operand falls inside.
void RegionLowering::emit_pad(InstructionId id, BufferId to) {
  if (emit_padded_rows(id, to)) return;
  const Instruction& instruction = at(id);
  const Shape& from = at(instruction.operands[0]).shape;
  const auto& padding = instruction.attrs.get<hlo::PadAttrs>().padding;
  std::vector<int64_t> first, sizes;
  bool has_interior = false;
  for (size_t d = 0; d < padding.size(); ++d) {
    const int64_t step = padding[d].interior + 1;
    const int64_t size = instruction.shape.dimension(static_cast<int64_t>(d));
    has_interior |= step > 1;
    // low + i * step in [0, size)
    const int64_t from_i = padding[d].low >= 0 ? 0 : (-padding[d].low + step - 1) / step;
    const int64_t room = size - padding[d].low;
    const int64_t to_i =
        std::min(from.dimension(static_cast<int64_t>(d)), room <= 0 ? 0 : (room + step - 1) / step);
    first.push_back(from_i);
    sizes.push_back(std::max<int64_t>(to_i - from_i, 0));
  }
  fill_around(id, to, has_interior ? std::vector<int64_t>(sizes.size()) : sizes);
  const auto write = [&](Place place) {
    place = moved(std::move(place), first);
    Memo memo;
    const NodeId value = operand_element(instruction.operands[0], place, memo);
    for (size_t d = 0; d < first.size(); ++d) {
      Coordinate& c = place.coordinates[d];
      const int64_t step = padding[d].interior + 1;
      c.base = b().add(b().mul(c.base, step), padding[d].low);
      c.step *= step;
    }
    store_at(to, instruction.shape, place, value);
  };
  if (!std::ranges::count(sizes, 0)) for_each_place(sizes, lanes_along(id, sizes), write);
}

// The part, and what lies around it of the old array, go to another place than that.
void RegionLowering::emit_framed_update(InstructionId id, std::span<const int64_t> start) {
  const Instruction& update = at(id);
  const BufferId to = place_for(region_.leaf(id), id);
  const Value& old = values_[region_.leaf(update.operands[0]).value];
  const Shape& part = at(update.operands[1]).shape;
  const Scalar widest = widest_scalar(id);
  if (!old.is_buffer() || old.buffer != to) {
    for_each_around(update.shape, start, part.dimensions(), widest, [&](const Place& place) {
      Memo memo;
      store_at(to, update.shape, place, operand_element(update.operands[0], place, memo));
    });
  }
  std::vector<NodeId> starts;
  for (const int64_t each : start) starts.push_back(b().index(each));
  write_part(id, to, starts);
  bind(region_.leaf(id), Value::of(to));
}

}  // namespace heddle::cpu
