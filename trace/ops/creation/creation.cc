#include "heddle/trace/ops/creation/creation.h"

#include <algorithm>
#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/error.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/node.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/positions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"
#include "heddle/trace/run/run_module.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::emit;
using trace_internal::FixedNumber;
using trace_internal::known_program;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;
using trace_internal::OnDeviceOf;
using trace_internal::one_program;
using trace_internal::PublicCall;

Tensor spread(const Tensor& scalar, const Dimensions& shape) {
  if (shape.empty()) return scalar;
  return emit({.opcode = Opcode::kBroadcast,
               .operands = {scalar},
               .attrs = hlo::DimensionsAttrs{},
               .declared = Shape(scalar.dtype(), shape)});
}

// pred[rows, columns]: row + k >= column, compared by `compare`.
Tensor triangle(const Tensor& x, const Operand& k, bool lower) {
  const Shape& shape = x.shape();
  if (shape.rank() < 2) trace_internal::refuse("x is ", shape, "; it must have rank 2 or more");
  Dimensions last{shape.dimension(shape.rank() - 2), shape.dimension(shape.rank() - 1)};
  Tensor row = iota(s32, last, 0);
  Tensor column = iota(s32, last, 1);
  Tensor shifted = add(row, k);
  return lower ? greater_equal(shifted, column) : less_equal(shifted, column);
}

template <class Number>
void check_count(bool countable, Number start, Number stop, Number step) {
  if (countable) return;
  trace_internal::refuse("start is ", start, ", stop ", stop, " and step ", step,
                         "; there must be fewer than 2^63 values between");
}

// errors: Error where an integer dtype does not hold the first or last value of arange
void require_held(std::string_view which, double value, DType dtype) {
  if (!is_integer(dtype) || Literal::scalar(dtype, value).to_double(0) == value) return;
  trace_internal::refuse("the ", which, " value is ", value, ", which no ", dtype,
                         " holds; give arange another dtype or other bounds");
}

Tensor keep_triangle(const Operand& operand, int64_t k, bool lower) {
  SourceLocation at = operand.at();
  const std::string_view op = lower ? "tril" : "triu";
  const PublicCall call(op, at);
  Tensor x = as_tensor(operand);
  if (x.rank() >= 2) k = std::clamp(k, -x.dim(-2), x.dim(-1));  // beyond are all, or none
  return one_program(op, KnownOptions(), {{x}, {k, s32}}, [&](std::span<const Operand> in) {
    const Tensor& given = in[0].tensor();
    const Tensor kept = triangle(given, in[1], lower), zero = zeros_like(given);  // in this order
    return where(kept, given, zero);
  });
}

// `value` everywhere; `repair` is what to do about a number that the dtype does not hold.
Tensor filled(std::string_view op, const Dimensions& shape, const Operand& value, DType dtype,
              std::string_view repair = {}) {
  SourceLocation at = value.at();
  const PublicCall call(op, at);
  throw_if_error(
      base::annotate(check_shape(Shape(dtype, shape)), PublicCall::function_or(op), ": "));
  if (Tensor made = trace_internal::eager_fill(value, Shape(dtype, shape)); made.is_valid())
    return made;
  return one_program(op, [&] {
    Tensor scalar =
        value.is_tensor() ? as_tensor(value).astype(dtype) : constant_like(value, dtype, repair);
    if (!scalar.shape().is_scalar())
      trace_internal::refuse("value is ", scalar.shape(),
                             "; it must be a scalar, use broadcast_to");
    return spread(scalar, shape);
  });
}

}  // namespace

Tensor full(const base::Ints& shape, Operand value, std::optional<DType> given) {
  const PublicCall call("full", value.at());
  const OnDeviceOf device(value);
  const bool is_truth = std::holds_alternative<bool>(value.number());
  const DType dtype = given.value_or(value.is_tensor() ? as_tensor(value).dtype()
                                     : is_truth        ? pred
                                                       : f32);
  return filled("full", shape, value, dtype, "give full another dtype or another number");
}

