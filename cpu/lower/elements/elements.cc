// Values at a place: what a lazy instruction computes for some lanes of its array.
#include <algorithm>
#include <cmath>

#include "heddle/cpu/lower/elements/math.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

std::vector<int64_t> strides_at(const Shape& shape, const Place& place) {
  if (place.is_flat) return {1};
  std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  if (place.joined > 1) {
    strides.resize(place.coordinates.size());
    strides.back() = 1;
  }
  return strides;
}

// The coordinate of each lane.
NodeId RegionLowering::lane_value(const Coordinate& coordinate, int32_t lanes) {
  if (coordinate.step == 0 || lanes == 1) return coordinate.base;
  return b().add(coordinate.base, b().mul(b().lanes(Scalar::kI64, lanes), coordinate.step));
}

std::pair<NodeId, int64_t> RegionLowering::element_offset(const Shape& shape, const Place& place) {
  NodeId at = b().index(0);
  int64_t step = 0;
  const std::vector<int64_t> strides = strides_at(shape, place);
  for (size_t d = 0; d < place.coordinates.size(); ++d) {
    at = b().add(at, b().mul(place.coordinates[d].base, strides[d]));
    step += place.coordinates[d].step * strides[d];
  }
  return {at, step};
}

// Where lanes lie along rows of a few elements, and shuffles cost less than loads one by one.
std::optional<Column> RegionLowering::column_at(const Shape& shape, const Place& place) {
  if (place.is_flat || place.joined > 1) return std::nullopt;
  const std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  size_t along = 0;
  while (along < strides.size() && place.coordinates[along].step == 0) ++along;
  if (along == strides.size() || place.coordinates[along].step != 1) return std::nullopt;
  Column column{b().index(0), strides[along]};
  const int64_t most =
      keeps_columns_ ? kMostColumnsKept : std::min<int64_t>(kMostColumns, place.lanes - 1);
  if (column.width < 2 || column.width > most) return std::nullopt;
  for (size_t d = 0; d < strides.size(); ++d) {
    const Coordinate& c = place.coordinates[d];
    if (b().type(c.base).lanes > 1 || (d != along && c.step != 0)) return std::nullopt;
    if (d <= along) {
      column.rows = b().add(column.rows, b().mul(c.base, strides[d]));
    } else if (b().is_constant(c.base)) {
      column.number += b().bits_of(c.base) * strides[d];
    } else if (shape.dimension(static_cast<int64_t>(d)) > 1) {
      return std::nullopt;
    }
  }
  return column;
}

// One column of as many rows as a vector has lanes; all of them where others will be read.
NodeId RegionLowering::load_column(BufferId buffer, Type type, const Column& column) {
  const auto number = static_cast<size_t>(column.number);
  const std::tuple key(buffer, column.rows, column.width, type.lanes);
  if (const auto found = columns_.find(key); found != columns_.end()) return found->second[number];
  const Type moved = moved_as(type);
  std::vector<NodeId> rows;
  for (int64_t i = 0; i < column.width; ++i)
    rows.push_back(b().load(buffer, moved, b().add(column.rows, i * type.lanes)));
  if (!keeps_columns_) return from_moved(b().column_of(rows, number), type);
  std::vector<NodeId> columns = b().columns_of(rows);
  for (NodeId& each : columns) each = from_moved(each, type);
  return columns_.emplace(key, std::move(columns)).first->second[number];
}

NodeId RegionLowering::from_moved(NodeId moved, Type type) {
  if (type.scalar != Scalar::kPred) return moved;
  return b().compare(Predicate::kNe, moved, b().splat(b().bits({Scalar::kI8, 1}, 0), type.lanes));
}

