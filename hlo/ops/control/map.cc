// map(x..), dimensions={0,1,..}, to_apply=f: f at every position of the operands, which have equal
// dimensions.
#include "heddle/hlo/ops/control/region.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kMapOperands[] = {"x"};

// Only maps over all dimensions in order exist; text may leave the list out.
Status check_all_dimensions(const InferArgs& in) {
  const Dims& dimensions = in.attrs<DimensionsAttrs>().dimensions;
  bool all = dimensions.empty() || static_cast<int64_t>(dimensions.size()) == in[0].rank();
  for (size_t i = 0; i < dimensions.size(); ++i)
    all = all && dimensions[i] == static_cast<int64_t>(i);
  if (all) return {};
  return in.error("has dimensions {", base::join(dimensions, ","), "}; must be 0 .. ",
                  in[0].rank() - 1);
}

StatusOr<Shape> infer_map(const InferArgs& in) {
  if (in.size() == 0) return in.error("has no operands; takes one or more");
  std::vector<Shape> parameters;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_array() || !same_dimensions(in[i], in[0])) {
      return in.error("operand ", i, " is ", to_string(in[i]),
                      "; must have the dimensions of operand 0, ", to_string(in[0]));
    }
    parameters.push_back(Shape::scalar(in[i].dtype()));
  }
  HEDDLE_RETURN_IF_ERROR(check_all_dimensions(in));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "to_apply", parameters));
  const Shape& result = in.called()[0]->result_shape();
  if (!result.is_scalar())
    return in.error("to_apply returns ", to_string(result), "; must return a scalar");
  Shape out = in[0].with_dtype(result.dtype());
  out.clear_layout();
  return out;
}

}  // namespace

const OpDef kMapDef = {
    Opcode::kMap, kMapOperands, {Work::kStays, Rows::kKeptIfAlike, kPlain}, infer_map};

}  // namespace heddle::hlo
