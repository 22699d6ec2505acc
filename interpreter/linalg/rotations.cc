#include "heddle/interpreter/linalg/internal/rotations.h"

#include <cmath>
#include <limits>

namespace heddle::interpreter::linalg {

template <class R>
Rotation<R> rotation_of(R f, R g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, std::copysign(R(1), g), std::abs(g)};
  const R length = std::hypot(f, g);
  const R r = std::copysign(length, f);
  return {std::abs(f) / length, g / r, r};
}

template <class R>
SymmetricPair<R> eigen_pair(R a, R b, R c) {
  const R sum = a + c, difference = a - c;
  const R twice_b = b + b;
  const R root = std::hypot(difference, twice_b);
  const R bigger = std::abs(a) > std::abs(c) ? a : c, other = std::abs(a) > std::abs(c) ? c : a;
  SymmetricPair<R> out{};
  const R sign = sum < 0 ? -1 : 1;
  if (sum == 0) {
    out.large = R(0.5) * root;
    out.small = R(-0.5) * root;
  } else {
    out.large = R(0.5) * (sum + sign * root);
    out.small = (bigger / out.large) * other -
                (b / out.large) * b;  // by the determinant: a difference would cancel
  }
  // The vector of `large`, from whichever row of the matrix less cancels in.
  const R side = difference >= 0 ? 1 : -1;
  const R lever = difference + side * root;
  if (std::abs(lever) > std::abs(twice_b)) {
    const R cotangent = -twice_b / lever;
    out.sin = 1 / std::sqrt(1 + cotangent * cotangent);
    out.cos = cotangent * out.sin;
  } else if (twice_b == 0) {
    out.cos = 1;
    out.sin = 0;
  } else {
    const R tangent = -lever / twice_b;
    out.cos = 1 / std::sqrt(1 + tangent * tangent);
    out.sin = tangent * out.cos;
  }
  if (sign == side) {
    const R cos = out.cos;
    out.cos = -out.sin;
    out.sin = cos;
  }
  return out;
}

template <class R>
R smaller_singular_value(R f, R g, R h) {
  const R fa = std::abs(f), ga = std::abs(g), ha = std::abs(h);
  const R low = std::min(fa, ha), high = std::max(fa, ha);
  if (low == 0) return 0;
  if (ga < high) {
    const R as = 1 + low / high, at = (high - low) / high, au = (ga / high) * (ga / high);
    return low * (2 / (std::sqrt(as * as + au) + std::sqrt(at * at + au)));
  }
  const R au = high / ga;
  if (au == 0) return (low * high) / ga;
  const R as = (1 + low / high) * au, at = ((high - low) / high) * au;
  return 2 * (low * (1 / (std::sqrt(1 + as * as) + std::sqrt(1 + at * at)))) * au;
}

namespace {

// The rotations that diagonalise [f g; 0 h] with |f| >= |h| and g != 0, from the angles alone.
template <class R>
struct Angles {
  R large, small, cos_left, sin_left, cos_right, sin_right;
};

template <class R>
Angles<R> angles_of(R f, R g, R h) {
  const R fa = std::abs(f), ga = std::abs(g), ha = std::abs(h);
  if (ga > fa && fa / ga < std::numeric_limits<R>::epsilon() / 2) {  // g outweighs all
    return {ga, ha > 1 ? fa / (ga / ha) : (fa / ga) * ha, 1, h / g, f / g, 1};
  }
  const R d = fa - ha;
  R l = d == fa ? 1 : d / fa;
  const R m = g / f;
  R t = 2 - l;
  const R mm = m * m, tt = t * t;
  const R s = std::sqrt(tt + mm);
  const R r = l == 0 ? std::abs(m) : std::sqrt(l * l + mm);
  const R a = R(0.5) * (s + r);
  if (mm == 0) {
    t = l == 0 ? std::copysign(R(2), f) * std::copysign(R(1), g) : g / std::copysign(d, f) + m / t;
  } else {
    t = (m / (s + t) + m / (r + l)) * (1 + a);
  }
  l = std::sqrt(t * t + 4);
  const R cos_right = 2 / l, sin_right = t / l;
  return {fa * a,    ha / a,   (cos_right + sin_right * m) / a, (h / f) * sin_right / a,
          cos_right, sin_right};
}

}  // namespace

template <class R>
SingularPair<R> singular_pair(R f, R g, R h) {
  const bool swapped = std::abs(h) > std::abs(f);
  // Where the largest of the three stands decides whose sign the larger value takes.
  enum { kF, kG, kH } largest = swapped ? kH : kF;
  const R top = swapped ? h : f, bottom = swapped ? f : h;
  Angles<R> angles{std::abs(top), std::abs(bottom), 1, 0, 1, 0};
  if (g != 0) {
    if (std::abs(g) > std::abs(top)) largest = kG;
    angles = angles_of(top, g, bottom);
  }
  SingularPair<R> out{};
  out.cos_left = swapped ? angles.sin_right : angles.cos_left;
  out.sin_left = swapped ? angles.cos_right : angles.sin_left;
  out.cos_right = swapped ? angles.sin_left : angles.cos_right;
  out.sin_right = swapped ? angles.cos_left : angles.sin_right;
  auto sign = [](R x) { return std::copysign(R(1), x); };
  R of_large = sign(out.cos_right) * sign(out.cos_left) * sign(f);
  if (largest == kG) of_large = sign(out.sin_right) * sign(out.cos_left) * sign(g);
  if (largest == kH) of_large = sign(out.sin_right) * sign(out.sin_left) * sign(h);
  out.large = std::copysign(angles.large, of_large);
  out.small = std::copysign(angles.small, of_large * sign(f) * sign(h));
  return out;
}

#define HEDDLE_INSTANTIATE(R)                      \
  template Rotation<R> rotation_of(R, R);          \
  template SymmetricPair<R> eigen_pair(R, R, R);   \
  template SingularPair<R> singular_pair(R, R, R); \
  template R smaller_singular_value(R, R, R);
HEDDLE_INSTANTIATE(float)
HEDDLE_INSTANTIATE(double)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::interpreter::linalg
