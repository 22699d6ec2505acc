// send, recv, infeed, outfeed: transfers between devices, and between a device and its host. Held
// and passed on.
#include "heddle/hlo/ops/starts.h"

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

constexpr const char* kPeer =
    "is not evaluated by the interpreter: it is one device, without a peer or host program to "
    "exchange values with; pass the values as "
    "parameters and results";
constexpr const char* kFeed =
    "is not evaluated by the interpreter: no host program feeds it; pass the values as parameters "
    "and results";

}  // namespace

const OpDef kSendDef = unevaluated(Opcode::kSend, {}, infer_send, kPeer);
const OpDef kSendDoneDef = unevaluated(Opcode::kSendDone, {}, infer_token_result, kPeer);
const OpDef kRecvDef = unevaluated(Opcode::kRecv, {}, infer_recv, kPeer);
const OpDef kRecvDoneDef = unevaluated(Opcode::kRecvDone, {}, infer_start, kPeer);
const OpDef kInfeedDef = unevaluated(Opcode::kInfeed, {}, infer_recv, kFeed);
const OpDef kOutfeedDef = unevaluated(Opcode::kOutfeed, {}, infer_outfeed, kFeed);

}  // namespace heddle::hlo
