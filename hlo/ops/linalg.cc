// cholesky(a), triangular-solve(a, b): factors and solutions in the last two dimensions; those
// before are a batch. Computed in double and rounded once.
#include <cmath>
#include <limits>

#include "heddle/hlo/linalg/internal/batch.h"
#include "heddle/hlo/linalg/internal/solve.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

using linalg::Complex;
using linalg::Matrix;

// Operand i is a batch of square matrices of floats.
Status check_square(const InferArgs& in, size_t i) {
  HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
  int64_t rank = in[i].rank();
  bool numbers = is_floating(in[i].dtype()) || is_complex(in[i].dtype());
  if (numbers && rank >= 2 && in[i].dimension(rank - 1) == in[i].dimension(rank - 2)) return {};
  return in.error(operand_name(in, i), " is ", in[i],
                  "; must be of floats, and its last two dimensions equal");
}

StatusOr<Shape> infer_cholesky(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_square(in, 0));
  return check_declared(in, in[0]);
}

StatusOr<Shape> infer_solve(const InferArgs& in) {
  const auto& attrs = in.attrs<TriangularSolveAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_square(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 1, in[0].rank()));
  HEDDLE_RETURN_IF_ERROR(check_dtype(in, 1, in[0].dtype(), "a"));
  if (attrs.transpose_a == TransposeA::kInvalid) {
    return in.error("transpose_a is not set; must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  }
  int64_t rank = in[0].rank();
  for (int64_t d = 0; d < rank; ++d) {
    int64_t free = attrs.left_side ? rank - 1 : rank - 2;
    if (d == free || in[1].dimension(d) == in[0].dimension(d)) continue;
    return in.error("b is ", in[1], "; dimension ", d, " must be ", in[0].dimension(d), " as of a");
  }
  return check_declared(in, in[1]);
}

// L with zeros above its diagonal, or its transpose U, as XLA leaves the other triangle. Where a
// pivot's square is negative or NaN, the whole matrix is NaN; a pivot of 0 makes its column NaN or
// infinite, by its divisions.
template <class T>
Matrix<T> cholesky_factor(const Matrix<T>& a, bool lower) {
  const int64_t n = a.rows();
  Matrix<T> l(n, n);
  auto given = [&](int64_t i, int64_t j) { return lower ? a(i, j) : linalg::conjugate(a(j, i)); };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      l(i, j) = given(i, j);
      for (int64_t k = 0; k < j; ++k) l(i, j) -= l(i, k) * linalg::conjugate(l(j, k));
    }
    const double square = linalg::real_of(l(j, j));
    if (!(square >= 0)) return linalg::all_nan<T>(n, n);
    const double pivot = std::sqrt(square);
    for (int64_t i = j + 1; i < n; ++i) l(i, j) /= pivot;
    l(j, j) = pivot == 0 && n > 1 ? std::numeric_limits<double>::quiet_NaN() : pivot;
  }
  return lower ? l : linalg::adjoint(l);
}

template <class T>
Literal cholesky_of(const EvalArgs& in) {
  Literal out(in.result());
  if (out.element_count() == 0) return out;
  for (int64_t at = 0; at < linalg::batch_size(in.result(), 2); ++at) {
    const Matrix<T> a = linalg::read_matrix<T>(in[0], at);
    linalg::write_matrix(cholesky_factor(a, in.attrs<CholeskyAttrs>().lower), at, out);
  }
  return out;
}

StatusOr<Literal> evaluate_cholesky(EvalArgs& in) {
  return is_complex(in.result().dtype()) ? cholesky_of<Complex>(in) : cholesky_of<double>(in);
}

linalg::Triangular form_of(const TriangularSolveAttrs& attrs) {
  using linalg::Transposed;
  linalg::Triangular form{attrs.left_side, attrs.lower, attrs.unit_diagonal, Transposed::kNo};
  if (attrs.transpose_a == TransposeA::kTranspose) form.transposed = Transposed::kYes;
  if (attrs.transpose_a == TransposeA::kAdjoint) form.transposed = Transposed::kConjugate;
  return form;
}

template <class T>
Literal solution_of(const EvalArgs& in) {
  Literal out(in.result());
  if (out.element_count() == 0) return out;
  for (int64_t at = 0; at < linalg::batch_size(in.result(), 2); ++at) {
    Matrix<T> b = linalg::read_matrix<T>(in[1], at);
    linalg::solve_triangular(form_of(in.attrs<TriangularSolveAttrs>()),
                             linalg::read_matrix<T>(in[0], at), b);
    linalg::write_matrix(b, at, out);
  }
  return out;
}

StatusOr<Literal> evaluate_solve(EvalArgs& in) {
  return is_complex(in.result().dtype()) ? solution_of<Complex>(in) : solution_of<double>(in);
}

constexpr std::string_view kAB[] = {"a", "b"};

}  // namespace

const OpDef kCholeskyDef = {.opcode = Opcode::kCholesky,
                            .operand_names = kAB,
                            .infer = infer_cholesky,
                            .evaluate = evaluate_cholesky};
const OpDef kTriangularSolveDef = {.opcode = Opcode::kTriangularSolve,
                                   .operand_names = kAB,
                                   .infer = infer_solve,
                                   .evaluate = evaluate_solve};

}  // namespace heddle::hlo
