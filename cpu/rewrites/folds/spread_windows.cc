#include "heddle/cpu/rewrites/folds/spread_windows.h"

#include <cmath>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

// +0: with -0 a sum of zeros would have another sign.
bool is_plus_zero(const Computation& computation, InstructionId id) {
  const Instruction& number = computation.at(id);
  if (number.opcode != Opcode::kConstant || !number.shape.is_scalar()) return false;
  const double value = number.attrs.get<hlo::ConstantAttrs>().literal.to_double(0);
  return value == 0 && !std::signbit(value);
}

// Every window of these many places holds the one element.
bool holds_all(const hlo::WindowDimension& w, const hlo::PadDimension& pad, int64_t elements) {
  return elements == 1 && w.size > 1 && w.stride == 1 && w.window_dilation == 1 &&
         w.base_dilation == 1 && w.padding_low == 0 && w.padding_high == 0 && pad.low >= 0 &&
         pad.high >= 0 && pad.low < w.size && pad.high < w.size;
}

// Nothing: the window stays.
hlo::Value spread_window(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode != Opcode::kReduceWindow || old.operands.size() != 2) return {};
  const Instruction& pad = to.old(old.operands[0]);
  const auto fold = fold_of(to.into().at(to.mapped(id).called[0]));
  if (pad.opcode != Opcode::kPad || fold != Op::kAdd || pad.shape.is_dynamic() ||
      !is_plus_zero(to.from(), pad.operands[1]) || !is_plus_zero(to.from(), old.operands[1]))
    return {};
  hlo::WindowAttrs window = old.attrs.get<hlo::WindowAttrs>();
  hlo::PadAttrs padding = pad.attrs.get<hlo::PadAttrs>();
  const Shape& from = to.old(pad.operands[0]).shape;
  Dims sizes = old.shape.dimensions(), kept;
  for (int64_t d = 0; d < from.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (!holds_all(window.window.dimensions[i], padding.padding[i], from.dimension(d))) {
      kept.push_back(d);
      continue;
    }
    window.window.dimensions[i].size = 1;
    padding.padding[i] = {};
    sizes[i] = 1;
  }
  if (std::ssize(kept) == from.rank()) return {};
  const Shape small_shape(old.shape.dtype(), sizes);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Value small =
      graph.op(Opcode::kReduceWindow,
               {hlo::pad(to.value(pad.operands[0]), to.value(pad.operands[1]), padding.padding),
                to.value(old.operands[1])},
               window, to.mapped(id).called, &small_shape);
  Dims kept_sizes;
  for (const int64_t d : kept) kept_sizes.push_back(sizes[static_cast<size_t>(d)]);
  return broadcast(reshape(small, kept_sizes), old.shape.dimensions(), kept);
}

}  // namespace

StatusOr<hlo::Module> spread_windows(const hlo::Module& module) {
  return transform::with_rewritten(module, spread_window);
}

}  // namespace heddle::cpu
