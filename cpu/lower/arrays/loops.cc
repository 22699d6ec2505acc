// Steps that are loops over arrays.
#include "heddle/cpu/lower/arrays/loops.h"

#include <algorithm>
#include <limits>

#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kFewOf = 8;        // one in so many instructions is few
constexpr int64_t kMaxUnrolled = 8;  // bodies of a loop that are written one after the other
constexpr size_t kMostStacked = 8;   // arrays that one loop writes side by side
constexpr size_t kMostColumnsStacked = 32;
constexpr int64_t kSmallVectors = 4;   // of an array that registers may hold
constexpr int64_t kMaxRowBytes = 256;  // of a matrix whose rows stand in registers
constexpr int64_t kMostRows = 8;

}  // namespace

int64_t lane_dimension(std::span<const int64_t> sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] > 1) return static_cast<int64_t>(d);
  }
  return -1;
}

int64_t identity_bits(Op fold, Scalar scalar) {
  const auto integer_max = [&] {
    return static_cast<int64_t>(~uint64_t{0} >> (65 - bits_of(scalar)));
  };
  const auto float_bits = [&](double value) {
    return scalar == Scalar::kF32 ? int64_t{std::bit_cast<int32_t>(static_cast<float>(value))}
                                  : std::bit_cast<int64_t>(value);
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (fold) {
    case Op::kAdd: return is_float(scalar) ? float_bits(-0.0) : 0;
    case Op::kMul: return is_float(scalar) ? float_bits(1) : 1;
    case Op::kMax: return float_bits(-kInf);
    case Op::kMin: return float_bits(kInf);
    case Op::kSMax: return -integer_max() - 1;
    case Op::kSMin: return integer_max();
    case Op::kUMin:
    case Op::kAnd: return -1;
    default: return 0;  // kUMax kOr kXor
  }
}

bool is_idempotent(Op fold) { return fold != Op::kAdd && fold != Op::kMul && fold != Op::kXor; }

std::vector<NodeId> loop_nest(PlanBuilder& builder, std::span<const int64_t> sizes,
                              std::vector<NodeId>& at, std::vector<NodeId> carried,
                              const NestBody& body) {
  if (sizes.empty()) return body(carried);
  if (sizes[0] == 0) return carried;
  auto loop = builder.begin_for(builder.index(0), builder.index(sizes[0]), 1, carried);
  at.push_back(loop.parameters[0]);
  std::vector<NodeId> inner(loop.parameters.begin() + 1, loop.parameters.end());
  inner = loop_nest(builder, sizes.subspan(1), at, std::move(inner), body);
  at.pop_back();
  return builder.end_for(inner);
}

void store_in_turn(PlanBuilder& builder, BufferId to, NodeId at, std::span<const NodeId> vectors) {
  const int64_t lanes = builder.type(vectors[0]).lanes;
  const std::vector<NodeId> rows = builder.rows_of(vectors);
  for (int64_t i = 0; i < std::ssize(rows); ++i)
    builder.store(to, builder.add(at, i * lanes), rows[static_cast<size_t>(i)]);
}

int64_t product_of(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

std::vector<NodeId> index_of(PlanBuilder& builder, std::span<const int64_t> sizes, int64_t number) {
  std::vector<NodeId> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; number /= sizes[d])
    index[d] = builder.index(number % sizes[d]);
  return index;
}

Place place_at(std::span<const NodeId> indices) {
  Place place;
  for (NodeId index : indices) place.coordinates.push_back({index});
  return place;
}

void for_each_nest(PlanBuilder& builder, std::span<const int64_t> sizes, std::vector<NodeId>& at,
                   const std::function<void()>& body) {
  if (sizes.empty()) return body();
  if (sizes[0] == 0) return;
  at.push_back(builder.begin_for_each(builder.index(0), builder.index(sizes[0]), 1).parameters[0]);
  for_each_nest(builder, sizes.subspan(1), at, body);
  at.pop_back();
  builder.end_for({});
}

void RegionLowering::for_each_place(std::span<const int64_t> sizes, Scalar widest,
                                    const std::function<void(Place)>& body) {
  for_each_place(sizes, int64_t{lanes_for(program_.program.plan, widest)}, body);
}

void RegionLowering::for_each_place(std::span<const int64_t> sizes, int64_t most_lanes,
                                    const std::function<void(Place)>& body) {
  if (std::ranges::count(sizes, 0)) return;
  const int64_t lane = lane_dimension(sizes);
  const int64_t length = lane < 0 ? 1 : sizes[static_cast<size_t>(lane)];
  const int64_t lanes = std::min(most_lanes, length);
  std::vector<NodeId> at;
  const auto along_lanes = [&](NodeId from, int64_t count) {
    Place place{.coordinates = {}, .lanes = static_cast<int32_t>(count)};
    size_t next = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int64_t>(d) == lane) {
        place.coordinates.push_back({from, 1});
      } else {
        place.coordinates.push_back({at[next++]});
      }
    }
    body(place);
  };
  const int64_t in_vectors = length / lanes * lanes;
  std::vector<int64_t> outer(sizes.begin(), sizes.end());
  if (lane >= 0) outer.erase(outer.begin() + lane);
  const int64_t turns = product_of(outer);
  const auto inner = [&] {
    if (in_vectors / lanes <= (turns == 1 ? kSmallVectors : 2)) {
      for (int64_t i = 0; i < in_vectors; i += lanes) along_lanes(b().index(i), lanes);
    } else {
      auto loop = b().begin_for_each(b().index(0), b().index(in_vectors), lanes);
      along_lanes(loop.parameters[0], lanes);
      b().end_for({});
    }
    if (in_vectors < length) along_lanes(b().index(in_vectors), length - in_vectors);
  };
  if (turns > kMaxUnrolled || length > 2 * lanes) {
    for_each_nest(b(), outer, at, inner);
    return;
  }
  // Few and short: one after the other.
  for (int64_t turn = 0; turn < turns; ++turn) {
    at = index_of(b(), outer, turn);
    inner();
  }
}

