#include "heddle/interpreter/ops/contraction/convolve.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_convolution(EvalArgs& in) {
  return convolve(in.attrs<ConvolutionAttrs>(), in[0], in[1], in.result());
}

}  // namespace

const Evaluation kConvolutionEvaluation = {.evaluate = evaluate_convolution};

}  // namespace heddle::interpreter
