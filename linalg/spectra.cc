#include "heddle/linalg/spectra.h"

#include <algorithm>

#include "heddle/base/strings.h"
#include "heddle/linalg/internal/matrices.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

// An option of a LAPACK call: a letter, as JAX writes it.
std::string letter(std::string_view name, char value) {
  return cat(name, " = ", static_cast<int>(value), " : ui8");
}

Located nothing(const Located& x, DType dtype, const Dimensions& shape) {
  return x.with(zeros(shape, dtype, x.at()));
}

// Eigenvalues and eigenvectors.
std::vector<Located> eigh_of(const Located& a, const EighOptions& options, bool vectors) {
  const Dimensions batch = batch_of(a);
  const DType real = real_dtype(a.dtype());
  const Shape values(real, with_axes(batch, {rows(a)}));
  if (a.tensor().size() == 0) return {nothing(a, real, values.dimensions()), a};
  const Located given = options.symmetrize_input ? hermitian_part(a) : a;
  const std::vector<Located> out =
      lapack("syevd", {given}, {a.tensor().shape(), values, Shape(s32, batch)},
             cat("{", letter("mode", vectors ? 'V' : 'N'), ", ",
                 letter("uplo", options.lower ? 'L' : 'U'), "}"));
  return {if_converged(out[2], out[1]), if_converged(out[2], out[0])};
}

// Mode A: all of u and vh; S: as much as the values need; N: neither.
std::vector<Located> svd_of(const Located& a, char mode) {
  const int64_t m = rows(a), n = columns(a), least = std::min(m, n);
  const int64_t across = mode == 'A' ? m : least, down = mode == 'A' ? n : least;
  const Dimensions batch = batch_of(a);
  const DType real = real_dtype(a.dtype());
  const Shape s(real, with_axes(batch, {least}));
  if (a.tensor().size() == 0)
    return {identity(a, batch, m, across), nothing(a, real, s.dimensions()),
            identity(a, batch, down, n)};
  const std::vector<Located> out =
      lapack("gesdd", {a},
             {a.tensor().shape(), s, Shape(a.dtype(), with_axes(batch, {m, across})),
              Shape(a.dtype(), with_axes(batch, {down, n})), Shape(s32, batch)},
             cat("{", letter("mode", mode), "}"));
  const Located& info = out[4];
  return {if_converged(info, out[2]), if_converged(info, out[1]), if_converged(info, out[3])};
}

}  // namespace

Eigh eigh(Operand operand, const EighOptions& options) {
  const Located a = square_of("eigh", "a", operand);
  std::vector<Tensor> out = as_program("eigh", a.at(), [&] { return eigh_of(a, options, true); });
  return {out[0], out[1]};
}

Tensor eigvalsh(Operand operand, const EighOptions& options) {
  const Located a = square_of("eigvalsh", "a", operand);
  return as_program("eigvalsh", a.at(),
                    [&]() -> std::vector<Located> { return {eigh_of(a, options, false)[0]}; })[0];
}

Svd svd(Operand operand, bool full_matrices) {
  const Located a = matrices_of("svd", "a", operand);
  std::vector<Tensor> out =
      as_program("svd", a.at(), [&] { return svd_of(a, full_matrices ? 'A' : 'S'); });
  return {out[0], out[1], out[2]};
}

Tensor svdvals(Operand operand) {
  const Located a = matrices_of("svdvals", "a", operand);
  return as_program("svdvals", a.at(),
                    [&]() -> std::vector<Located> { return {svd_of(a, 'N')[1]}; })[0];
}

}  // namespace heddle::linalg
