// Complex functions of HLO, for T double and long double.
//
// They are called with a T of more digits and range than the element type (c64 in double, c128 in long double), so the textbook
// formulas neither overflow nor cancel on what the element type can hold. Values at infinities are those of C's Annex G where
// libm gives them, else those that XLA's emitter documents.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

namespace heddle::hlo::complex_math {

template <class T>
using C = std::complex<T>;

// As written: an infinite factor gives NaN where C's operator would search for an infinity.
template <class T>
C<T> multiply(C<T> x, C<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// The order of StableHLO's maximum and minimum: real parts first, imaginary parts where those are equal.
template <class T>
bool is_less(C<T> x, C<T> y) {
  return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
}

// 1 with the sign of x where x is infinite, else 0 with that sign.
template <class T>
T unit_if_infinite(T x) {
  return std::copysign(std::isinf(x) ? T{1} : T{0}, x);
}

// Where the formula gives NaN in both parts, there is a limit: a zero divisor gives infinities, so does an infinite dividend, and
// an infinite divisor gives zeros.
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
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}

// log(1 + z). Near 0 the modulus is got from |1 + z|^2 - 1, which does not cancel there.
template <class T>
C<T> log1p(C<T> z) {
  const T a = z.real(), b = z.imag();
  if (std::abs(a) > T{0.25} || std::abs(b) > T{0.25} || std::isnan(a) || std::isnan(b)) {
    return std::log(C<T>(1 + a, b));
  }
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}

template <class T>
C<T> logistic(C<T> z) {
  return divide(C<T>(1), C<T>(1) + std::exp(-z));
}

// z / |z|, and 0 for 0.
template <class T>
C<T> sign(C<T> z) {
  const T modulus = std::hypot(z.real(), z.imag());
  return modulus == 0 ? C<T>(0) : C<T>(z.real() / modulus, z.imag() / modulus);
}

// 1 / sqrt(z). Of 0 the real part is infinite and the imaginary part has no limit; of infinities it is 0.
template <class T>
C<T> rsqrt(C<T> z) {
  if (z == C<T>(0)) return {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
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

// x^y = |x|^c e^(-d arg x) at the angle c arg x + d log |x|, for y = c + di. 0^0 is 1, and 0^c is 0 for c > 0.
template <class T>
C<T> power(C<T> x, C<T> y) {
  const T modulus = std::hypot(x.real(), x.imag()), angle = std::atan2(x.imag(), x.real());
  const T c = y.real(), d = y.imag();
  if (modulus == 0 && d == 0 && c >= 0) return c == 0 ? 1 : 0;
  const T turn = d == 0 ? c * angle : c * angle + d * std::log(modulus);
  return from_polar(d == 0 ? std::pow(modulus, c) : std::pow(modulus, c) * std::exp(-d * angle), turn);
}

// -i log((x + iy) / sqrt(x^2 + y^2))
template <class T>
C<T> atan2(C<T> y, C<T> x) {
  const C<T> i(0, 1);
  const C<T> root = std::sqrt(multiply(x, x) + multiply(y, y));
  return multiply(-i, std::log(divide(x + multiply(i, y), root)));
}

}  // namespace heddle::hlo::complex_math
