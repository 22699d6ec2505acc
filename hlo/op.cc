#include "heddle/hlo/op.h"

#include "heddle/hlo/internal/check_type.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

Status check_counts(const InferArgs& in) {
  int want = operand_count(in.opcode());
  if (want != kVariadic && in.size() != static_cast<size_t>(want))
    return in.error("has ", in.size(), " operands; takes ", want);
  want = called_count(in.opcode());
  if (want != kVariadic && in.called().size() != static_cast<size_t>(want))
    return in.error("calls ", in.called().size(), " computations; takes ", want);
  return {};
}

// Of the result: its error begins with "shape".
Status check_result(const InferArgs& in, const Shape& shape) {
  const Status status = check_shape(shape);
  return in.function().empty() ? status : base::annotate(status, in.function(), ": ");
}

StatusOr<Shape> apply_rule(const InferArgs& in, const Attrs& attrs) {
  HEDDLE_RETURN_IF_ERROR(check_counts(in));
  if (!fits(in.opcode(), attrs)) return in.error("has the attributes of another op");
  if (in.declared() != nullptr) HEDDLE_RETURN_IF_ERROR(check_result(in, *in.declared()));
  if (in.declared() == nullptr && has_trait(in.opcode(), kDeclared))
    return in.error("has no result type; this op's type cannot be inferred");
  if (attrs.holds<CollectiveAttrs>()) {
    const Status status = check_replica_groups(attrs.get<CollectiveAttrs>().replica_groups);
    if (!status.ok()) return in.error(status.message());
  }
  const OpDef& op = definition(in.opcode());
  if (!op.infer) return in.error(op.infer.reason());
  return op.infer.rule()(in);
}

// apply_rule() of an instruction that has its type.
Status check_declared_type(const InferArgs& in, const Attrs& attrs) {
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, apply_rule(in, attrs));
  if (same_type(shape, *in.declared())) return {};
  return in.error("result is declared as ", *in.declared(), "; its operands give ", shape);
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
                            const Shape* declared, std::string_view function) {
  const InferArgs in(opcode, operands, attrs, called, declared, function);
  if (declared != nullptr) {
    HEDDLE_RETURN_IF_ERROR(check_declared_type(in, attrs));
    return *declared;
  }
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, apply_rule(in, attrs));
  HEDDLE_RETURN_IF_ERROR(check_result(in, shape));
  return shape;
}

Status check_type(Opcode opcode, std::span<const Shape* const> operands, const Attrs& attrs,
                  std::span<const Computation* const> called, const Shape& declared) {
  return check_declared_type({opcode, operands, attrs, called, &declared}, attrs);
}

}  // namespace heddle::hlo
