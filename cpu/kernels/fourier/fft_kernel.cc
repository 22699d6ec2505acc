// fft of any rank: rows are transformed several at a time, a lane each. Rows of real numbers go in
// pairs, as the real and the imaginary part of one.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "heddle/cpu/kernels/fourier/fft.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestPoints = int64_t{1} << 14;  // points

const FftTable& table() {
#if defined(__x86_64__)
  if (matmul_isa() == Isa::kAvx512) return kFftAvx512;
  if (matmul_isa() == Isa::kAvx2) return kFftAvx2;
#endif
  return kFftGeneric;
}

float* run_table(const FftPlan<float>& plan, int lanes, float* data, float* scratch) {
  return table().f32(plan, lanes, data, scratch);
}
double* run_table(const FftPlan<double>& plan, int lanes, double* data, double* scratch) {
  return table().f64(plan, lanes, data, scratch);
}

template <class T>
const FftMoves<T>& moves_of() {
  if constexpr (sizeof(T) == 4) {
    return *table().moves_f32;
  } else {
    return *table().moves_f64;
  }
}

// Rows along one dimension: `count` of them, first in runs of `neighbours` that lie side by side.
struct Rows {
  int64_t count = 1, length = 1, neighbours = 1;
  [[nodiscard]] int64_t first(int64_t row) const {
    return row / neighbours * length * neighbours + row % neighbours;
  }
};

Rows rows_of(const std::vector<int64_t>& sizes, size_t along) {
  Rows rows{.length = sizes[along]};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d != along) rows.count *= sizes[d];
    if (d > along) rows.neighbours *= sizes[d];
  }
  return rows;
}

// What the elements of rows are, before and after.
enum class Elements : uint8_t { kComplex, kReal, kHalf };

// One pass of transforms along a dimension.
template <class T>
class FftPass {
 public:
  static constexpr int kLanes = kFftVectorBytes / static_cast<int>(sizeof(T));

  FftPass(int64_t n, bool inverse, Elements in, Elements out)
      : n_(n),
        inverse_(inverse),
        in_(in),
        out_(out),
        is_halved_(in != out && n % 2 == 0),
        plan_(is_halved_ ? n / 2 : n) {
    if (!is_halved_) return;
    const RootsOfUnity<T> roots(n);
    for (int64_t k = 0; k <= n / 4; ++k) roots.append(k, turns_);
  }

  // Times `turns`, which lie as `to` does, where they are not null: of complex numbers.
  // returns: false, where an element is not finite
  bool run(const T* from, const Rows& in_rows, T* to, const Rows& out_rows,
           const T* turns = nullptr) const {
    const int64_t at_once = rows_at_once();
    const int64_t blocks = (in_rows.count + at_once - 1) / at_once;
    const int64_t parts =
        in_rows.count * n_ < kFewestPoints ? 1 : std::min<int64_t>(blocks, 2 * thread_count());
    const auto size = static_cast<size_t>(2 * (plan_.size + 1) * kLanes);  // of T
    const auto row_size = static_cast<size_t>(2 * (n_ + 1));
    std::atomic<bool> all_finite = true;
    const auto part = [&](int64_t number) {
      std::unique_ptr<T, decltype(&std::free)> own(nullptr, std::free);
      T* data = nullptr;
      if (const size_t bytes = (2 * size + row_size) * sizeof(T); bytes <= kMostKept) {
        data = static_cast<T*>(matmul_scratch(bytes));
      } else {
        const size_t vectors = (bytes + kFftVectorBytes - 1) / kFftVectorBytes;
        own.reset(static_cast<T*>(std::aligned_alloc(kFftVectorBytes, vectors * kFftVectorBytes)));
        data = own.get();
        if (data == nullptr) throw std::bad_alloc();
      }
      for (int64_t b = blocks * number / parts; b < blocks * (number + 1) / parts; ++b) {
        const int64_t first = b * at_once, last = std::min(in_rows.count, first + at_once);
        load(from, in_rows, first, last, data);
        const int64_t lanes = is_paired() ? (last - first + 1) / 2 : last - first;
        if (T* points = run_table(plan_, static_cast<int>(lanes), data, data + size)) {
          store(points, to, out_rows, first, last, turns, data + 2 * size);
        } else {
          all_finite = false;
        }
      }
    };
    parts == 1 ? part(0) : parallel(parts, part);
    return all_finite;
  }