NodeId RegionLowering::load_at(BufferId buffer, const Shape& shape, const Place& place) {
  const auto [at, step] = element_offset(shape, place);
  const Scalar scalar = scalar_type(shape);
  const BufferInfo& info = program_.program.plan.buffers[buffer.value];
  if (info.kind == BufferInfo::Kind::kConstant && step == 0 && b().is_constant(at))
    return b().bits({scalar, 1},
                    bits_of_element(program_.program.constants[static_cast<size_t>(info.index)],
                                    b().bits_of(at)));
  if (b().type(at).lanes == 1 && (step == 0 || place.lanes == 1))
    return b().load(buffer, {scalar, 1}, at);
  if (const auto column = column_at(shape, place))
    return load_column(buffer, {scalar, place.lanes}, *column);
  if (const NodeId row = tile_row(buffer, shape, place); row.valid()) return row;
  if (b().type(at).lanes == 1) return b().load_strided(buffer, {scalar, place.lanes}, at, step);
  return b().gather(buffer, scalar, lane_value({at, step}, place.lanes));
}

NodeId RegionLowering::element(LeafId leaf, const Place& place, Memo& memo) {
  const Value& value = values_[leaf.value];
  if (value.is_node()) return value.node;
  const auto key = std::pair(leaf.value, place.coordinates);
  if (auto found = memo.find(key); found != memo.end()) return found->second;
  const NodeId node = value.is_buffer()
                          ? load_at(value.buffer, shape(leaf), place)
                          : lazy_element(at(region_.leaves()[leaf.value].producer), place, memo);
  memo.emplace(key, node);
  return node;
}

// In [0, most].
NodeId RegionLowering::clamped_start(InstructionId start, int64_t most, Memo& memo) {
  const NodeId value =
      as_index(b(), at(start).shape.dtype(), operand_element(start, Place{}, memo));
  return b().binary(Op::kSMin, b().binary(Op::kSMax, value, b().index(0)), b().index(most));
}

View RegionLowering::view_of(LeafId leaf) {
  if (!region_.is_lazy(leaf))
    return {in_memory(leaf), b().index(0), row_major_strides(shape(leaf).dimensions()),
            shape(leaf).dtype()};
  const Instruction& instruction = at(region_.leaves()[leaf.value].producer);
  View view = view_of(region_.leaf(instruction.operands[0]));
  const Shape& from = at(instruction.operands[0]).shape;
  const auto advance = [&](NodeId start, int64_t stride) {
    view.offset = b().add(view.offset, b().mul(start, stride));
  };
  std::vector<int64_t> strides(instruction.shape.dimensions().size());
  switch (instruction.opcode) {
    case Opcode::kConvert: view.convert = &instruction; return view;
    case Opcode::kBroadcast: {
      const auto& dims = dimensions_of(instruction);
      for (size_t d = 0; d < dims.size(); ++d)
        strides[static_cast<size_t>(dims[d])] = view.strides[d];
      break;
    }
    case Opcode::kTranspose: {
      const auto& dims = dimensions_of(instruction);
      for (size_t d = 0; d < dims.size(); ++d)
        strides[d] = view.strides[static_cast<size_t>(dims[d])];
      break;
    }
    case Opcode::kSlice: {
      const auto& slice = instruction.attrs.get<hlo::SliceAttrs>().slice;
      for (size_t d = 0; d < slice.size(); ++d) {
        advance(b().index(slice[d].start), view.strides[d]);
        strides[d] = view.strides[d] * slice[d].stride;
      }
      break;
    }
    case Opcode::kDynamicSlice: {
      Memo memo;
      for (size_t d = 0; d < strides.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        const int64_t most = from.dimension(dim) - instruction.shape.dimension(dim);
        if (most > 0)
          advance(clamped_start(instruction.operands[d + 1], most, memo), view.strides[d]);
      }
      strides = view.strides;
      break;
    }
    default: {  // a reshape that adds and removes dimensions of size 1
      size_t next = 0;
      for (size_t d = 0; d < strides.size(); ++d) {
        if (instruction.shape.dimension(static_cast<int64_t>(d)) == 1) continue;
        while (from.dimension(static_cast<int64_t>(next)) == 1) ++next;
        strides[d] = view.strides[next++];
      }
    }
  }
  view.strides = std::move(strides);
  return view;
}

