// send, recv, infeed, outfeed: transfers between devices, and between a device and its host. Held
// and passed on.
#include "heddle/hlo/ops/control/start_done.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

Status check_token(const InferArgs& in, size_t i) {
  if (in[i].is_token()) return {};
  return in.error("operand ", i, " is ", in[i], "; must be a token");
}

StatusOr<Shape> infer_send(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 1));
  return infer_start(in);
}

StatusOr<Shape> infer_recv(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 0));
  return infer_start(in);
}

StatusOr<Shape> infer_token_result(const InferArgs& in) {
  return check_declared(in, Shape::token());
}

StatusOr<Shape> infer_outfeed(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 1));
  return infer_token_result(in);
}

}  // namespace

const OpDef kSendDef = {.opcode = Opcode::kSend, .operand_names = {}, .infer = infer_send};
const OpDef kSendDoneDef = {
    .opcode = Opcode::kSendDone, .operand_names = {}, .infer = infer_token_result};
const OpDef kRecvDef = {.opcode = Opcode::kRecv, .operand_names = {}, .infer = infer_recv};
const OpDef kRecvDoneDef = {.opcode = Opcode::kRecvDone, .operand_names = {}, .infer = infer_start};
const OpDef kInfeedDef = {.opcode = Opcode::kInfeed, .operand_names = {}, .infer = infer_recv};
const OpDef kOutfeedDef = {.opcode = Opcode::kOutfeed, .operand_names = {}, .infer = infer_outfeed};

}  // namespace heddle::hlo
