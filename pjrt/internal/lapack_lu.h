// LU factorisation with partial pivoting, as HLO.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "heddle/hlo/dtype.h"

namespace heddle::pjrt {

struct LuSignature {
  DType dtype = DType::kInvalid;
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  friend auto operator<=>(const LuSignature&, const LuSignature&) = default;
};

// Returns the text of a module, T[batch,m,n] -> (T[batch,m,n], s32[batch,p], s32[batch]) with
// p = min(m, n): the factors in one matrix, the pivots counted from 1, and the number of the first
// pivot that is zero, else 0. As LAPACK's getrf; in getf2's order of operations.
[[nodiscard]] std::string lu_text(const LuSignature& signature);

}  // namespace heddle::pjrt
