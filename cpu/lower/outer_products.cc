#include "heddle/cpu/lower/outer_products.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

bool sums_nothing(const hlo::Computation& computation, const Instruction& dot) {
  if (dot.opcode != Opcode::kDot) return false;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  const Shape& x = computation.at(dot.operands[0]).shape;
  return attrs.algorithm == hlo::DotAlgorithm::kUnset && x.dtype() == dot.shape.dtype() &&
         computation.at(dot.operands[1]).shape.dtype() == dot.shape.dtype() &&
         std::ranges::all_of(attrs.lhs_contracting_dims,
                             [&](int64_t d) { return x.dimension(d) == 1; });
}

// The operand with the product's sizes: its batch first, then what is its own from dimension
// `first` of the product on.
InstructionId spread(transform::Rebuilder& to, const Instruction& dot, InstructionId operand,
                     const Dims& batch, const Dims& contracting, int64_t first) {
  const Shape shape = to.at(operand).shape;
  Dims kept, sizes;  // what is not summed, in the operand's order: of the product, and its size
  int64_t own = first;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::count(contracting, d) > 0) continue;
    const auto in_batch = std::ranges::find(batch, d);
    kept.push_back(in_batch != batch.end() ? in_batch - batch.begin() : own++);
    sizes.push_back(shape.dimension(d));
  }
  const auto append = [&](Opcode opcode, Shape type, hlo::Attrs attrs, InstructionId of) {
    Instruction made{
        .opcode = opcode, .shape = std::move(type), .operands = {of}, .attrs = std::move(attrs)};
    made.at = dot.at, made.name = dot.name, made.extras = dot.extras;
    return to.builder().append(std::move(made));
  };
  if (!contracting.empty())
    operand = append(Opcode::kReshape, Shape(shape.dtype(), sizes), hlo::ReshapeAttrs(), operand);
  return append(Opcode::kBroadcast, dot.shape, hlo::DimensionsAttrs{.dimensions = kept}, operand);
}

InstructionId as_product(transform::Rebuilder& to, InstructionId id) {
  if (!sums_nothing(to.from(), to.old(id))) return {};
  Instruction product = to.mapped(id);
  const auto attrs = product.attrs.get<hlo::DotAttrs>();
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t own = to.at(product.operands[0]).shape.rank() - batch -
                      static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  const InstructionId x = spread(to, product, product.operands[0], attrs.lhs_batch_dims,
                                 attrs.lhs_contracting_dims, batch);
  const InstructionId y = spread(to, product, product.operands[1], attrs.rhs_batch_dims,
                                 attrs.rhs_contracting_dims, batch + own);
  product.opcode = Opcode::kMultiply;
  product.operands = {x, y};
  product.attrs = {};
  return to.builder().append(std::move(product));
}

}  // namespace

hlo::Module expand_outer_products(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return as_product(to, id); });
}

}  // namespace heddle::cpu
