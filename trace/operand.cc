#include "heddle/trace/operand.h"

#include <cmath>
#include <complex>
#include <concepts>
#include <optional>

#include "heddle/hlo/literal.h"
#include "heddle/trace/error.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

std::string text_of(const Operand& number) {
  return std::visit(
      [](auto value) -> std::string {
        if constexpr (std::is_pointer_v<decltype(value)>)
          return "a tensor";
        else if constexpr (std::same_as<decltype(value), std::complex<double>>)
          return cat("(", value.real(), ", ", value.imag(), ")");
        else
          return cat(value);
      },
      number.number());
}

double value_of(const Operand& number) {
  return std::visit(
      [](auto value) -> double {
        if constexpr (std::is_pointer_v<decltype(value)>)
          return 0;
        else if constexpr (std::same_as<decltype(value), std::complex<double>>)
          return value.real();
        else
          return static_cast<double>(value);
      },
      number.number());
}

// Whether a whole number is in the range of an integer dtype. Exact, which f64 is not from 2^53 on.
bool in_range(DType dtype, bool negative, uint64_t size) {
  uint64_t half = uint64_t{1} << (bit_width(dtype) - 1);  // of the values
  if (is_signed(dtype)) return negative ? size <= half : size < half;
  return !negative && size <= half - 1 + half;
}

// Whether an element of `dtype` can stand for the number: integers need whole values in range,
// unsigned ones no sign; complex numbers are of complex dtypes, whatever their imaginary part.
bool can_hold(DType dtype, const Operand& number) {
  if (std::holds_alternative<std::complex<double>>(number.number())) return is_complex(dtype);
  double value = value_of(number);
  if (dtype == pred)
    return std::holds_alternative<bool>(number.number()) || value == 0 || value == 1;
  if (!is_integer(dtype)) return true;
  if (const int64_t* i = std::get_if<int64_t>(&number.number())) {
    auto bits = static_cast<uint64_t>(*i);
    return in_range(dtype, *i < 0, *i < 0 ? -bits : bits);
  }
  if (const uint64_t* u = std::get_if<uint64_t>(&number.number()))
    return in_range(dtype, false, *u);
  double size = std::abs(value);
  return value == std::floor(value) && size < 0x1p64 &&
         in_range(dtype, value < 0, static_cast<uint64_t>(size));
}

Literal literal_of(const Operand& number, DType dtype) {
  if (const auto* z = std::get_if<std::complex<double>>(&number.number())) {
    if (dtype == c128) return Literal::from(Shape(c128, {}), {*z});
    return Literal::from(Shape(c64, {}), {std::complex<float>(*z)});
  }
  const auto* u = std::get_if<uint64_t>(&number.number());
  if (u && is_integer(dtype)) return Literal::scalar(dtype, static_cast<int64_t>(*u));
  if (const auto* i = std::get_if<int64_t>(&number.number())) return Literal::scalar(dtype, *i);
  return Literal::scalar(dtype, value_of(number));
}

