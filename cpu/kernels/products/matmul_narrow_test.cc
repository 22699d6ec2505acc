#include "heddle/cpu/kernels/products/matmul_narrow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace heddle::cpu {
namespace {

struct Bf16 {
  static constexpr DType kType = bf16;
  using Element = uint16_t;
  using Sum = float;
  static double value(Element x) { return std::bit_cast<float>(uint32_t{x} << 16); }
  static Element of(float x) { return static_cast<Element>(std::bit_cast<uint32_t>(x) >> 16); }
  static Element draw(std::mt19937& rng) {
    return of(std::uniform_real_distribution<float>(-1, 1)(rng));
  }
};

template <class T, DType kDType>
struct Integers {
  static constexpr DType kType = kDType;
  using Element = T;
  using Sum = int32_t;
  static double value(Element x) { return x; }
  static Element draw(std::mt19937& rng) { return static_cast<Element>(rng()); }
};

struct Strides {
  int64_t row, col;
};

// How a matrix of rows x columns lies: by rows, by columns, by rows apart, spread, or all alike.
constexpr int kLayouts = 5;
Strides strides_of(int layout, int64_t rows, int64_t columns) {
  switch (layout) {
    case 0: return {columns, 1};
    case 1: return {1, rows};
    case 2: return {columns + 5, 1};
    case 3: return {2 * columns + 3, 2};
    default: return {0, 0};
  }
}
int64_t extent(Strides s, int64_t rows, int64_t columns) {
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * s.row + (columns - 1) * s.col + 1;
}

// Operands end with their allocation, so that AddressSanitizer sees a read past them. What lies
// between the elements of C must stay.
template <class Kind>
struct NarrowProblem {
  using Sum = typename Kind::Sum;

  NarrowProblem(int64_t m, int64_t n, int64_t k, int la, int lb, int lc, bool accumulate)
      : rng(static_cast<unsigned>(m * 10007 + n * 101 + k * 7 + la + lb + lc)),
        sa(strides_of(la, m, k)),
        sb(strides_of(lb, k, n)),
        sc(strides_of(lc, m, n)),
        a(static_cast<size_t>(extent(sa, m, k))),
        b(static_cast<size_t>(extent(sb, k, n))),
        c(static_cast<size_t>(extent(sc, m, n)), kGap) {
    for (auto& x : a) x = Kind::draw(rng);
    for (auto& x : b) x = Kind::draw(rng);
    args = {a.data(), b.data(), c.data(), m,      n,      k,         sa.row,
            sa.col,   sb.row,   sb.col,   sc.row, sc.col, accumulate};
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) at(c, i, j) = accumulate ? static_cast<Sum>(i - j) : kGap;
    }
    before = c;
  }

  static constexpr Sum kGap = 123456;
  Sum& at(std::vector<Sum>& of, int64_t i, int64_t j) const {
    return of[static_cast<size_t>(i * sc.row + j * sc.col)];
  }

  void run() { narrow_part(Kind::kType, args, {0, args.m, 0, args.n}); }

  // Integers are exact; floats (k + 1) eps sum |a||b| from the exact sum. Gaps are as they were.
  void check() {
    std::vector<Sum> gaps = c;
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        double sum = args.accumulate ? at(before, i, j) : 0, size = std::abs(sum);
        for (int64_t k = 0; k < args.k; ++k) {
          const double product = Kind::value(a[static_cast<size_t>(i * sa.row + k * sa.col)]) *
                                 Kind::value(b[static_cast<size_t>(k * sb.row + j * sb.col)]);
          sum += product;
          size += std::abs(product);
        }
        const double share =
            std::is_same_v<Sum, float> ? static_cast<double>(args.k + 1) * 0x1p-23 : 0;
        ASSERT_NEAR(at(c, i, j), sum, share * size)
            << i << "," << j << " of " << args.m << "x" << args.n << "x" << args.k << " strides "
            << sa.row << "," << sa.col << " " << sb.row << "," << sb.col;
        at(gaps, i, j) = kGap;
      }
    }
    for (Sum gap : gaps) ASSERT_EQ(gap, kGap);
  }

  std::mt19937 rng;
  Strides sa, sb, sc;
  std::vector<typename Kind::Element> a, b;
  std::vector<Sum> c, before;
  MatmulArgs args;
};

class NarrowMatmul : public testing::TestWithParam<NarrowUnit> {
 protected:
  void SetUp() override {
    if (!set_narrow_unit(GetParam())) GTEST_SKIP() << "the machine lacks this unit";
  }
  void TearDown() override { set_narrow_unit(best_); }
  // Calls check.template operator()<Kind>() for each kind of elements that the unit takes.
  template <class Check>
  static void for_each_kind(const Check& check) {
    int kinds = 0;
    const auto try_kind = [&]<class Kind>() {
      if (narrow_unit(Kind::kType) != GetParam()) return;
      check.template operator()<Kind>();
      ++kinds;
    };
    try_kind.template operator()<Bf16>();
    try_kind.template operator()<Integers<int8_t, s8>>();
    try_kind.template operator()<Integers<uint8_t, u8>>();
    EXPECT_GE(kinds, 2);
  }

 private:
  const NarrowUnit best_ = narrow_unit(s8);
};

