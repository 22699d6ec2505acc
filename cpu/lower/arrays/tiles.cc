// Steps that read a transposed array go by squares: what lies along a row of the array comes into
// vectors along its columns by shuffles. Each line of memory is read once then.
//
//   y[i, j] = x[j, i]        16 rows of y, 16 columns: 16 vectors of x, turned in registers
//   y[i, j] = x[j, 99 - i]   a reversed array's come in the opposite order
//
// A result of few rows, which are the columns of as few, takes whole vectors of x and shuffles them
// into all of its rows at once (for_each_column).
#include <algorithm>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kLeastSquare = 4;  // rows
constexpr size_t kMostRead = 12;     // instructions that a turn computes for each row of a square

// Which dimension of the operand is which of the step's result, given those of the instruction; -1:
// none. Nothing: its places are others.
std::optional<std::vector<int64_t>> operand_dimensions(const Computation& computation,
                                                       const Instruction& instruction,
                                                       const Shape& operand,
                                                       std::span<const int64_t> own) {
  std::vector<int64_t> dims(static_cast<size_t>(operand.rank()), -1);
  switch (instruction.opcode) {
    case Opcode::kTranspose: {
      const auto& from = dimensions_of(instruction);
      for (size_t d = 0; d < from.size(); ++d) dims[static_cast<size_t>(from[d])] = own[d];
      return dims;
    }
    case Opcode::kBroadcast: {
      const auto& to = dimensions_of(instruction);
      for (size_t d = 0; d < to.size(); ++d) dims[d] = own[static_cast<size_t>(to[d])];
      return dims;
    }
    case Opcode::kSlice:
      if (!std::ranges::all_of(instruction.attrs.get<hlo::SliceAttrs>().slice,
                               [](const auto& part) { return part.stride == 1; }))
        return std::nullopt;
      break;
    case Opcode::kReverse: break;
    default:
      if (!is_scalar_op(computation, instruction)) return std::nullopt;
  }
  return std::vector<int64_t>(own.begin(), own.end());
}

int64_t place_of(std::span<const int64_t> dims, int64_t d) {
  return std::ranges::find(dims, d) - dims.begin();
}

// A position as `first` + more, or, mirrored, more - `first`; nothing: it is neither.
struct Shifted {
  int64_t more = 0;
  bool is_mirrored = false;
};

std::optional<Shifted> shifted(const Plan& plan, NodeId position, NodeId first) {
  if (position == first) return Shifted{};
  const Node& node = plan.at(position);
  if (node.op != Op::kAdd && node.op != Op::kSub) return std::nullopt;
  const NodeId x = plan.args_of(node)[0], y = plan.args_of(node)[1];
  const auto constant = [&](NodeId id) { return plan.at(id).op == Op::kConstant; };
  if (constant(x) == constant(y)) return std::nullopt;
  auto inner = shifted(plan, constant(x) ? y : x, first);
  if (!inner) return std::nullopt;
  const int64_t number = plan.at(constant(x) ? x : y).imm;
  if (node.op == Op::kSub && constant(x)) return Shifted{number - inner->more, !inner->is_mirrored};
  inner->more += node.op == Op::kSub ? -number : number;
  return inner;
}

