#include "heddle/cpu/rewrites/folds/holes.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::WindowDimension;

constexpr int64_t kMostGrowth = 4;  // of an array by its padding

bool has_holes(const WindowDimension& w) {
  return w.padding_low > 0 || w.padding_high > 0 || w.base_dilation > 1;
}

// Its padding, with the window's dimensions at these ones of the array.
hlo::PadAttrs padding_of(const std::vector<WindowDimension>& window, const Dims& at, int64_t rank) {
  hlo::PadAttrs padding{std::vector<hlo::PadDimension>(static_cast<size_t>(rank))};
  for (size_t d = 0; d < window.size(); ++d) {
    padding.padding[static_cast<size_t>(at[d])] = {window[d].padding_low, window[d].padding_high,
                                                   window[d].base_dilation - 1};
  }
  return padding;
}

int64_t elements_of_padded(const Shape& shape, const hlo::PadAttrs& attrs) {
  int64_t elements = 1;
  for (size_t d = 0; d < attrs.padding.size(); ++d) {
    const hlo::PadDimension& p = attrs.padding[d];
    const int64_t size = shape.dimension(static_cast<int64_t>(d));
    elements *= size + p.low + p.high + std::max<int64_t>(size - 1, 0) * p.interior;
  }
  return elements;
}

// The element that leaves what it is folded with as it is.
Literal identity_of(Op fold, const Shape& shape) {
  Literal identity = Literal::uninitialised(Shape(shape.dtype(), {}));
  const int64_t bits = identity_bits(fold, *scalar_of(shape.dtype()));
  std::memcpy(identity.mutable_bytes(), &bits, static_cast<size_t>(identity.byte_size()));
  return identity;
}

// The window over an array that was padded with `filling`; absent: it has no holes, or would need
// an array that is much larger.
template <class Attrs>
hlo::Value over_padded(transform::Rebuilder& to, InstructionId id, const Attrs& attrs,
                       const Dims& at, const std::function<Literal()>& filling) {
  const Instruction& old = to.old(id);
  const Shape& shape = to.old(old.operands[0]).shape;
  const hlo::PadAttrs padding = padding_of(attrs.window.dimensions, at, shape.rank());
  if (old.shape.element_count() == 0) return {};  // a window may take more away than there is
  if (std::ranges::none_of(attrs.window.dimensions, has_holes) ||
      elements_of_padded(shape, padding) > kMostGrowth * shape.element_count())
    return {};
  hlo::Graph& graph = to.in_place_of(id);
  hlo::Values operands = to.operands(id);
  operands[0] = graph.op(Opcode::kPad, {operands[0], graph.constant(filling())}, padding);
  Attrs now = attrs;
  for (WindowDimension& w : now.window.dimensions)
    w.padding_low = 0, w.padding_high = 0, w.base_dilation = 1;
  return graph.op(old.opcode, operands, std::move(now), to.mapped(id).called, &old.shape);
}

hlo::Value without_holes(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  if (old.opcode == Opcode::kConvolution && is_direct_convolution(to.from(), old)) {
    const auto& attrs = old.attrs.get<hlo::ConvolutionAttrs>();
    return over_padded(to, id, attrs, attrs.dim_labels.input_spatial,
                       [&] { return Literal::scalar(old.shape.dtype(), int64_t{0}); });
  }
  if (old.opcode != Opcode::kReduceWindow || old.operands.size() != 2 ||
      !is_plain_window(module, to.from(), old))
    return {};
  const Shape& from = to.old(old.operands[0]).shape;
  const std::optional<Op> fold = fold_of(module.at(old.called[0]));
  if (!fold || running_fold(module, from, old)) return {};
  return over_padded(to, id, old.attrs.get<hlo::WindowAttrs>(), consecutive_dimensions(from.rank()),
                     [&] { return identity_of(*fold, from); });
}

}  // namespace

StatusOr<hlo::Module> pad_windows(const hlo::Module& module) {
  return transform::with_rewritten(module, [&](transform::Rebuilder& to, InstructionId id) {
    return without_holes(module, to, id);
  });
}

}  // namespace heddle::cpu
