// Runs of elements, converted to and from the three types that evaluation rules compute in: double,
// int64_t and complex<double>.
//
// One conversion per block of elements keeps the switch over dtypes out of the loops, and the
// number of instantiations small:
// a rule is written for double, and serves every float type.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "heddle/hlo/dtype.h"

namespace heddle {

// Reads `count` elements of `dtype`, any array element type, as numbers: exact but for 64-bit
// integers above 2^53, which round to nearest even, or, with kOdd, to the neighbour whose last bit
// is set (so that a second rounding to fewer bits is still right).
// Of complex elements the real part is read.
enum class WideInt : uint8_t { kNearestEven, kOdd };
void load(DType dtype, const std::byte* from, int64_t count, double* to,
          WideInt rounding = WideInt::kNearestEven);
// Integers and pred: exact, u64 as its bits. Floats: truncated towards zero, saturated, NaN is 0.
void load(DType dtype, const std::byte* from, int64_t count, int64_t* to);
// Real elements get the imaginary part +0.
void load(DType dtype, const std::byte* from, int64_t count, std::complex<double>* to);

// Writes `count` numbers as elements of `dtype`, as HLO's convert does: floats are rounded once, to
// nearest even; integers saturate and take NaN as 0; pred is "not zero"; complex elements get the
// imaginary part +0.
void store(DType dtype, const double* from, int64_t count, std::byte* to);
// Integers wrap to the width; pred is "not zero"; floats take the number as signed, rounded once to
// nearest even.
void store(DType dtype, const int64_t* from, int64_t count, std::byte* to);
// Elements of a real type get the real part; pred is "not zero", in either part.
void store(DType dtype, const std::complex<double>* from, int64_t count, std::byte* to);

// Elements as those of another type, as HLO's convert does: each the nearest; to integers toward
// zero, saturated, NaN is 0; integers to integers wrap; to pred: not zero; complex to real drops
// the imaginary part.
void convert_elements(DType from, const std::byte* x, DType to, std::byte* out, int64_t count);

}  // namespace heddle