int32_t lanes_in_registers(const Region& region, const Shape& shape, int32_t most) {
  if (shape.rank() != 2 || shape.byte_size() > kMaxRowBytes) return most;
  const int64_t rows = shape.dimension(0), columns = shape.dimension(1);
  if (rows < 2 || rows > kMostRows || columns < 2 || columns > most) return most;
  return region.has_product_of(shape) ? static_cast<int32_t>(columns) : most;
}

void RegionLowering::for_each_flat_place(const Shape& shape, int64_t most_lanes,
                                         const std::function<void(Place)>& body) {
  const int64_t count = shape.element_count();
  const auto most = static_cast<int32_t>(most_lanes);
  const int32_t lanes = lanes_in_registers(region_, shape, most);
  const auto flat = [&](Place place) {
    place.is_flat = true;
    body(std::move(place));
  };
  if (lanes == most) {
    const int64_t sizes[] = {count};
    return for_each_place(sizes, most_lanes, flat);
  }
  for (int64_t i = 0; i < count; i += lanes)
    flat({.coordinates = {{b().index(i), 1}}, .lanes = lanes});
}

void RegionLowering::store_at(BufferId to, const Shape& shape, const Place& place, NodeId value) {
  Coordinate at{b().index(0)};
  const std::vector<int64_t> strides = strides_at(shape, place);
  for (size_t d = 0; d < place.coordinates.size(); ++d) {
    at.base = b().add(at.base, b().mul(place.coordinates[d].base, strides[d]));
    at.step += place.coordinates[d].step * strides[d];
  }
  value = b().splat(value, place.lanes);
  if (place.lanes == 1 || at.step == 1) {
    b().store(to, at.base, value);
  } else {
    b().scatter(to, lane_value(at, place.lanes), value);
  }
}

Scalar RegionLowering::widest_scalar(std::span<const InstructionId> steps) {
  Scalar widest = Scalar::kI8;
  int64_t all = 0, of_64_bits = 0;
  std::vector<InstructionId> queue(steps.begin(), steps.end());
  std::vector<bool> seen(static_cast<size_t>(computation().size()));
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    if (seen[next.value]) continue;
    seen[next.value] = true;
    const Instruction& instruction = at(next);
    if (auto scalar = scalar_of(instruction.shape.dtype())) {
      if (bytes_of(*scalar) > bytes_of(widest)) widest = *scalar;
      of_64_bits += bytes_of(*scalar) == 8 ? 1 : 0;
      ++all;
    }
    if (std::ranges::count(steps, next) == 0 && !region_.is_lazy(region_.leaf(next))) continue;
    for (InstructionId operand : instruction.operands) {
      if (!at(operand).shape.is_scalar()) queue.push_back(operand);
    }
  }
  return of_64_bits * kFewOf <= all ? std::min(widest, Scalar::kI32) : widest;
}

