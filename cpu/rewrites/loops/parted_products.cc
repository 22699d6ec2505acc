#include "heddle/cpu/rewrites/loops/parted_products.h"

#include <map>
#include <utility>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/loops/turns.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

using Needs = Turns::Needs;

// By the loop's body.
using TurnsOf = std::map<ComputationId, Turns>;

TurnsOf turns_of(const hlo::Module& module) {
  TurnsOf out;
  Regions regions(module);
  for (const Computation& around : module.computations) {
    for (const Instruction& loop : around.instructions) {
      if (loop.opcode != Opcode::kWhile) continue;
      if (std::optional<Turns> turns = Turns::of(module, regions.of(around), loop))
        out.emplace(loop.called[0], *std::move(turns));
    }
  }
  return out;
}

bool is_joined_product(const Computation& body, const Instruction& dot) {
  if (dot.opcode != Opcode::kDot || (dot.shape.dtype() != f32 && dot.shape.dtype() != f64))
    return false;
  const Instruction& rows = body.at(dot.operands[0]);
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  return rows.opcode == Opcode::kConcatenate && attrs.lhs_batch_dims.empty() &&
         attrs.lhs_contracting_dims == rows.attrs.get<hlo::DimensionsAttrs>().dimensions;
}

// A piece is the turn's own, and another one is not.
bool is_worth_parting(const Turns& turns, const Instruction& dot) {
  const Region& body = turns.body();
  if (!is_joined_product(body.computation(), dot) ||
      turns.needs(body.leaf(dot.operands[1])) != Needs::kNothing)
    return false;
  const Shape& matrix = body.computation().at(dot.operands[1]).shape;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  const int64_t joined = matrix.dimension(attrs.rhs_contracting_dims[0]);
  bool is_part_worth_it = false, has_state = false;
  for (const InstructionId piece : body.computation().at(dot.operands[0]).operands) {
    const LeafId leaf = body.leaf(piece);
    has_state = has_state || turns.needs(leaf) == Needs::kState;
    const int64_t own = turns.shape(leaf).dimension(attrs.lhs_contracting_dims[0]);
    if (turns.needs(leaf) == Needs::kTurn && own > 0 &&
        is_thin(turns.shape(leaf).element_count() / own, matrix.element_count() / joined * own))
      is_part_worth_it = true;
  }
  return is_part_worth_it && has_state;
}

hlo::Value parted(const hlo::Values& pieces, const hlo::Value& matrix, const hlo::DotAttrs& attrs,
                  DType dtype) {
  hlo::Value sum;
  int64_t from = 0;
  for (const hlo::Value& piece : pieces) {
    const int64_t size = piece.size(attrs.lhs_contracting_dims[0]);
    const hlo::Value part =
        dot(piece, slice(matrix, attrs.rhs_contracting_dims[0], from, size), attrs, dtype);
    sum = sum ? sum + part : part;
    from += size;
  }
  return sum;
}

}  // namespace

StatusOr<std::optional<hlo::Module>> part_products(const hlo::Module& module) {
  const TurnsOf all = turns_of(module);
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId id) {
    const auto turns = all.find(id);
    return [&to, turns, &all](InstructionId i) -> hlo::Value {
      const Instruction& dot = to.old(i);
      if (turns == all.end() || !is_worth_parting(turns->second, dot)) return {};
      to.in_place_of(i);
      return parted(to.operands(dot.operands[0]), to.value(dot.operands[1]),
                    dot.attrs.get<hlo::DotAttrs>(), dot.shape.dtype());
    };
  });
}

}  // namespace heddle::cpu