NodeId RegionLowering::gather_element(const Instruction& gather, const Place& place, Memo& memo) {
  const auto& attrs = gather.attrs.get<hlo::GatherAttrs>();
  const Shape& from = at(gather.operands[0]).shape;
  const Shape& indices = at(gather.operands[1]).shape;
  std::vector<Coordinate> batch;
  for (size_t d = 0; d < place.coordinates.size(); ++d) {
    if (!std::ranges::count(attrs.offset_dims, static_cast<int64_t>(d)))
      batch.push_back(place.coordinates[d]);
  }
  // The coordinates of an index vector, but for where it lies along.
  const auto index_place = [&](int64_t component) {
    Place at_index{.coordinates = batch, .lanes = place.lanes};
    if (attrs.index_vector_dim < indices.rank()) {
      at_index.coordinates.insert(at_index.coordinates.begin() + attrs.index_vector_dim,
                                  Coordinate{b().index(component)});
    }
    return at_index;
  };
  Place source{.coordinates = {}, .lanes = place.lanes, .joined = place.joined};
  const std::vector<int64_t> strides = row_major_strides(from.dimensions());
  const int64_t last = from.rank() - place.joined;
  size_t next_offset = 0;
  for (int64_t d = 0; d <= last; ++d) {
    Coordinate coordinate{b().index(0)};
    const auto batching = std::ranges::find(attrs.operand_batching_dims, d);
    if (batching != attrs.operand_batching_dims.end()) {
      const auto which = static_cast<size_t>(batching - attrs.operand_batching_dims.begin());
      int64_t dim = attrs.start_indices_batching_dims[which];
      coordinate = batch[static_cast<size_t>(dim - (attrs.index_vector_dim < dim ? 1 : 0))];
    } else if (!std::ranges::count(attrs.collapsed_slice_dims, d)) {
      coordinate = place.coordinates[static_cast<size_t>(attrs.offset_dims[next_offset++])];
    }
    const auto mapped = std::ranges::find(attrs.start_index_map, d);
    if (mapped != attrs.start_index_map.end()) {
      const Place where = index_place(mapped - attrs.start_index_map.begin());
      NodeId start =
          as_index(b(), indices.dtype(), operand_element(gather.operands[1], where, memo));
      const int64_t most = from.dimension(d) - attrs.slice_sizes[static_cast<size_t>(d)];
      start = b().binary(Op::kSMin, b().binary(Op::kSMax, start, b().index(0)), b().index(most));
      if (d == last && place.joined > 1) start = b().mul(start, strides[static_cast<size_t>(d)]);
      coordinate.base = b().add(coordinate.base, start);
    }
    source.coordinates.push_back(coordinate);
  }
  return operand_element(gather.operands[0], source, memo);
}

// Of the part that the box lies in; of joined rows, of the part that has the row.
NodeId RegionLowering::joined_element(const Instruction& joined, Place place, Memo& memo) {
  const int64_t along = dimensions_of(joined)[0];
  if (joins_rows(joined)) return joined_row_element(joined, std::move(place), memo);
  Coordinate& at_part = place.coordinates[static_cast<size_t>(along)];
  int64_t start = 0;
  for (InstructionId part : joined.operands) {
    const int64_t size = at(part).shape.dimension(along);
    if (box_[static_cast<size_t>(along)] < start + size) {
      at_part.base = b().add(at_part.base, -start);
      return operand_element(part, place, memo);
    }
    start += size;
  }
  return {};  // no box lies behind all parts
}

// What `of(part, start)` is for the part that has the row. Rows may differ by lane.
NodeId RegionLowering::by_row(const Instruction& joined, NodeId row,
                              const std::function<NodeId(InstructionId, int64_t)>& of) {
  const int64_t along = dimensions_of(joined)[0];
  NodeId found;
  int64_t start = 0;
  for (InstructionId part : joined.operands) {
    const int64_t size = at(part).shape.dimension(along);
    if (size == 0) continue;
    const NodeId next = of(part, start);
    found = found.valid()
                ? b().select(b().compare(Predicate::kLt, row, index_like(row, start)), found, next)
                : next;
    start += size;
  }
  return found;
}

NodeId RegionLowering::index_like(NodeId row, int64_t number) {
  return b().splat(b().index(number), b().type(row).lanes);
}