bool moves_neighbours(const Instruction& step) {
  switch (step.opcode) {
    case Opcode::kReshape:
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice: return true;
    case Opcode::kSlice: {
      const auto& slice = step.attrs.get<hlo::SliceAttrs>().slice;
      return !slice.empty() && slice.back().stride == 1;
    }
    case Opcode::kGather: {  // of rows, or of parts of them
      const auto& gather = step.attrs.get<hlo::GatherAttrs>();
      const int64_t last = std::ssize(gather.slice_sizes) - 1;
      const auto has = [](const Dims& dims, int64_t d) { return std::ranges::count(dims, d); };
      return step.shape.rank() > 0 && step.shape.dimensions().back() > 1 &&
             has(gather.offset_dims, step.shape.rank() - 1) &&
             !has(gather.collapsed_slice_dims, last) && !has(gather.operand_batching_dims, last);
    }
    default: return false;
  }
}

std::optional<Scalar> RegionLowering::narrow_scalar(InstructionId id) {
  Scalar widest = Scalar::kI8;
  bool has_floats = false, computes = false;
  const auto is_narrow = [&](const Shape& shape) {
    if (!shape.is_array()) return false;
    const auto scalar = scalar_of(shape.dtype());
    if (!scalar || bytes_of(*scalar) > 2) return false;
    if (bytes_of(*scalar) > bytes_of(widest)) widest = *scalar;
    has_floats |= is_floating(shape.dtype());
    return true;
  };
  std::vector<InstructionId> queue = {id};
  for (size_t next = 0; next < queue.size(); ++next) {
    const Instruction& step = at(queue[next]);
    const bool is_simple =
        is_scalar_op(computation(), step) && hlo::facts(step.opcode).work <= hlo::Work::kLittle;
    const bool folds = next == 0 && step.opcode == Opcode::kReduce;
    const bool puts =
        next == 0 && (step.opcode == Opcode::kPad || step.opcode == Opcode::kDynamicUpdateSlice);
    if (!is_narrow(step.shape) || !(is_simple || folds || puts || moves_neighbours(step)))
      return std::nullopt;
    computes |=
        folds || (is_simple && step.opcode != Opcode::kSelect && step.opcode != Opcode::kCopy);
    const bool has_indices = step.opcode == Opcode::kGather;  // the same ones for all lanes
    for (size_t i = 0; i < (has_indices ? 1 : step.operands.size()); ++i) {
      const InstructionId operand = step.operands[i];
      if (at(operand).shape.is_scalar()) continue;
      if (!is_narrow(at(operand).shape)) return std::nullopt;
      if (region_.is_lazy(region_.leaf(operand)) && !std::ranges::count(queue, operand))
        queue.push_back(operand);
    }
  }
  if (has_floats && computes) return std::nullopt;  // in f32
  return widest;
}

int64_t RegionLowering::lanes_along(InstructionId id, int64_t count, int64_t rows) {
  constexpr int64_t kFewestVectors = 8;  // fewer may stand in registers, in vectors of other steps
  const Plan& plan = program_.program.plan;
  if (const auto narrow = narrow_scalar(id)) {
    const int64_t lanes = plan.vector_bytes / bytes_of(*narrow);
    if (count >= lanes && count * rows >= kFewestVectors * lanes) return lanes;
  }
  return lanes_for(plan, widest_scalar(id));
}

int64_t RegionLowering::lanes_along(InstructionId id, std::span<const int64_t> sizes) {
  const int64_t lane = lane_dimension(sizes);
  const int64_t count = lane < 0 ? 1 : sizes[static_cast<size_t>(lane)];
  return lanes_along(id, count, product_of(sizes) / std::max<int64_t>(count, 1));
}

