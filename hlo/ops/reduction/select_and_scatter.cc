// select-and-scatter(x, source, init), window={..}, select=s, scatter=f: the gradient of a pool. In
// each place of the window one element of x is picked: the first, unless s(picked, later) is false,
// then the later one. There the result takes f(result, source's value for the place), beginning
// with init. Padding is never picked; a place without elements gives its value to none.
#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/window.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer_select_and_scatter(const InferArgs& in) {
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
  const Shape scalar = Shape::scalar(in[0].dtype());
  const Shape both[] = {scalar, scalar};
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "select", both));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 0, "select", Shape::scalar(pred)));
  HEDDLE_RETURN_IF_ERROR(check_takes(in, 1, "scatter", both));
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 1, "scatter", scalar));
  return check_declared(in, in[0]);
}

constexpr std::string_view kSelectAndScatterNames[] = {"x", "source", "init"};

}  // namespace

const OpDef kSelectAndScatterDef = {Opcode::kSelectAndScatter,
                                    kSelectAndScatterNames,
                                    {Work::kMost, Rows::kMixed, kJoins},
                                    infer_select_and_scatter};

}  // namespace heddle::hlo
