// reduce-window(x.., init..): the elements of x under each place of a window, reduced. select-and-scatter(x, source, init): in each
// window one element of x is selected, and there source's value for the window is added; the gradient of a max pool.
#include "heddle/hlo/ops/region.h"
#include "heddle/hlo/ops/window.h"

namespace heddle::hlo {
namespace {

Status check_reduced(const InferArgs& in) {
  if (in.size() < 2 || in.size() % 2 != 0) {
    return in.error("has ", in.size(), " operands; takes n arrays and n initial values");
  }
  size_t n = in.size() / 2;
  for (size_t i = 0; i < n; ++i) {
    HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
    HEDDLE_RETURN_IF_ERROR(check_rank(in, n + i, 0));
    if (same_dimensions(in[i], in[0])) continue;
    return in.error("operand ", i, " is ", in[i], "; its dimensions must be those of operand 0, ", in[0]);
  }
  HEDDLE_RETURN_IF_ERROR(check_callee(in, 0, "to_apply"));
  if (in.called()[0]->parameter_count() == in.size()) return {};
  return in.error("to_apply takes ", in.called()[0]->parameter_count(), " parameters; must take ", in.size());
}

StatusOr<Shape> infer_window(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_reduced(in));
  HEDDLE_ASSIGN_OR_RETURN(Dims sizes,
                          window_places(in, in.attrs<WindowAttrs>().window, in[0].dimensions()));
  size_t n = in.size() / 2;
  std::vector<Shape> results;
  for (size_t i = 0; i < n; ++i) results.emplace_back(in[n + i].dtype(), sizes);
  return check_declared(in, n == 1 ? results[0] : Shape::tuple(std::move(results)));
}

StatusOr<Shape> infer_scatter(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_dtype(in, 1, in[0].dtype(), "x"));
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 2, 0));
  HEDDLE_RETURN_IF_ERROR(check_dtype(in, 2, in[0].dtype(), "x"));
  HEDDLE_ASSIGN_OR_RETURN(Dims sizes,
                          window_places(in, in.attrs<WindowAttrs>().window, in[0].dimensions()));
  if (in[1].dimensions() != sizes) {
    return in.error("source is ", in[1], "; must be ", Shape(in[1].dtype(), sizes),
                    ", one value for each window on x ", in[0]);
  }
  Shape scalar = Shape::scalar(in[0].dtype());
  const Shape both[] = {scalar, scalar};
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "select", both));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 0, "select", Shape::scalar(pred)));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 1, "scatter", both));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 1, "scatter", scalar));
  return check_declared(in, in[0]);
}

constexpr std::string_view kNames[] = {"x", "source", "init"};

}  // namespace

const OpDef kReduceWindowDef = unevaluated(Opcode::kReduceWindow, {}, infer_window,
                                           "is not evaluated by the interpreter yet");
const OpDef kSelectAndScatterDef = unevaluated(Opcode::kSelectAndScatter, kNames, infer_scatter,
                                               "is not evaluated by the interpreter yet");

}  // namespace heddle::hlo
