#include "heddle/cpu/kernels/products/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace heddle::cpu {
namespace {

template <class T>
struct Reference;
template <>
struct Reference<float> {
  static constexpr uint32_t kGuard = 0x7fc0dead;
  using Bits = uint32_t;
  using Exact = double;
};
template <>
struct Reference<double> {
  static constexpr uint64_t kGuard = 0x7ff8dead0000beef;
  using Bits = uint64_t;
  using Exact = long double;
};

template <class T>
typename Reference<T>::Bits bits(T x) {
  typename Reference<T>::Bits y;
  std::memcpy(&y, &x, sizeof x);
  return y;
}

struct Strides {
  int64_t row, col;
};

// How the elements of a matrix lie in memory.
enum class Layout {
  kRows,
  kColumns,
  kRowsGap,
  kColumnsGap,
  kSpread,
  kBroadcastRows,
  kBroadcastColumns
};
constexpr Layout kLayouts[] = {
    Layout::kRows,   Layout::kColumns,       Layout::kRowsGap,         Layout::kColumnsGap,
    Layout::kSpread, Layout::kBroadcastRows, Layout::kBroadcastColumns};
constexpr int kOutputLayouts = 5;  // the first five have no two elements at one address

Strides strides(Layout layout, int64_t rows, int64_t cols) {
  switch (layout) {
    case Layout::kRows: return {cols, 1};
    case Layout::kColumns: return {1, rows};
    case Layout::kRowsGap: return {cols + 5, 1};
    case Layout::kColumnsGap: return {1, rows + 3};
    case Layout::kSpread: return {2 * cols + 1, 2};
    case Layout::kBroadcastRows: return {0, 1};
    case Layout::kBroadcastColumns: return {1, 0};
  }
  return {};
}

struct Shape {
  int64_t m, n, k;
};

// Operands at the end of their allocations, so that AddressSanitizer sees a read past them. C lies
// among guard elements.
template <class T>
struct Problem {
  Problem(Shape shape, Layout la, Layout lb, Layout lc, bool accumulate, unsigned seed)
      : rng(seed),
        sa(strides(la, shape.m, shape.k)),
        sb(strides(lb, shape.k, shape.n)),
        sc(strides(lc, shape.m, shape.n)),
        a(fill(extent(sa, shape.m, shape.k))),
        b(fill(extent(sb, shape.k, shape.n))),
        c(extent(sc, shape.m, shape.n) + 2 * kMargin, guard()) {
    args = {a.data(),  b.data(), c.data() + kMargin,
            shape.m,   shape.n,  shape.k,
            sa.row,    sa.col,   sb.row,
            sb.col,    sc.row,   sc.col,
            accumulate};
    for (int64_t i = 0; i < shape.m; ++i) {
      for (int64_t j = 0; j < shape.n; ++j) c[c_index(i, j)] = accumulate ? draw() : guard();
    }
    before = c;
  }

  using Exact = typename Reference<T>::Exact;
  static constexpr Exact kEpsilon = std::numeric_limits<T>::epsilon();
  static constexpr int64_t kMargin = 70;
  static T guard() {
    T x;
    const auto word = Reference<T>::kGuard;
    std::memcpy(&x, &word, sizeof x);
    return x;
  }
  static int64_t extent(Strides s, int64_t rows, int64_t cols) {
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * s.row + (cols - 1) * s.col + 1;
  }
  T draw() { return static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(rng)); }
  std::vector<T> fill(int64_t count) {
    std::vector<T> x(count);
    for (T& e : x) e = draw();
    return x;
  }
  int64_t c_index(int64_t i, int64_t j) const { return kMargin + i * sc.row + j * sc.col; }

  // What C must be, and how far it may be from that: (k + 1) eps sum |a||b|.
  struct Expected {
    int64_t at, i, j;
    Exact value, bound;
  };
  std::vector<Expected> expected() const {
    std::vector<Expected> all;
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        const int64_t at = c_index(i, j);
        Exact sum = args.accumulate ? before[at] : 0, size = std::abs(sum);
        for (int64_t p = 0; p < args.k; ++p) {
          const Exact term = static_cast<Exact>(a[i * sa.row + p * sa.col]) *
                             static_cast<Exact>(b[p * sb.row + j * sb.col]);
          sum += term;
          size += std::abs(term);
        }
        all.push_back({at, i, j, sum, (args.k + 1) * kEpsilon * size});
      }
    }
    return all;
  }

  // Empty, or the first element that is wrong or that should not have been written.
  std::string error(const std::vector<Expected>& expected) const {
    std::vector<bool> written(c.size());
    for (const Expected& e : expected) {
      written[e.at] = true;
      if (!(std::abs(c[e.at] - e.value) <= e.bound)) {
        return "C[" + std::to_string(e.i) + "," + std::to_string(e.j) + "] is " +
               std::to_string(c[e.at]) + ", expected " + std::to_string(e.value);
      }
    }
    for (size_t at = 0; at < c.size(); ++at) {
      if (!written[at] && bits(c[at]) != bits(before[at])) {
        return "wrote outside C, at offset " + std::to_string(static_cast<int64_t>(at) - kMargin);
      }
    }
    return "";
  }

  std::vector<T> packed() {
    std::vector<T> p(MatmulOf<T>::packed_size(args.k, args.n) / sizeof(T), guard());
    MatmulOf<T>::pack_b(args, p.data());
    return p;
  }

  std::mt19937 rng;
  Strides sa, sb, sc;
  std::vector<T> a, b, c, before;
  MatmulArgs args;
};

