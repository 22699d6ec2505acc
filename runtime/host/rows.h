// Rows of arrays that lie in host memory: copied without a program, so that no size of axis 0 costs
// a compile. compile/bucket.cc pads arguments and cuts results with them.
#pragma once

#include <cstdint>

#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// x with `rows` rows, as many as it has or more. Those that it lacks are `filler`, one element of
// its type; where that is no literal, its last row again, of which it must have one.
//
// returns  null where x is not in memory of the host that is read as it is: a program can do it
// errors   that of the run that should have made x; FailedPrecondition where it is deleted;
//          ResourceExhausted
// cost     waits for x; a copy within the host's memory, which is no transfer
[[nodiscard]] StatusOr<BufferPtr> with_rows(Buffer& x, int64_t rows, const Literal& filler);

// The first `rows` rows of x; the rest as with_rows().
[[nodiscard]] StatusOr<BufferPtr> first_rows(Buffer& x, int64_t rows);

}  // namespace heddle::runtime
