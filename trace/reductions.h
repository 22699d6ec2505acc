// Reductions and what is built from them. Names are those of jax.numpy.
//
//   sum(x)                                  over all axes, to a scalar
//   sum(x, {.axes = {-1}, .keep_dims = true})
// errors: all throw Error (InvalidArgument) with the op, what x is, what it had to be, and the
// caller's line
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

struct Reduction {
  std::vector<int64_t> axes = {};  // empty: all; negative axes count from the end
  bool keep_dims = false;          // reduced axes stay, with size 1
};

// sum and prod keep the dtype of x, but for integers of fewer than 32 bits, which give s32 or u32,
// and pred, which gives s32: a count of the true ones.
Tensor sum(Operand x, const Reduction& over = {});   // over no elements 0
Tensor prod(Operand x, const Reduction& over = {});  // the product; over no elements 1
// Complex numbers are ordered by their real parts, then by their imaginary ones. Over no elements
// max and min are errors, as in numpy.
Tensor max(Operand x, const Reduction& over = {});  // the greatest; a NaN is greater
Tensor min(Operand x, const Reduction& over = {});  // the least; a NaN is less
// Of pred: whether all (any) are true; over no elements true (false).
Tensor all(Operand x, const Reduction& over = {});  // of pred: whether all are true
Tensor any(Operand x, const Reduction& over = {});  // of pred: whether one is true

// Of floats and complex numbers. var and std divide by the count minus `ddof`.
Tensor mean(Operand x, const Reduction& over = {});  // of floats and complex numbers
Tensor var(Operand x, const Reduction& over = {}, int64_t ddof = 0);      // variance
Tensor std_dev(Operand x, const Reduction& over = {}, int64_t ddof = 0);  // its root

// Without overflow: the maximum is taken out first.
Tensor logsumexp(Operand x, const Reduction& over = {});  // log(sum(exp(x)))
Tensor softmax(Operand x, int64_t axis = -1);             // exp(x) / sum(exp(x))
Tensor log_softmax(Operand x, int64_t axis = -1);         // its logarithm

// s32 position of the greatest (least) along an axis; the first of equals; a NaN counts as the
// greatest (least).
Tensor argmax(Operand x, int64_t axis, bool keep_dims = false);
// s32 position of the least along an axis; the first of equals; a NaN counts as the least.
Tensor argmin(Operand x, int64_t axis, bool keep_dims = false);
Tensor argmax(Operand x);  // s32[]: the position in the flattened x
Tensor argmin(Operand x);  // likewise

// HLO's reduce: `fn` (a, b) -> a on scalars must be associative, `init` its identity. Several
// operands go together.
using ScalarFn = FunctionRef<std::vector<Tensor>(
    std::span<const Tensor>)>;  // (accumulators.., values..) -> accumulators
// HLO's reduce of several operands by one function of scalars.
std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           ScalarFn fn, const std::vector<int64_t>& axes,
                           SourceLocation at = SourceLocation::here());

}  // namespace heddle