 private:
  [[nodiscard]] bool is_paired() const { return in_ != out_ && !is_halved_; }
  [[nodiscard]] int64_t rows_at_once() const { return kLanes * (is_paired() ? 2 : 1); }

  // Where the rows begin, in numbers of type T. Lanes that have no row begin at `rest`. Rows of
  // real numbers and their transforms lie along the last dimension.
  template <class U>
  std::array<U*, 2 * kLanes> starts_of(U* base, const Rows& rows, bool is_real, int64_t first,
                                       int64_t last, U* rest) const {
    std::array<U*, 2 * kLanes> starts;
    starts.fill(rest);
    for (int64_t row = first; row < last; ++row)
      starts[static_cast<size_t>(row - first)] = base + (is_real ? 1 : 2) * rows.first(row);
    return starts;
  }
  // Rows of one run of neighbours.
  [[nodiscard]] static bool are_columns(const Rows& rows, int64_t first, int64_t last) {
    return rows.neighbours > 1 && rows.first(last - 1) - rows.first(first) == last - 1 - first;
  }

  // Point k of the rows: real parts of all lanes, then imaginary ones.
  static T* point(T* data, int64_t k) { return data + 2 * k * kLanes; }

  // The inverse transform is the forward one with real and imaginary parts exchanged.
  [[nodiscard]] int re() const { return inverse_ ? kLanes : 0; }
  [[nodiscard]] int im() const { return inverse_ ? 0 : kLanes; }

  void load(const T* from, const Rows& rows, int64_t first, int64_t last, T* data) const {
    const bool side_by_side = rows.neighbours > 1;
    const int64_t step = rows.neighbours;
    const FftMoves<T>& moves = moves_of<T>();
    if (are_columns(rows, first, last))
      return moves.load_columns(from + 2 * rows.first(first), 2 * step, last - first, n_, inverse_,
                                data);
    if (in_ != out_ || !side_by_side) {
      const T* const any = from + (in_ == Elements::kReal ? 1 : 2) * rows.first(first);
      const auto begin = starts_of(from, rows, in_ == Elements::kReal, first, last, any);
      if (is_halved_) {
        const bool is_real = in_ == Elements::kReal;
        moves.load_complex(begin.data(), n_ / 2 + (is_real ? 0 : 1), /*swapped=*/false, data);
        return is_real ? void() : moves.join_halves(data, n_ / 2, turns_.data());
      }
      return !is_paired()             ? moves.load_complex(begin.data(), n_, inverse_, data)
             : in_ == Elements::kReal ? moves.load_real(begin.data(), n_, data)
                                      : moves.load_halves(begin.data(), n_, inverse_, data);
    }
    std::fill_n(data, 2 * plan_.size * kLanes, T{0});
    std::array<int64_t, kLanes> begin;
    for (int64_t row = first; row < last; ++row) begin[row - first] = rows.first(row);
    for (int64_t k = 0; k < n_; ++k) {
      for (int64_t row = first; row < last; ++row) {
        const T* x = from + 2 * (begin[row - first] + k * step);
        T* to = point(data, k) + (row - first);
        to[re()] = x[0];
        to[im()] = x[1];
      }
    }
  }

