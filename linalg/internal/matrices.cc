#include "heddle/linalg/internal/matrices.h"

#include <cmath>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/derivative.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/control/custom_call.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

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

Expr numbers_of(std::string_view name, const Operand& x, int64_t rank) {
  const Tensor tensor = as_tensor(x);
  const DType dtype = tensor.dtype();
  if (dtype != f32 && dtype != f64 && dtype != c64 && dtype != c128) {
    trace_internal::refuse(name, " is ", tensor.shape(),
                           "; must be of f32, f64, c64 or c128, cast it with astype(f32)");
  }
  if (tensor.rank() < rank) {
    trace_internal::refuse(name, " is ", tensor.shape(), "; must have rank ", rank, " or more");
  }
  return tensor;
}

Expr matrices_of(std::string_view name, const Operand& x) { return numbers_of(name, x, 2); }

Expr square_of(std::string_view name, const Operand& x) {
  Expr out = matrices_of(name, x);
  if (rows(out) == columns(out)) return out;
  trace_internal::refuse(name, " is ", out.tensor().shape(),
                         "; its last two axes must have the same size");
}

void check_same_dtype(const Expr& a, const Expr& b, std::string_view name) {
  if (a.dtype() == b.dtype()) return;
  trace_internal::refuse(name, " is ", b.tensor().shape(), "; must be of ", to_string(a.dtype()),
                         " as a, cast one with astype");
}

int64_t rows(const Expr& x) { return x.tensor().dim(-2); }
int64_t columns(const Expr& x) { return x.tensor().dim(-1); }

Dimensions batch_of(const Expr& x, size_t count) {
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

std::pair<Expr, Expr> broadcast_batches(const Expr& a, const Expr& b) {
  const Dimensions common =
      broadcast_shapes(Shape(a.dtype(), batch_of(a)), Shape(b.dtype(), batch_of(b)),
                       "the leading axes of the operands");
  const auto stretched = [&](const Expr& x) {
    return Expr(broadcast_to(x.tensor(), with_axes(common, {rows(x), columns(x)})));
  };
  return {stretched(a), stretched(b)};
}

Expr transposed(const Expr& x) { return swapaxes(x.operand(), -2, -1); }

Expr adjoint(const Expr& x) { return conj(transposed(x).operand()); }

Expr product(const Expr& a, const Expr& b) { return matmul(a.operand(), b.operand()); }

Expr identity(const Expr& x, const Dimensions& batch, int64_t m, int64_t n) {
  return broadcast_to(eye(m, n, 0, x.dtype()), with_axes(batch, {m, n}));
}

Expr hermitian_part(const Expr& x) { return (x + adjoint(x)) / 2.0; }

Expr corner(const Expr& x, int64_t m, int64_t n) {
  const Tensor some = slice_in_dim(x.operand(), 0, m, 1, -2);
  return slice_in_dim(some, 0, n, 1, -1);
}

Expr column(const Expr& x) { return expand_dims(x.operand(), -1); }
Expr swept(const Expr& x) { return squeeze(x.operand(), {-1}); }

Expr permuted_rows(const Expr& b, const Expr& permutation) {
  if (b.tensor().size() == 0) return b;
  return take_along_axis(b.operand(), column(permutation).operand(), -2);
}

std::vector<Expr> lapack(std::string_view routine, const std::vector<Expr>& operands,
                         const std::vector<Shape>& results, std::string config) {
  const Expr& first = operands[0];
  std::vector<Tensor> tensors;
  for (const Expr& each : operands) tensors.push_back(each.tensor());
  const std::string target = base::cat("lapack_", std::string(1, letter_of(first.dtype())),
                                       name_for(routine, first.dtype()), "_ffi");
  std::vector<Expr> out;
  for (Tensor& each :
       custom_call(target, tensors, results, {.backend_config = std::move(config), .typed = true}))
    out.push_back(Expr(std::move(each)));
  return out;
}

Expr if_converged(const Expr& info, const Expr& x) {
  Expr converged = info == 0;
  while (converged.tensor().rank() < x.tensor().rank()) converged = column(converged);
  return where(converged, x, NAN);
}

std::vector<Expr> with_derivative(std::string_view name, const Expr& a,
                                  base::FunctionRef<std::vector<Expr>(const Expr& a)> fn) {
  using namespace trace_internal;  // NOLINT: the recorder's words
  const auto traced = [&] {
    Recorder recorder(name);
    std::vector<Tensor> results;
    for (const Expr& each : fn(Expr(recorder.parameter(a.tensor().shape()))))
      results.push_back(each.tensor());
    return std::make_shared<const hlo::Module>(recorder.finish(results, name).module);
  };
  std::vector<Expr> out;
  for (Tensor& each :
       emit_many({.opcode = hlo::Opcode::kCall,
       .operands = {a.tensor()},
       .attrs = hlo::CallAttrs{},
       .called = {traced()},
       .frontend_attributes = {{std::string(hlo::kDerivativeAttribute), std::string(name)}}}))
    out.push_back(Expr(std::move(each)));
  return out;
}

std::vector<Tensor> as_program(std::string_view op, base::FunctionRef<std::vector<Expr>()> fn) {
  return trace_internal::in_program(op, [&] {
    std::vector<Tensor> out;
    for (const Expr& each : fn()) out.push_back(each.tensor());
    return out;
  });
}

}  // namespace heddle::linalg_internal