// The shape both broadcast to, or an empty optional.
std::optional<std::vector<int64_t>> common_dimensions(const Shape& a, const Shape& b) {
  size_t rank = static_cast<size_t>(std::max(a.rank(), b.rank()));
  std::vector<int64_t> out(rank);
  for (size_t i = 0; i < rank; ++i) {
    auto size_at = [&](const Shape& s) {
      size_t missing = rank - static_cast<size_t>(s.rank());
      return i < missing ? int64_t{1} : s.dimensions()[i - missing];
    };
    int64_t x = size_at(a);
    int64_t y = size_at(b);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace

Tensor constant_like(const Operand& number, DType dtype, std::string_view op) {
  if (!can_hold(dtype, number)) {
    throw Error(invalid_argument(op, ": operand is the C++ number ", text_of(number), ", which no ",
                                 to_string(dtype),
                                 " holds; cast the tensor with astype, or use another number"),
                number.at());
  }
  return trace_internal::emit_constant(literal_of(number, dtype), number.at());
}

Tensor as_tensor(const Operand& operand) {
  if (operand.is_tensor()) {
    trace_internal::node_of(operand.tensor(), "op", operand.at());
    return operand.tensor();
  }
  DType dtype = std::holds_alternative<bool>(operand.number())                   ? pred
                : std::holds_alternative<double>(operand.number())               ? f32
                : std::holds_alternative<std::complex<double>>(operand.number()) ? c64
                                                                                 : s32;
  return constant_like(operand, dtype, "constant");
}

// Numpy's rule: dimensions are matched from the last; one of size 1 stretches.
Tensor broadcast_to(const Tensor& x, const std::vector<int64_t>& dimensions, SourceLocation at) {
  const Shape& from = x.shape();
  if (from.dimensions() == dimensions) return x;
  Tensor squeezed = x;
  std::vector<int64_t> kept;
  std::vector<int64_t> mapped;
  if (static_cast<size_t>(from.rank()) > dimensions.size() ||
      common_dimensions(from, Shape(from.dtype(), dimensions)) != dimensions) {
    throw Error(invalid_argument("broadcast_to: x is ", to_string(from),
                                 "; it does not stretch to [", join(dimensions, ","),
                                 "]: sizes must be equal or 1, counted from the last axis"),
                at);
  }
  size_t missing = dimensions.size() - static_cast<size_t>(from.rank());
  for (size_t i = 0; i < static_cast<size_t>(from.rank()); ++i) {
    if (from.dimensions()[i] != dimensions[i + missing]) continue;
    kept.push_back(from.dimensions()[i]);
    mapped.push_back(static_cast<int64_t>(i + missing));
  }
  if (kept.size() != static_cast<size_t>(from.rank())) {
    squeezed = trace_internal::emit({.opcode = hlo::Opcode::kReshape,
                                     .operands = {x},
                                     .attrs = hlo::ReshapeAttrs{},
                                     .declared = Shape(from.dtype(), kept),
                                     .at = at});
  }
  return trace_internal::emit({.opcode = hlo::Opcode::kBroadcast,
                               .operands = {squeezed},
                               .attrs = hlo::DimensionsAttrs{.dimensions = mapped},
                               .declared = Shape(from.dtype(), dimensions),
                               .at = at});
}

std::vector<int64_t> broadcast_shapes(const Shape& a, const Shape& b, std::string_view op,
                                      SourceLocation at) {
  auto common = common_dimensions(a, b);
  if (!common) {
    throw Error(invalid_argument(op, ": operands are ", to_string(a), " and ", to_string(b),
                                 "; sizes must be equal or 1, counted from the last axis"),
                at);
  }
  return *std::move(common);
}

OperandPair unify(const Operand& a, const Operand& b, std::string_view op) {
  SourceLocation at = a.at().known() ? a.at() : b.at();
  Tensor x = a.is_tensor()   ? a.tensor()
             : b.is_tensor() ? constant_like(a, b.tensor().dtype(), op)
                             : as_tensor(a);
  Tensor y = b.is_tensor() ? b.tensor()
                           : constant_like(b, trace_internal::node_of(x, op, at).shape.dtype(), op);
  const Shape& sx = trace_internal::node_of(x, op, at).shape;
  const Shape& sy = trace_internal::node_of(y, op, at).shape;
  if (sx.dtype() != sy.dtype()) {
    throw Error(invalid_argument(op, ": operands are ", to_string(sx), " and ", to_string(sy),
                                 "; their dtypes must be equal, cast one with astype(",
                                 to_string(sx.dtype()), ")"),
                at);
  }
  if (sx.dimensions() == sy.dimensions()) return {x, y};
  std::vector<int64_t> common = broadcast_shapes(sx, sy, op, at);
  return {broadcast_to(x, common, at), broadcast_to(y, common, at)};
}

}  // namespace heddle