Tensor zeros(const base::Ints& shape, DType dtype, SourceLocation at) {
  const PublicCall call("zeros", at);
  return filled("zeros", shape, 0, dtype);
}
Tensor ones(const base::Ints& shape, DType dtype, SourceLocation at) {
  const PublicCall call("ones", at);
  return filled("ones", shape, 1, dtype);
}

namespace {

// The value on x's device, where operands must be: a C++ number goes there.
Tensor beside(const Tensor& x, const Tensor& value) {
  const bool runs = trace_internal::Recorder::current() == nullptr && x.is_valid() &&
                    value.is_valid() && x.node()->buffer && value.node()->buffer;
  if (!runs) return value;
  std::vector<runtime::BufferPtr> buffers;
  trace_internal::append_buffers(std::vector{x, value}, buffers, "full_like");
  return buffers[1] == value.node()->buffer ? value : trace_internal::tensor_of(buffers[1]);
}

}  // namespace

Tensor full_like(Operand x, Operand value, std::optional<DType> given) {
  const PublicCall call("full_like", x.at());
  const OnDeviceOf device(x);
  const Tensor like = as_tensor(x);
  const DType dtype = given.value_or(like.dtype());
  const Dimensions shape = like.shape().dimensions();
  if (!value.is_tensor()) return filled("full_like", shape, value, dtype);
  return filled("full_like", shape, beside(like, value.tensor()), dtype);
}
Tensor zeros_like(Operand x, std::optional<DType> dtype) {
  const PublicCall call("zeros_like", x.at());
  const OnDeviceOf device(x);
  const Shape like = as_tensor(x).shape();
  return filled("zeros_like", like.dimensions(), 0, dtype.value_or(like.dtype()));
}
Tensor ones_like(Operand x, std::optional<DType> dtype) {
  const PublicCall call("ones_like", x.at());
  const OnDeviceOf device(x);
  const Shape like = as_tensor(x).shape();
  return filled("ones_like", like.dimensions(), 1, dtype.value_or(like.dtype()));
}

Tensor iota(DType dtype, const base::Ints& shape, base::Int axis, SourceLocation at) {
  const PublicCall call("iota", at);
  throw_if_error(
      base::annotate(check_shape(Shape(dtype, shape)), PublicCall::function_or("iota"), ": "));
  const Shape type(dtype, shape);
  return emit({.opcode = Opcode::kIota,
               .operands = {},
               .attrs = hlo::IotaAttrs{.iota_dimension = trace_internal::axis_of(type, axis)},
               .declared = type});
}

Tensor arange_integers(int64_t start, int64_t stop, int64_t step, SourceLocation at) {
  const PublicCall call("arange", at);
  if (step == 0) trace_internal::refuse("step is 0; it must not be");
  // Of all int64_t: what lies between may need the 64th bit.
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(stop);
  const bool none = step > 0 ? start >= stop : start <= stop;
  const uint64_t span = step > 0 ? to - from : from - to;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t count = none ? 0 : (span - 1) / stride + 1;
  check_count(count <= INT64_MAX, start, stop, step);
  bool fits = start >= INT32_MIN && start <= INT32_MAX && stop >= INT32_MIN && stop <= INT32_MAX;
  // The values fit where start and stop do; a step that does not goes around, as they then do.
  if (fits) step = static_cast<int32_t>(step);
  const DType dtype = fits ? s32 : s64;
  const bool has_step = step != 1, has_start = start != 0;
  const auto values = [&](auto number) {
    Tensor out = iota(dtype, {static_cast<int64_t>(count)}, 0);
    if (has_step) out = multiply(out, *number++);
    return has_start ? add(out, *number) : out;
  };
  std::vector<Operand> numbers;
  if (has_step) numbers.emplace_back(step, at);
  if (has_start) numbers.emplace_back(start, at);
  std::vector<KnownOperand> operands;
  for (const Operand& number : numbers) operands.emplace_back(number, dtype);
  const auto of = [&](std::span<const Tensor> xs) { return values(xs.begin()); };
  if (Tensor made =
          known_program("arange", KnownOptions(count, dtype, has_step, has_start), operands, of);
      made.is_valid())
    return made;
  return one_program("arange", [&] { return values(numbers.begin()); });
}

