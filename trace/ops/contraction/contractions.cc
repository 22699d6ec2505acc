#include "heddle/trace/ops/contraction/contractions.h"

#include <algorithm>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::dot_dimensions;
using hlo::Opcode;
using trace_internal::axes_of;
using trace_internal::known_program;
using trace_internal::KnownOptions;
using trace_internal::one_program;
using trace_internal::PublicCall;

Tensor dot_of(std::string_view op, const Tensor& lhs, const Tensor& rhs, const DotAxes& axes,
              std::optional<DType> result) {
  if (lhs.dtype() != rhs.dtype() && !result) {
    trace_internal::refuse("operands are ", lhs.shape(), " and ", rhs.shape(),
                           "; their dtypes must be equal, ", cast_advice(lhs, rhs));
  }
  hlo::DotAttrs attrs{.lhs_batch_dims = axes_of(lhs.shape(), axes.lhs_batch),
                      .lhs_contracting_dims = axes_of(lhs.shape(), axes.lhs_contracting),
                      .rhs_batch_dims = axes_of(rhs.shape(), axes.rhs_batch),
                      .rhs_contracting_dims = axes_of(rhs.shape(), axes.rhs_contracting)};
  Shape declared(result.value_or(lhs.dtype()), dot_dimensions(lhs.shape(), rhs.shape(), attrs));
  return one_program(op, [&] {
    return trace_internal::emit(
        {.opcode = Opcode::kDot, .operands = {lhs, rhs}, .attrs = attrs, .declared = declared});
  });
}

// a and b with their leading axes (all but the last `keep`) broadcast to each other.
std::pair<Tensor, Tensor> broadcast_leading(const Tensor& a, const Tensor& b) {
  auto leading = [](const Tensor& t) {
    return Shape(t.dtype(),
                 Dimensions(t.shape().dimensions().begin(), t.shape().dimensions().end() - 2));
  };
  const std::optional<Dimensions> both = common_dimensions(leading(a), leading(b));
  if (!both)
    trace_internal::refuse("operands are ", a.shape(), " and ", b.shape(),
                           "; the sizes of the axes before the last two must be equal or 1, "
                           "counted from the last of them");
  const Dimensions& common = *both;
  auto stretch = [&](const Tensor& t) {
    Dimensions shape = common;
    shape.insert(shape.end(), t.shape().dimensions().end() - 2, t.shape().dimensions().end());
    return broadcast_to(t, shape);
  };
  return {stretch(a), stretch(b)};
}

[[noreturn]] void throw_matmul(const Tensor& a, const Tensor& b) {
  const bool is_vector = b.rank() == 1;
  const int64_t columns = a.dim(-1), rows = b.dim(is_vector ? -1 : -2);
  const bool fits_turned = a.rank() == 2 && a.dim(0) == rows;
  trace_internal::refuse("operands are ", a.shape(), " and ", b.shape(),
                         "; the last axis of the first has size ", columns, ", ",
                         is_vector ? "the second" : "the last but one of the second", " ", rows,
                         "; they must be equal", fits_turned ? ", as of transpose(x)" : "");
}

// A weight matrix against anything: no broadcast is needed, the free axes stay in place.
Tensor matmul_matrices(const Tensor& a, const Tensor& b, std::optional<DType> result) {
  if (b.rank() == 2)
    return dot_of("matmul", a, b, {.lhs_contracting = {-1}, .rhs_contracting = {0}}, result);
  auto [x, y] = broadcast_leading(a, b);
  const std::vector<int64_t> batch = consecutive_dimensions(x.rank() - 2);
  return dot_of(
      "matmul", x, y,
      {.lhs_contracting = {-1}, .rhs_contracting = {-2}, .lhs_batch = batch, .rhs_batch = batch},
      result);
}

}  // namespace

bool trace_internal::is_wider(DType dtype, DType than) {
  if (is_complex(than) && !is_complex(dtype)) return false;
  const bool has_fractions = is_floating(dtype) || is_complex(dtype);
  if (has_fractions && !is_floating(than) && !is_complex(than)) return true;
  return has_fractions == (is_floating(than) || is_complex(than)) &&
         bit_width(dtype) >= bit_width(than);
}

