// Derivatives of factors, triangular systems and Fourier transforms.
//
// source: I. Murray, Differentiation of the Cholesky decomposition (2016); JAX,
// jax/_src/lax/linalg.py and fft.py.
#include <algorithm>

#include "heddle/hlo/derivatives/internal/matrices.h"
#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
Value triangle(const Value& x, bool lower, bool strict) {
  const Value above = lower ? columns(x) : rows(x), below = lower ? rows(x) : columns(x);
  return select(strict ? above < below : above <= below, x, x.graph().zeros(x.shape()));
}

Value diagonal_part(const Value& x) {
  return select(rows(x) == columns(x), x, x.graph().zeros(x.shape()));
}

Value diagonal(const Value& x) { return reduce_sum(diagonal_part(x), {x.rank() - 1}); }

Value hermitian_of(const Value& x, bool lower) {
  const Value strict = triangle(x, lower, true), on = diagonal_part(x);
  return strict + adjoint(strict) +
         (is_complex(x.dtype()) ? complex(real(on), imag(on) * 0.0) : on);
}

Value ones_on_diagonal(const Value& x, int64_t first) {
  const Value at = rows(x);
  const Value is_one = at == columns(x);
  return select(first > 0 ? is_one & (at >= static_cast<double>(first)) : is_one,
                x.graph().full(x.shape(), 1), x.graph().zeros(x.shape()));
}

Value solve(const Value& a, const Value& b, const TriangularSolveAttrs& attrs) {
  const Shape shape = b.shape();
  return a.graph().op(Opcode::kTriangularSolve, {a, b}, attrs, {}, &shape);
}

Value cholesky_jvp(const Value& l, const Value& da) {
  // L^-1 dA L^-H
  const Value right =
      solve(l, hermitian_of(da, true), {.lower = true, .transpose_a = TransposeA::kAdjoint});
  const Value inner = solve(l, right, {.left_side = true, .lower = true});
  return matmul(l, triangle(inner, true, true) + diagonal_part(inner) * 0.5);
}

namespace {

// A as the system has it: op(A), of the triangle that is read.
Value as_read(const Value& a, const TriangularSolveAttrs& attrs) {
  const Value read = triangle(a, attrs.lower, attrs.unit_diagonal);
  switch (attrs.transpose_a) {
    case TransposeA::kTranspose: return swap_last(read);
    case TransposeA::kAdjoint: return adjoint(read);
    default: return read;
  }
}

}  // namespace

StatusOr<Values> jvp_cholesky(const JvpArgs& d) {
  if (d.attrs<CholeskyAttrs>().lower) return Values{cholesky_jvp(d.y[0], d.dx[0])};
  return Values{adjoint(cholesky_jvp(adjoint(d.y[0]), adjoint(d.dx[0])))};
}

// op(A) dX = dB - op(dA) X, or dX op(A) = dB - X op(dA).
StatusOr<Values> jvp_triangular_solve(const JvpArgs& d) {
  const auto& attrs = d.attrs<TriangularSolveAttrs>();
  Value right = d.dx[1];
  if (d.dx[0]) {
    const Value da = as_read(d.dx[0], attrs), &x = d.y[0];
    right = add(right, -(attrs.left_side ? matmul(da, x) : matmul(x, da)));
  }
  return Values{solve(d.x[0], right, attrs)};
}

StatusOr<Values> transpose_triangular_solve(const TransposeArgs& t) {
  if (t.is_linear(0)) return not_linear("its matrix depends on the argument");
  TriangularSolveAttrs attrs = t.attrs<TriangularSolveAttrs>();
  Value a = t.x[0];
  switch (attrs.transpose_a) {
    case TransposeA::kTranspose: attrs.transpose_a = TransposeA::kNoTranspose; break;
    case TransposeA::kAdjoint:
      attrs.transpose_a = TransposeA::kNoTranspose;
      a = conjugate(a);
      break;
    default: attrs.transpose_a = TransposeA::kTranspose;
  }
  return Values{Value(), solve(a, t.ct[0], attrs)};
}

namespace {

Value transform(const Value& x, FftType type, const Dims& length, const Shape& shape) {
  return x.graph().op(Opcode::kFft, {x}, FftAttrs{.fft_type = type, .fft_length = length}, {},
                      &shape);
}

// The adjoint of the first half of the transform of a real array.
Value from_half(const Value& ct, const Dims& length) {
  const int64_t last = ct.rank() - 1;
  const Value whole = pad_end(ct, last, length.back() - ct.size(last));
  return real(transform(whole, FftType::kFft, length, whole.shape()));
}

// The adjoint of an inverse transform of half an array to a real one: frequencies that stand for
// two count twice.
Value to_half(const Value& ct, const Dims& length, const Shape& half_shape) {
  const Value x = transform(ct, FftType::kRfft, length, half_shape);
  const Value place = convert(x.graph().iota(x.sizes(), x.rank() - 1), s32);
  const auto last = static_cast<double>(length.back());
  const Value is_alone = (place == 0.0) | (place * 2.0 == last);
  double scale = 1;
  for (int64_t n : length) scale /= static_cast<double>(n);
  const Value weight =
      select(is_alone, x.graph().full(ct.shape().with_dimensions(x.sizes()), scale),
             x.graph().full(ct.shape().with_dimensions(x.sizes()), 2 * scale));
  return conjugate(x * weight);
}

}  // namespace

StatusOr<Values> transpose_fft(const TransposeArgs& t) {
  const auto& [type, length] = t.attrs<FftAttrs>();
  const Value& ct = t.ct[0];
  switch (type) {
    case FftType::kFft:
    case FftType::kIfft: return Values{transform(ct, type, length, t.shape(0))};
    case FftType::kRfft: return Values{from_half(ct, length)};
    case FftType::kIrfft: return Values{to_half(ct, length, t.shape(0))};
  }
  return Values{Value()};
}

}  // namespace heddle::hlo
