// transpose(x), dimensions={..}: dimension d of the result is dimension dimensions[d] of x.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_transpose(const InferArgs& in) {
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  HEDDLE_RETURN_IF_ERROR(check_array(in, 0));
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "dimensions", dims.size(), in[0].rank(), "dimension of x"));
  HEDDLE_RETURN_IF_ERROR(check_dimensions(in, "dimensions", dims, in[0].rank()));
  std::vector<int64_t> sizes;
  sizes.reserve(dims.size());
  for (int64_t from : dims) sizes.push_back(in[0].dimension(from));
  Shape result(in[0].dtype(), std::move(sizes));
  for (int64_t d = 0; d < result.rank(); ++d) {
    if (in[0].is_dynamic_dimension(dims[static_cast<size_t>(d)]))
      result.set_dynamic_dimension(d, true);
  }
  return settle(in, std::move(result));
}

constexpr std::string_view kTransposeNames[] = {"x"};

}  // namespace

const OpDef kTransposeDef = {Opcode::kTranspose,
                             kTransposeNames,
                             {Work::kNone, Rows::kKeptIfAlike, kPicks | kStrided},
                             infer_transpose};

}  // namespace heddle::hlo
