// convert: each number as the nearest of another type. To integers: toward zero, saturated, NaN is
// 0; integers to integers wrap; to pred: not zero; complex to real drops the imaginary part.
// stochastic-convert(x, random): to an integer, away from zero where the fraction of x exceeds
// random / 2^bits.
// copy: the operand, which may be a tuple.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "heddle/hlo/blocks.h"
#include "heddle/hlo/ops/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr int64_t kBlock = 256;
constexpr std::string_view kStochasticOperands[] = {"x", "random"};

Status check_result(const InferArgs& in) {
  if (in.declared()->is_array()) return {};
  return in.error("result is declared as ", *in.declared(), "; must be an array");
}

StatusOr<Shape> infer_convert(const InferArgs& in) {
  if (!in[0].is_array()) return in.error("x is ", in[0], "; must be an array");
  HEDDLE_RETURN_IF_ERROR(check_result(in));
  return in[0].with_dtype(in.declared()->dtype());
}

// Through blocks of T, which holds every element of `from` exactly (or rounds it so that the next
// rounding is right).
template <class T, class... Rounding>
void convert(DType from, const std::byte* x, DType to, std::byte* out, int64_t count,
             Rounding... rounding) {
  T values[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    load(from, x + at * storage_bytes(from), n, values, rounding...);
    store(to, values, n, out + at * storage_bytes(to));
  }
}

void convert_elements(DType from, const std::byte* x, DType to, std::byte* out, int64_t count) {
  const bool between_integers = !is_floating(from) && !is_floating(to) && !is_complex(to);
  if (is_complex(from)) {
    convert<std::complex<double>>(from, x, to, out, count);
  } else if (between_integers) {
    convert<int64_t>(from, x, to, out, count);
  } else {
    const WideInt rounding = real_part(to) == f64 ? WideInt::kNearestEven : WideInt::kOdd;
    convert<double>(from, x, to, out, count, rounding);
  }
}

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

StatusOr<Shape> infer_stochastic(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kFloats));
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 1, kUnsigned));
  HEDDLE_RETURN_IF_ERROR(check_result(in));
  if (bit_width(in[1].dtype()) != bit_width(in[0].dtype())) {
    return in.error("random is ", in[1], "; its elements must have ", bit_width(in[0].dtype()),
                    " bits, as x, ", in[0]);
  }
  if (!same_dimensions(in[0], in[1])) {
    return in.error("random is ", in[1], "; must have the dimensions of x, ", in[0]);
  }
  return result_dimensions(in).with_dtype(in.declared()->dtype());
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
  double x[kBlock];
  int64_t random[kBlock];
  for (int64_t at = 0; at < in.result().element_count(); at += kBlock) {
    const int64_t n = std::min(kBlock, in.result().element_count() - at);
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

StatusOr<Shape> infer_copy(const InferArgs& in) { return in[0]; }

StatusOr<Literal> evaluate_copy(EvalArgs& in) {
  return in.result().is_array() ? std::move(in.operands[0]).reshaped(in.result())
                                : std::move(in.operands[0]);
}

}  // namespace

constinit const OpDef kConvertDef = {.opcode = Opcode::kConvert,
                                     .operand_names = kUnaryOperands,
                                     .infer = infer_convert,
                                     .evaluate = evaluate_convert,
                                     .scalar = scalar_convert};

constinit const OpDef kStochasticConvertDef = {.opcode = Opcode::kStochasticConvert,
                                               .operand_names = kStochasticOperands,
                                               .infer = infer_stochastic,
                                               .evaluate = evaluate_stochastic};

constinit const OpDef kCopyDef = {.opcode = Opcode::kCopy,
                                  .operand_names = kUnaryOperands,
                                  .infer = infer_copy,
                                  .evaluate = evaluate_copy,
                                  .scalar = scalar_copy};

}  // namespace heddle::hlo
