// fft(x), cholesky(a), triangular-solve(a, b): transforms and factors of the last dimensions; those before are a batch.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

bool is_real(FftType type) { return type == FftType::kRfft || type == FftType::kIrfft; }

// Real transforms keep the half of the spectrum that is not a mirror image: n/2+1 of the last dimension.
Status check_lengths(const InferArgs& in, const FftAttrs& attrs, const Shape& real, const Shape& half) {
  int64_t rank = real.rank();
  int64_t n = static_cast<int64_t>(attrs.fft_length.size());
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = rank - n + i;
    int64_t length = attrs.fft_length[static_cast<size_t>(i)];
    int64_t kept = i + 1 < n || length == 0 ? length : length / 2 + 1;
    if (real.dimension(d) == length && half.dimension(d) == kept) continue;
    return in.error("x is ", in[0], " and the result ", *in.declared(), "; with fft_length ", length,
                    " dimension ", d, " must be ", length, " on the real side and ", kept, " on the other");
  }
  return {};
}

// The dimensions that the transform does not touch.
Status check_fft_batch(const InferArgs& in, int64_t touched) {
  for (int64_t d = 0; d < in[0].rank() - touched; ++d) {
    if (in[0].dimension(d) == in.declared()->dimension(d)) continue;
    return in.error("x is ", in[0], "; dimension ", d, " must be ", in.declared()->dimension(d),
                    " as in the result ", *in.declared());
  }
  return {};
}

Status check_fft_types(const InferArgs& in, FftType type) {
  DType want_in = type == FftType::kRfft ? real_part(in.declared()->dtype()) : in[0].dtype();
  DType want_out = type == FftType::kIrfft ? real_part(in[0].dtype()) : in.declared()->dtype();
  bool right = type == FftType::kRfft ? is_floating(in[0].dtype()) && is_complex(in.declared()->dtype())
                                      : is_complex(in[0].dtype());
  if (!is_real(type)) right = right && in[0].dtype() == in.declared()->dtype();
  if (right && in[0].dtype() == want_in && in.declared()->dtype() == want_out) return {};
  return in.error("x is ", in[0], " and the result ", *in.declared(), "; ", enum_text(type), " takes ",
                  type == FftType::kRfft ? "real to complex" : "complex",
                  type == FftType::kIrfft ? " to real" : "", " elements");
}

StatusOr<Shape> infer_fft(const InferArgs& in) {
  const auto& attrs = in.attrs<FftAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_declared_array(in));
  int64_t touched = static_cast<int64_t>(attrs.fft_length.size());
  if (touched < 1 || touched > 3 || touched > in[0].rank() || in.declared()->rank() != in[0].rank()) {
    return in.error("x is ", in[0], " and fft_length {", join(attrs.fft_length, ","),
                    "}; must have 1 to 3 lengths, for the last dimensions of x");
  }
  HEDDLE_RETURN_IF_ERROR(check_fft_types(in, attrs.fft_type));
  if (!is_real(attrs.fft_type)) return check_declared(in, in[0]);
  HEDDLE_RETURN_IF_ERROR(check_fft_batch(in, touched));
  bool forward = attrs.fft_type == FftType::kRfft;
  HEDDLE_RETURN_IF_ERROR(
      check_lengths(in, attrs, forward ? in[0] : *in.declared(), forward ? *in.declared() : in[0]));
  return *in.declared();
}

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

constexpr std::string_view kX[] = {"x"};
constexpr std::string_view kAB[] = {"a", "b"};
constexpr const char* kNotYet = "is not evaluated by the interpreter yet";

}  // namespace

const OpDef kFftDef = unevaluated(Opcode::kFft, kX, infer_fft, kNotYet);
const OpDef kCholeskyDef = unevaluated(Opcode::kCholesky, kAB, infer_cholesky, kNotYet);
const OpDef kTriangularSolveDef = unevaluated(Opcode::kTriangularSolve, kAB, infer_solve, kNotYet);

}  // namespace heddle::hlo
