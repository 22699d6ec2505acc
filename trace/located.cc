#include "heddle/trace/located.h"

namespace heddle::trace_internal {

Located polynomial(const Located& x, std::span<const double> coefficients) {
  Located sum = x.like(coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = sum * x + c;
  return sum;
}

}  // namespace heddle::trace_internal