// Rows in the order of columns. Each stage takes rows that are half of all apart together.
std::vector<NodeId> turned(PlanBuilder& b, std::vector<NodeId> rows) {
  const auto n = static_cast<uint32_t>(rows.size());
  for (uint32_t stage = 1; stage < n; stage *= 2) {
    std::vector<NodeId> next;
    for (uint32_t i = 0; i < n; ++i) {
      std::vector<LaneSource> lanes;
      for (uint32_t k = 0; k < n; ++k) lanes.push_back({k % 2, (i % 2 * n + k) / 2});
      const NodeId pair[] = {rows[i / 2], rows[i / 2 + n / 2]};
      next.push_back(b.shuffle(pair, std::move(lanes)));
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace

// The dimension of the step's result along which an array that it reads lies in memory, where that
// is not the last one and fits(dimension, array).
std::optional<size_t> RegionLowering::turned_dimension(
    InstructionId id, const std::function<bool(size_t, const Shape&)>& fits) {
  const std::vector<int64_t>& sizes = at(id).shape.dimensions();
  const int64_t lane = lane_dimension(sizes);
  if (lane < 0 || does_much(id)) return std::nullopt;
  std::vector<std::pair<InstructionId, std::vector<int64_t>>> queue(1, {id, {}});
  for (size_t d = 0; d < sizes.size(); ++d) queue[0].second.push_back(static_cast<int64_t>(d));
  std::optional<size_t> found;
  for (size_t next = 0; next < queue.size(); ++next) {
    if (queue.size() > kMostRead) return std::nullopt;
    const auto [read, own] = queue[next];
    for (InstructionId operand : at(read).operands) {
      const Shape& from = at(operand).shape;
      if (!from.is_array() || from.is_scalar()) continue;
      const auto dims = operand_dimensions(computation(), at(read), from, own);
      if (!dims) continue;
      if (region_.is_lazy(region_.leaf(operand))) {
        queue.emplace_back(operand, *dims);
        continue;
      }
      const int64_t along = lane_dimension(from.dimensions());
      if (along < 0) continue;
      const int64_t d = (*dims)[static_cast<size_t>(along)];
      if (d >= 0 && d != lane && place_of(*dims, lane) < from.rank() &&
          fits(static_cast<size_t>(d), from))
        found = static_cast<size_t>(d);
    }
  }
  return found;
}

// That of squares.
std::optional<size_t> RegionLowering::tiled_dimension(InstructionId id) {
  const std::vector<int64_t>& sizes = at(id).shape.dimensions();
  const int64_t lane = lane_dimension(sizes);
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const int64_t columns = lane < 0 ? 0 : sizes[static_cast<size_t>(lane)];
  // Rows of small matrices are shorter than vectors.
  const int64_t least = columns < lanes ? kLeastSquare : lanes;
  if (columns < least) return std::nullopt;
  return turned_dimension(id, [&](size_t d, const Shape&) { return sizes[d] >= least; });
}

// That of a result of few rows, which are the columns of an array of as few: all are brought into
// lanes at once.
std::optional<size_t> RegionLowering::few_rows(InstructionId id) {
  const std::vector<int64_t>& sizes = at(id).shape.dimensions();
  const int64_t lane = lane_dimension(sizes);
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  if (lane < 0 || sizes[static_cast<size_t>(lane)] < lanes) return std::nullopt;
  return turned_dimension(id, [&](size_t d, const Shape& from) {
    const int64_t width = from.dimension(lane_dimension(from.dimensions()));
    return sizes[d] > 1 && width < std::min(lanes, kMostMoved);
  });
}

// As for_each_place(), with all places along `rows` written out, for each vector.
void RegionLowering::for_each_column(std::span<const int64_t> sizes, size_t rows, int64_t lanes,
                                     const std::function<void(Place)>& body) {
  std::vector<int64_t> others(sizes.begin(), sizes.end());
  others[rows] = 1;
  for_each_place(others, lanes, [&](Place place) {
    keeps_columns_ = true;
    for (int64_t row = 0; row < sizes[rows]; ++row) {
      place.coordinates[rows] = {b().index(row)};
      body(place);
    }
    keeps_columns_ = false;
    columns_.clear();
  });
}

// As for_each_place(), in squares along the last dimension and `along`.
void RegionLowering::for_each_tile(std::span<const int64_t> sizes, size_t along, Scalar widest,
                                   const std::function<void(Place)>& body) {
  const auto lane = static_cast<size_t>(lane_dimension(sizes));
  const int64_t lanes = lanes_for(program_.program.plan, widest);
  std::vector<int64_t> outer;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d != lane && d != along) outer.push_back(sizes[d]);
  }
  std::vector<NodeId> at_outer;
  const auto write = [&](NodeId row, NodeId column, int64_t count) {
    Place place{.coordinates = {}, .lanes = static_cast<int32_t>(count)};
    size_t next = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      place.coordinates.push_back(d == lane    ? Coordinate{column, 1}
                                  : d == along ? Coordinate{row}
                                               : Coordinate{at_outer[next++]});
    }
    body(place);
  };
  const Rectangle all{.row = 0, .column = 0, .rows = sizes[along], .columns = sizes[lane]};
  for_each_nest(b(), outer, at_outer, [&] { write_squares(all, lanes, lanes, write); });
}

