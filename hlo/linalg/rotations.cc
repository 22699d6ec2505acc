#include "heddle/hlo/linalg/internal/rotations.h"

#include <cmath>
#include <limits>

namespace heddle::hlo::linalg {

Rotation rotation_of(double f, double g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, std::copysign(1.0, g), std::abs(g)};
  const double length = std::hypot(f, g);
  const double r = std::copysign(length, f);
  return {std::abs(f) / length, g / r, r};
}

SymmetricPair eigen_pair(double a, double b, double c) {
  const double sum = a + c, difference = a - c;
  const double twice_b = b + b;
  const double root = std::hypot(difference, twice_b);
  const double bigger = std::abs(a) > std::abs(c) ? a : c,
               other = std::abs(a) > std::abs(c) ? c : a;
  SymmetricPair out{};
  const double sign = sum < 0 ? -1 : 1;
  if (sum == 0) {
    out.large = 0.5 * root;
    out.small = -0.5 * root;
  } else {
    out.large = 0.5 * (sum + sign * root);
    out.small = (bigger / out.large) * other -
                (b / out.large) * b;  // by the determinant: a difference would cancel
  }
  // The vector of `large`, from whichever row of the matrix less cancels in.
  const double side = difference >= 0 ? 1 : -1;
  const double lever = difference + side * root;
  if (std::abs(lever) > std::abs(twice_b)) {
    const double cotangent = -twice_b / lever;
    out.sin = 1 / std::sqrt(1 + cotangent * cotangent);
    out.cos = cotangent * out.sin;
  } else if (twice_b == 0) {
    out.cos = 1;
    out.sin = 0;
  } else {
    const double tangent = -lever / twice_b;
    out.cos = 1 / std::sqrt(1 + tangent * tangent);
    out.sin = tangent * out.cos;
  }
  if (sign == side) {
    const double cos = out.cos;
    out.cos = -out.sin;
    out.sin = cos;
  }
  return out;
}

double smaller_singular_value(double f, double g, double h) {
  const double fa = std::abs(f), ga = std::abs(g), ha = std::abs(h);
  const double low = std::min(fa, ha), high = std::max(fa, ha);
  if (low == 0) return 0;
  if (ga < high) {
    const double as = 1 + low / high, at = (high - low) / high, au = (ga / high) * (ga / high);
    return low * (2 / (std::sqrt(as * as + au) + std::sqrt(at * at + au)));
  }
  const double au = high / ga;
  if (au == 0) return (low * high) / ga;
  const double as = (1 + low / high) * au, at = ((high - low) / high) * au;
  return 2 * (low * (1 / (std::sqrt(1 + as * as) + std::sqrt(1 + at * at)))) * au;
}

namespace {

// The rotations that diagonalise [f g; 0 h] with |f| >= |h| and g != 0, from the angles alone.
struct Angles {
  double large, small, cos_left, sin_left, cos_right, sin_right;
};

Angles angles_of(double f, double g, double h) {
  const double fa = std::abs(f), ga = std::abs(g), ha = std::abs(h);
  if (ga > fa && fa / ga < std::numeric_limits<double>::epsilon() / 2) {  // g outweighs all
    return {ga, ha > 1 ? fa / (ga / ha) : (fa / ga) * ha, 1, h / g, f / g, 1};
  }
  const double d = fa - ha;
  double l = d == fa ? 1 : d / fa;
  const double m = g / f;
  double t = 2 - l;
  const double mm = m * m, tt = t * t;
  const double s = std::sqrt(tt + mm);
  const double r = l == 0 ? std::abs(m) : std::sqrt(l * l + mm);
  const double a = 0.5 * (s + r);
  if (mm == 0) {
    t = l == 0 ? std::copysign(2.0, f) * std::copysign(1.0, g) : g / std::copysign(d, f) + m / t;
  } else {
    t = (m / (s + t) + m / (r + l)) * (1 + a);
  }
  l = std::sqrt(t * t + 4);
  const double cos_right = 2 / l, sin_right = t / l;
  return {fa * a,    ha / a,   (cos_right + sin_right * m) / a, (h / f) * sin_right / a,
          cos_right, sin_right};
}

}  // namespace

SingularPair singular_pair(double f, double g, double h) {
  const bool swapped = std::abs(h) > std::abs(f);
  // Where the largest of the three stands decides whose sign the larger value takes.
  enum { kF, kG, kH } largest = swapped ? kH : kF;
  const double top = swapped ? h : f, bottom = swapped ? f : h;
  Angles angles{std::abs(top), std::abs(bottom), 1, 0, 1, 0};
  if (g != 0) {
    if (std::abs(g) > std::abs(top)) largest = kG;
    angles = angles_of(top, g, bottom);
  }
  SingularPair out{};
  out.cos_left = swapped ? angles.sin_right : angles.cos_left;
  out.sin_left = swapped ? angles.cos_right : angles.sin_left;
  out.cos_right = swapped ? angles.sin_left : angles.cos_right;
  out.sin_right = swapped ? angles.cos_left : angles.sin_right;
  auto sign = [](double x) { return std::copysign(1.0, x); };
  double of_large = sign(out.cos_right) * sign(out.cos_left) * sign(f);
  if (largest == kG) of_large = sign(out.sin_right) * sign(out.cos_left) * sign(g);
  if (largest == kH) of_large = sign(out.sin_right) * sign(out.sin_left) * sign(h);
  out.large = std::copysign(angles.large, of_large);
  out.small = std::copysign(angles.small, of_large * sign(f) * sign(h));
  return out;
}

}  // namespace heddle::hlo::linalg