// Lanes lie along the rows in a box of one column.
NodeId RegionLowering::joined_row_element(const Instruction& joined, Place place, Memo& memo) {
  const int64_t along = dimensions_of(joined)[0];
  const auto d = static_cast<size_t>(along);
  Coordinate& at_part = place.coordinates[d];
  const NodeId row = lane_value(at_part, place.lanes);
  at_part.step = 0;
  if (const InstructionId whole = sliced_by_all(joined); whole.valid()) {
    at_part.base = by_row(joined, row, [&](InstructionId part, int64_t start) {
      const int64_t from = at(part).attrs.get<hlo::SliceAttrs>().slice[d].start;
      return b().add(row, index_like(row, from - start));
    });
    return operand_element(whole, place, memo);
  }
  return by_row(joined, row, [&](InstructionId part, int64_t start) {
    const int64_t last = at(part).shape.dimension(along) - 1;
    const NodeId in_part = b().add(row, index_like(row, -start));
    at_part.base = b().binary(Op::kSMax, index_like(row, 0),
                              b().binary(Op::kSMin, in_part, index_like(row, last)));
    return b().splat(operand_element(part, place, memo), place.lanes);
  });
}

// The array that all parts are slices of, along the dimension in which they are joined: those have
// no place. Not valid: there is none.
InstructionId RegionLowering::sliced_by_all(const Instruction& joined) {
  const auto along = static_cast<size_t>(dimensions_of(joined)[0]);
  InstructionId whole;
  for (InstructionId part : joined.operands) {
    const Instruction& slice = at(part);
    if (slice.opcode != Opcode::kSlice || !region_.is_lazy(region_.leaf(part)) ||
        (whole.valid() && whole != slice.operands[0]))
      return {};
    whole = slice.operands[0];
    const auto& dims = slice.attrs.get<hlo::SliceAttrs>().slice;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].stride != 1 || (d != along && dims[d].start != 0)) return {};
    }
  }
  return whole;
}

// A box is padding or has none along the last dimension; along others rows are chosen.
NodeId RegionLowering::padded_element(const Instruction& pad, Place place, Memo& memo) {
  const Shape& from = at(pad.operands[0]).shape;
  const auto& padding = pad.attrs.get<hlo::PadAttrs>().padding;
  const NodeId filling = operand_element(pad.operands[1], {}, memo);
  NodeId is_inside;
  for (size_t d = 0; d < padding.size(); ++d) {
    Coordinate& c = place.coordinates[d];
    const int64_t low = padding[d].low, size = from.dimension(static_cast<int64_t>(d));
    const bool is_last = d + 1 == padding.size();
    if (size == 0 || (is_last && (box_[d] < low || box_[d] >= low + size))) return filling;
    c.base = b().add(c.base, index_like(c.base, -low));
    if (is_last || (low <= 0 && padding[d].high <= 0)) continue;
    if (c.step != 0) {
      c.base = lane_value(c, place.lanes);
      c.step = 0;
    }
    const NodeId nearest = b().binary(Op::kSMax, index_like(c.base, 0),
                                      b().binary(Op::kSMin, c.base, index_like(c.base, size - 1)));
    const NodeId here = b().compare(Predicate::kEq, nearest, c.base);
    c.base = nearest;
    is_inside = is_inside.valid() ? b().binary(Op::kAnd, is_inside, here) : here;
  }
  const NodeId value = operand_element(pad.operands[0], place, memo);
  if (!is_inside.valid()) return value;
  return b().select(is_inside, value, filling);
}

// exp(x) + c of a constant c, as 1 + exp(-x) in many gates, where nothing else reads exp(x). Not
// valid: the sum is something else.
NodeId RegionLowering::exponential_plus(const Instruction& sum, const Place& place, Memo& memo) {
  if (sum.opcode != Opcode::kAdd || !is_float(scalar_type(sum.shape))) return {};
  for (const size_t side : {0U, 1U}) {
    const LeafId leaf = region_.leaf(sum.operands[side]);
    const Instruction& power = at(sum.operands[side]);
    if (power.opcode != Opcode::kExp || !region_.is_part_of_one(leaf)) continue;
    const NodeId c = operand_element(sum.operands[1 - side], place, memo);
    if (!b().is_constant(c)) continue;
    const double size = std::abs(b().float_of(c));
    if (size >= 0x1p-60 && size <= 0x1p60)
      return write_exp_plus(b(), operand_element(power.operands[0], place, memo), c);
  }
  return {};
}

