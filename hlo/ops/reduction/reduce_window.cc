// reduce-window(x.., init..), window={..}, to_apply=f: the elements of x under each place of a
// window combined by f, beginning with init, which must be an identity of f. Padding and the holes
// between spread elements take no part. Order and grouping are not defined; here elements keep the
// row-major order of the window.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/window.h"

namespace heddle::hlo {
namespace {

Status check_operands_of_reduce_window(const InferArgs& in) {
  if (in.size() < 2 || in.size() % 2 != 0) {
    return in.error("has ", in.size(), " operands; takes n arrays and n initial values");
  }
  const size_t n = in.size() / 2;
  for (size_t i = 0; i < n; ++i) {
    HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
    HEDDLE_RETURN_IF_ERROR(check_rank(in, n + i, 0));
    if (same_dimensions(in[i], in[0])) continue;
    return in.error("operand ", i, " is ", in[i], "; its dimensions must be those of operand 0, ",
                    in[0]);
  }
  return {};
}

StatusOr<Shape> infer_reduce_window(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_operands_of_reduce_window(in));
  HEDDLE_ASSIGN_OR_RETURN(Dims sizes,
                          window_places(in, in.attrs<WindowAttrs>().window, in[0].dimensions()));
  const size_t n = in.size() / 2;
  std::vector<DType> values, accumulators;
  for (size_t i = 0; i < n; ++i) {
    values.push_back(in[i].dtype());
    accumulators.push_back(in[n + i].dtype());
  }
  HEDDLE_ASSIGN_OR_RETURN(std::vector<DType> returned,
                          check_reducer(in, 0, "to_apply", values, accumulators));
  std::vector<Shape> results;
  for (DType dtype : returned) results.emplace_back(dtype, sizes);
  const bool bare = !in.called()[0]->result_shape().is_tuple();
  return check_declared(in, bare ? results[0] : Shape::tuple(std::move(results)));
}

}  // namespace

const OpDef kReduceWindowDef = {
    Opcode::kReduceWindow, {}, {Work::kMost, Rows::kByRule, kJoins}, infer_reduce_window};

}  // namespace heddle::hlo
