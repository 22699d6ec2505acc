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

const OpDef kSendDef = {Opcode::kSend, {}, kOpaque, infer_send};
const OpDef kSendDoneDef = {Opcode::kSendDone, {}, kOpaque, infer_token_result};
const OpDef kRecvDef = {Opcode::kRecv, {}, kOpaque, infer_recv};
const OpDef kRecvDoneDef = {Opcode::kRecvDone, {}, kOpaque, infer_start};
const OpDef kInfeedDef = {Opcode::kInfeed, {}, kOpaque, infer_recv};
const OpDef kOutfeedDef = {Opcode::kOutfeed, {}, kOpaque, infer_outfeed};

}  // namespace heddle::hlo