  // The lanes that have no row are written to `waste`.
  void store(T* data, T* to, const Rows& rows, int64_t first, int64_t last, const T* turns,
             T* waste) const {
    const bool side_by_side = rows.neighbours > 1;
    const int64_t step = rows.neighbours;
    const T factor = inverse_ ? T{1} / static_cast<T>(plan_.length) : T{1};
    const FftMoves<T>& moves = moves_of<T>();
    if (are_columns(rows, first, last)) {
      const int64_t at = 2 * rows.first(first);
      return moves.store_columns(data, n_, inverse_, factor, to + at, 2 * step, last - first,
                                 turns == nullptr ? nullptr : turns + at);
    }
    if (in_ != out_ || !side_by_side) {
      const auto starts = starts_of(to, rows, out_ == Elements::kReal, first, last, waste);
      if (is_halved_ && !inverse_) moves.split_halves(data, n_ / 2, turns_.data());
      if (is_halved_)
        return moves.store_complex(data, n_ / 2 + (inverse_ ? 0 : 1), inverse_, factor,
                                   starts.data());
      return !is_paired() ? moves.store_complex(data, n_, inverse_, factor, starts.data())
             : out_ == Elements::kReal ? moves.store_real(data, n_, inverse_, factor, starts.data())
                                       : moves.store_halves(data, n_, starts.data());
    }
    std::array<int64_t, kLanes> begin;
    for (int64_t row = first; row < last; ++row) begin[row - first] = rows.first(row);
    for (int64_t k = 0; k < n_; ++k) {
      for (int64_t row = first; row < last; ++row) {
        const T* x = point(data, k) + (row - first);
        const int64_t at = 2 * (begin[row - first] + k * step);
        const T a = x[re()] * factor, b = x[im()] * factor;
        to[at] = turns == nullptr ? a : a * turns[at] - b * turns[at + 1];
        to[at + 1] = turns == nullptr ? b : a * turns[at + 1] + b * turns[at];
      }
    }
  }

  int64_t n_;
  bool inverse_;
  Elements in_, out_;
  bool is_halved_;  // rows of n real numbers go as n / 2 complex ones
  FftPlan<T> plan_;
  std::vector<T> turns_;  // exp(-2 pi i k / n) where it is halved
};

// One row of n = a * b complex numbers as a matrix of a by b, so that its columns, and then its
// rows, are transformed a lane each: point k1 + a * k2 is the sum over j2 of
// w^(j2 k1) * sum over j1 of x[j1 * b + j2], each with its roots (the four-step algorithm; Bailey,
// "FFTs in external or hierarchical memory", 1989).
template <class T>
class FftOfOneRow {
 public:
  // Nothing: `rows` of them are as fast in lanes. `work`: what a row costs, of its transform.
  static std::optional<FftOfOneRow> make(int64_t n, int64_t rows, bool inverse, double work = 1) {
    const int64_t split = best_split(n);
    const double by_split = cost_of_best_split(n);
    const int64_t size = convolution_size(n, cost_of_best_split);
    const double by_convolution = 2 * cost_of_best_split(size) + static_cast<double>(size);
    const int64_t native = table().native_bytes / static_cast<int64_t>(sizeof(T));
    const double together = cost_of(rows, n, native);
    const double alone = work * static_cast<double>(rows) * std::min(by_split, by_convolution);
    if (alone >= 0.7 * together) return std::nullopt;
    if (by_split <= by_convolution) return FftOfOneRow(split, n / split, inverse);
    const int64_t a = best_split(size);
    FftOfOneRow row(a, size / a, false);
    row.convolve(n, inverse);
    return row;
  }

  // returns: false, where an element is not finite
  bool run(const T* from, T* to) const {
    if (chirp_.empty()) return run_split(from, to);
    std::vector<T> points(transform_.size()), between(transform_.size());
    multiply(from, chirp_, /*swapped=*/false, points.data());
    if (!run_split(points.data(), between.data())) return false;
    multiply(between.data(), transform_, /*swapped=*/true, between.data());
    if (!run_split(between.data(), points.data())) return false;
    for (size_t i = 0; i < chirp_.size(); i += 2) std::swap(points[i], points[i + 1]);
    multiply(points.data(), chirp_, /*swapped=*/false, to);
    return true;
  }

 private:
  template <class>
  friend class FftOfOneRow;
  static constexpr double kPartial = 400;  // measured
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  FftOfOneRow(int64_t a, int64_t b, bool inverse)
      : a_(a),
        b_(b),
        of_columns_(a, inverse, Elements::kComplex, Elements::kComplex),
        of_rows_(b, inverse, Elements::kComplex, Elements::kComplex) {
    const RootsOfUnity<T> roots(a * b);
    for (int64_t k = 0; k < a; ++k) {
      for (int64_t j = 0; j < b; ++j) {
        roots.append(j * k, turns_);
        if (inverse) turns_.back() = -turns_.back();
      }
    }
  }

