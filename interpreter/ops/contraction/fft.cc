// Computed in double and rounded once.
#include <algorithm>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/fourier.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

using C = std::complex<double>;

bool is_real(FftType type) { return type == FftType::kRfft || type == FftType::kIrfft; }

// Walks the rows along a dimension of a dense row-major array.
class FftRowWalk {
 public:
  FftRowWalk(const std::vector<int64_t>& dimensions, int64_t along) {
    const auto at = static_cast<size_t>(along);
    length_ = static_cast<size_t>(dimensions[at]);
    for (size_t d = 0; d < dimensions.size(); ++d) {
      (d < at ? outer_ : d > at ? stride_ : ignored_) *= static_cast<size_t>(dimensions[d]);
    }
  }

  // Calls visit(first, stride) with the position of each row's first element.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (size_t outer = 0; outer < outer_; ++outer) {
      for (size_t inner = 0; inner < stride_; ++inner)
        visit(outer * length_ * stride_ + inner, stride_);
    }
  }
  [[nodiscard]] size_t length() const { return length_; }

 private:
  size_t outer_ = 1, stride_ = 1, ignored_ = 1, length_ = 1;
};

void transform(std::vector<C>& x, const std::vector<int64_t>& dimensions, int64_t along,
               bool inverse) {
  const FftRowWalk rows(dimensions, along);
  const Fourier fourier(rows.length());
  const double factor = inverse ? 1 / static_cast<double>(rows.length()) : 1;
  std::vector<C> row(rows.length());
  rows.for_each([&](size_t first, size_t stride) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = x[first + i * stride];
    fourier.run(row.data(), inverse);
    for (size_t i = 0; i < row.size(); ++i)
      x[first + i * stride] = inverse ? row[i] * factor : row[i];
  });
}

// The last dimension of an array cut or filled up to `to` elements: element i of a new row is
// from(row, i).
template <class From>
std::vector<C> resize_rows(const std::vector<C>& x, size_t length, size_t to, const From& from) {
  std::vector<C> out;
  const size_t rows = length == 0 ? 0 : x.size() / length;
  out.reserve(rows * to);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < to; ++i) out.push_back(from(x.data() + row * length, i));
  }
  return out;
}

// A whole row from its first half: the rest is the mirror image. Of the elements that are their own
// mirror image the imaginary part is not looked at.
C mirrored(const C* half, size_t i, size_t length) {
  const size_t other = i == 0 ? 0 : length - i;
  if (other == i) return half[i].real();
  return i <= length / 2 ? half[i] : std::conj(half[other]);
}

// errors: where fft_length does not agree with the dimensions, which the shape rule lets pass for
// FFT and IFFT, as XLA does
Status check_complex_lengths(const EvalArgs& in) {
  const auto& attrs = in.attrs<FftAttrs>();
  const std::vector<int64_t>& sizes = in[0].shape().dimensions();
  if (is_real(attrs.fft_type) ||
      std::equal(attrs.fft_length.rbegin(), attrs.fft_length.rend(), sizes.rbegin()))
    return {};
  return base::invalid_argument("fft: x is ", in[0].shape(), " and fft_length {",
                                base::join(attrs.fft_length, ","),
                                "}; must be the sizes of the last dimensions of x");
}

StatusOr<Literal> evaluate_fft(EvalArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_complex_lengths(in));
  const auto& attrs = in.attrs<FftAttrs>();
  Literal out = Literal::uninitialised(in.result());
  if (out.element_count() == 0 || in[0].element_count() == 0) return Literal(in.result());
  const bool inverse = attrs.fft_type == FftType::kIfft || attrs.fft_type == FftType::kIrfft;
  const int64_t rank = in[0].shape().rank(),
                touched = static_cast<int64_t>(attrs.fft_length.size());
  std::vector<int64_t> dimensions = in[0].shape().dimensions();
  std::vector<C> x(static_cast<size_t>(in[0].element_count()));
  load(in[0].shape().dtype(), in[0].bytes(), in[0].element_count(), x.data());
  // A real transform's last dimension comes first on the way there, last on the way back.
  auto last_dimension = [&] {
    const auto before = static_cast<size_t>(dimensions.back());
    const auto whole = static_cast<size_t>(attrs.fft_length.back());
    if (attrs.fft_type == FftType::kIrfft) {
      x = resize_rows(x, before, whole,
                      [&](const C* row, size_t i) { return mirrored(row, i, whole); });
      dimensions.back() = static_cast<int64_t>(whole);
    }
    transform(x, dimensions, rank - 1, inverse);
    if (attrs.fft_type != FftType::kRfft) return;
    x = resize_rows(x, before, whole / 2 + 1, [](const C* row, size_t i) { return row[i]; });
    dimensions.back() = static_cast<int64_t>(whole / 2 + 1);
  };
  if (!inverse) last_dimension();
  for (int64_t d = rank - touched; d + 1 < rank; ++d) transform(x, dimensions, d, inverse);
  if (inverse) last_dimension();
  store(out.shape().dtype(), x.data(), out.element_count(), out.mutable_bytes());
  return out;
}

}  // namespace

const Evaluation kFftEvaluation = {.evaluate = evaluate_fft};

}  // namespace heddle::interpreter
