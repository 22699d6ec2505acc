// tuple(x..), get-tuple-element(x), index=i, opt-barrier(x), after-all(token..), add-dependency(x,
// token): values as they are.
// Tokens order what has side effects; here they carry nothing.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_tuple(const InferArgs& in) {
  std::vector<Shape> elements;
  elements.reserve(in.size());
  for (const Shape* operand : in.operands()) elements.push_back(*operand);
  return settle(in, Shape::tuple(std::move(elements)));
}

StatusOr<Shape> infer_element(const InferArgs& in) {
  int64_t index = in.attrs<TupleIndexAttrs>().index;
  if (!in[0].is_tuple()) return in.error("x is ", in[0], "; must be a tuple");
  if (index < 0 || index >= in[0].element_shapes()) {
    return in.error("index is ", index, "; must be in [0, ", in[0].element_shapes(), ") as x is ",
                    in[0]);
  }
  return settle(in, in[0].element(index));
}

StatusOr<Shape> infer_as_operand(const InferArgs& in) { return settle(in, in[0]); }

StatusOr<Shape> infer_after_all(const InferArgs& in) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_token()) return in.error("operand ", i, " is ", in[i], "; must be a token");
  }
  return Shape::token();
}

// XLA gives any value as the second operand, mostly a token.
StatusOr<Shape> infer_add_dependency(const InferArgs& in) { return settle(in, in[0]); }

constexpr std::string_view kTupleNames[] = {"x", "token"};

}  // namespace

const OpDef kTupleDef = {Opcode::kTuple, {}, {Work::kStays, Rows::kKept, kHandsOn}, infer_tuple};
const OpDef kGetTupleElementDef = {
    Opcode::kGetTupleElement, kTupleNames, {Work::kNone, Rows::kKept, kHandsOn}, infer_element};
const OpDef kOptBarrierDef = {
    Opcode::kOptBarrier, kTupleNames, {Work::kStays, Rows::kKept, kHandsOn}, infer_as_operand};
const OpDef kAfterAllDef = {
    Opcode::kAfterAll, {}, {Work::kStays, Rows::kKept, kHandsOn}, infer_after_all};
const OpDef kAddDependencyDef = {Opcode::kAddDependency,
                                 kTupleNames,
                                 {Work::kStays, Rows::kKept, kHandsOn},
                                 infer_add_dependency};

}  // namespace heddle::hlo
