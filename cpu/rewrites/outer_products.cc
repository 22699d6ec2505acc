#include "heddle/cpu/rewrites/outer_products.h"

#include <algorithm>
#include <numeric>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
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
hlo::Value spread(const hlo::Value& operand, const Dims& batch, const Dims& contracting,
                  int64_t first, const Dims& sizes) {
  Dims order = batch;  // of the operand's dimensions, as the product has them
  Dims places(batch.size());
  std::iota(places.begin(), places.end(), 0);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::ranges::count(contracting, d) > 0 || std::ranges::count(batch, d) > 0) continue;
    order.push_back(d);
    places.push_back(first++);
  }
  Dims kept;
  for (const int64_t d : order) kept.push_back(operand.size(d));
  order.insert(order.end(), contracting.begin(), contracting.end());  // of size 1
  return broadcast(reshape(transpose(operand, order), kept), sizes, places);
}

hlo::Value as_product(transform::Rebuilder& to, InstructionId id) {
  const Instruction& dot = to.old(id);
  if (!sums_nothing(to.from(), dot)) return {};
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  const auto batch = static_cast<int64_t>(attrs.lhs_batch_dims.size());
  const int64_t own =
      operands[0].rank() - batch - static_cast<int64_t>(attrs.lhs_contracting_dims.size());
  const Dims& sizes = dot.shape.dimensions();
  const hlo::Value x =
      spread(operands[0], attrs.lhs_batch_dims, attrs.lhs_contracting_dims, batch, sizes);
  const hlo::Value y =
      spread(operands[1], attrs.rhs_batch_dims, attrs.rhs_contracting_dims, batch + own, sizes);
  return graph.op(Opcode::kMultiply, {x, y}, {}, {}, &dot.shape);
}

}  // namespace

StatusOr<hlo::Module> expand_outer_products(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return as_product(to, id); });
}

}  // namespace heddle::cpu
