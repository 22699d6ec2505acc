// Calls of LAPACK's gtsv: tridiagonal systems by elimination with partial pivoting. A system of few
// rows takes less time than the call of LAPACK and its copies.
#include <algorithm>
#include <cmath>
#include <utility>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

// One system: its diagonals, of which below[0] and above[rows - 1] do not count, and the right
// sides, row by row. All are overwritten: LAPACK 3.11's dgtsv, sum by sum.
template <class T>
struct TridiagonalSystem {
  T *below, *middle, *above, *b;
  int64_t rows, columns;

  // 0, or the number of the first pivot that is 0, counted from 1.
  int32_t solve() {
    for (int64_t i = 0; i + 1 < rows; ++i) {
      if (std::abs(middle[i]) >= std::abs(below[i + 1])) {
        if (middle[i] == T(0)) return static_cast<int32_t>(i + 1);
        eliminate(i);
      } else {
        exchange(i);
      }
    }
    if (rows == 0) return 0;
    if (middle[rows - 1] == T(0)) return static_cast<int32_t>(rows);
    for (int64_t i = rows; i-- > 0;) substitute(i);
    return 0;
  }

 private:
  [[nodiscard]] bool is_before_last(int64_t i) const { return i + 2 < rows; }

  void eliminate(int64_t i) {
    const T factor = below[i + 1] / middle[i];
    middle[i + 1] = middle[i + 1] - factor * above[i];
    for (int64_t j = 0; j < columns; ++j)
      b[(i + 1) * columns + j] = b[(i + 1) * columns + j] - factor * b[i * columns + j];
    if (is_before_last(i)) below[i + 1] = T(0);
  }
  // The rows change places: `below` takes the second diagonal above.
  void exchange(int64_t i) {
    const T factor = middle[i] / below[i + 1], next = middle[i + 1];
    middle[i] = below[i + 1];
    middle[i + 1] = above[i] - factor * next;
    if (is_before_last(i)) {
      below[i + 1] = above[i + 1];
      above[i + 1] = -factor * below[i + 1];
    }
    above[i] = next;
    for (int64_t j = 0; j < columns; ++j) {
      T &first = b[i * columns + j], &second = b[(i + 1) * columns + j];
      const T old = std::exchange(first, second);
      second = old - factor * first;
    }
  }
  void substitute(int64_t i) {
    T* const x = b + i * columns;
    for (int64_t j = 0; j < columns; ++j) {
      T sum = x[j];
      if (i + 1 < rows) sum = sum - above[i] * x[columns + j];
      if (i + 2 < rows) sum = sum - below[i + 1] * x[2 * columns + j];
      x[j] = sum / middle[i];
    }
  }
};

// Buffers: the diagonals and right sides; what is left of them; info.
template <class T>
class TridiagonalKernel final : public Kernel {
 public:
  TridiagonalKernel(int64_t batch, int64_t rows, int64_t columns)
      : batch_(batch), rows_(rows), columns_(columns) {}

  Status run(std::span<void* const> pointers) const override {
    T* out[4];
    for (size_t i = 0; i < 4; ++i) {
      const T* const in = static_cast<const T*>(pointers[i]);
      out[i] = static_cast<T*>(pointers[4 + i]);
      if (out[i] != in) std::copy_n(in, batch_ * rows_ * (i == 3 ? columns_ : 1), out[i]);
    }
    auto* const info = static_cast<int32_t*>(pointers[8]);
    const int64_t together = std::max<int64_t>(1, kLeastShared / (rows_ * (columns_ + 2)));
    parallel((batch_ + together - 1) / together, [&](int64_t part) {
      for (int64_t at = part * together; at < std::min(batch_, (part + 1) * together); ++at) {
        TridiagonalSystem<T> system{out[0] + at * rows_,
                                    out[1] + at * rows_,
                                    out[2] + at * rows_,
                                    out[3] + at * rows_ * columns_,
                                    rows_,
                                    columns_};
        info[at] = system.solve();
      }
    });
    return {};
  }

 private:
  static constexpr int64_t kLeastShared = 8192;  // elements of what a thread takes at once

  int64_t batch_, rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_tridiagonal_kernel(const hlo::Instruction& call,
                                                std::span<const Shape* const> operands,
                                                std::unique_ptr<Kernel> rule) {
  if (hlo::lapack_routine(call, operands) != "gtsv") return rule;
  const Shape& b = *operands[3];
  if (b.element_count() == 0) return rule;
  const int64_t rows = b.dimension(b.rank() - 2), columns = b.dimension(b.rank() - 1),
                batch = b.element_count() / (rows * columns);
  if (b.dtype() == f32) return std::make_unique<TridiagonalKernel<float>>(batch, rows, columns);
  if (b.dtype() == f64) return std::make_unique<TridiagonalKernel<double>>(batch, rows, columns);
  return rule;
}

}  // namespace heddle::cpu
