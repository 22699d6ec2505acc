// Computed in double and rounded once.
#include <limits>

#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/solve.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

using linalg::Complex;
using linalg::Matrix;

// L with zeros above its diagonal, or its transpose U, as XLA leaves the other triangle. Where a
// pivot's square is negative or NaN, the whole matrix is NaN; a pivot of 0 makes its column NaN or
// infinite by its divisions, and so all pivots after it.
template <class T>
Matrix<T> cholesky_factor(Matrix<T> a, bool lower) {
  const int64_t n = a.rows(), failed = linalg::cholesky(a, lower);
  if (failed > 0 && (failed < n || linalg::real_of(a(n - 1, n - 1)) != 0)) {
    fill_nan(a);
    return a;
  }
  if (failed > 0 && n > 1) a(n - 1, n - 1) = std::numeric_limits<double>::quiet_NaN();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      if (lower ? i < j : i > j) a(i, j) = T(0);
    }
  }
  return a;
}

template <class T>
Literal cholesky_of(const EvalArgs& in) {
  Literal out(in.result());
  if (out.element_count() == 0) return out;
  for (int64_t at = 0; at < linalg::batch_size(in.result(), 2); ++at) {
    Matrix<T> a = linalg::read_matrix<T>(in[0], at);
    linalg::write_matrix(cholesky_factor(std::move(a), in.attrs<CholeskyAttrs>().lower), at, out);
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

}  // namespace

const Evaluation kCholeskyEvaluation = {.evaluate = evaluate_cholesky};
const Evaluation kTriangularSolveEvaluation = {.evaluate = evaluate_solve};

}  // namespace heddle::interpreter
