#include <algorithm>
#include <cmath>
#include <cstring>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

constexpr int64_t kConvertBlock = 256;

StatusOr<Literal> evaluate_convert(EvalArgs& in) {
  const DType from = in[0].shape().dtype();
  const DType to = in.result().dtype();
  if (from == to) return std::move(in.operands[0]).reshaped(in.result());
  Literal out = Literal::uninitialised(in.result());
  convert_elements(from, in[0].bytes(), to, out.mutable_bytes(), in.result().element_count());
  return out;
}

ScalarOp scalar_copy(const Attrs&, DType from, DType to) {
  auto copy = [](const ScalarOp& op, std::span<const std::byte* const> operands,
                 std::byte* result) {
    std::memcpy(result, operands[0], static_cast<size_t>(storage_bytes(op.to)));
  };
  return {.apply = copy, .from = from, .to = to};
}

ScalarOp scalar_convert(const Attrs& attrs, DType from, DType to) {
  if (from == to) return scalar_copy(attrs, from, to);
  auto convert_one = [](const ScalarOp& op, std::span<const std::byte* const> operands,
                        std::byte* result) {
    convert_elements(op.from, operands[0], op.to, result, 1);
  };
  return {.apply = convert_one, .from = from, .to = to};
}

// Away from zero where the first `bits` bits of x's fraction exceed `random`.
double round_stochastically(double x, uint64_t random, int bits) {
  const double whole = std::trunc(x);
  const double fraction = std::ldexp(std::fabs(x - whole), bits);
  return fraction >= 1 && static_cast<uint64_t>(fraction) > random ? whole + std::copysign(1.0, x)
                                                                   : whole;
}

StatusOr<Literal> evaluate_stochastic(EvalArgs& in) {
  if (!is_integer(in.result().dtype())) {
    return base::unimplemented("stochastic-convert: the result is ", in.result(),
                               "; only integers are offered, use convert");
  }
  const DType from = in[0].shape().dtype(), to = in.result().dtype();
  Literal out = Literal::uninitialised(in.result());
  double x[kConvertBlock];
  int64_t random[kConvertBlock];
  for (int64_t at = 0; at < in.result().element_count(); at += kConvertBlock) {
    const int64_t n = std::min(kConvertBlock, in.result().element_count() - at);
    load(from, in[0].bytes() + at * storage_bytes(from), n, x);
    load(in[1].shape().dtype(), in[1].bytes() + at * storage_bytes(from), n, random);
    for (int64_t i = 0; i < n; ++i) {
      x[i] = round_stochastically(x[i], static_cast<uint64_t>(random[i]),
                                  static_cast<int>(bit_width(from)));
    }
    store(to, x, n, out.mutable_bytes() + at * storage_bytes(to));
  }
  return out;
}

StatusOr<Literal> evaluate_copy(EvalArgs& in) {
  return in.result().is_array() ? std::move(in.operands[0]).reshaped(in.result())
                                : std::move(in.operands[0]);
}

}  // namespace

const Evaluation kConvertEvaluation = {.evaluate = evaluate_convert, .scalar = scalar_convert};
const Evaluation kStochasticConvertEvaluation = {.evaluate = evaluate_stochastic};
const Evaluation kCopyEvaluation = {.evaluate = evaluate_copy, .scalar = scalar_copy};

}  // namespace heddle::interpreter