  // Makes this row the convolution of one of n points with a chirp.
  void convolve(int64_t n, bool inverse) {
    chirp_ = fft_chirp<T>(n);
    std::vector<double> points = fft_chirp_kernel(n, a_ * b_), transform(points.size());
    FftOfOneRow<double>(a_, b_, false).run_split(points.data(), transform.data());
    transform_.assign(transform.begin(), transform.end());
    if (!inverse) return;
    for (size_t i = 1; i < chirp_.size(); i += 2) chirp_[i] = -chirp_[i];
    for (size_t i = 0; i < transform_.size(); ++i)
      transform_[i] *= (i % 2 == 0 ? T{1} : T{-1}) / static_cast<T>(n);
  }

  static double cost_of(int64_t count, int64_t length, int64_t lanes = FftPass<T>::kLanes) {
    return static_cast<double>((count + lanes - 1) / lanes * lanes) * fft_cost(length);
  }
  static double cost_of_split(int64_t n, int64_t a) {
    return cost_of(n / a, a) + cost_of(a, n / a) + cost_of_moves(a) + cost_of_moves(n / a);
  }
  // Of rows that do not fill the lanes.
  static double cost_of_moves(int64_t count) {
    return count % FftPass<T>::kLanes == 0 ? 0 : kPartial;
  }

  // 0, where n is prime.
  static int64_t best_split(int64_t n) {
    int64_t best = 0;
    for (int64_t a = 2; a * a <= n; ++a)
      if (n % a == 0 && (best == 0 || cost_of_split(n, a) < cost_of_split(n, best))) best = a;
    return best;
  }
  static double cost_of_best_split(int64_t n) {
    const int64_t a = best_split(n);
    return a == 0 ? kNever : cost_of_split(n, a);
  }

  // The parts of the products are exchanged where `swapped`.
  static void multiply(const T* x, const std::vector<T>& factors, bool swapped, T* to) {
    const size_t re = swapped ? 1 : 0;
    for (size_t i = 0; i < factors.size(); i += 2) {
      const T a = x[i], b = x[i + 1], c = factors[i], s = factors[i + 1];
      to[i + re] = a * c - b * s;
      to[i + 1 - re] = a * s + b * c;
    }
  }

  bool run_split(const T* from, T* to) const {
    std::vector<T> between(turns_.size());
    const Rows columns{.count = b_, .length = a_, .neighbours = b_};
    if (!of_columns_.run(from, columns, between.data(), columns, turns_.data())) return false;
    return of_rows_.run(between.data(), {.count = a_, .length = b_}, to,
                        {.count = a_, .length = b_, .neighbours = a_});
  }

  int64_t a_, b_;
  FftPass<T> of_columns_, of_rows_;
  std::vector<T> turns_;
  std::vector<T> chirp_, transform_;  // of a convolution
};

// One row of n real numbers, to or from half of its transform: where n is even that of n / 2
// complex numbers, whose parts are the even and the odd elements.
template <class T>
class FftOfOneRealRow {
 public:
  static std::optional<FftOfOneRealRow> make(int64_t n, int64_t rows, bool inverse) {
    constexpr double kWork = 2;  // the halves are taken apart, or joined, one by one
    auto row = FftOfOneRow<T>::make(n % 2 == 0 ? n / 2 : n, rows, inverse, kWork);
    if (!row) return std::nullopt;
    return FftOfOneRealRow(n, *std::move(row));
  }

  // returns: false, where an element is not finite
  bool forward(const T* from, T* to) const {
    if (n_ % 2 != 0) return forward_whole(from, to);
    std::vector<T> z(static_cast<size_t>(n_));
    if (!row_.run(from, z.data())) return false;
    const int64_t h = n_ / 2;
    to[0] = z[0] + z[1];
    to[2 * h] = z[0] - z[1];
    to[1] = to[2 * h + 1] = 0;
    for (int64_t k = 1; k < h; ++k) {
      const auto [even, odd] = parts(&z[2 * k], &z[2 * (h - k)]);
      const T c = turns_[2 * k], s = turns_[2 * k + 1];
      // The odd part is -i times what stands apart.
      to[2 * k] = even[0] + c * odd[1] + s * odd[0];
      to[2 * k + 1] = even[1] + s * odd[1] - c * odd[0];
    }
    return true;
  }

