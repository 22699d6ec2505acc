// Of trace/formulas.h, matrices.h, sequences.h and statistics.h, and what stands beside them.
#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

using Tensors = std::vector<Tensor>;
using In = const Inputs&;

std::vector<FunctionSample> formulas() {
  return {
      one("angle", angle),
      one("conj", conj),
      one("deg2rad", deg2rad),
      one("rad2deg", rad2deg),
      one("exp2", exp2),
      one("is_inf", is_inf),
      one("log10", log10),
      one("log2", log2),
      one("signbit", signbit),
      one("trunc", trunc),
      two("copysign", copysign),
      two("floor_divide", floor_divide),
      two("mod", mod),
      two("hypot", hypot),
      two("logaddexp", logaddexp),
      {"nan_to_num", [](In i) { return Tensors{nan_to_num(i.x)}; }},
      {"is_close", [](In i) { return Tensors{is_close(i.x, i.y)}; }},
      {"all_close", [](In i) { return Tensors{all_close(i.x, i.y)}; }},
  };
}

std::vector<FunctionSample> matrices_and_sequences() {
  return {
      two("kron", kron),
      two("vdot", vdot),
      two("inner", inner),
      {"cross", [](In i) { return Tensors{cross(i.m, i.m)}; }},
      {"diag", [](In i) { return Tensors{diag(i.v)}; }},
      {"diagonal", [](In i) { return Tensors{diagonal(i.m)}; }},
      {"meshgrid",
       [](In i) {
         return meshgrid({i.v, i.v});
       }},
      {"convolve", [](In i) { return Tensors{convolve(i.v, i.v)}; }},
      {"correlate", [](In i) { return Tensors{correlate(i.v, i.v)}; }},
      {"diff", [](In i) { return Tensors{diff(i.x)}; }},
      {"nonzero", [](In i) { return Tensors{nonzero(i.v, 2)}; }},
      {"trapezoid", [](In i) { return Tensors{trapezoid(i.v)}; }},
      {"trapezoid_at", [](In i) { return Tensors{trapezoid_at(i.v, i.v)}; }},
  };
}

std::vector<FunctionSample> statistics() {
  auto over = [](Tensor (*fn)(Operand, const Reduction&)) {
    return [fn](In i) { return Tensors{fn(i.x, {})}; };
  };
  return {
      {"count_nonzero", over(count_nonzero)},
      {"nan_mean", over(nan_mean)},
      {"nan_sum", over(nan_sum)},
      {"ptp", over(ptp)},
      {"average", [](In i) { return Tensors{average(i.x, i.y)}; }},
      {"bincount", [](In i) { return Tensors{bincount(i.v, 4)}; }},
      {"corrcoef", [](In i) { return Tensors{corrcoef(i.x)}; }},
      {"cov", [](In i) { return Tensors{cov(i.x)}; }},
      {"histogram", [](In i) { return Tensors{histogram(i.v, 4, 0, 1)}; }},
      {"median", [](In i) { return Tensors{median(i.v)}; }},
      {"quantile", [](In i) { return Tensors{quantile(i.v, 0.5)}; }},
  };
}

}  // namespace

std::vector<FunctionSample> everyday_samples() {
  std::vector<FunctionSample> samples;
  for (const auto& part : {formulas(), matrices_and_sequences(), statistics()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace heddle::laws
