// The loops of every instruction set that the machine has.
#include "heddle/cpu/kernels/factors/factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace heddle::cpu {
namespace {

std::vector<const FactorTable*> tables() {
  std::vector<const FactorTable*> out = {&kFactorsGeneric};
#if defined(__x86_64__)
  if (has_isa(Isa::kAvx2)) out.push_back(&kFactorsAvx2);
#endif
  return out;
}

template <class T>
const FactorLoops<T>& loops_of(const FactorTable& table) {
  if constexpr (sizeof(T) == 4) return table.f32;
  if constexpr (sizeof(T) == 8) return table.f64;
}

// n rows of a block, with `more` on the diagonal.
template <class T>
std::vector<T> matrix(int64_t n, double more) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::uniform_real_distribution<T> between(-1, 1);
  std::vector<T> a(static_cast<size_t>(n * kFactorBlock));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      a[static_cast<size_t>(i * kFactorBlock + j)] = between(random) + (i == j ? T(more) : T(0));
  }
  return a;
}

template <class T>
class Element {
 public:
  explicit Element(const std::vector<T>& a) : a_(a) {}
  T operator()(int64_t i, int64_t j) const { return a_[static_cast<size_t>(i * kFactorBlock + j)]; }

 private:
  const std::vector<T>& a_;
};

template <class T>
constexpr double kNear = sizeof(T) == 4 ? 2e-5 : 1e-13;

template <class T>
void expect_lu(const FactorTable& table, int64_t n) {
  const std::vector<T> a = matrix<T>(n, 0);
  std::vector<T> lu = a;
  std::vector<int32_t> pivots(static_cast<size_t>(n));
  ASSERT_EQ(loops_of<T>(table).lu(lu.data(), kFactorBlock, n, n, pivots.data()), 0);
  std::vector<T> swapped = a;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      std::swap(swapped[static_cast<size_t>(k * kFactorBlock + j)],
                swapped[static_cast<size_t>(pivots[static_cast<size_t>(k)] * kFactorBlock + j)]);
    }
  }
  const Element<T> of(lu), want(swapped);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = i <= j ? of(i, j) : 0;
      for (int64_t k = 0; k < std::min(i, j + 1); ++k) sum += double(of(i, k)) * of(k, j);
      EXPECT_NEAR(sum, want(i, j), kNear<T>) << i << " " << j;
      EXPECT_TRUE(i <= j || std::abs(of(i, j)) <= 1);
    }
  }
}

template <class T>
void expect_cholesky(const FactorTable& table, int64_t n) {
  std::vector<T> a = matrix<T>(n, static_cast<double>(n));
  const std::vector<T> given = a;
  ASSERT_EQ(loops_of<T>(table).cholesky(a.data(), kFactorBlock, n), 0);
  const Element<T> l(a), want(given);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k <= j; ++k) sum += double(l(i, k)) * l(j, k);
      EXPECT_NEAR(sum, want(i, j), kNear<T> * static_cast<double>(n));
    }
  }
}

// Forward, by rows and by columns of coefficients, and backward, of one right side and of several.
template <class T>
void expect_solved(const FactorTable& table, int64_t n) {
  const std::vector<T> a = matrix<T>(n, static_cast<double>(n));
  const Element<T> at(a);
  for (const bool forward : {true, false}) {
    for (const bool transposed : {true, false}) {
      for (const int64_t columns : {int64_t{0}, int64_t{1}, int64_t{9}}) {  // 0: a vector
        const int64_t row = transposed ? 1 : kFactorBlock, column = transposed ? kFactorBlock : 1;
        const int64_t width = std::max<int64_t>(columns, 1), last = n - 1;
        std::vector<T> x(static_cast<size_t>(n * width));
        for (size_t i = 0; i < x.size(); ++i) x[i] = T(i % 7) - 3;
        const std::vector<T> given = x;
        const TriangularBlock<T> up = {a.data(), row, column, x.data(), width, n, false};
        const TriangularBlock<T> down = {a.data() + last * (row + column),
                                         -row,
                                         -column,
                                         x.data() + last * width,
                                         -width,
                                         n,
                                         false};
        const FactorLoops<T>& loops = loops_of<T>(table);
        if (columns == 0) loops.solve_vector(forward ? up : down);
        if (columns > 0) loops.solve_rows(forward ? up : down, columns);
        for (int64_t place = 0; place < n * width; ++place) {
          const int64_t i = place / width, j = place % width;
          double sum = 0;
          for (int64_t k = forward ? 0 : i; k < (forward ? i + 1 : n); ++k) {
            sum += double(transposed ? at(k, i) : at(i, k)) * x[static_cast<size_t>(k * width + j)];
          }
          EXPECT_NEAR(sum, given[static_cast<size_t>(place)], 3 * kNear<T>)
              << n << " " << forward << transposed << columns;
        }
      }
    }
  }
}

TEST(Factors, OfBlocksOnEveryIsa) {
  for (const FactorTable* table : tables()) {
    for (int64_t n = 1; n <= kFactorBlock; ++n) {
      expect_lu<float>(*table, n);
      expect_lu<double>(*table, n);
      expect_cholesky<float>(*table, n);
      expect_cholesky<double>(*table, n);
      expect_solved<float>(*table, n);
      expect_solved<double>(*table, n);
    }
  }
}

TEST(Factors, StopWhereThereIsNone) {
  for (const FactorTable* table : tables()) {
    std::vector<double> a(2 * kFactorBlock);
    std::vector<int32_t> pivots(2);
    EXPECT_EQ(table->f64.lu(a.data(), kFactorBlock, 2, 2, pivots.data()), 1);
    for (const double square : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      a = std::vector<double>(2 * kFactorBlock);
      a[0] = 1, a[kFactorBlock + 1] = square;
      EXPECT_EQ(table->f64.cholesky(a.data(), kFactorBlock, 2), 2);
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
