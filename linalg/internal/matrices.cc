#include "heddle/linalg/internal/matrices.h"

#include <cmath>

#include "heddle/trace/axes.h"
#include "heddle/trace/contractions.h"
#include "heddle/trace/custom_call.h"
#include "heddle/trace/error.h"
#include "heddle/trace/floats.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/selecting.h"

namespace heddle::linalg_internal {
namespace {

// LAPACK's letter of a type: its routines have it before their name.
char letter_of(DType dtype) {
  if (dtype == f32) return 's';
  if (dtype == f64) return 'd';
  return dtype == c64 ? 'c' : 'z';
}

// Orthogonal and symmetric matrices are unitary and Hermitian ones in the complex routines' names.
std::string_view name_for(std::string_view routine, DType dtype) {
  if (is_complex(dtype) && routine == "orgqr") return "ungqr";
  if (is_complex(dtype) && routine == "syevd") return "heevd";
  return routine;
}

}  // namespace

Located numbers_of(std::string_view op, std::string_view name, const Operand& x, int64_t rank) {
  const Tensor tensor = as_tensor(x);
  const DType dtype = tensor.dtype();
  if (dtype != f32 && dtype != f64 && dtype != c64 && dtype != c128) {
    throw Error(trace_internal::invalid_argument(
                    op, ": ", name, " is ", tensor.shape(),
                    "; must be of f32, f64, c64 or c128, cast it with astype(f32)"),
                x.at());
  }
  if (tensor.rank() < rank) {
    throw Error(trace_internal::invalid_argument(op, ": ", name, " is ", tensor.shape(),
                                                 "; must have rank ", rank, " or more"),
                x.at());
  }
  return {tensor, x.at()};
}

Located matrices_of(std::string_view op, std::string_view name, const Operand& x) {
  return numbers_of(op, name, x, 2);
}

Located square_of(std::string_view op, std::string_view name, const Operand& x) {
  Located out = matrices_of(op, name, x);
  if (rows(out) == columns(out)) return out;
  throw Error(trace_internal::invalid_argument(op, ": ", name, " is ", out.tensor().shape(),
                                               "; its last two axes must have the same size"),
              x.at());
}

void check_same_dtype(std::string_view op, const Located& a, const Located& b,
                      std::string_view name) {
  if (a.dtype() == b.dtype()) return;
  throw Error(
      trace_internal::invalid_argument(op, ": ", name, " is ", b.tensor().shape(), "; must be of ",
                                       to_string(a.dtype()), " as a, cast one with astype"),
      a.at());
}

int64_t rows(const Located& x) { return x.tensor().dim(-2); }
int64_t columns(const Located& x) { return x.tensor().dim(-1); }

Dimensions batch_of(const Located& x, size_t count) {
  const Dimensions& all = x.dimensions();
  return {all.begin(), all.end() - static_cast<std::ptrdiff_t>(count)};
}

Dimensions with_axes(Dimensions batch, std::initializer_list<int64_t> axes) {
  batch.insert(batch.end(), axes);
  return batch;
}

DType real_dtype(DType dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == c64 ? f32 : f64;
}

double epsilon_of(DType dtype) { return float_limits(real_dtype(dtype)).epsilon; }

std::pair<Located, Located> broadcast_batches(const Located& a, const Located& b) {
  const Dimensions common =
      broadcast_shapes(Shape(a.dtype(), batch_of(a)), Shape(b.dtype(), batch_of(b)), a.at(),
                       "the leading axes of the operands");
  const auto stretched = [&](const Located& x) {
    return x.with(broadcast_to(x.tensor(), with_axes(common, {rows(x), columns(x)}), x.at()));
  };
  return {stretched(a), stretched(b)};
}

Located transposed(const Located& x) { return x.with(swapaxes(x.operand(), -2, -1)); }

Located adjoint(const Located& x) { return x.with(conj(transposed(x).operand())); }

Located product(const Located& a, const Located& b) {
  return a.with(matmul(a.operand(), b.operand()));
}

Located identity(const Located& x, const Dimensions& batch, int64_t m, int64_t n) {
  return x.with(broadcast_to(eye(m, n, 0, x.dtype(), x.at()), with_axes(batch, {m, n}), x.at()));
}

Located hermitian_part(const Located& x) { return (x + adjoint(x)) / 2.0; }

Located corner(const Located& x, int64_t m, int64_t n) {
  const Tensor some = slice_in_dim(x.operand(), 0, m, 1, -2);
  return x.with(slice_in_dim({some, x.at()}, 0, n, 1, -1));
}

Located column(const Located& x) { return x.with(expand_dims(x.operand(), -1)); }
Located swept(const Located& x) { return x.with(squeeze(x.operand(), {-1})); }

Located permuted_rows(const Located& b, const Located& permutation) {
  if (b.tensor().size() == 0) return b;
  return b.with(take_along_axis(b.operand(), column(permutation).operand(), -2));
}

std::vector<Located> lapack(std::string_view routine, const std::vector<Located>& operands,
                            const std::vector<Shape>& results, std::string config) {
  const Located& first = operands[0];
  std::vector<Tensor> tensors;
  for (const Located& each : operands) tensors.push_back(each.tensor());
  const std::string target = base::cat("lapack_", std::string(1, letter_of(first.dtype())),
                                       name_for(routine, first.dtype()), "_ffi");
  std::vector<Located> out;
  for (Tensor& each : custom_call(target, tensors, results,
                                  {.backend_config = std::move(config), .typed = true}, first.at()))
    out.push_back(first.with(std::move(each)));
  return out;
}

Located if_converged(const Located& info, const Located& x) {
  Located converged = info == 0;
  while (converged.tensor().rank() < x.tensor().rank()) converged = column(converged);
  return where(converged, x, NAN);
}

std::vector<Tensor> as_program(std::string_view op, SourceLocation at,
                               base::FunctionRef<std::vector<Located>()> fn) {
  return trace_internal::in_program(op, at, [&] {
    std::vector<Tensor> out;
    for (const Located& each : fn()) out.push_back(each.tensor());
    return out;
  });
}

}  // namespace heddle::linalg_internal
