#include "heddle/trace/operand.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <optional>
#include <utility>

#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

double value_of(const Operand& number) {
  return std::visit(
      [](auto value) -> double {
        if constexpr (std::is_pointer_v<decltype(value)>)
          return 0;
        else if constexpr (std::same_as<decltype(value), Operand::ComplexValue>)
          return value.real;
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

// Whether a float becomes another kind of number: infinite or NaN, or the greatest of a dtype that
// has neither. Rounding to one mantissa bit or none loses a third at most.
bool overflows(DType dtype, double value) {
  if (!std::isfinite(value) || std::abs(value) <= 1) return false;
  const double rounded = Literal::scalar(dtype, value).to_double(0);
  return !std::isfinite(rounded) || std::abs(rounded) < 0.6 * std::abs(value);
}

// The difference of an integer and a double, exactly: neither conversion may round.
bool is_exactly(double value, const Operand& number) {
  if (const int64_t* i = std::get_if<int64_t>(&number.number()))
    return std::abs(value) < 0x1p63 ? static_cast<int64_t>(value) == *i
                                    : value == -0x1p63 && *i == INT64_MIN;
  const uint64_t* u = std::get_if<uint64_t>(&number.number());
  return u == nullptr || (value < 0x1p64 && static_cast<uint64_t>(value) == *u);
}

bool float_holds(DType dtype, const Operand& number) {
  const DType real = real_part(dtype);
  if (overflows(real, value_of(number))) return false;
  if (real != f32 && real != f64) return true;
  return std::holds_alternative<double>(number.number()) ||
         is_exactly(Literal::scalar(real, value_of(number)).to_double(0), number);
}

// Whether an element of `dtype` can stand for the number: integers need whole values in range,
// unsigned ones no sign; complex numbers are of complex dtypes, whatever their imaginary part.
bool can_hold(DType dtype, const Operand& number) {
  if (const auto* z = std::get_if<Operand::ComplexValue>(&number.number()))
    return is_complex(dtype) && !overflows(real_part(dtype), z->real) &&
           !overflows(real_part(dtype), z->imag);
  double value = value_of(number);
  if (dtype == pred)
    return std::holds_alternative<bool>(number.number()) || value == 0 || value == 1;
  if (!is_integer(dtype)) return float_holds(dtype, number);
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

bool is_whole_number(const Operand& number) {
  return std::holds_alternative<int64_t>(number.number()) ||
         std::holds_alternative<uint64_t>(number.number());
}

// 0 pred, 1 integers, 2 floats, 3 complex numbers: a greater kind holds the values of a lesser one.
size_t order_of(DType dtype) {
  return dtype == pred ? 0 : is_integer(dtype) ? 1 : is_complex(dtype) ? 3 : 2;
}
size_t order_of(const Operand& number) {
  if (std::holds_alternative<bool>(number.number())) return 0;
  if (is_whole_number(number)) return 1;
  return std::holds_alternative<double>(number.number()) ? 2 : 3;
}
constexpr DType kDefaultDtypes[] = {pred, s32, f32, c64};  // of the C++ numbers of a kind

// The dtype of the greater kind, or the wider one; a third of two that do not hold each other's
// values.
DType common_dtype(DType a, DType b) {
  if (order_of(a) < order_of(b)) std::swap(a, b);
  if (is_complex(a)) return real_part(a) == f64 || real_part(b) == f64 ? c128 : c64;
  if (order_of(a) != order_of(b)) return a;
  if (bit_width(a) < bit_width(b)) std::swap(a, b);
  if (bit_width(a) > bit_width(b) && (is_floating(a) || is_signed(a) || is_unsigned(b))) return a;
  if (is_floating(a)) return bit_width(a) == 16 ? f32 : bf16;
  return bit_width(a) < 16 ? s16 : bit_width(a) == 16 ? s32 : s64;
}

Literal literal_of(const Operand& number, DType dtype) {
  if (const auto* z = std::get_if<Operand::ComplexValue>(&number.number())) {
    const std::complex<double> value(z->real, z->imag);
    if (dtype == c128) return Literal::from(Shape(c128, {}), {value});
    return Literal::from(Shape(c64, {}), {std::complex<float>(value)});
  }
  const auto* u = std::get_if<uint64_t>(&number.number());
  if (u && is_integer(dtype)) return Literal::scalar(dtype, static_cast<int64_t>(*u));
  if (const auto* i = std::get_if<int64_t>(&number.number())) return Literal::scalar(dtype, *i);
  return Literal::scalar(dtype, value_of(number));
}

}  // namespace

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

std::string number_text(const Operand& number) {
  return std::visit(
      [](auto value) -> std::string {
        if constexpr (std::is_pointer_v<decltype(value)>)
          return "";
        else if constexpr (std::same_as<decltype(value), Operand::ComplexValue>)
          return base::cat("(", value.real, ", ", value.imag, ")");
        else if constexpr (std::same_as<decltype(value), double>)
          return base::cat(value, value == std::floor(value) && std::abs(value) < 1e6 ? ".0" : "");
        else
          return base::cat(value);
      },
      number.number());
}

std::optional<double> number_value(const Operand& operand) {
  if (operand.is_tensor()) return std::nullopt;
  return value_of(operand);
}

Tensor constant_like(const Operand& number, DType dtype, std::string_view repair) {
  if (trace_internal::Recorder* recorder = trace_internal::Recorder::current()) {
    trace_internal::Element element;
    if (element.set(number, dtype)) {
      Tensor same = recorder->expected_number(element.bytes(), dtype, number.at());
      if (same.is_valid()) return same;
    }
  }
  const trace_internal::PublicCall call("constant_like", number.at());
  if (!can_hold(dtype, number)) {
    const bool is_rounded = !is_integer(dtype) && dtype != pred && is_whole_number(number) &&
                            !overflows(real_part(dtype), value_of(number));
    trace_internal::refuse(
        "operand is the C++ number ", number_text(number), ", which no ", to_string(dtype),
        " holds; ", is_rounded ? "write it as a floating-point number to have it rounded, or " : "",
        repair.empty() ? "cast the tensor with astype, or use another number" : repair);
  }
  Literal literal = literal_of(number, dtype);
  if (trace_internal::Recorder::current() != nullptr || is_complex(dtype))
    return trace_internal::emit_constant(std::move(literal));
  // It goes where the tensors beside it are.
  const trace_internal::Number noted{literal.to_double(0), dtype, number.at()};
  return trace_internal::with_number(trace_internal::emit_constant(std::move(literal)), noted);
}

Tensor as_tensor(const Operand& operand) {
  const trace_internal::PublicCall call("as_tensor", operand.at());
  if (operand.is_tensor()) {
    trace_internal::node_of(operand.tensor());
    return operand.tensor();
  }
  return constant_like(operand, kDefaultDtypes[order_of(operand)],
                       "make it a tensor of another dtype, as scalar<int64_t>(..) does");
}

Operand rounded(const Operand& number, DType dtype) {
  if (number.is_tensor() || std::holds_alternative<bool>(number.number()) ||
      std::holds_alternative<Operand::ComplexValue>(number.number()))
    return number;
  if (is_integer(dtype) || dtype == pred) return number;
  const double value = value_of(number);
  return overflows(real_part(dtype), value) ? std::copysign(INFINITY, value) : value;
}

std::string cast_advice(DType a, DType b) {
  const DType wide = common_dtype(a, b);
  return base::cat(wide == a || wide == b ? "cast one" : "cast both", " with astype(",
                   to_string(wide), ")");
}

namespace {

// The number as C++ has it in a dtype: "0.0f", "int64_t{0}", "full({}, 0.5, bf16)".
std::string written(double value, DType dtype) {
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  const std::string text = is_whole ? base::cat(static_cast<int64_t>(value))
                                    : base::cat(value);  // whole: without an exponent
  if (dtype == f64) return is_whole ? base::cat(text, ".0") : text;
  if (dtype == f32) return base::cat(text, is_whole ? ".0f" : "f");
  if (dtype == s32 && is_whole) return text;
  if (dtype == s64 && is_whole) return base::cat("int64_t{", text, "}");
  return base::cat("full({}, ", text, ", ", dtype, ")");
}

std::string text_of(const trace_internal::Number& number) {
  if (number.dtype == pred) return number.value != 0 ? "true" : "false";
  return written(number.value, is_integer(number.dtype) ? s32 : number.dtype);
}

}  // namespace

namespace {

// The number that a tensor is of; "" where it is of none, or of another dtype now.
std::string number_said(const Tensor& x) {
  const auto number = trace_internal::number_behind(x);
  if (!number || number->dtype != x.dtype()) return "";
  const bool is_branch = number->of == "cond" || number->of == "switch_case";
  return base::cat(
      number->of.empty() ? ""
      : is_branch        ? "an operand of "
                         : "the init of ",
      number->of, number->of.empty() ? "" : ", ", "the C++ number ", text_of(*number),
      number->at.known() ? base::cat(" at ", to_string(number->at)) : "", ", which is ",
      to_string(number->dtype),
      number->of == "fori_loop" ? " (the body takes the count first: (i, value))" : "");
}

}  // namespace

std::string number_advice(const Tensor& x, DType wanted) {
  const std::string said = number_said(x);
  if (said.empty()) return said;
  return base::cat(said, "; write ", written(trace_internal::number_behind(x)->value, wanted),
                   " there");
}

std::string cast_advice(const Tensor& a, const Tensor& b) {
  const auto advice = [](const Tensor& number, const Tensor& other) {
    const std::string said = number_said(number);
    if (said.empty()) return said;
    // A number with a point beside integers, as a loop's counter is: to cast those is likely meant.
    const bool casts =
        is_floating(number.dtype()) && (is_integer(other.dtype()) || other.dtype() == pred);
    if (!casts) return base::cat("one is ", number_advice(number, other.dtype()));
    return base::cat(
        "one is ", said, "; cast the other with astype(", number.dtype(), "), or write ",
        written(trace_internal::number_behind(number)->value, other.dtype()), " there");
  };
  const std::string first = advice(a, b);
  if (!first.empty()) return first;
  const std::string second = advice(b, a);
  if (!second.empty()) return second;
  const bool may_round = std::minmax(a.dtype(), b.dtype()) == std::minmax(f32, f64);
  return cast_advice(a.dtype(), b.dtype()) +
         (may_round ? "; where C++ numbers alone made the f32, as in where(c, 0.1, 0.2), write "
                      "scalar(0.1) for one"
                    : "");
}

// Numpy's rule: dimensions are matched from the last; one of size 1 stretches.
Tensor broadcast_to(const Tensor& x, const base::Ints& dimensions, SourceLocation at) {
  const trace_internal::PublicCall call("broadcast_to", at);
  const Shape& from = trace_internal::node_of(x).shape;
  if (from.dimensions() == dimensions) return x;
  Tensor squeezed = x;
  std::vector<int64_t> sizes;
  std::vector<int64_t> mapped;
  if (static_cast<size_t>(from.rank()) > dimensions.size() ||
      common_dimensions(from, Shape(from.dtype(), dimensions)) != dimensions) {
    trace_internal::refuse("x is ", to_string(from), "; it does not stretch to [",
                           base::join(dimensions, ","),
                           "]: sizes must be equal or 1, counted from the last axis");
  }
  const auto of = [&](std::span<const Tensor> xs) { return broadcast_to(xs[0], dimensions); };
  const Operand operand(x, at);
  if (Tensor made = trace_internal::known_program(
          "broadcast_to", trace_internal::KnownOptions(dimensions), {operand}, of);
      made.is_valid())
    return made;
  size_t missing = dimensions.size() - static_cast<size_t>(from.rank());
  for (size_t i = 0; i < static_cast<size_t>(from.rank()); ++i) {
    if (from.dimensions()[i] != dimensions[i + missing]) continue;
    sizes.push_back(from.dimensions()[i]);
    mapped.push_back(static_cast<int64_t>(i + missing));
  }
  if (sizes.size() != static_cast<size_t>(from.rank())) {
    squeezed = trace_internal::emit({.opcode = hlo::Opcode::kReshape,
                                     .operands = {x},
                                     .attrs = hlo::ReshapeAttrs{},
                                     .declared = Shape(from.dtype(), sizes)});
  }
  return trace_internal::emit({.opcode = hlo::Opcode::kBroadcast,
                               .operands = {squeezed},
                               .attrs = hlo::DimensionsAttrs{.dimensions = mapped},
                               .declared = Shape(from.dtype(), dimensions)});
}

std::vector<int64_t> broadcast_shapes(const Shape& a, const Shape& b, std::string_view what,
                                      SourceLocation at) {
  const trace_internal::PublicCall call("broadcast_shapes", at);
  auto common = common_dimensions(a, b);
  if (!common) {
    trace_internal::refuse(what, " are ", to_string(a), " and ", to_string(b),
                           "; sizes must be equal or 1, counted from the last axis");
  }
  return *std::move(common);
}

namespace {

// constant_like() of a number beside another operand, whose dtype may come from a C++ number.
Tensor constant_beside(const Operand& number, const Operand& other, DType dtype) {
  const DType own = kDefaultDtypes[order_of(number)];
  if (!other.is_tensor() || own == dtype || can_hold(dtype, number))
    return constant_like(number, dtype);
  const std::string cause = number_advice(other.tensor(), own);
  return constant_like(number, dtype, cause.empty() ? "" : base::cat("the tensor is ", cause));
}

}  // namespace

OperandPair unify(const Operand& a, const Operand& b) {
  const trace_internal::PublicCall call("unify", a.at());
  const trace_internal::OnDeviceOf device(a, b);
  auto node = [&](const Operand& x) -> const Shape& {
    return trace_internal::node_of(x.tensor()).shape;
  };
  // Of two numbers the greater kind decides, as in numpy: where(c, 1, 0.5) is f32.
  const DType dtype = a.is_tensor()   ? node(a).dtype()
                      : b.is_tensor() ? node(b).dtype()
                                      : kDefaultDtypes[std::max(order_of(a), order_of(b))];
  Tensor x = a.is_tensor() ? a.tensor() : constant_beside(a, b, dtype);
  Tensor y = b.is_tensor() ? b.tensor() : constant_beside(b, a, dtype);
  const Shape& sx = x.shape();
  const Shape& sy = y.shape();
  if (sx.dtype() != sy.dtype()) {
    trace_internal::refuse("operands are ", to_string(sx), " and ", to_string(sy),
                           "; their dtypes must be equal, ", cast_advice(x, y));
  }
  if (sx.dimensions() == sy.dimensions()) return {x, y};
  std::vector<int64_t> common = broadcast_shapes(sx, sy);
  return {broadcast_to(x, common), broadcast_to(y, common)};
}

}  // namespace heddle
