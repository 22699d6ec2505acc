#include "heddle/trace/creation.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"
#include "heddle/trace/positions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::one_program;
using trace_internal::PublicCall;

Tensor stretched(const Tensor& scalar, const Dimensions& shape, SourceLocation at) {
  if (shape.empty()) return scalar;
  return emit({.opcode = Opcode::kBroadcast,
               .operands = {scalar},
               .attrs = hlo::DimensionsAttrs{},
               .declared = Shape(scalar.dtype(), shape),
               .at = at});
}

// pred[rows, columns]: row + k >= column, compared by `compare`.
Tensor triangle(const Tensor& x, int64_t k, bool lower, SourceLocation at) {
  const Shape& shape = x.shape();
  if (shape.rank() < 2)
    throw Error(trace_internal::invalid_argument(lower ? "tril" : "triu", ": x is ", shape,
                                                 "; it must have rank 2 or more"),
                at);
  Dimensions last{shape.dimension(shape.rank() - 2), shape.dimension(shape.rank() - 1)};
  Tensor row = iota(s32, last, 0, at);
  Tensor column = iota(s32, last, 1, at);
  Tensor shifted = add({row, at}, {int64_t{k}, at});
  return lower ? greater_equal({shifted, at}, {column, at})
               : less_equal({shifted, at}, {column, at});
}

template <class Number>
void check_count(bool countable, Number start, Number stop, Number step, SourceLocation at) {
  if (countable) return;
  throw Error(trace_internal::invalid_argument("arange", ": start is ", start, ", stop ", stop,
                                               " and step ", step,
                                               "; there must be fewer than 2^63 values between"),
              at);
}

Tensor keep_triangle(const Operand& operand, int64_t k, bool lower) {
  SourceLocation at = operand.at();
  const std::string_view op = lower ? "tril" : "triu";
  const PublicCall call(op, at);
  Tensor x = as_tensor(operand);
  return one_program(op, at, [&] {
    const Tensor kept = triangle(x, k, lower, at), zero = zeros_like({x, at});  // in this order
    return where({kept, at}, {x, at}, {zero, at});
  });
}

// `value` everywhere; `repair` is what to do about a number that the dtype does not hold.
Tensor filled(std::string_view op, const Dimensions& shape, const Operand& value, DType dtype,
              std::string_view repair = {}) {
  SourceLocation at = value.at();
  const PublicCall call(op, at);
  throw_if_error(
      base::annotate(check_shape(Shape(dtype, shape)), PublicCall::function_or(op), ": "), at);
  return one_program(op, at, [&] {
    Tensor scalar = value.is_tensor() ? as_tensor(value).astype(dtype, at)
                                      : constant_like(value, dtype, repair);
    if (!scalar.shape().is_scalar())
      throw Error(trace_internal::invalid_argument(op, ": value is ", scalar.shape(),
                                                   "; it must be a scalar, use broadcast_to"),
                  at);
    return stretched(scalar, shape, at);
  });
}

}  // namespace

Tensor full(const Dimensions& shape, Operand value, std::optional<DType> given) {
  const PublicCall call("full", value.at());
  const DType dtype = given.value_or(value.is_tensor() ? as_tensor(value).dtype() : f32);
  return filled("full", shape, value, dtype, "give full another dtype or another number");
}

Tensor zeros(const Dimensions& shape, DType dtype, SourceLocation at) {
  return filled("zeros", shape, {0, at}, dtype);
}
Tensor ones(const Dimensions& shape, DType dtype, SourceLocation at) {
  return filled("ones", shape, {1, at}, dtype);
}

Tensor full_like(Operand x, Operand value, std::optional<DType> dtype) {
  const PublicCall call("full_like", x.at());
  const Shape like = as_tensor(x).shape();
  return filled("full_like", like.dimensions(), value, dtype.value_or(like.dtype()));
}
Tensor zeros_like(Operand x, std::optional<DType> dtype) {
  const PublicCall call("zeros_like", x.at());
  const Shape like = as_tensor(x).shape();
  return filled("zeros_like", like.dimensions(), {0, x.at()}, dtype.value_or(like.dtype()));
}
Tensor ones_like(Operand x, std::optional<DType> dtype) {
  const PublicCall call("ones_like", x.at());
  const Shape like = as_tensor(x).shape();
  return filled("ones_like", like.dimensions(), {1, x.at()}, dtype.value_or(like.dtype()));
}

Tensor iota(DType dtype, const Dimensions& shape, base::Int axis, SourceLocation at) {
  const PublicCall call("iota", at);
  throw_if_error(
      base::annotate(check_shape(Shape(dtype, shape)), PublicCall::function_or("iota"), ": "), at);
  int64_t rank = static_cast<int64_t>(shape.size());
  return emit({.opcode = Opcode::kIota,
               .operands = {},
               .attrs = hlo::IotaAttrs{.iota_dimension = axis < 0 ? axis + rank : int64_t{axis}},
               .declared = Shape(dtype, shape),
               .at = at});
}

