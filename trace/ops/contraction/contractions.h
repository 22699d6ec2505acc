// Products that sum over axes. Names are those of jax.numpy and jax.lax; every one is a single HLO
// dot, with transposes where needed. errors: Error (InvalidArgument) with the op, both operand
// types, the axes that disagree, and the caller's line
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Axes of a dot, in pairs: contracting ones are summed over, batch ones kept once.
struct DotAxes {
  base::Ints lhs_contracting = {};
  base::Ints rhs_contracting = {};
  base::Ints lhs_batch = {};
  base::Ints rhs_batch = {};
};

namespace trace_internal {
// Whether `dtype` has fractions and `than` has none, or both are alike there and `dtype` has at
// least as many bits.
bool is_wider(DType dtype, DType than);
}  // namespace trace_internal

// HLO's dot: result axes are batch, what is left of lhs, what is left of rhs. `result` is its
// dtype: that of lhs unless given (bf16 operands with an f32 result accumulate in f32). cost: 2 *
// (result elements) * (contracted elements) flops
Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes, std::optional<DType> result = {});

// numpy's matmul: [.., n, k] x [.., k, m] -> [.., n, m], leading axes broadcast; vectors are rows
// or columns as needed. Here and below `result` is as that of dot_general.
Tensor matmul(Operand a, Operand b, std::optional<DType> result = {});
// numpy's dot of vectors: sum(a * b) over the last axis of a and the last but one (or only) axis of
// b.
Tensor dot(Operand a, Operand b, std::optional<DType> result = {});
// a[..] x b[..] -> all axes of a, then all of b.
Tensor outer(Operand a, Operand b);
// Sums over the last `axes` axes of a and the first `axes` axes of b.
Tensor tensordot(Operand a, Operand b, base::Int axes = 2, std::optional<DType> result = {});
// Over pairs of axes: a_axes[i] with b_axes[i]; what is left of a, then what is left of b.
Tensor tensordot(Operand a, Operand b, const base::Ints& a_axes, const base::Ints& b_axes,
                 std::optional<DType> result = {});

// einsum("bij,bjk->bik", a, b): explicit or implicit output ("ij,jk"), "..."
// for broadcast leading axes. A letter that stands twice in one operand takes the diagonal; one
// that is missing in the output is summed.
Tensor einsum(std::string_view spec, Operand a, std::optional<DType> result = {});
Tensor einsum(std::string_view spec, Operand a, Operand b, std::optional<DType> result = {});
// Of any number of operands, a pair at a time: next the one whose product is smallest.
Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands, DType result,
              SourceLocation at = SourceLocation::here());
Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands,
              SourceLocation at = SourceLocation::here());
// The same of operands in braces, one too: einsum("ij->i", {x}).
inline Tensor einsum(std::string_view spec, std::initializer_list<Tensor> operands,
                     SourceLocation at = SourceLocation::here()) {
  return einsum(spec, std::vector<Tensor>(operands), at);
}

}  // namespace heddle
