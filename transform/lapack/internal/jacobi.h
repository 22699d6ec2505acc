// Jacobi's rotations of pairs of vectors, n/2 disjoint pairs at once. Vectors stand in positions 0
// .. n-1, n even, and position i of the first half is paired with position i of the second. After
// each round all but the first move on by one position. So in n-1 rounds, a sweep, each vector has
// met each other one, and is back in its place.
#pragma once

#include "heddle/transform/lapack/internal/arrays.h"

namespace heddle::transform::lapack {

inline constexpr int64_t kMaxSweeps = 40;  // n = 1000 takes about 12

// The distance from 1 to the next number of the real type, or of a complex type's parts.
double epsilon_of(DType dtype);

// Of [b,h,1], one a pair: p := cosine p - conj(sine) q, q := sine p + cosine q makes diagonal a
// matrix of products [first, coupling; conj(coupling), second].
struct Rotations {
  Array versine;  // real: 1 - cosine. near the end angles are small, where 1 - cosine keeps digits
  Array sine;     // of the coupling's type
  Array change;   // real: first loses and second gains it
};
Rotations rotations(const Array& first, const Array& second, const Array& coupling);

// The two halves along a dimension, of h positions each, joined and moved on.
Array moved_on(const Array& first, const Array& second, int64_t dimension);
// The pair number of each vector's new position: s32[2h].
Array pair_numbers(Scope& scope, int64_t pairs);

// p := (1 - versine) p + f q, q := g p + (1 - versine) q of the halves of x along the dimension,
// then moved on.
Array turned(const Array& x, int64_t dimension, const Array& versine, const Array& f,
             const Array& g);

// a / scale for each matrix of [b,m,n]. The scale is a power of two near its greatest part, so that
// squares neither overflow nor vanish. A matrix that is not finite becomes zeros.
struct Scaled {
  Array matrix;
  Array scale;      // real [b,1,1]
  Array is_finite;  // pred [b,1,1]
};
Scaled scaled(const Array& a);

// s32[b]: 0 where the predicate [b,1,1] is true, else 1.
Array info_of(const Array& is_good);

}  // namespace heddle::transform::lapack
