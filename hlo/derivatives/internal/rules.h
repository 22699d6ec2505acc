// The rules, by topic. A rule serves several ops where they are one row of a formula each.
#pragma once

#include <optional>

#include "heddle/hlo/derivative.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/value.h"

namespace heddle::hlo {

// Of transposes: the instruction is not linear in its absent operands.
inline Status not_linear(std::string_view why) { return base::invalid_argument(why); }
inline constexpr std::string_view kBothDepend = "both of its operands depend on the argument";

// elementwise.cc
StatusOr<Values> jvp_of_zero(const JvpArgs& d);  // steps: sign, floor, ..
StatusOr<Values> jvp_unary(const JvpArgs& d);
StatusOr<Values> jvp_binary(const JvpArgs& d);
StatusOr<Values> jvp_clamp(const JvpArgs& d);
StatusOr<Values> jvp_select(const JvpArgs& d);
StatusOr<Values> jvp_convert(const JvpArgs& d);
StatusOr<Values> jvp_complex(const JvpArgs& d);
StatusOr<Values> transpose_elementwise(const TransposeArgs& t);

// movement.cc
StatusOr<Values> jvp_linear(const JvpArgs& d);  // linear in every operand of floats
StatusOr<Values> transpose_movement(const TransposeArgs& t);
StatusOr<Values> transpose_dynamic(const TransposeArgs& t);

// indexing.cc
StatusOr<Values> jvp_scatter(const JvpArgs& d);
StatusOr<Values> jvp_sort(const JvpArgs& d);
StatusOr<Values> jvp_topk(const JvpArgs& d);
StatusOr<Values> transpose_gather(const TransposeArgs& t);
StatusOr<Values> transpose_scatter(const TransposeArgs& t);
// x at flat positions; and along a dimension, where `at` has x's other sizes.
Value take(const Value& x, const Value& at);
Value take_along(const Value& x, const Value& at, int64_t dimension);

// reductions.cc
StatusOr<Values> jvp_reduce(const JvpArgs& d);
StatusOr<Values> jvp_reduce_window(const JvpArgs& d);
StatusOr<Values> jvp_select_and_scatter(const JvpArgs& d);
StatusOr<Values> transpose_reduce(const TransposeArgs& t);
StatusOr<Values> transpose_reduce_window(const TransposeArgs& t);
StatusOr<Values> transpose_select_and_scatter(const TransposeArgs& t);
// Of the product along dimensions that are not empty, which are of size 1 in it.
Value tangent_of_product(Value x, Value dx, const Dims& reduced);
// The op that a computation of two scalars is, if it is one.
std::optional<Opcode> op_of(const Computation& computation);

// batch_norm.cc
StatusOr<Values> jvp_batch_norm(const JvpArgs& d);

// ragged_dot.cc
StatusOr<Values> jvp_ragged_dot(const JvpArgs& d);
StatusOr<Values> transpose_ragged_dot(const TransposeArgs& t);

// scaled_dot.cc
StatusOr<Values> jvp_scaled_dot(const JvpArgs& d);
StatusOr<Values> transpose_scaled_dot(const TransposeArgs& t);

// contractions.cc
StatusOr<Values> jvp_bilinear(const JvpArgs& d);
StatusOr<Values> transpose_dot(const TransposeArgs& t);
// The cotangent of one operand of a dot, of this shape, from the other one.
Value transpose_dot(const Value& ct, const DotAttrs& attrs, const Shape& shape, const Value& other,
                    bool of_left);
StatusOr<Values> transpose_convolution(const TransposeArgs& t);

// factors.cc
StatusOr<Values> jvp_cholesky(const JvpArgs& d);
StatusOr<Values> jvp_triangular_solve(const JvpArgs& d);
StatusOr<Values> transpose_triangular_solve(const TransposeArgs& t);
StatusOr<Values> transpose_fft(const TransposeArgs& t);

// lapack.cc
StatusOr<Values> jvp_lapack(const JvpArgs& d);  // custom calls of these routines
bool has_jvp_of_lapack(std::string_view routine);
StatusOr<Values> jvp_by_name(const JvpArgs& d);  // of derivative_name()

// collectives.cc
StatusOr<Values> jvp_together(const JvpArgs& d);
StatusOr<Values> transpose_together(const TransposeArgs& t);
StatusOr<Values> transpose_permute(const TransposeArgs& t);
StatusOr<Values> transpose_broadcast_together(const TransposeArgs& t);
StatusOr<Values> transpose_collective_reduce(const TransposeArgs& t);
StatusOr<Values> jvp_ragged_all_to_all(const JvpArgs& d);
StatusOr<Values> transpose_ragged_all_to_all(const TransposeArgs& t);

}  // namespace heddle::hlo
