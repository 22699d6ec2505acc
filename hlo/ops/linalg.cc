// cholesky(a), triangular-solve(a, b): factors and solutions in the last two dimensions; those
// before are a batch. Computed in double and rounded once.
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
