// cholesky(a), triangular-solve(a, b): factors and solutions in the last two dimensions; those
// before are a batch.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

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

constexpr std::string_view kAB[] = {"a", "b"};

}  // namespace

const OpDef kCholeskyDef = {
    Opcode::kCholesky, kAB, {Work::kMost, Rows::kKeptAbove, kPlain}, infer_cholesky};
const OpDef kTriangularSolveDef = {
    Opcode::kTriangularSolve, kAB, {Work::kMost, Rows::kKeptAbove, kPlain}, infer_solve};

}  // namespace heddle::hlo
