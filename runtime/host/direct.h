// Direct kernels: one elementwise operation on small arrays, without a program. Where nothing is
// traced an add of four floats is a call of a function, and no compiler is asked for it. Private to
// Heddle; trace/internal/eager.h is what ops use.
//
// A backend whose buffers lie in host memory, and whose runs are done when they return, may give
// its devices a table of them (HostBackend::use_direct_kernels). A kernel's results are those of
// the backend's own programs, bit for bit but for the payload of a NaN. `out` may be x or y itself,
// where its elements are of the same size.
#pragma once

#include <cstdint>
#include <span>

#include "heddle/runtime/backend.h"

namespace heddle::runtime {

enum class DirectOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,
  kMinimum,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  // Of one operand, the first.
  kNegate,
  kAbs,
  kSqrt,
};
inline constexpr size_t kDirectOps = static_cast<size_t>(DirectOp::kSqrt) + 1;
constexpr bool is_unary(DirectOp op) { return op >= DirectOp::kNegate; }
constexpr bool is_comparison(DirectOp op) {
  return op >= DirectOp::kEqual && op <= DirectOp::kGreaterEqual;
}

// What the operands are: two arrays, or an array and one element that stands for all.
enum class DirectForm : uint8_t { kArrays, kSecondIsOne, kFirstIsOne };
inline constexpr size_t kDirectForms = 3;

// Element types that there are kernels for.
inline constexpr DType kDirectTypes[] = {DType::kF32, DType::kF64, DType::kS32, DType::kS64};
inline constexpr size_t kDirectTypeCount = std::size(kDirectTypes);

using DirectKernel = void (*)(const void* x, const void* y, void* out, int64_t count);

struct DirectKernels {
  DirectKernel table[kDirectOps][kDirectTypeCount][kDirectForms];  // null: none
};

// Larger arrays are left to programs, which share loops among threads.
inline constexpr int64_t kMostDirectBytes = int64_t{64} << 10;

// An operand: a buffer, or a number of the other one's element type.
struct DirectOperand {
  Buffer* buffer = nullptr;
  const void* number = nullptr;
};

// The result of op(x, y), counted in `executions` (and `number_operands`, for a number); y is
// nothing for one operand. Operands are of one element type; shapes are equal, or one is a scalar.
//
// returns  null where this cannot be done directly: a program can, or says what is wrong
[[nodiscard]] BufferPtr run_direct(DirectOp op, DirectOperand x, DirectOperand y);

// The same, written over `into`, an operand that nobody reads again.
//
// returns  false, and nothing is written, where run_direct() has to be asked: also where something
//          else may see the memory of `into`, as a view of it or a run that has not ended
[[nodiscard]] bool run_direct_into(DirectOp op, DirectOperand x, DirectOperand y, Buffer& into);

// Where the bytes of a buffer lie, for a comparison; of a device that has kernels. Null: nowhere.
[[nodiscard]] const void* address_of(Buffer& buffer);

// The parts, of one element type, side by side as an array of this shape: each gives its share of
// every one of `blocks`, which follow each other. Counted in `executions`. It waits for the parts.
// returns  null where this cannot be done directly, such as for more than 16 MiB
[[nodiscard]] BufferPtr join(std::span<Buffer* const> parts, int64_t blocks, const Shape& shape);

// An array of this shape whose elements are all `element`, as bytes. Counted in `executions`.
// returns  null where this cannot be done directly, such as for more than 16 MiB
[[nodiscard]] BufferPtr fill(Device& device, const Shape& shape, const void* element);

// x[position], for a position from 0 to the size of axis 0, counted likewise.
// returns  null where this cannot be done directly
[[nodiscard]] BufferPtr copy_row(Buffer& x, int64_t position);

// The elements of x from `starts` on, so many along each axis, as an array of `shape`. They lie
// inside x. Counted in `executions`, the starts in `number_operands`. It waits for x.
// returns  null where this cannot be done directly, such as for more than 16 MiB, or for many
//          short pieces
[[nodiscard]] BufferPtr copy_part(Buffer& x, std::span<const int64_t> starts,
                                  std::span<const int64_t> sizes, const Shape& shape);

}  // namespace heddle::runtime