Tensor arange_integers(int64_t start, int64_t stop, int64_t step, SourceLocation at) {
  const PublicCall call("arange", at);
  if (step == 0)
    throw Error(trace_internal::invalid_argument("arange", ": step is 0; it must not be"), at);
  // Of all int64_t: what lies between may need the 64th bit.
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(stop);
  const bool none = step > 0 ? start >= stop : start <= stop;
  const uint64_t span = step > 0 ? to - from : from - to;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t count = none ? 0 : (span - 1) / stride + 1;
  check_count(count <= INT64_MAX, start, stop, step, at);
  bool fits = start >= INT32_MIN && start <= INT32_MAX && stop >= INT32_MIN && stop <= INT32_MAX;
  // The values fit where start and stop do; a step that does not goes around, as they then do.
  if (fits) step = static_cast<int32_t>(step);
  return one_program("arange", at, [&] {
    Tensor out = iota(fits ? s32 : s64, {static_cast<int64_t>(count)}, 0, at);
    if (step != 1) out = multiply({out, at}, {step, at});
    return start == 0 ? out : add({out, at}, {start, at});
  });
}

Tensor arange(double start, double stop, double step, DType dtype, SourceLocation at) {
  const PublicCall call("arange", at);
  if (step == 0 || std::isnan(step))
    throw Error(trace_internal::invalid_argument("arange", ": step is ", step,
                                                 "; it must be a number other than 0"),
                at);
  double count = std::ceil((stop - start) / step);
  check_count(count < 0x1p63, start, stop, step, at);  // not of NaN either
  return one_program("arange", at, [&] {
    Tensor out = iota(dtype, {count > 0 ? static_cast<int64_t>(count) : 0}, 0, at);
    if (step != 1) out = multiply({out, at}, {step, at});
    return start == 0 ? out : add({out, at}, {start, at});
  });
}

Tensor linspace(double start, double stop, base::Int count, DType dtype, SourceLocation at) {
  const PublicCall call("linspace", at);
  if (count < 0)
    throw Error(trace_internal::invalid_argument("linspace", ": count is ", count,
                                                 "; it must be 0 or more"),
                at);
  const bool exact = is_integer(dtype) || dtype == pred;
  // 16 bits hold neither the positions nor, from 65520 of them on, their number.
  const DType wide = is_complex(dtype) ? dtype : bit_width(dtype) == 64 ? f64 : f32;
  return one_program("linspace", at, [&] {
    if (count == 1) {
      const Tensor one = full({1}, {start, at}, wide);
      return exact ? floor({one, at}).astype(dtype, at) : one.astype(dtype, at);
    }
    const double last = static_cast<double>(std::max<int64_t>(count - 1, 1));
    Tensor t = divide({iota(wide, {count}, 0, at), at}, {last, at});
    // Weighted from both ends, so that the last value is stop itself.
    Tensor rest = subtract({1.0, at}, {t, at});
    Tensor out = add({multiply({rest, at}, {start, at}), at}, {multiply({t, at}, {stop, at}), at});
    return exact ? floor({out, at}).astype(dtype, at) : out.astype(dtype, at);
  });
}

Tensor eye(base::Int rows, std::optional<base::Int> columns, base::Int k, DType dtype,
           SourceLocation at) {
  const PublicCall call("eye", at);
  Dimensions shape{rows, trace_internal::count_or("eye", "columns", columns, rows, at)};
  return one_program("eye", at, [&] {
    Tensor diagonal = add({iota(s32, shape, 0, at), at}, {int64_t{k}, at});
    return equal({diagonal, at}, {iota(s32, shape, 1, at), at}).astype(dtype, at);
  });
}

Tensor eye(base::Int rows, DType dtype, SourceLocation at) { return eye(rows, rows, 0, dtype, at); }
Tensor eye(base::Int rows, base::Int columns, DType dtype, SourceLocation at) {
  const PublicCall call("eye", at);
  return eye(rows, columns, 0, dtype, at);
}

Tensor one_hot(Operand indices, base::Int classes, DType dtype) {
  const PublicCall call("one_hot", indices.at());
  SourceLocation at = indices.at();
  const Tensor given = as_tensor(indices);
  trace_internal::require_integers("one_hot", given, at);
  if (classes < 0)
    throw Error(trace_internal::invalid_argument("one_hot", ": classes is ", classes,
                                                 "; it must be 0 or more"),
                at);
  return one_program("one_hot", at, [&] {
    const Tensor index = trace_internal::widened(given, at);  // 8 bits do not hold class 256
    Dimensions shape = index.shape().dimensions();
    shape.push_back(classes);
    Tensor wide =
        emit({.opcode = Opcode::kBroadcast,
              .operands = {index},
              .attrs = hlo::DimensionsAttrs{.dimensions =
                                                [&] {
                                                  Dimensions map;
                                                  for (int64_t i = 0; i < index.rank(); ++i)
                                                    map.push_back(i);
                                                  return map;
                                                }()},
              .declared = Shape(index.dtype(), shape),
              .at = at});
    return equal({wide, at}, {iota(index.dtype(), shape, -1, at), at}).astype(dtype, at);
  });
}

Tensor tril(Operand x, base::Int k) { return keep_triangle(x, k, true); }
Tensor triu(Operand x, base::Int k) { return keep_triangle(x, k, false); }

}  // namespace heddle
