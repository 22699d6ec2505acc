// Arrays whose rows have few elements, as points and classes do: lanes lie along the rows, and each
// column is written out. A vector of one row would be empty for the most part.
#include <algorithm>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kMostWritten = 32;  // elements of a row that are written out
constexpr int64_t kCheapColumns = 5;  // are moved into lanes and back where little is computed

// The last dimensions that are shorter than a vector.
struct Trailing {
  size_t first;      // the first of them
  int64_t elements;  // of all of them
};
// The last one may have up to `most` elements.
Trailing trailing(std::span<const int64_t> sizes, int64_t lanes, int64_t most) {
  Trailing found{sizes.size(), 1};
  while (found.first > 0) {
    const int64_t size = sizes[found.first - 1];
    if (size >= lanes && (size > most || found.first < sizes.size())) break;
    found.elements *= std::max<int64_t>(size, 1);
    --found.first;
  }
  return found;
}

// A transpose that leaves rows whole and puts others beside them: a row is one load and one store.
bool moves_rows(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kTranspose) return false;
  const auto& from = dimensions_of(instruction);
  const auto last = static_cast<int64_t>(from.size()) - 1;
  return last > 0 && from.back() == last && from[from.size() - 2] != last - 1;
}

// A move of elements puts those of a row, the last `behind` dimensions, to other places of rows.
bool takes_apart(const Instruction& move, const Shape& from, int64_t behind) {
  const int64_t rank = move.shape.rank(), first = std::max<int64_t>(rank - behind, 0);
  switch (move.opcode) {
    case Opcode::kReverse:
      return std::ranges::any_of(dimensions_of(move), [&](int64_t d) { return d >= first; });
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      for (int64_t d = first; d < rank; ++d) {
        if (move.shape.dimension(d) != from.dimension(d)) return true;
      }
      return false;
    case Opcode::kTranspose: return !moves_rows(move);
    case Opcode::kGather: return !moves_neighbours(move);
    case Opcode::kBroadcast: return rank > 0 && move.shape.dimension(rank - 1) <= kMostColumns;
    default: return false;
  }
}

bool has_scalars(const Shape& shape) { return scalar_of(shape.dtype()).has_value(); }

}  // namespace

// The dimension of the rows, of a step that goes over an array of these sizes.
std::optional<size_t> RegionLowering::narrow_rows(InstructionId id, std::span<const int64_t> sizes,
                                                  int64_t most_columns) {
  if (std::ranges::count(sizes, 0) || region_.is_lazy(region_.leaf(id))) return std::nullopt;
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const Trailing columns = trailing(sizes, lanes, most_columns);
  if (columns.first == 0 || columns.elements == 1 || columns.elements > kMostWritten)
    return std::nullopt;
  const size_t rows = columns.first - 1;
  const int64_t outer = product_of(sizes.first(rows));
  for (LeafId leaf : region_.reads(id)) {
    const Shape& read = shape(leaf);
    if (!read.is_array() || !has_scalars(read)) return std::nullopt;
    const Trailing own = trailing(read.dimensions(), lanes, most_columns);
    // The same for all rows, or few elements beside the places.
    if (own.first == 0 || read.element_count() <= outer) continue;
    if (own.elements > most_columns) return std::nullopt;
    if (own.elements == 1 && read.dimension(static_cast<int64_t>(own.first) - 1) != sizes[rows])
      return std::nullopt;
  }
  return rows;
}

// As narrow_rows(), of an elementwise step: moving elements into lanes and back has to pay.
std::optional<size_t> RegionLowering::narrow_result(InstructionId id) {
  const Shape& shape = at(id).shape;
  auto rows = narrow_rows(id, shape.dimensions(), kMostMoved);
  const bool is_apart =
      rows && takes_rows_apart(id, shape.rank() - 1 - static_cast<int64_t>(*rows));
  if (rows && !is_apart) rows = narrow_rows(id, shape.dimensions(), kMostColumns);
  if (!rows || !has_scalars(shape)) return std::nullopt;
  if (moves_rows(at(id)) && !does_much(id)) return std::nullopt;
  const int64_t columns = product_of(std::span(shape.dimensions()).subspan(*rows + 1));
  const auto is_of_rows = [&](size_t d, const Shape& from) {
    return d == *rows && from.dtype() != pred;
  };
  if (is_apart || turned_dimension(id, is_of_rows))
    return columns <= kMostMoved ? rows : std::nullopt;
  // Whole rows that are gathered are vectors of their own.
  const bool computes = does_much(id) && at(id).opcode != Opcode::kGather;
  if (columns > (computes ? kMostColumns : kCheapColumns)) return std::nullopt;
  return rows;
}

