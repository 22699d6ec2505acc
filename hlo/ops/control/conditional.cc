// conditional(index, x..), branch_computations={f..}: f[index](x[index]), and no other branch runs.
// A pred index takes branch 0 when true; an s32 index outside 0 .. n-1 takes the last branch.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kConditionalOperands[] = {"index", "argument"};

Status check_index(const InferArgs& in) {
  const size_t branches = in.called().size();
  if (branches == 0) return in.error("has no branches; takes one or more");
  if (in.size() == 0) return in.error("has no index; takes the index and one argument a branch");
  if (in[0].is_scalar(pred)) {
    return branches == 2 ? Status()
                         : in.error("index is pred[] and chooses among ", branches,
                                    " branches; must be s32[] unless there are 2");
  }
  if (in[0].is_scalar(s32)) return {};
  return in.error("index is ", to_string(in[0]), "; must be s32[] or pred[]");
}

StatusOr<Shape> infer_conditional(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_index(in));
  const size_t branches = in.called().size();
  if (in.size() != branches + 1) {
    return in.error("has ", in.size(), " operands for ", branches,
                    " branches; takes the index and one argument a branch");
  }
  for (size_t i = 0; i < branches; ++i) {
    const std::string role = base::cat("branch ", i);
    HEDDLE_RETURN_IF_ERROR(check_takes(in, i, role, {&in[i + 1], 1}));
    const Shape& first = in.called()[0]->result_shape();
    const Shape& result = in.called()[i]->result_shape();
    if (!same_type(result, first)) {
      return in.error(role, " returns ", to_string(result), "; must return ", to_string(first),
                      " as branch 0");
    }
  }
  return in.called()[0]->result_shape();
}

}  // namespace

const OpDef kConditionalDef = {Opcode::kConditional,
                               kConditionalOperands,
                               {Work::kStays, Rows::kKept, kRuns},
                               infer_conditional};

}  // namespace heddle::hlo