// Squares of `side` rows and columns, then smaller ones of what is left, then rows of vectors.
void RegionLowering::write_squares(const Rectangle& part, int64_t side, int64_t lanes,
                                   const WriteRow& write) {
  if (part.rows == 0 || part.columns == 0) return;
  if (side < std::min(kLeastSquare, lanes)) return write_rows(part, lanes, write);
  const int64_t rows = part.rows / side * side, columns = part.columns / side * side;
  if (rows > 0 && columns > 0) {
    auto strip = b().begin_for_each(b().index(part.row), b().index(part.row + rows), side);
    auto square =
        b().begin_for_each(b().index(part.column), b().index(part.column + columns), side);
    square_.emplace();
    for (int64_t i = 0; i < side; ++i) square_->rows.push_back(b().add(strip.parameters[0], i));
    for (; square_->row < square_->rows.size(); ++square_->row)
      write(square_->rows[square_->row], square.parameters[0], side);
    square_.reset();
    b().end_for({});
    b().end_for({});
  }
  write_squares({part.row, part.column + columns, rows, part.columns - columns}, side / 2, lanes,
                write);
  write_squares({part.row + rows, part.column, part.rows - rows, part.columns}, side / 2, lanes,
                write);
}

void RegionLowering::write_rows(const Rectangle& part, int64_t lanes, const WriteRow& write) {
  const int64_t whole = part.columns / lanes * lanes;
  auto row = b().begin_for_each(b().index(part.row), b().index(part.row + part.rows), 1);
  if (whole > 0) {
    auto vectors =
        b().begin_for_each(b().index(part.column), b().index(part.column + whole), lanes);
    write(row.parameters[0], vectors.parameters[0], lanes);
    b().end_for({});
  }
  if (whole < part.columns)
    write(row.parameters[0], b().index(part.column + whole), part.columns - whole);
  b().end_for({});
}

// The lanes at a place whose row is one of the square's, from vectors that lie across its rows; not
// valid: the place is no such one.
NodeId RegionLowering::tile_row(BufferId buffer, const Shape& shape, const Place& place) {
  if (!square_ || place.is_flat || place.joined > 1) return {};
  const auto along = static_cast<size_t>(lane_dimension(shape.dimensions()));
  const auto row = static_cast<int64_t>(square_->row), last = std::ssize(square_->rows) - 1;
  const Plan& plan = program_.program.plan;
  const NodeId at = place.coordinates[along].base;
  std::optional<Shifted> position;
  if (plan.at(square_->rows[0]).op != Op::kConstant) {
    position = shifted(plan, at, square_->rows[0]);
  } else if (at == square_->rows[square_->row]) {  // of one strip: a number tells no more
    position = Shifted{row};
  }
  if (!position || place.coordinates[along].step != 0 ||
      std::ranges::any_of(place.coordinates, [&](const Coordinate& c) {
        return b().type(c.base).lanes > 1 || std::abs(c.step) > 1;
      }))
    return {};
  Place first = place;
  NodeId& base = first.coordinates[along].base;
  base = position->is_mirrored
             ? b().binary(Op::kSub, b().index(position->more + row - last), square_->rows[0])
             : b().add(square_->rows[0], position->more - row);
  const auto [offset, step] = element_offset(shape, first);
  std::vector<NodeId>& columns = square_->turned[{buffer, offset, step}];
  if (columns.empty()) {
    const Type type{scalar_type(shape), place.lanes};
    for (int64_t i = 0; i < place.lanes; ++i)
      columns.push_back(b().load(buffer, moved_as(type), b().add(offset, i * step)));
    columns = turned(b(), std::move(columns));
    for (NodeId& column : columns) column = from_moved(column, type);
  }
  return columns[static_cast<size_t>(position->is_mirrored ? last - row : row)];
}

}  // namespace heddle::cpu
