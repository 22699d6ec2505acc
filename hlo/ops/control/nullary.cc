// parameter, constant, iota, partition-id, replica-id: values that come from no operand.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_parameter(const InferArgs& in) {
  int64_t number = in.attrs<ParameterAttrs>().number;
  if (number < 0) return in.error("has number ", number, "; must be 0 or more");
  return *in.declared();
}

StatusOr<Shape> infer_constant(const InferArgs& in) {
  const Literal& literal = in.attrs<ConstantAttrs>().literal;
  if (!literal.is_valid()) return in.error("has no value");
  if (!same_type(literal.shape(), *in.declared())) {
    return in.error("value is ", literal.shape(), "; must be ", *in.declared(), " as declared");
  }
  return *in.declared();
}

StatusOr<Shape> infer_iota(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_declared_array(in));
  HEDDLE_RETURN_IF_ERROR(check_dimension(in, "iota_dimension", in.attrs<IotaAttrs>().iota_dimension,
                                         in.declared()->rank()));
  if (in.declared()->dtype() == pred) {
    return in.error("result is declared as ", *in.declared(), "; must be of numbers, not pred");
  }
  return *in.declared();
}

StatusOr<Shape> infer_id(const InferArgs& in) {
  if (in.declared()->is_scalar(u32)) return *in.declared();
  return in.error("result is declared as ", *in.declared(), "; must be u32[]");
}

}  // namespace

const OpDef kParameterDef = {
    .opcode = Opcode::kParameter, .operand_names = {}, .infer = infer_parameter};
const OpDef kConstantDef = {
    .opcode = Opcode::kConstant, .operand_names = {}, .infer = infer_constant};
const OpDef kIotaDef = {.opcode = Opcode::kIota, .operand_names = {}, .infer = infer_iota};
const OpDef kPartitionIdDef = {
    .opcode = Opcode::kPartitionId, .operand_names = {}, .infer = infer_id};
const OpDef kReplicaIdDef = {.opcode = Opcode::kReplicaId, .operand_names = {}, .infer = infer_id};

}  // namespace heddle::hlo
