#include "heddle/hlo/internal/normal_form.h"

#include <algorithm>

#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

ComparisonType usual_comparison(DType dtype) {
  if (is_signed(dtype)) return ComparisonType::kSigned;
  if (is_unsigned(dtype) || dtype == pred) return ComparisonType::kUnsigned;
  return ComparisonType::kFloat;
}

template <class Struct>
Attrs drop_default_precision(Attrs attrs) {
  const auto& precision = attrs.get<Struct>().operand_precision;
  if (precision.empty() ||
      !std::ranges::all_of(precision, [](Precision p) { return p == Precision::kDefault; })) {
    return attrs;
  }
  Struct out = attrs.get<Struct>();
  out.operand_precision.clear();
  return out;
}

Attrs compare_form(std::span<const Shape* const> operands, Attrs attrs) {
  CompareAttrs out = attrs.get<CompareAttrs>();
  if (operands.empty() || out.type != usual_comparison(operands[0]->dtype())) return attrs;
  out.type = ComparisonType::kDefault;
  return out;
}

Attrs map_form(std::span<const Shape* const> operands, Attrs attrs) {
  if (operands.empty() || !attrs.get<DimensionsAttrs>().dimensions.empty()) return attrs;
  return DimensionsAttrs{consecutive_dimensions(operands[0]->rank())};
}

}  // namespace

Attrs normal_form(Opcode opcode, std::span<const Shape* const> operands, Attrs attrs) {
  if (opcode == Opcode::kCompare) return compare_form(operands, std::move(attrs));
  if (opcode == Opcode::kMap) return map_form(operands, std::move(attrs));
  if (attrs.holds<DotAttrs>()) return drop_default_precision<DotAttrs>(std::move(attrs));
  if (attrs.holds<RaggedDotAttrs>())
    return drop_default_precision<RaggedDotAttrs>(std::move(attrs));
  if (attrs.holds<ConvolutionAttrs>())
    return drop_default_precision<ConvolutionAttrs>(std::move(attrs));
  if (attrs.holds<CustomCallAttrs>())
    return drop_default_precision<CustomCallAttrs>(std::move(attrs));
  return attrs;
}

}  // namespace heddle::hlo
