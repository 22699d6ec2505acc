// Plans of fast Fourier transforms, for the files that run them.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::cpu {

inline constexpr int kFftVectorBytes = 64;  // of a part of the points that lanes stand for
inline constexpr int kMostFftFactor = 199;  // a larger prime costs more than a convolution

// One step of a transform of n = groups * factor * stride points.
template <class T>
struct FftStage {
  int factor = 0;
  int64_t groups = 0, stride = 0;
  std::vector<T> roots;  // of unity, of the factor: real and imaginary parts in turn
  std::vector<T> turns;  // by group, of all results but the first
};

// How `length` points are transformed: by stages for its factors, or, where those are large, by
// stages for the `size` points of a convolution with a chirp.
template <class T>
struct FftPlan {
  explicit FftPlan(int64_t length);
  [[nodiscard]] bool is_convolution() const { return !chirp.empty(); }

  int64_t length = 0, size = 0;
  std::vector<FftStage<T>> stages;
  std::vector<T> chirp, transform;  // fft_chirp(), and the transform of fft_chirp_kernel()
};

// What the plan of n points costs: about the stages of a factor of 8 that take as long.
double fft_cost(int64_t n);

// The size, of at least 2 n - 1, that costs least for a convolution of n points.
int64_t convolution_size(int64_t n, double (*cost)(int64_t));

// Whether a plan of n points is a convolution.
bool is_fft_convolution(int64_t n);

// exp(-pi i k^2 / n) for k < n.
template <class T>
std::vector<T> fft_chirp(int64_t n);
// The chirp's conjugate about point 0, in `size` points, divided by that.
std::vector<double> fft_chirp_kernel(int64_t n, int64_t size);

// exp(-2 pi i k / n), many of one n: a root is the product of two from tables of about sqrt(n), in
// wider numbers, since a sine takes ten times as long.
template <class T>
class RootsOfUnity {
 public:
  explicit RootsOfUnity(int64_t n) : n_(n) {
    while ((int64_t{1} << 2 * shift_) < n) ++shift_;
    const auto root = [n](int64_t i) {
      const long double angle =
          std::numbers::pi_v<long double> / 2 * static_cast<long double>(i) / n;
      return Root{static_cast<Wide>(std::cos(angle)), static_cast<Wide>(std::sin(angle))};
    };
    for (int64_t i = 0; i < int64_t{1} << shift_; ++i) fine_.push_back(root(i));
    for (int64_t i = 0; i <= n / 2; i += int64_t{1} << shift_) coarse_.push_back(root(i));
  }

  // Appends the real and the imaginary part.
  void append(int64_t k, std::vector<T>& to) const {
    const int64_t turned = 4 * (k % n_), quarter = turned / n_;
    const int64_t rest = turned - quarter * n_;  // of n, which are a quarter of a turn
    const bool high = 2 * rest > n_;
    const int64_t low = high ? n_ - rest : rest;
    const Root x = coarse_[low >> shift_], y = fine_[low & ((int64_t{1} << shift_) - 1)];
    T re = static_cast<T>(x.re * y.re - x.im * y.im),
      im = static_cast<T>(x.re * y.im + x.im * y.re);
    if (high) std::swap(re, im);
    if (quarter % 2 != 0) std::swap(re, im);
    to.push_back(quarter == 1 || quarter == 2 ? -re : re);
    to.push_back(quarter < 2 ? -im : im);
  }

 private:
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  struct Root {
    Wide re, im;
  };
  int64_t n_;
  int shift_ = 0;
  std::vector<Root> fine_, coarse_;  // of the first eighth of a turn
};

// Between memory and points of vectors, for a full set of rows: a lane for each, or for two of real
// numbers. `swapped`: real and imaginary parts are exchanged. `factor`: times what is stored.
template <class T>
struct FftMoves {
  void (*load_complex)(const T* const* rows, int64_t n, bool swapped, T* data);
  void (*store_complex)(T* data, int64_t n, bool swapped, T factor, T* const* rows);
  // `count` rows side by side, `step` numbers from point to point.
  void (*load_columns)(const T* from, int64_t step, int64_t count, int64_t n, bool swapped,
                       T* data);
  void (*store_columns)(T* data, int64_t n, bool swapped, T factor, T* to, int64_t step,
                        int64_t count,
                        const T* turns);  // null, or times what is stored, as `to` lies
  void (*load_real)(const T* const* rows, int64_t n, T* data);
  void (*store_real)(T* data, int64_t n, bool swapped, T factor, T* const* rows);
  // The first n / 2 + 1 points of a transform of real numbers.
  void (*load_halves)(const T* const* rows, int64_t n, bool swapped, T* data);
  void (*store_halves)(T* data, int64_t n, T* const* rows);
  // Each pair of 2 h real numbers is read as one complex number. From the transform of these h
  // numbers this makes points 0 .. h of that of the real ones. `turns` has exp(-pi i k / h).
  void (*split_halves)(T* data, int64_t h, const T* turns);
  // The reverse. It exchanges the real and the imaginary parts.
  void (*join_halves)(T* data, int64_t h, const T* turns);
};

// Runs a plan on the first `lanes` of points of vectors.
// returns: where the result lies, `data` or `scratch`; null, where a part of a point is not finite
struct FftTable {
  int native_bytes;  // of the lanes that are computed together
  float* (*f32)(const FftPlan<float>& plan, int lanes, float* data, float* scratch);
  double* (*f64)(const FftPlan<double>& plan, int lanes, double* data, double* scratch);
  const FftMoves<float>* moves_f32;
  const FftMoves<double>* moves_f64;
};

extern const FftTable kFftGeneric;
extern const FftTable kFftAvx2;    // where __x86_64__ is defined
extern const FftTable kFftAvx512;  // where __x86_64__ is defined

}  // namespace heddle::cpu
