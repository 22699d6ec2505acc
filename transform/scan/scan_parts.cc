#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

ScanParts scan_parts(const hlo::Computation& caller, const hlo::Instruction& scan,
                     const hlo::Computation& body) {
  const auto& attrs = scan.attrs.get<hlo::ScanAttrs>();
  const Shape& returned = body.result_shape();
  ScanParts parts;
  parts.carries = static_cast<size_t>(attrs.num_carries);
  parts.inputs = scan.operands.size() - parts.carries;
  parts.outputs = (returned.is_tuple() ? returned.elements().size() : 1) - parts.carries;
  parts.dimension = attrs.dimensions[0];
  parts.reverse = attrs.is_reverse;
  const Shape& first = parts.inputs > 0        ? caller.at(scan.operands[0]).shape
                       : scan.shape.is_tuple() ? scan.shape.element(0)
                                               : scan.shape;
  parts.length = first.dimension(parts.dimension);
  return parts;
}

std::vector<hlo::InstructionId> returned_values(const hlo::Computation& body) {
  const hlo::Instruction& root = body.root_instruction();
  if (root.opcode == hlo::Opcode::kTuple) return root.operands;
  if (root.shape.is_tuple()) return {};
  return {body.root};
}

}  // namespace heddle::transform
