#include <algorithm>
#include <complex>
#include <limits>

#include "heddle/cpu/kernels/fourier/fft.h"
#include "heddle/interpreter/fourier.h"

namespace heddle::cpu {
namespace {

// Ascending but for those of 2: as few stages as there can be for a power of it, 16 is 4 * 4.
// Empty: a factor is larger than a stage takes.
std::vector<int> factors_of(int64_t n) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  std::vector<int> factors;
  for (; twos % 3 != 0 && twos >= 2; twos -= 2) factors.push_back(4);
  for (; twos >= 3; twos -= 3) factors.push_back(8);
  if (twos == 1) factors.push_back(2);
  for (int p = 3; p <= kMostFftFactor; p += 2)
    for (; n % p == 0; n /= p) factors.push_back(p);
  return n == 1 ? factors : std::vector<int>();
}

template <class T>
std::vector<FftStage<T>> stages_of(int64_t n) {
  std::vector<FftStage<T>> stages;
  int64_t stride = 1;
  for (int factor : factors_of(n)) {
    FftStage<T> stage{.factor = factor, .groups = n / (factor * stride), .stride = stride};
    const RootsOfUnity<T> roots(factor), turns(stage.groups * factor);
    for (int k = 0; k < factor; ++k) roots.append(k, stage.roots);
    for (int64_t g = 0; g < stage.groups; ++g)
      for (int j = 1; j < factor; ++j) turns.append(g * j, stage.turns);
    stages.push_back(std::move(stage));
    stride *= factor;
  }
  return stages;
}

// What the stages of n points cost; infinite, where there are none.
double cost_of_stages(int64_t n) {
  const std::vector<int> factors = factors_of(n);
  if (n > 1 && factors.empty()) return std::numeric_limits<double>::infinity();
  double cost = 0;
  for (int p : factors) cost += 1 + p / (p > 13 ? 8.0 : 16.0);
  return cost * static_cast<double>(n);
}

double cost_of_convolution(int64_t n) {
  const int64_t size = convolution_size(n, cost_of_stages);
  return 2 * cost_of_stages(size) + static_cast<double>(size);
}

}  // namespace

double fft_cost(int64_t n) { return std::min(cost_of_stages(n), cost_of_convolution(n)); }

bool is_fft_convolution(int64_t n) { return cost_of_stages(n) > cost_of_convolution(n); }

int64_t convolution_size(int64_t n, double (*cost)(int64_t)) {
  int64_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t odd : {1, 3, 5, 9, 15, 25, 27, 45, 75}) {
    int64_t size = odd;
    while (size < 2 * n - 1) size *= 2;
    const double now = cost(size);
    if (now < least) best = size, least = now;
  }
  return best;
}

template <class T>
std::vector<T> fft_chirp(int64_t n) {
  std::vector<T> chirp;
  const RootsOfUnity<T> roots(2 * n);
  for (int64_t k = 0; k < n; ++k) roots.append(k * k, chirp);
  return chirp;
}

std::vector<double> fft_chirp_kernel(int64_t n, int64_t size) {
  const std::vector<double> chirp = fft_chirp<double>(n);
  std::vector<double> points(2 * static_cast<size_t>(size));
  for (int64_t k = 0; k < n; ++k) {
    const int64_t mirror = (size - k) % size;
    points[2 * k] = points[2 * mirror] = chirp[2 * k] / static_cast<double>(size);
    points[2 * k + 1] = points[2 * mirror + 1] = -chirp[2 * k + 1] / static_cast<double>(size);
  }
  return points;
}

template <class T>
FftPlan<T>::FftPlan(int64_t n) : length(n), size(n) {
  if (!is_fft_convolution(n)) {
    stages = stages_of<T>(n);
    return;
  }
  size = convolution_size(n, cost_of_stages);
  stages = stages_of<T>(size);
  chirp = fft_chirp<T>(n);
  std::vector<double> points = fft_chirp_kernel(n, size);
  interpreter::Fourier(static_cast<size_t>(size))
      .run(reinterpret_cast<std::complex<double>*>(points.data()), /*inverse=*/false);
  transform.assign(points.begin(), points.end());
}

template struct FftPlan<float>;
template struct FftPlan<double>;
template std::vector<float> fft_chirp<float>(int64_t n);
template std::vector<double> fft_chirp<double>(int64_t n);

}  // namespace heddle::cpu