Tensor dot_general(Operand lhs, Operand rhs, const DotAxes& axes, std::optional<DType> result) {
  const PublicCall call("dot_general", lhs.at());
  const auto of = [&](std::span<const Tensor> xs) {
    return dot_general(xs[0], xs[1], axes, result);
  };
  const KnownOptions options(axes.lhs_contracting, axes.rhs_contracting, axes.lhs_batch,
                             axes.rhs_batch, result);
  if (Tensor made = known_program("dot_general", options, {lhs, rhs}, of); made.is_valid())
    return made;
  return dot_of("dot_general", as_tensor(lhs), as_tensor(rhs), axes, result);
}

Tensor matmul(Operand left, Operand right, std::optional<DType> result) {
  const PublicCall call("matmul", left.at());
  const auto of = [&](std::span<const Tensor> xs) { return matmul(xs[0], xs[1], result); };
  if (Tensor made = known_program("matmul", KnownOptions(result), {left, right}, of);
      made.is_valid())
    return made;
  Tensor a = as_tensor(left);
  Tensor b = as_tensor(right);
  if (a.rank() == 0 || b.rank() == 0) {
    trace_internal::refuse("operands are ", a.shape(), " and ", b.shape(),
                           "; a scalar has no axis to sum over, use *");
  }
  if (a.dim(-1) != b.dim(b.rank() == 1 ? 0 : -2)) throw_matmul(a, b);
  return one_program("matmul", [&] {
    if (b.rank() == 1)
      return dot_of("matmul", a, b, {.lhs_contracting = {-1}, .rhs_contracting = {0}}, result);
    if (a.rank() == 1) {
      Tensor row = matmul_matrices(reshape(a, {1, a.dim(0)}), b, result);
      return squeeze(row, {-2});
    }
    return matmul_matrices(a, b, result);
  });
}

Tensor dot(Operand left, Operand right, std::optional<DType> result) {
  const PublicCall call("dot", left.at());
  Tensor a = as_tensor(left);
  Tensor b = as_tensor(right);
  if (a.rank() == 0 || b.rank() == 0) {
    if (!result.has_value()) return multiply(left, right);
    return trace_internal::is_wider(*result, a.dtype())
               ? multiply(a.astype(*result), b.astype(*result))
               : multiply(a, b).astype(*result);
  }
  return dot_of("dot", a, b, {.lhs_contracting = {-1}, .rhs_contracting = {b.rank() == 1 ? 0 : -2}},
                result);
}

Tensor outer(Operand a, Operand b) {
  const PublicCall call("outer", a.at());
  return dot_of("outer", as_tensor(a), as_tensor(b), {}, {});
}

Tensor tensordot(Operand left, Operand right, base::Int axes, std::optional<DType> result) {
  const PublicCall call("tensordot", left.at());
  Tensor a = as_tensor(left);
  Tensor b = as_tensor(right);
  if (axes < 0 || axes > a.rank() || axes > b.rank()) {
    trace_internal::refuse("axes is ", axes, "; operands are ", a.shape(), " and ", b.shape(),
                           ", sum over at most as many axes as each has");
  }
  DotAxes pairs;
  for (int64_t i = 0; i < axes; ++i) {
    pairs.lhs_contracting.push_back(a.rank() - axes + i);
    pairs.rhs_contracting.push_back(i);
  }
  return dot_of("tensordot", a, b, pairs, result);
}

Tensor tensordot(Operand left, Operand right, const base::Ints& a_axes, const base::Ints& b_axes,
                 std::optional<DType> result) {
  const PublicCall call("tensordot", left.at());
  Tensor a = as_tensor(left);
  Tensor b = as_tensor(right);
  if (a_axes.size() != b_axes.size()) {
    trace_internal::refuse("has ", a_axes.size(), " axes of a and ", b_axes.size(),
                           " of b; give as many of both");
  }
  return dot_of("tensordot", a, b, {.lhs_contracting = a_axes, .rhs_contracting = b_axes}, result);
}

}  // namespace heddle