std::string describe(const MatmulArgs& x) {
  return "m=" + std::to_string(x.m) + " n=" + std::to_string(x.n) + " k=" + std::to_string(x.k) +
         " a=" + std::to_string(x.a_row) + "," + std::to_string(x.a_col) +
         " b=" + std::to_string(x.b_row) + "," + std::to_string(x.b_col) +
         " c=" + std::to_string(x.c_row) + "," + std::to_string(x.c_col) +
         " accumulate=" + std::to_string(x.accumulate);
}

template <class T>
void check(Shape shape, Layout la, Layout lb, Layout lc, bool accumulate, unsigned seed) {
  Problem<T> x(shape, la, lb, lc, accumulate, seed);
  const auto expected = x.expected();
  MatmulOf<T>::product(x.args);
  ASSERT_EQ(x.error(expected), "") << describe(x.args);
  x.c = x.before;
  const std::vector<T> packed = x.packed();
  MatmulOf<T>::packed_product(x.args, packed.data());
  ASSERT_EQ(x.error(expected), "") << "packed, " << describe(x.args);
}

class Matmul : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = matmul_isa();
    if (!set_matmul_isa(GetParam())) GTEST_SKIP() << "the machine lacks this instruction set";
  }
  void TearDown() override { set_matmul_isa(before_); }

 private:
  Isa before_;
};

template <class T>
void check_each_size() {
  unsigned seed = 0;
  for (int64_t size = 0; size <= 70; ++size) {
    for (Shape shape : {Shape{size, 33, 7}, {5, size, 9}, {6, 20, size}, {size, size, size}}) {
      const auto pick = [&](int count) { return kLayouts[++seed * 2654435761u % 97 % count]; };
      check<T>(shape, pick(7), pick(7), pick(kOutputLayouts), seed % 2, seed);
      check<T>(shape, Layout::kRows, Layout::kRows, Layout::kRows, false, seed);
    }
  }
}
TEST_P(Matmul, IsRightForEachSizeTo70) {
  check_each_size<float>();
  check_each_size<double>();
}

template <class T>
void check_each_layout() {
  unsigned seed = 0;
  for (Shape shape : {Shape{1, 1, 70},
                      {1, 37, 40},
                      {37, 1, 40},
                      {3, 45, 21},
                      {45, 3, 21},
                      {17, 18, 19},
                      {50, 67, 41}}) {
    for (Layout la : kLayouts) {
      for (Layout lb : kLayouts) {
        for (int lc = 0; lc < kOutputLayouts; ++lc) {
          for (bool accumulate : {false, true}) {
            check<T>(shape, la, lb, kLayouts[lc], accumulate, ++seed);
          }
        }
      }
    }
  }
}
TEST_P(Matmul, IsRightForEachLayout) {
  check_each_layout<float>();
  check_each_layout<double>();
}

template <class T>
void check_large() {
  unsigned seed = 0;
  for (Shape shape : {Shape{230, 70, 270},
                      {50, 1100, 260},
                      {230, 1040, 10},
                      {2, 100, 2500},
                      {1, 3, 20000},
                      {49, 65, 257},
                      {1, 1, 40000},
                      {600, 150, 270},
                      {1, 300, 77}}) {
    for (Layout la : {Layout::kRows, Layout::kColumns}) {
      for (Layout lb : {Layout::kRows, Layout::kColumns, Layout::kSpread}) {
        check<T>(shape, la, lb, Layout::kRows, seed % 2, seed);
        ++seed;
      }
    }
  }
}
TEST_P(Matmul, IsRightForLargeSizes) {
  check_large<float>();
  check_large<double>();
}

template <class T>
void check_random() {
  std::mt19937 rng(7);
  const auto pick = [&](int64_t limit) { return static_cast<int64_t>(rng() % (limit + 1)); };
  for (int i = 0; i < 400; ++i) {
    const Shape shape = {pick(90), pick(90), pick(90)};
    check<T>(shape, kLayouts[pick(6)], kLayouts[pick(6)], kLayouts[pick(4)], pick(1), i);
  }
}
TEST_P(Matmul, IsRightForRandomShapes) {
  check_random<float>();
  check_random<double>();
}

