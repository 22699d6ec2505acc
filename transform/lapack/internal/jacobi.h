// Jacobi's rotations of pairs of vectors, n/2 disjoint pairs at once. Vectors stand in positions 0
// .. n-1, n even, and position i of the first half is paired with position i of the second. After
// each round all but the first move on by one position, so that in n-1 rounds, a sweep, each has
// met each, and is where it was.
#pragma once

#include "heddle/transform/lapack/internal/arrays.h"

namespace heddle::transform::lapack {

inline constexpr int64_t kMaxSweeps = 40;  // n = 1000 takes about 12

// From 1 up to the next number of the real type, or of the parts of the complex one.
double epsilon_of(DType dtype);

// Of [b,h,1], one a pair: p := cosine p - conj(sine) q, q := sine p + cosine q makes diagonal a
// matrix of products [first, coupling; conj(coupling), second].
struct Rotations {
  Array versine;  // real: 1 - cosine. Near the end angles are small, and it has digits to lose
  Array sine;     // of the coupling's type
  Array change;   // real: first loses and second gains it
};
Rotations rotations(const Array& first, const Array& second, const Array& coupling);

// The halves along a dimension, of h positions each, as one, moved on.
Array moved_on(const Array& first, const Array& second, int64_t dimension);
// The pair number of the position that each vector has moved on to: s32[2h].
Array pair_numbers(Scope& scope, int64_t pairs);

// p := (1 - versine) p + f q, q := g p + (1 - versine) q of the halves of x along the dimension,
// then moved on.
Array turned(const Array& x, int64_t dimension, const Array& versine, const Array& f,
             const Array& g);

// a / scale, a power of two near its greatest part, for each matrix of [b,m,n]: squares neither
// overflow nor vanish. Zeros stand for a matrix that is not finite.
struct Scaled {
  Array matrix;
  Array scale;      // real [b,1,1]
  Array is_finite;  // pred [b,1,1]
};
Scaled scaled(const Array& a);

// s32[b]: 0 where the predicate [b,1,1] is true, else 1.
Array info_of(const Array& is_good);

}  // namespace heddle::transform::lapack
