// reduce(x.., init..), dimensions={..}, to_apply=f: all elements along the dimensions combined by
// f, beginning with init. Order and grouping are not defined, and init is an identity of f. Here
// the elements keep their order, and init comes first. Floats of 8 and 4 bits are rounded at each
// step, as the body says and XLA does.
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kReduceOperands[] = {"operand"};

Status check_operands_of_reduce(const InferArgs& in) {
  const size_t n = in.size() / 2;
  if (n == 0 || in.size() != 2 * n) {
    return in.error("has ", in.size(), " operands; takes inputs and as many initial values");
  }
  for (size_t i = 0; i < n; ++i) {
    if (!in[i].is_array() || !same_dimensions(in[i], in[0])) {
      return in.error("operand ", i, " is ", to_string(in[i]),
                      "; must have the dimensions of operand 0, ", to_string(in[0]));
    }
    if (!in[n + i].is_scalar()) {
      return in.error("initial value ", i, " is ", to_string(in[n + i]), "; must be a scalar");
    }
  }
  return {};
}

StatusOr<Shape> infer_reduce(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_operands_of_reduce(in));
  const Dims& dimensions = in.attrs<DimensionsAttrs>().dimensions;
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, dimensions, in[0]));
  std::vector<DType> values, accumulators;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    values.push_back(in[i].dtype());
    accumulators.push_back(in[in.size() / 2 + i].dtype());
  }
  HEDDLE_ASSIGN_OR_RETURN(std::vector<DType> result,
                          check_reducer(in, 0, "to_apply", values, accumulators));
  std::vector<Shape> shapes;
  for (DType dtype : result)
    shapes.push_back(without_dimensions(in[0].with_dtype(dtype), dimensions));
  if (!in.called()[0]->result_shape().is_tuple()) return shapes[0];
  return Shape::tuple(std::move(shapes));
}

}  // namespace

const OpDef kReduceDef = {
    Opcode::kReduce, kReduceOperands, {Work::kMost, Rows::kKeptBeside, kJoins}, infer_reduce};

}  // namespace heddle::hlo
