#include "heddle/special/internal/formula.h"

#include "heddle/scan/own_rule.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::special_internal {
namespace {

using trace_internal::FormulaId;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;
using Parameters = std::initializer_list<Parameter>;

// The tensors' dtype; f32 if all parameters are numbers.
DType common_dtype(Parameters parameters) {
  const Parameter* first = nullptr;
  for (const Parameter& p : parameters) {
    if (!p.x.is_tensor()) continue;
    const Tensor& x = p.x.tensor();
    if (!x.is_valid()) trace_internal::refuse(p.name, " ", trace_internal::why_no_value(x));
    trace_internal::require_ieee_float(p.name, x.dtype());
    if (first && x.dtype() != first->x.tensor().dtype()) {
      trace_internal::refuse(first->name, " is ", first->x.tensor().shape(), " and ", p.name, " ",
                             x.shape(), "; their dtypes must be equal, ",
                             cast_advice(first->x.tensor(), x));
    }
    if (!first) first = &p;
  }
  return first ? first->x.tensor().dtype() : f32;
}

// Parameters that broadcast in pairs also broadcast together.
void require_broadcast(Parameters parameters) {
  for (const Parameter& b : parameters) {
    for (const Parameter& a : parameters) {
      if (&a == &b) break;
      if (!a.x.is_tensor() || !b.x.is_tensor()) continue;
      const Shape &left = a.x.tensor().shape(), &right = b.x.tensor().shape();
      if (common_dimensions(left, right)) continue;
      trace_internal::refuse(a.name, " is ", left, " and ", b.name, " ", right,
                             "; sizes must be equal or 1, counted from the last axis");
    }
  }
}

std::vector<Tensor> evaluate(std::string_view op, Parameters parameters, Formulas fn,
                             FormulaId identity) {
  const trace_internal::PublicCall call(op, parameters.begin()->x.at());
  DType dtype = common_dtype(parameters);
  require_broadcast(parameters);
  DType inside = bit_width(dtype) < 32 ? f32 : dtype;
  std::vector<KnownOperand> operands;
  for (const Parameter& each : parameters) operands.emplace_back(each.x, dtype);
  const auto formula = [&](std::span<const Operand> given) {
    std::vector<Tensor> tensors;
    Dimensions common;
    for (const Operand& x : given) {
      tensors.push_back(x.is_tensor() ? x.tensor() : constant_like(x, dtype));
      common = broadcast_shapes(Shape(dtype, common), tensors.back().shape());
    }
    std::vector<Expr> arguments;
    for (const Tensor& x : tensors) arguments.emplace_back(broadcast_to(x, common).astype(inside));
    std::vector<Tensor> results;
    for (const Expr& result : fn(arguments)) results.push_back(result.astype(dtype).tensor());
    return results;
  };
  return trace_internal::in_program(op, KnownOptions(identity), operands, formula);
}

}  // namespace

std::vector<Tensor> evaluate_all(std::string_view op, Parameters parameters, Formulas fn) {
  return evaluate(op, parameters, fn, FormulaId(fn.identity()));
}

Tensor evaluate(std::string_view op, Parameters parameters, Formula fn, uint64_t identity) {
  auto alone = [&](std::span<const Expr> v) { return std::vector<Expr>{fn(v)}; };
  return evaluate(op, parameters, alone, FormulaId(identity))[0];
}

Expr elementwise(std::string_view op, std::span<const Expr> v, Formula fn) {
  std::vector<Tensor> arguments;
  for (const Expr& x : v) arguments.push_back(x.tensor());
  const auto run = [&](std::span<const Tensor> x) {
    return fn(std::vector<Expr>(x.begin(), x.end())).tensor();
  };
  return scan_internal::elementwise(op, arguments, run);
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