Tensor arange(double start, double stop, double step, DType dtype, SourceLocation at) {
  const PublicCall call("arange", at);
  if (step == 0 || std::isnan(step))
    trace_internal::refuse("step is ", step, "; it must be a number other than 0");
  double count = std::ceil((stop - start) / step);
  check_count(count < 0x1p63, start, stop, step);  // not of NaN either
  if (count > 0) {
    require_held("first", start, dtype);
    require_held("last", start + (count - 1) * step, dtype);
  }
  return one_program("arange", [&] {
    Tensor out = iota(dtype, {count > 0 ? static_cast<int64_t>(count) : 0}, 0);
    if (step != 1) out = multiply(out, step);
    return start == 0 ? out : add(out, start);
  });
}

Tensor linspace(double start, double stop, base::Int count, DType dtype, SourceLocation at) {
  return linspace(start, stop, count, /*endpoint=*/true, dtype, at);
}

Tensor linspace(double start, double stop, base::Int count, base::Flag endpoint, DType dtype,
                SourceLocation at) {
  const PublicCall call("linspace", at);
  if (count < 0) trace_internal::refuse("count is ", count, "; it must be 0 or more");
  const bool exact = is_integer(dtype) || dtype == pred;
  // 16 bits hold neither the positions nor, from 65520 of them on, their number.
  const DType wide = is_complex(dtype) ? dtype : bit_width(dtype) == 64 ? f64 : f32;
  const KnownOptions options(FixedNumber{start}, FixedNumber{stop}, count, dtype, endpoint);
  return one_program("linspace", options, {}, [&](std::span<const Operand>) {
    if (count == 1) {
      const Tensor one = full({1}, start, wide);
      return exact ? floor(one).astype(dtype) : one.astype(dtype);
    }
    const double last = static_cast<double>(std::max<int64_t>(count - (endpoint ? 1 : 0), 1));
    Tensor t = divide(iota(wide, {count}, 0), last);
    // Weighted from both ends, so that an endpoint is stop itself.
    Tensor rest = subtract(1.0, t);
    Tensor out = add(multiply(rest, start), multiply(t, stop));
    return exact ? floor(out).astype(dtype) : out.astype(dtype);
  });
}

Tensor eye(base::Int rows, std::optional<base::Int> columns, base::Int k, DType dtype,
           SourceLocation at) {
  const PublicCall call("eye", at);
  for (const auto& [name, count] :
       {std::pair("rows", rows), std::pair("columns", columns.value_or(rows))}) {
    if (count < 0 || count > INT32_MAX)
      trace_internal::refuse(name, " is ", count, "; it must be 0 or more, and ", INT32_MAX,
                             " at most");
  }
  Dimensions shape{rows, columns.value_or(rows)};
  return one_program("eye", KnownOptions(shape, k, dtype), {}, [&](std::span<const Operand>) {
    Tensor diagonal = add(iota(s32, shape, 0), int64_t{k});
    return equal(diagonal, iota(s32, shape, 1)).astype(dtype);
  });
}

Tensor eye(base::Int rows, DType dtype, SourceLocation at) { return eye(rows, rows, 0, dtype, at); }
Tensor eye(base::Int rows, base::Int columns, DType dtype, SourceLocation at) {
  return eye(rows, columns, 0, dtype, at);
}

Tensor one_hot(Operand indices, base::Int classes, DType dtype) {
  const PublicCall call("one_hot", indices.at());
  const Tensor given = as_tensor(indices);
  trace_internal::require_integers(given);
  if (classes < 0) trace_internal::refuse("classes is ", classes, "; it must be 0 or more");
  return one_program("one_hot", [&] {
    const Tensor index = trace_internal::widened(given);  // 8 bits do not hold class 256
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
              .declared = Shape(index.dtype(), shape)});
    return equal(wide, iota(index.dtype(), shape, -1)).astype(dtype);
  });
}

Tensor tril(Operand x, base::Int k) { return keep_triangle(x, k, true); }
Tensor triu(Operand x, base::Int k) { return keep_triangle(x, k, false); }

}  // namespace heddle