  // The parts of the first and the last point that a real row cannot have are left out.
  bool inverse(const T* from, T* to) const {
    if (n_ % 2 != 0) return inverse_whole(from, to);
    const int64_t h = n_ / 2;
    std::vector<T> z(static_cast<size_t>(n_));
    z[0] = (from[0] + from[2 * h]) / 2;
    z[1] = (from[0] - from[2 * h]) / 2;
    for (int64_t k = 1; k < h; ++k) {
      const auto [even, odd] = parts(from + 2 * k, from + 2 * (h - k));
      const T c = turns_[2 * k], s = -turns_[2 * k + 1];
      const T re = c * odd[0] - s * odd[1], im = s * odd[0] + c * odd[1];
      z[2 * k] = even[0] - im;  // even + i * odd
      z[2 * k + 1] = even[1] + re;
    }
    return row_.run(z.data(), to);
  }

 private:
  FftOfOneRealRow(int64_t n, FftOfOneRow<T> row) : n_(n), row_(std::move(row)) {
    const RootsOfUnity<T> roots(n);
    for (int64_t k = 0; k <= n / 2; ++k) roots.append(k, turns_);
  }

  bool forward_whole(const T* from, T* to) const {
    std::vector<T> x(static_cast<size_t>(2 * n_)), y(x.size());
    for (int64_t k = 0; k < n_; ++k) x[2 * k] = from[k];
    if (!row_.run(x.data(), y.data())) return false;
    std::copy_n(y.data(), n_ + 1, to);
    to[1] = 0;
    return true;
  }
  bool inverse_whole(const T* from, T* to) const {
    std::vector<T> x(static_cast<size_t>(2 * n_)), y(x.size());
    x[0] = from[0];
    for (int64_t k = 1; k <= n_ / 2; ++k) {
      x[2 * k] = x[2 * (n_ - k)] = from[2 * k];
      x[2 * k + 1] = from[2 * k + 1];
      x[2 * (n_ - k) + 1] = -from[2 * k + 1];
    }
    if (!row_.run(x.data(), y.data())) return false;
    for (int64_t k = 0; k < n_; ++k) to[k] = y[2 * k];
    return true;
  }

  // Half of x + conj(y), and half of x - conj(y).
  static std::pair<std::array<T, 2>, std::array<T, 2>> parts(const T* x, const T* y) {
    return {{(x[0] + y[0]) / 2, (x[1] - y[1]) / 2}, {(x[0] - y[0]) / 2, (x[1] + y[1]) / 2}};
  }

  int64_t n_;
  FftOfOneRow<T> row_;    // of n / 2 points where n is even, else of n
  std::vector<T> turns_;  // exp(-2 pi i k / n)
};

template <class T>
class FftKernel final : public Kernel {
 public:
  FftKernel(const Shape& x, const Shape& y, const hlo::FftAttrs& attrs,
            std::unique_ptr<Kernel> rule)
      : in_(x.dimensions()), out_(y.dimensions()), rule_(std::move(rule)) {
    const bool inverse =
        attrs.fft_type == hlo::FftType::kIfft || attrs.fft_type == hlo::FftType::kIrfft;
    const size_t rank = in_.size(), first = rank - attrs.fft_length.size();
    const bool to_half = attrs.fft_type == hlo::FftType::kRfft;
    const bool from_half = attrs.fft_type == hlo::FftType::kIrfft;
    from_half_ = from_half;
    rows_ = x.element_count() / in_.back();
    if (attrs.fft_length.size() == 1) {
      const int64_t n = attrs.fft_length[0];
      if (to_half || from_half) {
        const int64_t points = n % 2 == 0 ? n / 2 : n, lanes = n % 2 == 0 ? rows_ : (rows_ + 1) / 2;
        real_row_ = FftOfOneRealRow<T>::make(n, is_long(points) ? 1 : lanes, inverse);
      } else {
        row_ = FftOfOneRow<T>::make(n, is_long(n) ? 1 : rows_, inverse);
      }
      if (row_ || real_row_) return;
    }
    const auto pass = [&](size_t d, Elements in, Elements out) {
      passes_.push_back({d, FftPass<T>(attrs.fft_length[d - first], inverse, in, out)});
    };
    if (!from_half)
      pass(rank - 1, to_half ? Elements::kReal : Elements::kComplex,
           to_half ? Elements::kHalf : Elements::kComplex);
    for (size_t d = first; d + 1 < rank; ++d) pass(d, Elements::kComplex, Elements::kComplex);
    if (from_half) pass(rank - 1, Elements::kHalf, Elements::kReal);
    has_copy_ = from_half && passes_.size() > 1;
  }

