// topk: its order, ties among it, against std::stable_sort.
#include "heddle/interpreter/topk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::lowest(), Limits::max(), T{0}, T{1}, T{3}, T{100}};
  if constexpr (Limits::is_iec559) {
    for (T x : {Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(), T{0}, T{2.5}})
      values.insert(values.end(), {x, -x});
  } else if constexpr (Limits::is_signed) {
    values.insert(values.end(), {T{-1}, T{-3}, T{-100}});
  }
  return values;
}

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::numeric_limits<T>::is_iec559) {
    const auto rank = [](T x) { return (std::isnan(x) ? 2 : 1) * (std::signbit(x) ? -1 : 1); };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
  }
  return a < b;
}

template <class T>
void expect_first(DType dtype, const std::vector<T>& row, int64_t k, bool largest) {
  SCOPED_TRACE(base::cat(row.size(), " elements, k = ", k, largest ? ", largest" : ""));
  std::vector<int32_t> want(row.size());
  std::iota(want.begin(), want.end(), 0);
  std::ranges::stable_sort(want, [&](int32_t a, int32_t b) {
    return largest ? is_less(row[b], row[a]) : is_less(row[a], row[b]);
  });
  want.resize(static_cast<size_t>(k));
  const Literal got =
      top_k(Literal::from<T>(Shape(dtype, {static_cast<int64_t>(row.size())}), row), k, largest);
  const auto positions = got.elements()[1].values<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(positions.begin(), positions.end()), want);
  const auto values = got.elements()[0].values<T>();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(std::memcmp(&values[i], &row[static_cast<size_t>(want[i])], sizeof(T)), 0);
}

template <class T>
void expect_rows(DType dtype) {
  std::mt19937_64 random(7);
  const std::vector<T> special = special_values<T>();
  for (const int64_t length : {1, 31, 32, 33, 257, 3000}) {
    for (const int64_t k : {int64_t{1}, int64_t{8}, int64_t{31}, length / 2 + 1, length}) {
      if (k > length) continue;
      std::vector<T> ties(static_cast<size_t>(length)), apart = ties;
      for (T& x : ties) x = special[random() % special.size()];
      for (T& x : apart) x = static_cast<T>(static_cast<int64_t>(random() % 100000) - 50000);
      std::vector<T> rising = apart;
      std::ranges::sort(rising);
      for (const auto& row : {ties, apart, rising}) {
        expect_first(dtype, row, k, true);
        expect_first(dtype, row, k, false);
      }
    }
  }
}

TEST(TopK, IsTheBeginningOfAStableSort) {
  expect_rows<float>(f32);
  expect_rows<double>(f64);
  expect_rows<int8_t>(s8);
  expect_rows<uint8_t>(u8);
  expect_rows<int16_t>(s16);
  expect_rows<uint32_t>(u32);
  expect_rows<int64_t>(s64);
  expect_rows<uint64_t>(u64);
}

TEST(TopK, OrdersSmallFloatsBySign) {
  for (const std::string_view dtype : {"bf16", "f16", "f8e4m3fn", "f4e2m1fn"}) {
    const Literal got = run(base::cat("HloModule m ENTRY e { x = ", dtype,
                                      "[6] constant({1, -2, 4, -0, 0, -6}) ROOT y = (", dtype,
                                      "[6], s32[6]) topk(x), k=6, largest=true }"));
    EXPECT_THAT(numbers(got.elements()[1]), ElementsAre(2, 0, 4, 3, 1, 5)) << dtype;
  }
}

}  // namespace
}  // namespace heddle::interpreter
