#include "heddle/transform/lapack/internal/jacobi.h"

#include <limits>
#include <numeric>

namespace heddle::transform::lapack {
namespace {

// sqrt(x^2 + 1) for x >= 0, where x^2 may overflow.
Array hypotenuse(const Array& x) {
  const Array near = minimum(x, x.number(1e9));
  return maximum(x, sqrt(near * near + 1.0));
}

}  // namespace

double epsilon_of(DType dtype) {
  return real_part(dtype) == f32 ? std::numeric_limits<float>::epsilon()
                                 : std::numeric_limits<double>::epsilon();
}

// The tangent is the smaller root of t^2 + 2 slope t = 1.
Rotations rotations(const Array& first, const Array& second, const Array& coupling) {
  const Array size = abs(coupling), is_coupled = size > 0.0;
  const Array divisor = select(is_coupled, size, 1.0);
  const Array slope = (second - first) / (divisor * 2.0);
  const Array direction = select(slope >= 0.0, slope.number(1), -1.0);
  const Array root = direction / (abs(slope) + hypotenuse(abs(slope)));
  const Array tangent = select(is_coupled, root, 0.0);
  const Array square = tangent * tangent, secant = sqrt(square + 1.0);
  return {square / (secant * (secant + 1.0)), coupling / divisor * (tangent / secant),
          tangent * size};
}

Array moved_on(const Array& first, const Array& second, int64_t dimension) {
  const int64_t h = first.size(dimension);
  if (h == 1) return concatenate({first, second}, dimension);
  return concatenate({slice(first, dimension, 0, 1), slice(second, dimension, 0, 1),
                      slice(first, dimension, 1, h - 2), slice(second, dimension, 1, h - 1),
                      slice(first, dimension, h - 1, 1)},
                     dimension);
}

Array pair_numbers(Scope& scope, int64_t pairs) {
  std::vector<int64_t> numbers(static_cast<size_t>(pairs));
  std::iota(numbers.begin(), numbers.end(), 0);
  const Array half = scope.integers(numbers);
  return moved_on(half, half, 0);
}

Array turned(const Array& x, int64_t dimension, const Array& versine, const Array& f,
             const Array& g) {
  const int64_t h = x.size(dimension) / 2;
  const Array p = slice(x, dimension, 0, h), q = slice(x, dimension, h, h);
  return moved_on(p + (f * q - versine * p), q + (g * p - versine * q), dimension);
}

Scaled scaled(const Array& a) {
  const Array fine = all(is_finite(a), {1, 2});
  const Array matrix = select(fine, a, 0.0);
  const Array part = greatest(maximum(abs(real(matrix)), abs(imag(matrix))), {1, 2});
  const Array scale = power_of_two(part);
  return {matrix / scale, scale, fine};
}

Array info_of(const Array& is_good) { return reshape(convert(!is_good, s32), {is_good.size(0)}); }

}  // namespace heddle::transform::lapack