  Status run(std::span<void* const> pointers) const override {
    const auto* from = static_cast<const T*>(pointers[0]);
    auto* to = static_cast<T*>(pointers[1]);
    if (row_ || real_row_) return run_alone(from, to) ? Status() : rule_->run(pointers);
    int64_t elements = 2;
    for (int64_t size : in_) elements *= size;
    std::vector<T> between(has_copy_ ? static_cast<size_t>(elements) : 0);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const auto& [along, pass] = passes_[i];
      const bool is_last = i + 1 == passes_.size();
      T* target = has_copy_ && !is_last ? between.data() : to;
      const bool is_half = has_copy_ && !is_last;
      const bool is_finite = pass.run(from, rows_of(i == 0 || has_copy_ ? in_ : out_, along),
                                      target, rows_of(is_half ? in_ : out_, along));
      if (!is_finite) return rule_->run(pointers);  // two rows are not one
      from = target;
    }
    return {};
  }

 private:
  struct Pass {
    size_t along;
    FftPass<T> pass;
  };
  // Rows of all lanes do not fit into a processor's cache. Many rows of a convolution still gain.
  [[nodiscard]] bool is_long(int64_t points) const {
    const bool is_many = rows_ > FftPass<T>::kLanes / 2 && is_fft_convolution(points);
    return points >= (is_many ? 8 : 1) * kFewestPoints;
  }
  // One row after the other.
  bool run_alone(const T* from, T* to) const {
    const int64_t n = in_.back(), m = out_.back();
    for (int64_t row = 0; row < rows_; ++row) {
      const bool is_finite = row_          ? row_->run(from + 2 * row * n, to + 2 * row * m)
                             : !from_half_ ? real_row_->forward(from + row * n, to + 2 * row * m)
                                           : real_row_->inverse(from + 2 * row * n, to + row * m);
      if (!is_finite) return false;
    }
    return true;
  }

  std::vector<int64_t> in_, out_;
  std::vector<Pass> passes_;
  int64_t rows_ = 1;
  bool from_half_ = false;
  std::optional<FftOfOneRow<T>> row_;  // of rows that stand alone, as is real_row_
  std::optional<FftOfOneRealRow<T>> real_row_;
  std::unique_ptr<Kernel> rule_;
  bool has_copy_ = false;  // passes before the last one keep the shape of x
};

}  // namespace

bool is_fast_fourier(const Shape& x, const hlo::FftAttrs& attrs) {
  const std::vector<int64_t>& sizes = x.dimensions();
  const bool is_half = attrs.fft_type == hlo::FftType::kIrfft;
  for (size_t i = 0; i < attrs.fft_length.size(); ++i) {
    const int64_t length = attrs.fft_length[i];
    const bool is_cut = is_half && i + 1 == attrs.fft_length.size();
    const int64_t size = sizes[sizes.size() - attrs.fft_length.size() + i];
    if (size != (is_cut ? length / 2 + 1 : length)) return false;
  }
  return x.element_count() > 0;
}

std::unique_ptr<Kernel> make_fft_kernel(const Shape& x, const Shape& y, const hlo::FftAttrs& attrs,
                                        std::unique_ptr<Kernel> rule) {
  if (real_part(x.dtype()) == f64)
    return std::make_unique<FftKernel<double>>(x, y, attrs, std::move(rule));
  return std::make_unique<FftKernel<float>>(x, y, attrs, std::move(rule));
}

}  // namespace heddle::cpu