void RegionLowering::emit_array(InstructionId id, BufferId to) {
  const Instruction& instruction = at(id);
  const auto write = [&](const Place& place) {
    Memo memo;
    store_at(to, instruction.shape, place, lazy_element(instruction, place, memo));
  };
  if (region_.cuts(id) != nullptr) return for_each_box(id, write);
  if (emit_turned_blocks(id, to)) return;
  if (is_flat(id)) {
    const int64_t lanes = lanes_along(id, instruction.shape.element_count());
    return for_each_flat_place(instruction.shape, lanes, write);
  }
  if (const int64_t joined = joined_dimensions(id); joined > 1) {
    const std::vector<int64_t> sizes = with_joined(instruction.shape, joined);
    return for_each_place(sizes, lanes_along(id, sizes), [&](Place place) {
      place.joined = joined;
      write(place);
    });
  }
  if (const auto rows = narrow_result(id)) {
    const BufferId places[] = {to};
    const std::vector<int64_t>& sizes = instruction.shape.dimensions();
    return write_narrow(sizes, *rows, lanes_of_rows(id, sizes[*rows]), places,
                        [&](const Place& place) -> std::vector<NodeId> {
                          Memo memo;
                          return {lazy_element(instruction, place, memo)};
                        });
  }
  if (const auto along = tiled_dimension(id))
    return for_each_tile(instruction.shape.dimensions(), *along, widest_scalar(id), write);
  const std::vector<int64_t>& sizes = instruction.shape.dimensions();
  if (const auto rows = few_rows(id))
    return for_each_column(sizes, *rows, lanes_along(id, sizes), write);
  for_each_place(sizes, lanes_along(id, sizes), write);
}

constexpr int64_t kMuchForRows = 2;  // functions and quotients

// Calls body(place) for the array of a step that reads joined or padded arrays, box by box. Boxes
// that differ in the last dimension alone are written row by row, where little is computed for the
// few elements of a narrow one: in a box of its own they have lanes along another dimension.
void RegionLowering::for_each_box(InstructionId id, const std::function<void(Place)>& body) {
  const Shape& shape = at(id).shape;
  const Region::Cuts& cuts = *region_.cuts(id);
  std::vector<int64_t> sizes(cuts.size());
  const auto each_box = [&](size_t d, const std::function<void()>& visit) {
    for (auto start = cuts[d].begin(); start != cuts[d].end(); ++start) {
      const auto next = std::next(start);
      box_[d] = *start;
      sizes[d] =
          (next == cuts[d].end() ? shape.dimension(static_cast<int64_t>(d)) : *next) - *start;
      visit();
    }
  };
  const size_t last = cuts.size() - 1;
  const auto rows = [&] {
    std::vector<NodeId> row;
    for_each_nest(b(), std::span(sizes).first(last), row, [&] {
      each_box(last, [&] {
        const int64_t lanes = lanes_along(id, sizes);
        for_each_place(std::span(sizes).last(1), lanes, [&](Place place) {
          std::vector<Coordinate> outer(row.begin(), row.end());
          place.coordinates.insert(place.coordinates.begin(), outer.begin(), outer.end());
          body(moved(std::move(place), box_));
        });
      });
    });
  };
  const auto from = [&](const auto& self, size_t d) -> void {
    if (d == last && cuts[d].size() > 1 && much_work(id) <= kMuchForRows) return rows();
    if (d > last) {
      return for_each_place(sizes, lanes_along(id, sizes),
                            [&](Place place) { body(moved(std::move(place), box_)); });
    }
    each_box(d, [&] { self(self, d + 1); });
  };
  box_.assign(cuts.size(), 0);
  from(from, 0);
  box_.clear();
}

void RegionLowering::write_leaf(LeafId leaf, BufferId to) {
  const Value& value = values_[leaf.value];
  if (value.is_node()) {
    store_scalar(to, value.node);
  } else if (value.is_buffer()) {
    b().copy(to, value.buffer, shape(leaf).byte_size());
  } else {
    emit_array(region_.leaves()[leaf.value].producer, to);
  }
}

