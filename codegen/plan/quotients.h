// Quotients by constants, as products of the divisor's inverse in two parts.
#pragma once

#include <optional>

namespace heddle::cpu {

// fma(x, high, x * low) is x / divisor as the division rounds it, wherever x * low is a normal
// number, and of zeros and infinities.
template <class T>
struct InverseParts {
  T high = 0;
  T low = 0;    // of the sign of `high`, so that zeros keep theirs
  T least = 0;  // |x| from which on x * low is a normal number, a power of two
};

// None: the inverse or its part is no normal number, or some quotient would round otherwise.
// source: Brisebarre, Muller, Raina, Accelerating Correctly Rounded Floating-Point Division When
// the Divisor Is Known in Advance, 2004
template <class T>
std::optional<InverseParts<T>> inverse_in_parts(T divisor);

extern template std::optional<InverseParts<float>> inverse_in_parts(float);
extern template std::optional<InverseParts<double>> inverse_in_parts(double);

}  // namespace heddle::cpu
