// The discrete Fourier transform of one row, of any length.
#pragma once

#include <complex>
#include <memory>

namespace heddle::interpreter {

// X[k] = sum over j of x[j] exp(-2 pi i j k / n), or with +2 pi i for the inverse, which divides by
// nothing.
//
// By the factors of n (Cooley and Tukey, 1965), each of which costs its own size a element; lengths
// with a large prime factor go through a convolution of a power of two (Bluestein, 1970). The error
// is some units of double times log n.
class Fourier {
 public:
  explicit Fourier(size_t n);
  ~Fourier();
  Fourier(Fourier&&) noexcept;
  Fourier& operator=(Fourier&&) noexcept;

  // In place, of n elements.
  void run(std::complex<double>* x, bool inverse) const;

 private:
  struct Plan;
  std::unique_ptr<const Plan> plan_;
};

}  // namespace heddle::interpreter
