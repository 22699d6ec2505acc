#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/contraction/dot.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// x times its scales, in f64.
Literal scaled(const Literal& x, const Literal& scale) {
  Literal out = Literal::from<double>(Shape(f64, x.shape().dimensions()), numbers_of<double>(x));
  const std::vector<double> factors = numbers_of<double>(scale);
  const Strides strides(scale.shape());
  const Shape& shape = x.shape();
  Dims at(static_cast<size_t>(shape.rank()));
  for (double& value : out.mutable_values<double>()) {
    int64_t block = 0;
    for (int64_t d = 0; d < scale.shape().rank(); ++d) {
      block += at[static_cast<size_t>(d)] / (shape.dimension(d) / scale.shape().dimension(d)) *
               strides[d];
    }
    value *= factors[static_cast<size_t>(block)];
    for (int64_t d = shape.rank(); d-- > 0;) {
      if (++at[static_cast<size_t>(d)] < shape.dimension(d)) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
  return out;
}

StatusOr<Literal> evaluate_scaled_dot(EvalArgs& in) {
  return dot(scaled(in[0], in[2]), scaled(in[1], in[3]), in.attrs<DotAttrs>(), in.result(),
             in.caller);
}

}  // namespace

const Evaluation kScaledDotEvaluation = {.evaluate = evaluate_scaled_dot};

}  // namespace heddle::interpreter
