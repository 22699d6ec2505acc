// fft(x), fft_type, fft_length: the discrete Fourier transform over the last one to three
// dimensions; those before are a batch. IFFT and IRFFT divide by the number of elements. RFFT gives
// the first n/2+1 elements of the last dimension, of which the others are the conjugate mirror
// image; IRFFT takes these.
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

bool is_real(FftType type) { return type == FftType::kRfft || type == FftType::kIrfft; }

// Real transforms keep the half of the spectrum that is not a mirror image: n/2+1 of the last
// dimension.
Status check_lengths(const InferArgs& in, const FftAttrs& attrs, const Shape& real,
                     const Shape& half) {
  int64_t rank = real.rank();
  int64_t n = static_cast<int64_t>(attrs.fft_length.size());
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = rank - n + i;
    int64_t length = attrs.fft_length[static_cast<size_t>(i)];
    int64_t kept = i + 1 < n || length == 0 ? length : length / 2 + 1;
    if (real.dimension(d) == length && half.dimension(d) == kept) continue;
    return in.error("x is ", in[0], " and the result ", *in.declared(), "; with fft_length ",
                    length, " dimension ", d, " must be ", length, " on the real side and ", kept,
                    " on the other");
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
  bool right = type == FftType::kRfft
                   ? is_floating(in[0].dtype()) && is_complex(in.declared()->dtype())
                   : is_complex(in[0].dtype());
  if (!is_real(type)) right = right && in[0].dtype() == in.declared()->dtype();
  if (right && in[0].dtype() == want_in && in.declared()->dtype() == want_out) return {};
  return in.error("x is ", in[0], " and the result ", *in.declared(), "; ", enum_text(type),
                  " takes ", type == FftType::kRfft ? "real to complex" : "complex",
                  type == FftType::kIrfft ? " to real" : "", " elements");
}

StatusOr<Shape> infer_fft(const InferArgs& in) {
  const auto& attrs = in.attrs<FftAttrs>();
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_declared_array(in));
  int64_t touched = static_cast<int64_t>(attrs.fft_length.size());
  if (touched < 1 || touched > 3 || touched > in[0].rank() ||
      in.declared()->rank() != in[0].rank()) {
    return in.error("x is ", in[0], " and fft_length {", base::join(attrs.fft_length, ","),
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

constexpr std::string_view kX[] = {"x"};

}  // namespace

const OpDef kFftDef = {Opcode::kFft, kX, {Work::kMost, Rows::kByRule, kPlain}, infer_fft};

}  // namespace heddle::hlo
