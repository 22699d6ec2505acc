// Complex functions of HLO, for T double and long double.
//
// They are called with a T of more digits and range than the element type (c64 in double, c128 in
// long double), so the textbook formulas neither overflow nor cancel on what the element type can
// hold. Values at infinities are those of C's Annex G where libm gives them, else those that XLA's
// emitter documents.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace heddle::interpreter::complex_math {

template <class T>
using C = std::complex<T>;

// As written: an infinite factor gives NaN where C's operator would search for an infinity.
template <class T>
C<T> multiply(C<T> x, C<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// The order of StableHLO's maximum and minimum: real parts first, imaginary parts where those are
// equal.
template <class T>
bool is_less(C<T> x, C<T> y) {
  return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

template <class T>
bool is_nan(C<T> z) {
  return std::isnan(z.real()) || std::isnan(z.imag());
}

template <class T>
C<T> no_number() {
  return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
}

// x, or the infinity that it is as a part of the element type.
template <class T>
T with_range_of_element(T x) {
  using Element = std::conditional_t<std::is_same_v<T, double>, float, double>;
  return std::isinf(static_cast<Element>(x)) ? std::copysign(std::numeric_limits<T>::infinity(), x)
                                             : x;
}

// XLA multiplies a function of the one part by a function of the other, and so do exp, sin, cos,
// tan and tanh below:
// an infinity times 0, or a part that is NaN or has no cosine, makes NaN of both where C's Annex G
// would keep a 0 or an infinity.
template <class T>
C<T> exp(C<T> z) {
  return std::isfinite(z.imag()) ? std::exp(z) : no_number<T>();
}

// On the imaginary axis the part that is 0 stays so.
template <class T>
C<T> sin(C<T> z) {
  const T re = std::sin(z.real()) * with_range_of_element(std::cosh(z.imag()));
  return {z.real() == 0 ? z.real() : re,
          std::cos(z.real()) * with_range_of_element(std::sinh(z.imag()))};
}

template <class T>
C<T> cos(C<T> z) {
  const T im = -(std::sin(z.real()) * with_range_of_element(std::sinh(z.imag())));
  return {std::cos(z.real()) * with_range_of_element(std::cosh(z.imag())),
          z.real() == 0 ? -(z.real() * std::copysign(T{1}, z.imag())) : im};
}

template <class T>
C<T> tan(C<T> z) {
  return z.imag() == 0 && !std::isfinite(z.real()) ? no_number<T>() : std::tan(z);
}

template <class T>
C<T> tanh(C<T> z) {
  return z.real() == 0 && !std::isfinite(z.imag()) ? no_number<T>() : std::tanh(z);
}

// NaN where a part is, the other being infinite or not.
template <class T>
T abs(C<T> z) {
  return is_nan(z) ? std::numeric_limits<T>::quiet_NaN() : std::hypot(z.real(), z.imag());
}

template <class T>
C<T> log(C<T> z) {
  return is_nan(z) ? no_number<T>() : std::log(z);
}

// The root of a negative number is above the real axis, whatever the sign of its imaginary 0.
template <class T>
C<T> sqrt(C<T> z) {
  if (is_nan(z)) return no_number<T>();
  return std::sqrt(z.imag() == 0
                       ? C<T>(z.real(), std::signbit(z.real()) && z.real() != 0 ? T{0} : z.imag())
                       : z);
}

// 1 with the sign of x where x is infinite, else 0 with that sign.
template <class T>
T unit_if_infinite(T x) {
  return std::copysign(std::isinf(x) ? T{1} : T{0}, x);
}

// Where the formula gives NaN in both parts, there is a limit: a zero divisor gives infinities, so
// does an infinite dividend, and an infinite divisor gives zeros.
template <class T>
C<T> divide(C<T> x, C<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  const T norm = c * c + d * d;
  const C<T> z((a * c + b * d) / norm, (b * c - a * d) / norm);
  if (!std::isnan(z.real()) || !std::isnan(z.imag())) return z;
  const T infinity = std::numeric_limits<T>::infinity();
  if (norm == 0 && (!std::isnan(a) || !std::isnan(b))) {
    return {std::copysign(infinity, c) * a, std::copysign(infinity, c) * b};
  }
  if ((std::isinf(a) || std::isinf(b)) && std::isfinite(c) && std::isfinite(d)) {
    const T p = unit_if_infinite(a), q = unit_if_infinite(b);
    return {infinity * (p * c + q * d), infinity * (q * c - p * d)};
  }
  if ((std::isinf(c) || std::isinf(d)) && std::isfinite(a) && std::isfinite(b)) {
    const T p = unit_if_infinite(c), q = unit_if_infinite(d);
    return {T{0} * (a * p + b * q), T{0} * (b * p - a * q)};
  }
  return z;
}

// e^z - 1, exact to the last digits near 0: cos(b) - 1 is taken as -2 sin(b/2)^2.
template <class T>
C<T> expm1(C<T> z) {
  const T s = std::sin(z.imag() / 2);
  if (z.imag() == 0) return {std::expm1(z.real()), z.imag()};
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s,
          std::exp(z.real()) * std::sin(z.imag())};
}

// log(1 + z). Near 0 the modulus is got from |1 + z|^2 - 1, which does not cancel there.
template <class T>
C<T> log1p(C<T> z) {
  const T a = z.real(), b = z.imag();
  if (std::abs(a) > T{0.25} || std::abs(b) > T{0.25} || std::isnan(a) || std::isnan(b)) {
    return complex_math::log(C<T>(1 + a, b));
  }
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}

template <class T>
C<T> logistic(C<T> z) {
  return divide(C<T>(1), C<T>(1) + complex_math::exp(-z));
}

// z / |z|, and 0 for 0.
template <class T>
C<T> sign(C<T> z) {
  const T modulus = std::hypot(z.real(), z.imag());
  return modulus == 0 ? C<T>(0) : C<T>(z.real() / modulus, z.imag() / modulus);
}

// 1 / sqrt(z). Of 0 the real part is infinite and the imaginary part has no limit; of infinities it
// is 0.
template <class T>
C<T> rsqrt(C<T> z) {
  if (z == C<T>(0))
    return {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
  if (std::isinf(z.real()) || (std::isinf(z.imag()) && std::isnan(z.real()))) {
    return {std::copysign(T{0}, z.real()), -std::copysign(T{0}, z.imag())};
  }
  return divide(C<T>(1), std::sqrt(z));
}

template <class T>
C<T> from_polar(T modulus, T angle) {
  return {modulus * std::cos(angle), modulus * std::sin(angle)};
}

template <class T>
C<T> cbrt(C<T> z) {
  if (z == C<T>(0)) return 0;
  return from_polar(std::cbrt(std::hypot(z.real(), z.imag())), std::atan2(z.imag(), z.real()) / 3);
}

// x^y = |x|^c e^(-d arg x) at the angle c arg x + d log |x|, for y = c + di. 0^0 is 1, and 0^c is 0
// for c > 0.
template <class T>
C<T> power(C<T> x, C<T> y) {
  const T modulus = std::hypot(x.real(), x.imag()), angle = std::atan2(x.imag(), x.real());
  const T c = y.real(), d = y.imag();
  if (modulus == 0 && d == 0 && c >= 0) return c == 0 ? 1 : 0;
  if (d == 0) return from_polar(std::pow(modulus, c), c * angle);
  const T log = std::log(modulus);
  return from_polar(std::exp(c * log - d * angle), c * angle + d * log);
}

// -i log((x + iy) / sqrt(x^2 + y^2))
template <class T>
C<T> atan2(C<T> y, C<T> x) {
  const C<T> i(0, 1);
  const C<T> root = std::sqrt(multiply(x, x) + multiply(y, y));
  return multiply(-i, std::log(divide(x + multiply(i, y), root)));
}

}  // namespace heddle::interpreter::complex_math
