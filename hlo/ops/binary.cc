// Binary elementwise ops, one row each. There is no implicit broadcast in HLO: both operands have
// one type.
#include <cmath>

#include "heddle/hlo/ops/complex_math.h"
#include "heddle/hlo/ops/elementwise.h"
#include "heddle/hlo/ops/integer_math.h"

namespace heddle::hlo {
namespace {

namespace cm = complex_math;
namespace im = integer_math;

constexpr int kAll = kPreds | kIntegers | kFloats | kComplexes;

// NaN if either is NaN; +0 above -0.
double maximum(double x, double y) {
  if (x != x) return x;
  if (y != y || y > x) return y;
  return x == y && std::signbit(x) ? y : x;
}
double minimum(double x, double y) {
  if (x != x) return x;
  if (y != y || y < x) return y;
  return x == y && std::signbit(y) ? y : x;
}

constexpr DType complex_of(DType part) { return part == DType::kF32 ? DType::kC64 : DType::kC128; }

StatusOr<Shape> infer_complex(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, kFloats));
  if (in[0].dtype() != f32 && in[0].dtype() != f64) {
    return in.error("x is ", in[0], "; its elements must be f32 or f64; convert it first");
  }
  HEDDLE_RETURN_IF_ERROR(check_same(in, 1, 0));
  return result_dimensions(in).with_dtype(complex_of(in[0].dtype()));
}

// The operands are loaded as complex numbers: x + 0i and y + 0i.
constexpr ElementwiseRow kComplexRow = {
    .complex = [](std::complex<double> x, std::complex<double> y) {
      return std::complex<double>(x.real(), y.real());
    }};

}  // namespace

// Arithmetic. On pred, add is "or" and multiply is "and".
HEDDLE_BINARY(kAdd,
              {.accepts = kAll,
               .real = [](double x, double y) { return x + y; },
               .integer = [](auto x, auto y, int) { return im::add(x, y); },
               .complex = [](std::complex<double> x, std::complex<double> y) { return x + y; }})
HEDDLE_BINARY(kSubtract,
              {.accepts = kIntegers | kFloats | kComplexes,
               .real = [](double x, double y) { return x - y; },
               .integer = [](auto x, auto y, int) { return im::subtract(x, y); },
               .complex = [](std::complex<double> x, std::complex<double> y) { return x - y; }})
HEDDLE_BINARY(kMultiply, {.accepts = kAll,
                          .real = [](double x, double y) { return x * y; },
                          .integer = [](auto x, auto y, int) { return im::multiply(x, y); },
                          .complex = [](auto x, auto y) { return cm::multiply(x, y); }})
HEDDLE_BINARY(kDivide, {.accepts = kIntegers | kFloats | kComplexes,
                        .real = [](double x, double y) { return x / y; },
                        .integer = [](auto x, auto y, int) { return im::divide(x, y); },
                        .complex = [](auto x, auto y) { return cm::divide(x, y); }})
HEDDLE_BINARY(kRemainder, {.accepts = kIntegers | kFloats,
                           .real = [](double x, double y) { return std::fmod(x, y); },
                           .integer = [](auto x, auto y, int) { return im::remainder(x, y); }})
HEDDLE_BINARY(kPower, {.accepts = kIntegers | kFloats | kComplexes,
                       .real = [](double x, double y) { return std::pow(x, y); },
                       .integer = [](auto x, auto y, int) { return im::power(x, y); },
                       .complex = [](auto x, auto y) { return cm::power(x, y); }})
HEDDLE_BINARY(kAtan2, {.accepts = kFloats | kComplexes,
                       .real = [](double x, double y) { return std::atan2(x, y); },
                       .complex = [](auto x, auto y) { return cm::atan2(x, y); }})
HEDDLE_BINARY(kMulhi, {.accepts = kIntegers, .integer = [](auto x, auto y, int bits) {
                         return im::multiply_high(x, y, bits);
                       }})

// Order.
HEDDLE_BINARY(kMaximum, {.accepts = kAll,
                         .real = [](double x, double y) { return maximum(x, y); },
                         .integer = [](auto x, auto y, int) { return x < y ? y : x; },
                         .complex = [](auto x, auto y) { return cm::is_less(x, y) ? y : x; }})
HEDDLE_BINARY(kMinimum, {.accepts = kAll,
                         .real = [](double x, double y) { return minimum(x, y); },
                         .integer = [](auto x, auto y, int) { return y < x ? y : x; },
                         .complex = [](auto x, auto y) { return cm::is_less(y, x) ? y : x; }})

// Bits.
HEDDLE_BINARY(kAnd,
              {.accepts = kPreds | kIntegers, .integer = [](auto x, auto y, int) { return x & y; }})
HEDDLE_BINARY(kOr,
              {.accepts = kPreds | kIntegers, .integer = [](auto x, auto y, int) { return x | y; }})
HEDDLE_BINARY(kXor,
              {.accepts = kPreds | kIntegers, .integer = [](auto x, auto y, int) { return x ^ y; }})
HEDDLE_BINARY(kShiftLeft, {.accepts = kIntegers, .integer = [](auto x, auto y, int bits) {
                             return im::shift_left(x, y, bits);
                           }})
HEDDLE_BINARY(kShiftRightLogical, {.accepts = kIntegers, .integer = [](auto x, auto y, int bits) {
                                     return im::shift_right_logical(x, y, bits);
                                   }})
HEDDLE_BINARY(kShiftRightArithmetic,
              {.accepts = kIntegers, .integer = [](auto x, auto y, int bits) {
                 return im::shift_right_arithmetic(x, y, bits);
               }})

constinit const OpDef kComplexDef = {.opcode = Opcode::kComplex,
                                     .operand_names = kBinaryOperands,
                                     .infer = infer_complex,
                                     .evaluate = evaluate_row<kComplexRow>,
                                     .scalar = scalar_row<kComplexRow>};

}  // namespace heddle::hlo