TEST_P(NarrowMatmul, IsTheSumOfItsProducts) {
  for_each_kind([]<class Kind>() {
    for (int64_t m : {1, 7, 16, 17, 32, 48, 70}) {
      for (int64_t n : {1, 15, 16, 31, 32, 33, 130}) {
        for (int64_t k : {1, 2, 31, 33, 64, 96, 128}) {
          const int la = static_cast<int>((m + n + k) % kLayouts),
                    lb = static_cast<int>((m + 2 * n) % kLayouts),
                    lc = static_cast<int>((n + k) % (kLayouts - 1));
          NarrowProblem<Kind> x(m, n, k, la, lb, lc, k % 2 == 0);
          x.run();
          x.check();
        }
      }
    }
  });
}

TEST_P(NarrowMatmul, InEachLayout) {
  for_each_kind([]<class Kind>() {
    for (int la = 0; la < kLayouts; ++la) {
      for (int lb = 0; lb < kLayouts; ++lb) {
        for (int lc = 0; lc + 1 < kLayouts; ++lc) {
          NarrowProblem<Kind> x(40, 50, 70, la, lb, lc, lc % 2 == 1);
          x.run();
          x.check();
        }
      }
    }
  });
}

TEST_P(NarrowMatmul, OfFewColumns) {
  for_each_kind([]<class Kind>() {
    for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9}) {
      for (int64_t k : {64, 130, 4097}) {
        for (int lb : {0, 1, 3}) {
          NarrowProblem<Kind> x(9, n, k, n % 2 == 0 ? 0 : 2, lb, lb, k % 2 == 0);
          x.run();
          x.check();
        }
      }
    }
  });
}

// More than one slab of k, group of columns and strip of rows.
TEST_P(NarrowMatmul, OfSeveralBlocks) {
  for_each_kind([]<class Kind>() {
    for (int lb : {0, 1}) {
      NarrowProblem<Kind> x(70, 600, 1100, 1 - lb, lb, 0, true);
      x.run();
      x.check();
    }
  });
}

TEST_P(NarrowMatmul, PartsGiveTheBitsOfTheWhole) {
  for_each_kind([]<class Kind>() {
    for (int la : {0, 1}) {
      NarrowProblem<Kind> whole(50, 90, 700, la, 1 - la, 2, true),
          parts(50, 90, 700, la, 1 - la, 2, true);
      whole.run();
      for (const MatmulPart& part :
           {MatmulPart{0, 13, 0, 40}, {13, 50, 0, 40}, {0, 50, 40, 85}, {0, 50, 85, 90}})
        narrow_part(Kind::kType, parts.args, part);
      EXPECT_EQ(whole.c, parts.c);
    }
  });
}

// The greatest products, whose sums pass 2^31.
TEST_P(NarrowMatmul, SumsOfIntegersWrap) {
  constexpr int64_t kLength = 140000;
  std::vector<int8_t> x(kLength, -128);
  std::vector<uint8_t> y(kLength, 255);
  int32_t c = 0;
  MatmulArgs args = {x.data(), x.data(), &c, 1, 1, kLength, kLength, 1, 1, 1, 1, 1, false};
  narrow_part(s8, args, {0, 1, 0, 1});
  EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(128 * 128 * kLength)));
  args.a = args.b = y.data();
  narrow_part(u8, args, {0, 1, 0, 1});
  EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(255 * 255 * kLength)));
}

TEST_P(NarrowMatmul, PropagatesNanAndInfinity) {
  if (narrow_unit(bf16) == NarrowUnit::kNone) GTEST_SKIP() << "the unit takes integers alone";
  NarrowProblem<Bf16> x(20, 40, 50, 0, 0, 0, false);
  x.a[0] = Bf16::of(std::numeric_limits<float>::infinity());              // A[0,0]
  x.b[0] = 0;                                                             // so C[0,0] has inf * 0
  x.b[49 * 40 + 39] = Bf16::of(std::numeric_limits<float>::quiet_NaN());  // B[49,39]
  x.run();
  for (int64_t i = 0; i < 20; ++i) {
    for (int64_t j = 0; j < 40; ++j) {
      const float c = x.at(x.c, i, j);
      const bool is_nan = j == 39 || (i == 0 && j == 0);
      EXPECT_EQ(std::isnan(c), is_nan) << i << "," << j;
      EXPECT_EQ(std::isinf(c), i == 0 && !is_nan) << i << "," << j;
    }
  }
}

TEST_P(NarrowMatmul, OfNoDepthIsZeroOrLeavesTheSum) {
  int32_t c[6] = {1, 2, 3, 4, 5, 6};
  MatmulArgs args = {nullptr, nullptr, c, 2, 3, 0, 0, 1, 3, 1, 3, 1, true};
  narrow_part(s8, args, {0, 2, 0, 3});
  EXPECT_EQ(c[5], 6);
  args.accumulate = false;
  narrow_part(s8, args, {0, 2, 0, 3});
  for (int32_t x : c) EXPECT_EQ(x, 0);
}

std::string unit_name(const testing::TestParamInfo<NarrowUnit>& info) {
  if (info.param == NarrowUnit::kAmx) return "Amx";
  return info.param == NarrowUnit::kVnni ? "Vnni" : "Avx512";
}
INSTANTIATE_TEST_SUITE_P(Each, NarrowMatmul,
                         testing::Values(NarrowUnit::kAvx512, NarrowUnit::kVnni, NarrowUnit::kAmx),
                         unit_name);

}  // namespace
}  // namespace heddle::cpu
