#include "heddle/interpreter/fourier.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace heddle::interpreter {
namespace {

using C = std::complex<double>;

// Above it, a prime factor p costs more than three transforms of a power of two.
constexpr size_t kLargestFactor = 97;

// exp(-2 pi i k / n), with the angle brought to an eighth of a turn first, where sine and cosine
// are most exact.
C root_of_unity(uint64_t k, uint64_t n) {
  k %= n;
  const uint64_t quarter = 4 * k / n;
  const uint64_t rest = 4 * k - quarter * n;  // of the quarter's n
  const bool high = 2 * rest > n;
  const double angle =
      std::numbers::pi / 2 * static_cast<double>(high ? n - rest : rest) / static_cast<double>(n);
  double re = std::cos(angle), im = std::sin(angle);
  if (high) std::swap(re, im);
  for (uint64_t turn = 0; turn < quarter; ++turn) {
    const double old = re;
    re = -im;
    im = old;
  }
  return {re, -im};
}

std::vector<size_t> factors_of(size_t n) {
  std::vector<size_t> out;
  for (size_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  if (n > 1) out.push_back(n);
  return out;
}

// Plain products: what C's operator does for infinities is not asked for, and slow.
C complex_product(C x, C y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

}  // namespace

struct Fourier::Plan {
  explicit Plan(size_t length) : n(length), factors(factors_of(length)) {
    if (!factors.empty() && factors.back() > kLargestFactor) {
      prepare_convolution();
      return;
    }
    for (size_t k = 0; k < n; ++k) roots.push_back(root_of_unity(k, n));
  }

  void run(C* x) const {
    if (n < 2) return;
    if (convolution) return run_convolution(x);
    std::vector<C> in(x, x + n), scratch(factors.back());
    recurse(in.data(), 1, n, 0, x, scratch.data());
  }

  // The transform of `length` elements, `stride` apart: p interleaved parts are transformed and
  // then combined, where p is factor number `level`.
  void recurse(const C* from, size_t stride, size_t length, size_t level, C* to, C* scratch) const {
    if (length == 1) {
      *to = *from;
      return;
    }
    const size_t p = factors[level], part = length / p;
    for (size_t i = 0; i < p; ++i)
      recurse(from + i * stride, stride * p, part, level + 1, to + i * part, scratch);
    const size_t step = n / length;  // of the roots of this length, among those of n
    for (size_t k = 0; k < part; ++k) {
      for (size_t i = 0; i < p; ++i)
        scratch[i] = complex_product(to[i * part + k], roots[i * k * step]);
      for (size_t j = 0; j < p; ++j) to[j * part + k] = small_sum(scratch, p, j);
    }
  }

  // Element j of the transform of p elements.
  C small_sum(const C* x, size_t p, size_t j) const {
    if (p == 2) return j == 0 ? x[0] + x[1] : x[0] - x[1];
    C sum = x[0];
    for (size_t i = 1; i < p; ++i) sum += complex_product(x[i], roots[i * j % p * (n / p)]);
    return sum;
  }

  // jk = (j^2 + k^2 - (k-j)^2) / 2 makes the sum a convolution with the chirp exp(pi i j^2 / n),
  // which is taken by transforms.
  void prepare_convolution() {
    const size_t size = std::bit_ceil(2 * n - 1);
    convolution = std::make_unique<Plan>(size);
    for (size_t j = 0; j < n; ++j) chirp.push_back(root_of_unity(j * j % (2 * n), 2 * n));
    kernel.assign(size, C(0));
    for (size_t j = 0; j < n; ++j) {
      kernel[j] = std::conj(chirp[j]) / static_cast<double>(size);
      if (j > 0) kernel[size - j] = kernel[j];
    }
    convolution->run(kernel.data());
  }

  void run_convolution(C* x) const {
    std::vector<C> padded(kernel.size());
    for (size_t j = 0; j < n; ++j) padded[j] = complex_product(x[j], chirp[j]);
    convolution->run(padded.data());
    for (size_t k = 0; k < padded.size(); ++k)
      padded[k] = std::conj(complex_product(padded[k], kernel[k]));
    convolution->run(padded.data());  // of the conjugate: the inverse, conjugated
    for (size_t k = 0; k < n; ++k) x[k] = complex_product(std::conj(padded[k]), chirp[k]);
  }

  size_t n;
  std::vector<size_t> factors;  // ascending
  std::vector<C> roots;
  std::unique_ptr<Plan> convolution;
  std::vector<C> chirp, kernel;
};

Fourier::Fourier(size_t n) : plan_(std::make_unique<Plan>(n)) {}
Fourier::~Fourier() = default;
Fourier::Fourier(Fourier&&) noexcept = default;
Fourier& Fourier::operator=(Fourier&&) noexcept = default;

void Fourier::run(C* x, bool inverse) const {
  for (size_t i = 0; inverse && i < plan_->n; ++i) x[i] = std::conj(x[i]);
  plan_->run(x);
  for (size_t i = 0; inverse && i < plan_->n; ++i) x[i] = std::conj(x[i]);
}

}  // namespace heddle::interpreter
