#include "heddle/special/internal/formula.h"

#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::special_internal {
namespace {

// The tensors' dtype; f32 where all operands are numbers.
DType common_dtype(std::initializer_list<Operand> operands) {
  const Operand* first = nullptr;
  for (const Operand& x : operands) {
    if (!x.is_tensor()) continue;
    const Shape& shape = trace_internal::node_of(x.tensor()).shape;
    trace_internal::require_ieee_float("operand", shape.dtype());
    if (first && shape.dtype() != first->tensor().dtype()) {
      trace_internal::refuse("operands are ", first->tensor().shape(), " and ", shape,
                             "; their dtypes must be equal, ",
                             cast_advice(first->tensor(), x.tensor()));
    }
    if (!first) first = &x;
  }
  return first ? first->tensor().dtype() : f32;
}

}  // namespace

std::vector<Tensor> evaluate_all(std::string_view op, std::initializer_list<Operand> operands,
                                 Formulas fn) {
  SourceLocation at = operands.begin()->at();
  const trace_internal::PublicCall call(op, at);
  DType dtype = common_dtype(operands);
  DType inside = bit_width(dtype) < 32 ? f32 : dtype;
  return trace_internal::in_program(op, [&] {
    std::vector<Tensor> tensors;
    Dimensions common;
    for (const Operand& x : operands) {
      tensors.push_back(x.is_tensor() ? x.tensor() : constant_like(x, dtype));
      common = broadcast_shapes(Shape(dtype, common), tensors.back().shape());
    }
    std::vector<Expr> arguments;
    for (const Tensor& x : tensors) arguments.emplace_back(broadcast_to(x, common).astype(inside));
    std::vector<Tensor> results;
    for (const Expr& result : fn(arguments)) results.push_back(result.astype(dtype).tensor());
    return results;
  });
}

Tensor evaluate(std::string_view op, std::initializer_list<Operand> operands, Formula fn) {
  auto alone = [&](std::span<const Expr> v) { return std::vector<Expr>{fn(v)}; };
  return evaluate_all(op, operands, alone)[0];
}

Expr chebyshev(const Expr& x, std::span<const double> coefficients) {
  Expr b0 = x.like(coefficients[0]);
  Expr b1 = x.like(0.0);
  Expr b2 = b1;
  for (double c : coefficients.subspan(1)) {
    b2 = b1;
    b1 = b0;
    b0 = x * b1 - b2 + c;
  }
  return 0.5 * (b0 - b2);
}

}  // namespace heddle::special_internal