// The slice begins at `starts`. In the dimensions that share the last coordinate it is a run of its
// operand.
NodeId RegionLowering::run_element(const Instruction& slice, std::span<const NodeId> starts,
                                   Place place, Memo& memo) {
  const auto strides = row_major_strides(at(slice.operands[0]).shape.dimensions());
  const size_t last = place.coordinates.size() - 1;
  for (size_t d = 0; d < starts.size(); ++d) {
    NodeId& base = place.coordinates[std::min(d, last)].base;
    base = b().add(base, d < last ? starts[d] : b().mul(starts[d], strides[d]));
  }
  return operand_element(slice.operands[0], place, memo);
}

// The coordinates before a reshape that joins dimensions.
std::vector<Coordinate> RegionLowering::before_joining(const Instruction& reshape,
                                                       const Place& place) {
  const std::vector<int64_t>& sizes = at(reshape.operands[0]).shape.dimensions();
  std::vector<Coordinate> found;
  for (size_t d = 0; d < place.coordinates.size(); ++d) {
    const size_t first = found.size();
    int64_t product = 1;
    while (product < reshape.shape.dimension(static_cast<int64_t>(d))) {
      product *= sizes[found.size()];
      found.push_back({b().index(0)});
    }
    if (found.size() == first) continue;
    Coordinate rest = place.coordinates[d];
    if (found.size() > first + 1 && rest.step != 0) rest = {lane_value(rest, place.lanes)};
    for (size_t i = found.size(); i-- > first + 1;) {
      const NodeId size = index_like(rest.base, sizes[i]);
      found[i].base = b().binary(Op::kURem, rest.base, size);
      rest.base = b().binary(Op::kUDiv, rest.base, size);
    }
    found[first] = rest;
  }
  return found;
}

NodeId RegionLowering::iota_element(const Instruction& iota, const Place& place) {
  const auto dim = static_cast<size_t>(iota.attrs.get<hlo::IotaAttrs>().iota_dimension);
  const NodeId value = lane_value(place.coordinates[dim], place.lanes);
  const Scalar scalar = scalar_type(iota.shape);
  if (const DType dtype = iota.shape.dtype(); is_small_float(dtype))
    return narrow(b(), dtype, b().cast(Op::kSToFloat, Scalar::kF64, value));
  if (is_float(scalar)) return b().cast(Op::kSToFloat, scalar, value);
  return wrapped_to_nibble(b(), iota.shape.dtype(), b().cast(Op::kTruncate, scalar, value));
}

NodeId RegionLowering::broadcast_element(const Instruction& broadcast, const Place& place,
                                         Memo& memo) {
  Place to{.coordinates = {}, .lanes = place.lanes, .joined = place.joined};
  if (!place.is_flat) {
    for (int64_t d : dimensions_of(broadcast)) {
      if (d < std::ssize(place.coordinates))  // the last one of a joined place
        to.coordinates.push_back(place.coordinates[static_cast<size_t>(d)]);
    }
    if (std::ssize(to.coordinates) == at(broadcast.operands[0]).shape.rank()) to.joined = 1;
  }
  return operand_element(broadcast.operands[0], to, memo);
}

NodeId RegionLowering::slice_element(const Instruction& slice, const Place& place, Memo& memo) {
  const auto& dims = slice.attrs.get<hlo::SliceAttrs>().slice;
  if (place.is_flat || place.joined > 1) {
    std::vector<NodeId> starts;
    for (const hlo::SliceDimension& d : dims) starts.push_back(b().index(d.start));
    return run_element(slice, starts, place, memo);
  }
  Place to = place;
  for (size_t d = 0; d < dims.size(); ++d) {
    Coordinate& c = to.coordinates[d];
    c.base = b().add(b().mul(c.base, dims[d].stride), dims[d].start);
    c.step *= dims[d].stride;
  }
  return operand_element(slice.operands[0], to, memo);
}