template <class T>
void check_parts(Shape shape, Layout la, Layout lb, Layout lc, bool accumulate) {
  Problem<T> x(shape, la, lb, lc, accumulate, 3);
  MatmulOf<T>::product(x.args);
  const std::vector<T> whole = x.c;
  const std::vector<T> packed = x.packed();
  x.c = x.before;
  MatmulOf<T>::packed_product(x.args, packed.data());
  const std::vector<T> whole_packed = x.c;
  const auto equal = [](const std::vector<T>& u, const std::vector<T>& v) {
    return std::memcmp(u.data(), v.data(), u.size() * sizeof(T)) == 0;
  };
  for (int64_t rows : {int64_t{3}, (shape.m + 1) / 2, shape.m}) {
    for (int64_t columns : {int64_t{5}, int64_t{64}, (shape.n + 1) / 2, shape.n}) {
      for (bool use_packed : {false, true}) {
        x.c = x.before;
        for (int64_t i = 0; i < shape.m; i += rows) {
          for (int64_t j = 0; j < shape.n; j += columns) {
            const MatmulPart part = {i, std::min(i + rows, shape.m), j,
                                     std::min(j + columns, shape.n)};
            if (use_packed) {
              MatmulOf<T>::packed_part(x.args, packed.data(), part);
            } else {
              MatmulOf<T>::part(x.args, part);
            }
          }
        }
        ASSERT_TRUE(equal(x.c, use_packed ? whole_packed : whole))
            << describe(x.args) << " rows=" << rows << " columns=" << columns
            << " packed=" << use_packed;
      }
    }
  }
}
template <class T>
void check_all_parts() {
  for (Shape shape : {Shape{1, 200, 130},
                      {200, 1, 130},
                      {8, 100, 270},
                      {60, 70, 130},
                      {1, 7, 40},
                      {100, 8, 270},
                      {33, 33, 33},
                      {520, 200, 130},
                      {2, 2, 4500}}) {
    for (Layout la : {Layout::kRows, Layout::kColumns}) {
      for (Layout lb : {Layout::kRows, Layout::kColumns}) {
        check_parts<T>(shape, la, lb, Layout::kRows, false);
        check_parts<T>(shape, la, lb, Layout::kColumns, true);
      }
    }
  }
}
TEST_P(Matmul, PartsGiveTheBitsOfTheWhole) {
  check_all_parts<float>();
  check_all_parts<double>();
}

template <class T>
void check_special_values() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (Shape shape : {Shape{1, 40, 21}, {9, 35, 21}, {60, 50, 300}}) {
    for (Layout lb : {Layout::kRows, Layout::kColumns}) {
      Problem<T> x(shape, Layout::kRows, lb, Layout::kRows, false, 5);
      x.a[0] = inf;                                         // A[0,0]
      x.b[20 * x.sb.row + (shape.n - 1) * x.sb.col] = nan;  // B[20,n-1]
      x.b[0] = 0;                                           // B[0,0], so C[0,0] has inf * 0
      MatmulOf<T>::product(x.args);
      for (int64_t i = 0; i < shape.m; ++i) {
        for (int64_t j = 0; j < shape.n; ++j) {
          const T c = x.c[x.c_index(i, j)];
          if (j == shape.n - 1 || (i == 0 && j == 0)) {
            EXPECT_TRUE(std::isnan(c)) << i << "," << j << " " << describe(x.args);
          } else {
            EXPECT_EQ(std::isinf(c), i == 0) << i << "," << j << " " << describe(x.args);
            EXPECT_FALSE(std::isnan(c)) << i << "," << j << " " << describe(x.args);
          }
        }
      }
    }
  }
}
TEST_P(Matmul, PropagatesNanAndInfinity) {
  check_special_values<float>();
  check_special_values<double>();
}

TEST_P(Matmul, OfNoDepthIsZeroOrLeavesTheSum) {
  float c[6] = {1, 2, 3, 4, 5, 6};
  MatmulArgs args = {nullptr, nullptr, c, 2, 3, 0, 0, 1, 3, 1, 3, 1, true};
  MatmulOf<float>::product(args);
  EXPECT_EQ(c[5], 6);
  args.accumulate = false;
  MatmulOf<float>::product(args);
  for (float x : c) EXPECT_EQ(x, 0);
}

std::string isa_name(const testing::TestParamInfo<Isa>& info) {
  return info.param == Isa::kGeneric ? "Generic" : info.param == Isa::kAvx2 ? "Avx2" : "Avx512";
}
INSTANTIATE_TEST_SUITE_P(Each, Matmul, testing::Values(Isa::kGeneric, Isa::kAvx2, Isa::kAvx512),
                         isa_name);

}  // namespace
}  // namespace heddle::cpu