// Arrays side by side along a dimension of size 1: in one loop, since they often share work.
void RegionLowering::emit_stack(InstructionId id, size_t dim, BufferId to) {
  const Instruction& stack = at(id);
  const Shape& part = at(stack.operands[0]).shape;
  const auto count = static_cast<int64_t>(stack.operands.size());
  const bool alternates = row_major_strides(part.dimensions())[dim] == 1;
  for_each_place(part.dimensions(), widest_scalar(id), [&](Place place) {
    Memo memo;
    std::vector<NodeId> values;
    for (InstructionId operand : stack.operands)
      values.push_back(b().splat(operand_element(operand, place, memo), place.lanes));
    if (alternates && place.lanes > 1)
      return store_in_turn(b(), to, b().mul(element_offset(part, place).first, count), values);
    for (int64_t i = 0; i < count; ++i) {
      Place there = place;
      there.coordinates[dim].base = b().add(place.coordinates[dim].base, i);
      store_at(to, stack.shape, there, values[static_cast<size_t>(i)]);
    }
  });
}

void RegionLowering::emit_concatenate(InstructionId id, BufferId to) {
  const Instruction& instruction = at(id);
  const auto dim = static_cast<size_t>(dimensions_of(instruction)[0]);
  const bool is_stack = std::ranges::all_of(instruction.operands, [&](InstructionId operand) {
    return at(operand).shape.dimension(static_cast<int64_t>(dim)) == 1;
  });
  const bool alternates = row_major_strides(instruction.shape.dimensions())[dim] == 1;
  if (is_stack && instruction.operands.size() <= (alternates ? kMostColumnsStacked : kMostStacked))
    return emit_stack(id, dim, to);
  int64_t offset = 0;
  for (InstructionId operand : instruction.operands) {
    const Shape& part = at(operand).shape;
    const int64_t joined = joined_dimensions_of(operand, part.rank() - static_cast<int64_t>(dim));
    const std::vector<int64_t> sizes = with_joined(part, joined);
    const int64_t step = dim + 1 < sizes.size() ? 1 : row_major_strides(part.dimensions())[dim];
    for_each_place(sizes, lanes_along(id, sizes), [&](Place place) {
      Memo memo;
      place.joined = joined;
      const NodeId value = operand_element(operand, place, memo);
      place.coordinates[dim].base = b().add(place.coordinates[dim].base, offset * step);
      store_at(to, instruction.shape, place, value);
    });
    offset += part.dimension(static_cast<int64_t>(dim));
  }
}

// In place, where the old array is this program's and nobody reads it later.
Status RegionLowering::emit_update(InstructionId id) {
  const Instruction& update = at(id);
  const LeafId leaf = region_.leaf(id);
  const LeafId target = region_.leaf(update.operands[0]);
  const Shape& part = at(update.operands[1]).shape;
  const LeafId part_leaf = region_.leaf(update.operands[1]);
  const auto frame = framed_start(computation(), update);
  if (frame && !values_[target.value].is_buffer()) {
    emit_framed_update(id, *frame);
    return {};
  }
  const BufferId old = in_memory(target);
  const bool in_place = program_.state(old).is_writable && program_.state(old).pending == 1;
  BufferId to = old;
  Value part_value = values_[part_leaf.value];
  // The part may be computed from what it overwrites.
  bool reads_target = region_.is_lazy(part_leaf) && region_.reaches(part_leaf, target);
  for (LeafId read : region_.reads(id)) {
    const Value& value = values_[read.value];
    reads_target |=
        region_.is_lazy(part_leaf) && read != target && value.is_buffer() && value.buffer == old;
  }
  if (frame && (reads_target || !in_place)) {
    emit_framed_update(id, *frame);
    return {};
  }
  if (reads_target) {
    const BufferId copy = program_.allocate(part);
    write_leaf(part_leaf, copy);
    part_value = Value::of(copy);
  }
  if (!in_place) {
    to = place_for(leaf, id);
    program_.copy_whole(to, old, update.shape.byte_size(), 1);
  }
  const Value kept = std::exchange(values_[part_leaf.value], part_value);
  Memo starts_memo;
  std::vector<NodeId> starts;
  for (int64_t d = 0; d < part.rank(); ++d) {
    const int64_t most = update.shape.dimension(d) - part.dimension(d);
    starts.push_back(
        most == 0 ? b().index(0)
                  : clamped_start(update.operands[static_cast<size_t>(d) + 2], most, starts_memo));
  }
  write_part(id, to, starts);
  values_[part_leaf.value] = kept;
  bind(leaf, Value::of(to));
  return {};
}

}  // namespace heddle::cpu
