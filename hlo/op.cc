#include "heddle/hlo/op.h"

#include "heddle/hlo/internal/check_type.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

Status check_counts(Opcode opcode, size_t operands, size_t called) {
  int want = operand_count(opcode);
  if (want != kVariadic && operands != static_cast<size_t>(want)) {
    return base::invalid_argument(to_string(opcode), ": has ", operands, " operands; takes ", want);
  }
  want = called_count(opcode);
  if (want != kVariadic && called != static_cast<size_t>(want)) {
    return base::invalid_argument(to_string(opcode), ": calls ", called, " computations; takes ",
                                  want);
  }
  return {};
}

StatusOr<Shape> apply_rule(Opcode opcode, std::span<const Shape* const> operands,
                           const Attrs& attrs, std::span<const Computation* const> called,
                           const Shape* declared) {
  HEDDLE_RETURN_IF_ERROR(check_counts(opcode, operands.size(), called.size()));
  if (!fits(opcode, attrs)) {
    return base::invalid_argument(to_string(opcode), ": has the attributes of another op");
  }
  if (declared != nullptr) HEDDLE_RETURN_IF_ERROR(check_shape(*declared));
  if (declared == nullptr && has_trait(opcode, kDeclared)) {
    return base::invalid_argument(to_string(opcode),
                                  ": has no result type; this op's type cannot be inferred");
  }
  if (attrs.holds<CollectiveAttrs>()) {
    HEDDLE_RETURN_IF_ERROR(
        base::annotate(check_replica_groups(attrs.get<CollectiveAttrs>().replica_groups),
                       to_string(opcode), ": "));
  }
  const OpDef& op = definition(opcode);
  if (!op.infer) return base::invalid_argument(to_string(opcode), ": ", op.infer.reason());
  return op.infer.rule()({opcode, operands, attrs, called, declared});
}

}  // namespace

const OpDef& definition(Opcode opcode) {
  static constexpr const OpDef* kDefinitions[] = {
#define HEDDLE_OP(enumerator, text, attrs, operands, called, traits) &enumerator##Def,
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  };
  return *kDefinitions[static_cast<size_t>(opcode)];
}

StatusOr<Shape> infer_shape(Opcode opcode, std::span<const Shape* const> operands,
                            const Attrs& attrs, std::span<const Computation* const> called,
                            const Shape* declared) {
  if (declared != nullptr) {
    HEDDLE_RETURN_IF_ERROR(check_type(opcode, operands, attrs, called, *declared));
    return *declared;
  }
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, apply_rule(opcode, operands, attrs, called, nullptr));
  HEDDLE_RETURN_IF_ERROR(check_shape(shape));
  return shape;
}

Status check_type(Opcode opcode, std::span<const Shape* const> operands, const Attrs& attrs,
                  std::span<const Computation* const> called, const Shape& declared) {
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, apply_rule(opcode, operands, attrs, called, &declared));
  if (same_type(shape, declared)) return {};
  return base::invalid_argument(to_string(opcode), ": result is declared as ", to_string(declared),
                                "; its operands give ", to_string(shape));
}

}  // namespace heddle::hlo
