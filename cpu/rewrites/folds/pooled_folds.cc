#include "heddle/cpu/rewrites/folds/pooled_folds.h"

#include <algorithm>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kMostLast = 4;      // elements of the last dimension
constexpr int64_t kMostOfBlock = 32;  // elements that are folded; windows.cc writes so many out
constexpr int64_t kMostOfWide = 16;   // where the last dimension has more than two
constexpr int64_t kFewestOfRow = 4;   // places along the dimension of the lanes
constexpr int64_t kFewestOfWide = 8;
constexpr int kMostStepsBetween = 8;  // between the reduction and a transpose

// The array with each reduced dimension in the kept one before it, and the windows over it.
struct Blocks {
  Dims sizes;
  hlo::Window window;
  int64_t elements = 1;  // of a block
};

Blocks blocks_of(const Shape& shape, const Dims& reduced) {
  Blocks blocks;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool is_reduced = std::ranges::find(reduced, d) != reduced.end();
    const int64_t size = shape.dimension(d), folded = is_reduced ? size : 1;
    if (!is_reduced || d == 0) {
      blocks.sizes.push_back(1);
      blocks.window.dimensions.push_back({.size = 1, .stride = 1});
    }
    blocks.sizes.back() *= size;
    blocks.window.dimensions.back().size *= folded;
    blocks.window.dimensions.back().stride *= folded;
    blocks.elements *= folded;
  }
  return blocks;
}

// It is a transposed array, or an elementwise function of one. The windows would need it stored.
bool lies_otherwise(const transform::Rebuilder& to, InstructionId id) {
  for (int depth = 0; depth < kMostStepsBetween; ++depth) {
    const Instruction& step = to.old(id);
    if (step.opcode == Opcode::kTranspose) return true;
    if (step.operands.empty() ||
        !(is_scalar_op(to.from(), step) || step.opcode == Opcode::kReshape))
      return false;
    id = step.operands[0];
  }
  return false;
}

// Nothing: the reduction stays.
hlo::Value pooled(transform::Rebuilder& to, InstructionId id) {
  const Instruction& reduce = to.old(id);
  if (reduce.opcode != Opcode::kReduce || reduce.operands.size() != 2) return {};
  const Shape& shape = to.old(reduce.operands[0]).shape;
  const Dims& dims = reduce.attrs.get<hlo::DimensionsAttrs>().dimensions;
  if (dims.size() < 2) return {};
  const int64_t last = *std::ranges::max_element(dims);  // features may stand behind it
  const auto is_reduced = [&](int64_t d) { return std::ranges::find(dims, d) != dims.end(); };
  if (last < 2 || shape.dtype() == pred || shape.is_dynamic() || shape.element_count() == 0 ||
      is_reduced(last - 1) || (last < shape.rank() - 1 && is_reduced(0)) ||
      shape.dimension(last) < 2 || shape.dimension(last) > kMostLast ||
      shape.dimension(last - 1) < kFewestOfRow || !fold_of(to.into().at(to.mapped(id).called[0])))
    return {};
  const Blocks blocks = blocks_of(shape, dims);
  const bool is_wide = shape.dimension(last) > 2;
  if (blocks.elements > (is_wide ? kMostOfWide : kMostOfBlock) ||
      (is_wide && shape.dimension(last - 1) < kFewestOfWide) ||
      lies_otherwise(to, reduce.operands[0]))
    return {};
  Dims places;
  for (size_t d = 0; d < blocks.sizes.size(); ++d)
    places.push_back(blocks.sizes[d] / blocks.window.dimensions[d].size);
  const Shape pooled_shape(reduce.shape.dtype(), places);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Value windows =
      graph.op(Opcode::kReduceWindow,
               {reshape(to.value(reduce.operands[0]), blocks.sizes), to.value(reduce.operands[1])},
               hlo::WindowAttrs{.window = blocks.window}, to.mapped(id).called, &pooled_shape);
  return reshape(windows, reduce.shape.dimensions());
}

}  // namespace

StatusOr<hlo::Module> pool_blocks(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                 InstructionId id) { return pooled(to, id); });
}

}  // namespace heddle::cpu