NodeId RegionLowering::dynamic_slice_element(const Instruction& slice, const Place& place,
                                             Memo& memo) {
  const Shape& from = at(slice.operands[0]).shape;
  std::vector<NodeId> starts;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const int64_t most = from.dimension(d) - slice.shape.dimension(d);
    const InstructionId start = slice.operands[static_cast<size_t>(d) + 1];
    starts.push_back(most == 0 ? b().index(0) : clamped_start(start, most, memo));
  }
  if (place.is_flat || place.joined > 1) return run_element(slice, starts, place, memo);
  Place to = place;
  for (size_t d = 0; d < starts.size(); ++d)
    to.coordinates[d].base = b().add(to.coordinates[d].base, starts[d]);
  return operand_element(slice.operands[0], to, memo);
}

NodeId RegionLowering::reshape_element(const Instruction& reshape, const Place& place, Memo& memo) {
  const Shape& from = at(reshape.operands[0]).shape;
  Place to = place;
  if (place.is_flat) {
    if (from.is_scalar()) to = Place{};
  } else if (joins_repeats(computation(), reshape)) {
    to.coordinates = before_joining(reshape, place);
  } else {
    to.coordinates.clear();
    size_t next = 0;
    for (int64_t d = 0; d < from.rank(); ++d) {
      if (from.dimension(d) == 1) {
        to.coordinates.push_back({b().index(0)});
        continue;
      }
      while (reshape.shape.dimension(static_cast<int64_t>(next)) == 1) ++next;
      to.coordinates.push_back(place.coordinates[next++]);
    }
  }
  return operand_element(reshape.operands[0], to, memo);
}

NodeId RegionLowering::lazy_element(const Instruction& instruction, const Place& place,
                                    Memo& memo) {
  const PlanBuilder::For made_for(b(), program_.origin(instruction));
  switch (instruction.opcode) {
    case Opcode::kConstant:
      return b().bits({scalar_type(instruction.shape), 1},
                      bits_of_element(instruction.attrs.get<hlo::ConstantAttrs>().literal, 0));
    case Opcode::kIota: return iota_element(instruction, place);
    case Opcode::kBroadcast: return broadcast_element(instruction, place, memo);
    case Opcode::kTranspose: {
      Place to = place;
      const auto& dims = dimensions_of(instruction);
      for (size_t d = 0; d < place.coordinates.size(); ++d)
        to.coordinates[static_cast<size_t>(dims[d])] = place.coordinates[d];
      return operand_element(instruction.operands[0], to, memo);
    }
    case Opcode::kReverse: {
      Place to = place;
      for (int64_t d : dimensions_of(instruction)) {
        Coordinate& c = to.coordinates[static_cast<size_t>(d)];
        c.base = b().binary(Op::kSub, b().index(instruction.shape.dimension(d) - 1), c.base);
        c.step = -c.step;
      }
      return operand_element(instruction.operands[0], to, memo);
    }
    case Opcode::kSlice: return slice_element(instruction, place, memo);
    case Opcode::kDynamicSlice: return dynamic_slice_element(instruction, place, memo);
    case Opcode::kReshape: return reshape_element(instruction, place, memo);
    case Opcode::kGather: return gather_element(instruction, place, memo);
    case Opcode::kConcatenate: return joined_element(instruction, place, memo);
    case Opcode::kPad: return padded_element(instruction, place, memo);
    case Opcode::kReal:
    case Opcode::kImag:
      if (is_part(computation(), instruction)) return part_element(instruction, place);
      break;
    default: break;
  }
  if (const NodeId sum = exponential_plus(instruction, place, memo); sum.valid()) return sum;
  std::vector<NodeId> operands;
  for (InstructionId operand : instruction.operands) {
    const bool is_scalar = at(operand).shape.is_scalar();
    operands.push_back(operand_element(operand, is_scalar ? Place{} : place, memo));
  }
  return apply(b(), computation(), instruction, operands);
}

}  // namespace heddle::cpu
