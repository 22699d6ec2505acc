#include "heddle/linalg/spectra.h"

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

// An option of a LAPACK call: a letter, as JAX writes it.
std::string letter(std::string_view name, char value) {
  return base::cat(name, " = ", static_cast<int>(value), " : ui8");
}

Expr nothing(DType dtype, const Dimensions& shape) { return zeros(shape, dtype); }

// Eigenvalues and eigenvectors.
std::vector<Expr> eigh_of(const Expr& a, const EighOptions& options, bool vectors) {
  const Dimensions batch = batch_of(a);
  const DType real = real_dtype(a.dtype());
  const Shape values(real, with_axes(batch, {rows(a)}));
  if (a.tensor().size() == 0) return {nothing(real, values.dimensions()), a};
  const Expr given = options.symmetrize_input ? hermitian_part(a) : a;
  const std::vector<Expr> out =
      lapack("syevd", {given}, {a.tensor().shape(), values, Shape(s32, batch)},
             base::cat("{", letter("mode", vectors ? 'V' : 'N'), ", ",
                       letter("uplo", options.lower ? 'L' : 'U'), "}"));
  return {if_converged(out[2], out[1]), if_converged(out[2], out[0])};
}

// Eigenvalues and, on request, right eigenvectors.
std::vector<Expr> eig_of(const Expr& a, bool vectors) {
  const DType type = real_dtype(a.dtype()) == f32 ? c64 : c128;
  const Dimensions batch = batch_of(a), per_row = with_axes(batch, {rows(a)});
  if (a.tensor().size() == 0) return {nothing(type, per_row), nothing(type, a.dimensions())};
  const Shape values(a.dtype(), per_row), matrices(type, a.dimensions());
  std::vector<Shape> results = {values};
  if (!is_complex(a.dtype())) results.push_back(values);
  results.insert(results.end(), {matrices, matrices, Shape(s32, batch)});
  const std::vector<Expr> out =
      lapack("geev", {a}, results,
             base::cat("{", letter("compute_left", 'N'), ", ",
                       letter("compute_right", vectors ? 'V' : 'N'), "}"));
  const Expr found =
      is_complex(a.dtype()) ? out[0] : Expr(complex(out[0].operand(), out[1].operand()));
  return {if_converged(out.back(), found), if_converged(out.back(), out[out.size() - 2])};
}

// The matrices with d[.., n] on the diagonal and e[.., n - 1] on both sides of it.
Expr tridiagonal_matrix(const Expr& d, const Expr& e) {
  const int64_t n = columns(d);
  const Expr i = Expr(iota(s32, {n, n}, 0)), j = Expr(iota(s32, {n, n}, 1));
  std::vector<Padding> padding(d.dimensions().size());
  padding.back().high = 1;
  const Expr beside = pad(e.operand(), 0.0, padding);
  const Expr row = expand_dims(beside.operand(), -2);  // element j of e in column j
  return where(i == j, column(d), where(i == j + 1, row, where(j == i + 1, column(beside), 0.0)));
}

// Mode A: all of u and vh; S: the vectors of the singular values; N: neither.
std::vector<Expr> svd_of(const Expr& a, char mode) {
  const int64_t m = rows(a), n = columns(a), least = std::min(m, n);
  const int64_t across = mode == 'A' ? m : least, down = mode == 'A' ? n : least;
  const Dimensions batch = batch_of(a);
  const DType real = real_dtype(a.dtype());
  const Shape s(real, with_axes(batch, {least}));
  if (a.tensor().size() == 0)
    return {identity(a, batch, m, across), nothing(real, s.dimensions()),
            identity(a, batch, down, n)};
  const std::vector<Expr> out =
      lapack("gesdd", {a},
             {a.tensor().shape(), s, Shape(a.dtype(), with_axes(batch, {m, across})),
              Shape(a.dtype(), with_axes(batch, {down, n})), Shape(s32, batch)},
             base::cat("{", letter("mode", mode), "}"));
  const Expr& info = out[4];
  return {if_converged(info, out[2]), if_converged(info, out[1]), if_converged(info, out[3])};
}

}  // namespace

Eigh eigh(Operand operand, const EighOptions& options) {
  const trace_internal::PublicCall call("linalg::eigh", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [&](std::span<const Expr> in) { return eigh_of(in[0], options, true); };
  const KnownOptions known(options.lower, options.symmetrize_input);
  std::vector<Tensor> out = as_program("linalg::eigh", known, {a}, of);
  return {out[0], out[1]};
}

Tensor eigvalsh(Operand operand, const EighOptions& options) {
  const trace_internal::PublicCall call("linalg::eigvalsh", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    return {eigh_of(in[0], options, false)[0]};
  };
  const KnownOptions known(options.lower, options.symmetrize_input);
  return as_program("linalg::eigvalsh", known, {a}, of)[0];
}

Eigh eigh_tridiagonal(Operand diagonal, Operand beside) {
  const trace_internal::PublicCall call("linalg::eigh_tridiagonal", diagonal.at());
  const Expr d = numbers_of("d", diagonal, 1);
  const Expr e = numbers_of("e", beside, 1);
  Dimensions expected = d.dimensions();
  expected.back() = std::max<int64_t>(expected.back() - 1, 0);
  if (is_complex(d.dtype()) || e.tensor().shape() != Shape(d.dtype(), expected)) {
    trace_internal::refuse("d is ", d.tensor().shape(), " and e ", e.tensor().shape(),
                           "; both must be real, of one dtype, and e ", "shorter than d by 1");
  }
  std::vector<Tensor> out = as_program("linalg::eigh_tridiagonal", [&]() -> std::vector<Expr> {
    if (columns(d) == 0) return {d, column(d)};
    return eigh_of(tridiagonal_matrix(d, e), {.symmetrize_input = false}, true);
  });
  return {out[0], out[1]};
}

Eig eig(Operand operand) {
  const trace_internal::PublicCall call("linalg::eig", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [](std::span<const Expr> in) { return eig_of(in[0], true); };
  std::vector<Tensor> out = as_program("linalg::eig", KnownOptions(), {a}, of);
  return {out[0], out[1]};
}

Tensor eigvals(Operand operand) {
  const trace_internal::PublicCall call("linalg::eigvals", operand.at());
  const Expr a = square_of("a", operand);
  return as_program("linalg::eigvals",
                    [&]() -> std::vector<Expr> { return {eig_of(a, false)[0]}; })[0];
}

Svd svd(Operand operand, base::Flag full_matrices) {
  const trace_internal::PublicCall call("linalg::svd", operand.at());
  const Expr a = matrices_of("a", operand);
  const auto of = [&](std::span<const Expr> in) {
    return svd_of(in[0], full_matrices ? 'A' : 'S');
  };
  std::vector<Tensor> out = as_program("linalg::svd", KnownOptions(full_matrices), {a}, of);
  return {out[0], out[1], out[2]};
}

Tensor svdvals(Operand operand) {
  const trace_internal::PublicCall call("linalg::svdvals", operand.at());
  const Expr a = matrices_of("a", operand);
  const auto of = [](std::span<const Expr> in) -> std::vector<Expr> {
    return {svd_of(in[0], 'N')[1]};
  };
  return as_program("linalg::svdvals", KnownOptions(), {a}, of)[0];
}

}  // namespace heddle::linalg
