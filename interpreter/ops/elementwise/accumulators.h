// What a reduction by a single add, multiply, minimum, ... keeps: shared by the native loops of
// reduce and reduce-window.
//
// Floats are accumulated in f64 and rounded once; f64 and c128 sums carry their rounding errors
// along (Neumaier's sum).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "heddle/hlo/dtype.h"
#include "heddle/hlo/opcode.h"
#include "heddle/interpreter/ops/elementwise/complex_math.h"

namespace heddle::interpreter {

using namespace hlo;

// Accumulators: each takes elements one by one, beginning with the initial value, and joins with
// one of later elements.
template <class T, T (*kOp)(T, T)>
struct Plain {
  using Element = T;
  T value;
  explicit Plain(T init) : value(init) {}
  void take(T x) { value = kOp(value, x); }
  void join(const Plain& later) { take(later.value); }
  [[nodiscard]] T result() const { return value; }
};

// The sum and, apart, what its roundings lost.
struct ExactSum {
  using Element = double;
  double value;
  double lost = 0;
  explicit ExactSum(double init) : value(init) {}
  void take(double x) {
    const double sum = value + x;
    const double of_x = sum - value;
    lost += (value - (sum - of_x)) + (x - of_x);
    value = sum;
  }
  void join(const ExactSum& later) {
    take(later.value);
    lost += later.lost;
  }
  [[nodiscard]] double result() const {
    return lost == 0 || !std::isfinite(value) ? value : value + lost;
  }
};

struct ComplexSum {
  using Element = std::complex<double>;
  ExactSum re, im;
  explicit ComplexSum(Element init) : re(init.real()), im(init.imag()) {}
  void take(Element x) {
    re.take(x.real());
    im.take(x.imag());
  }
  void join(const ComplexSum& later) {
    re.join(later.re);
    im.join(later.im);
  }
  [[nodiscard]] Element result() const { return {re.result(), im.result()}; }
};

namespace accumulators_internal {

inline uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
inline double sum(double a, double b) { return a + b; }
inline double product(double a, double b) { return a * b; }
// A NaN on either side stays, and -0 < +0.
inline double minimum(double a, double b) {
  return b < a || b != b || (a == b && std::signbit(b)) ? b : a;
}
inline double maximum(double a, double b) {
  return b > a || b != b || (a == b && std::signbit(a)) ? b : a;
}
inline std::complex<double> complex_product(std::complex<double> a, std::complex<double> b) {
  return complex_math::multiply(a, b);
}
inline int64_t add(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); }
inline int64_t multiply(int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) * bits(b)); }
inline int64_t signed_min(int64_t a, int64_t b) { return std::min(a, b); }
inline int64_t signed_max(int64_t a, int64_t b) { return std::max(a, b); }
inline int64_t unsigned_min(int64_t a, int64_t b) { return bits(b) < bits(a) ? b : a; }
inline int64_t unsigned_max(int64_t a, int64_t b) { return bits(b) > bits(a) ? b : a; }
inline int64_t bit_and(int64_t a, int64_t b) { return a & b; }
inline int64_t bit_or(int64_t a, int64_t b) { return a | b; }
inline int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }

template <double (*kOp)(double, double)>
using Real = Plain<double, kOp>;
template <int64_t (*kOp)(int64_t, int64_t)>
using Integer = Plain<int64_t, kOp>;

}  // namespace accumulators_internal

// Says which accumulator a loop is wanted for.
template <class Accumulator>
struct Of {};

// Returns make(Of<Accumulator>{}), a function pointer, for the accumulator that reduces elements of
// this type by the op; null where there is none.
template <class Loop, class Make>
Loop loop_of(Opcode op, DType dtype, Make&& make) {
  namespace a = accumulators_internal;
  const bool real = is_floating(dtype), complex = is_complex(dtype),
             is_signed_type = is_signed(dtype);
  switch (op) {
    case Opcode::kAdd:
      if (complex) return make(Of<ComplexSum>{});
      if (dtype == f64) return make(Of<ExactSum>{});
      // pred is 0 and 1: a sum is "not zero" when stored.
      return real ? make(Of<a::Real<a::sum>>{}) : make(Of<a::Integer<a::add>>{});
    case Opcode::kMultiply:
      if (complex) return make(Of<Plain<std::complex<double>, a::complex_product>>{});
      return real ? make(Of<a::Real<a::product>>{}) : make(Of<a::Integer<a::multiply>>{});
    case Opcode::kMinimum:
      if (complex) return nullptr;
      if (real) return make(Of<a::Real<a::minimum>>{});
      return is_signed_type ? make(Of<a::Integer<a::signed_min>>{})
                            : make(Of<a::Integer<a::unsigned_min>>{});
    case Opcode::kMaximum:
      if (complex) return nullptr;
      if (real) return make(Of<a::Real<a::maximum>>{});
      return is_signed_type ? make(Of<a::Integer<a::signed_max>>{})
                            : make(Of<a::Integer<a::unsigned_max>>{});
    case Opcode::kAnd: return real || complex ? nullptr : make(Of<a::Integer<a::bit_and>>{});
    case Opcode::kOr: return real || complex ? nullptr : make(Of<a::Integer<a::bit_or>>{});
    case Opcode::kXor: return real || complex ? nullptr : make(Of<a::Integer<a::bit_xor>>{});
    default: return nullptr;
  }
}

}  // namespace heddle::interpreter
