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
    Opcode::kParameter, {}, {Work::kStays, Rows::kKept, kPlain}, infer_parameter};
const OpDef kConstantDef = {
    Opcode::kConstant, {}, {Work::kNone, Rows::kMixed, kPlain}, infer_constant};
const OpDef kIotaDef = {Opcode::kIota, {}, {Work::kNone, Rows::kKeptIfAlike, kPlain}, infer_iota};
const OpDef kPartitionIdDef = {Opcode::kPartitionId, {}, kOpaque, infer_id};
const OpDef kReplicaIdDef = {Opcode::kReplicaId, {}, kOpaque, infer_id};

}  // namespace heddle::hlo
