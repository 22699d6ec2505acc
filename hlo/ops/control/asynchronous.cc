// async-start, async-update, async-done: a computation that runs beside others; here it runs at its
// start. copy-start, copy-done: the same for copies. domain: a mark where shardings change.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/control/start_done.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Gives ((operands), result, contexts..). In the newest form operands may come later, with updates:
// then less is known.
StatusOr<Shape> infer_async_start(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_callee(in, 0, "calls"));
  HEDDLE_RETURN_IF_ERROR(infer_start(in).status());
  const Shape& result = *in.declared();
  std::vector<Shape> operands;
  for (const Shape* operand : in.operands()) operands.push_back(*operand);
  if (in.size() != in.called()[0]->parameter_count()) return result;
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "calls", operands));
  const Shape& value = in.called()[0]->result_shape();
  const Shape all = Shape::tuple(std::move(operands));
  const bool fits = result.element_shapes() >= 2 && same_type(result.element(0), all) &&
                    same_type(result.element(1), value);
  if (fits) return result;
  return in.error("result is declared as ", result, "; must be a tuple of ", all, ", ", value,
                  " and contexts");
}

StatusOr<Shape> infer_async_update(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  return infer_start(in);
}

StatusOr<Shape> infer_copy_start(const InferArgs& in) {
  const Shape& result = *in.declared();
  bool fits = result.is_tuple() && result.element_shapes() >= 2 &&
              same_type(result.element(0), in[0]) && same_type(result.element(1), in[0]);
  if (fits) return result;
  return in.error("result is declared as ", result, "; must be a tuple of twice ", in[0],
                  " and a context");
}

StatusOr<Shape> infer_copy_done(const InferArgs& in) {
  if (in[0].is_tuple() && in[0].element_shapes() >= 1) return check_declared(in, in[0].element(0));
  return in.error("operand 0 is ", in[0], "; must be what a copy-start gives");
}

StatusOr<Shape> infer_domain(const InferArgs& in) { return check_declared(in, in[0]); }

}  // namespace

const OpDef kAsyncStartDef = {Opcode::kAsyncStart, {}, kOpaque, infer_async_start};
const OpDef kAsyncUpdateDef = {Opcode::kAsyncUpdate, {}, kOpaque, infer_async_update};
const OpDef kAsyncDoneDef = {Opcode::kAsyncDone, {}, kOpaque, infer_done};
const OpDef kCopyStartDef = {Opcode::kCopyStart, {}, kOpaque, infer_copy_start};
const OpDef kCopyDoneDef = {Opcode::kCopyDone, {}, kOpaque, infer_copy_done};
const OpDef kDomainDef = {Opcode::kDomain, {}, kOpaque, infer_domain};

}  // namespace heddle::hlo
