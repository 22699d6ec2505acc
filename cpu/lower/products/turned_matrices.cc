// Matrices that a loop does not change, transposed before it for its products by vectors.
#include <algorithm>
#include <map>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/products/dot_axes.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

namespace {

// The product of a matrix, which is the operand, by a vector: a loop that folds lanes at the end of
// each row.
bool folds_rows(const Region& region, const Instruction& dot, size_t operand, int64_t lanes) {
  const auto& computation = region.computation();
  if (!is_plain_dot(computation, dot)) return false;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  const Shape& matrix = computation.at(dot.operands[operand]).shape;
  const auto& contracted = operand == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims;
  if (matrix.rank() != 2 || contracted.size() != 1 || contracted[0] != 1 ||
      is_small_float(matrix.dtype()))
    return false;
  const int64_t rows = matrix.dimension(0), columns = matrix.dimension(1);
  return computation.at(dot.operands[1 - operand]).shape.element_count() == columns &&
         rows > std::max<int64_t>(lanes / 4, 1) && rows * columns <= kMaxInlined &&
         rows * columns > kMaxApart;
}

}  // namespace

// Copies what products of the loop would fold row by row, and no turn changes, with its columns in
// rows: the products add whole vectors then.
std::map<LeafId, View> RegionLowering::turned_matrices(const Region& body,
                                                       std::span<const Value> same) {
  std::map<LeafId, View> turned;
  const auto& parameters = body.parameters();
  for (InstructionId step : body.steps()) {
    const Instruction& dot = body.computation().at(step);
    if (dot.opcode != Opcode::kDot) continue;
    for (size_t operand = 0; operand < 2; ++operand) {
      const auto found = std::ranges::find(parameters, body.leaf(dot.operands[operand]));
      if (found == parameters.end() || turned.contains(*found)) continue;
      const Value& value = same[static_cast<size_t>(found - parameters.begin())];
      if (!value.is_buffer() || !folds_rows(body, dot, operand, lanes_of(dot))) continue;
      const Shape& from = *body.leaves()[found->value].shape;
      const BufferId to = program_.allocate(from);
      const int64_t rows = from.dimension(0), columns = from.dimension(1);
      const int64_t sizes[] = {columns, rows};
      for_each_place(sizes, scalar_type(from), [&](const Place& place) {
        const NodeId column = place.coordinates[0].base, row = place.coordinates[1].base;
        const NodeId lane = b().load_strided(value.buffer, {scalar_type(from), place.lanes},
                                             b().add(b().mul(row, columns), column), columns);
        b().store(to, b().add(b().mul(column, rows), row), lane);
      });
      turned.emplace(*found, View{to, b().index(0), {1, rows}, from.dtype()});
    }
  }
  return turned;
}

View RegionLowering::view_for(const Instruction& dot, size_t operand) {
  const LeafId leaf = region_.leaf(dot.operands[operand]);
  const auto turned = turned_.find(leaf);
  if (turned == turned_.end() || !folds_rows(region_, dot, operand, lanes_of(dot)))
    return view_of(leaf);
  program_.touch(turned->second.buffer);
  return turned->second;
}

}  // namespace heddle::cpu