// Where little is computed, narrow elements fill a vector.
int64_t RegionLowering::lanes_of_rows(InstructionId id, int64_t rows) {
  const Plan& plan = program_.program.plan;
  const Scalar widest = widest_scalar(id);
  const int64_t all = plan.vector_bytes / bytes_of(widest);
  return rows >= 2 * all && !does_much(id) ? all : lanes_for(plan, widest);
}

// As narrow_rows(), of a reduction of columns.
std::optional<size_t> RegionLowering::narrow_reduce(InstructionId id) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  // One function folds the lanes of a row of whole vectors as fast.
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const int64_t most = region_.leaves_of(id).size() > 1 ? kMostColumnsKept : lanes - 1;
  const auto rows =
      narrow_rows(id, from.dimensions(), std::clamp(most, kMostColumns, kMostColumnsKept));
  if (!rows) return std::nullopt;
  const auto& reduced = dimensions_of(reduce);
  int64_t kept = 1;
  for (size_t d = 0; d < from.dimensions().size(); ++d) {
    const bool is_reduced = std::ranges::count(reduced, static_cast<int64_t>(d)) > 0;
    if (is_reduced && d <= *rows) return std::nullopt;
    if (!is_reduced && d > *rows) kept *= from.dimensions()[d];
  }
  const bool is_array = std::ranges::all_of(region_.leaves_of(id), [&](LeafId leaf) {
    return !shape(leaf).is_scalar() && has_scalars(shape(leaf));
  });
  return is_array && kept <= kMostColumns ? rows : std::nullopt;
}

// The step only moves elements, and not rows as a whole, which are the last `behind` dimensions.
bool RegionLowering::takes_rows_apart(InstructionId id, int64_t behind) {
  bool is_apart = false;
  while (hlo::does(at(id).opcode, hlo::kPicks)) {
    const InstructionId from = at(id).operands[0];
    is_apart |= takes_apart(at(id), at(from).shape, behind);
    if (!region_.is_lazy(region_.leaf(from))) return is_apart;
    id = from;
  }
  return false;
}

// How many functions and quotients the step computes for each element.
int64_t RegionLowering::much_work(InstructionId id) {
  int64_t found = 0;
  std::vector<InstructionId> queue = {id};
  std::vector<bool> seen(static_cast<size_t>(computation().size()));
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    found += hlo::facts(at(next).opcode).work >= hlo::Work::kMuch ? 1 : 0;
    for (InstructionId operand : at(next).operands) {
      if (!region_.is_lazy(region_.leaf(operand)) || seen[operand.value]) continue;
      seen[operand.value] = true;
      queue.push_back(operand);
    }
  }
  return found;
}

// values_at(place) of all elements of arrays of these sizes, one for each array.
void RegionLowering::write_narrow(std::span<const int64_t> sizes, size_t rows, int64_t lanes,
                                  std::span<const BufferId> to,
                                  const std::function<std::vector<NodeId>(Place)>& values_at) {
  const std::span<const int64_t> behind = sizes.subspan(rows + 1);
  const int64_t columns = product_of(behind);
  std::vector<NodeId> outer;
  const auto write = [&](NodeId first, int64_t count) {
    NodeId begin = b().index(0);
    for (size_t d = 0; d < rows; ++d) begin = b().mul(b().add(begin, outer[d]), sizes[d + 1]);
    begin = b().mul(b().add(begin, first), columns);
    std::vector<std::vector<NodeId>> made(to.size());
    keeps_columns_ = true;
    for (int64_t column = 0; column < columns; ++column) {
      Place place{.coordinates = {}, .lanes = static_cast<int32_t>(count)};
      for (NodeId node : outer) place.coordinates.push_back({node});
      place.coordinates.push_back({first, 1});
      for (NodeId node : index_of(b(), behind, column)) place.coordinates.push_back({node});
      const std::vector<NodeId> values = values_at(place);
      for (size_t i = 0; i < to.size(); ++i)
        made[i].push_back(b().splat(values[i], static_cast<int32_t>(count)));
    }
    keeps_columns_ = false;
    columns_.clear();
    if (columns > 1 && count > 1) {
      for (std::vector<NodeId>& values : made) {
        std::vector<NodeId> moved = b().moved_rows(values);
        values = moved.empty() ? b().rows_of(values) : std::move(moved);
      }
    }
    for (size_t i = 0; i < to.size(); ++i)
      for (int64_t c = 0; c < columns; ++c)
        b().store(to[i], b().add(begin, c * count), made[i][static_cast<size_t>(c)]);
  };
  for_each_nest(b(), sizes.first(rows), outer, [&] {
    const int64_t together = sizes[rows] / lanes * lanes;
    auto block = b().begin_for_each(b().index(0), b().index(together), lanes);
    write(block.parameters[0], lanes);
    b().end_for({});
    if (together < sizes[rows]) write(b().index(together), sizes[rows] - together);
  });
}

}  // namespace heddle::cpu
