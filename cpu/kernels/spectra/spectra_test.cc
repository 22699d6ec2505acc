// The loops of every instruction set that the machine has, on matrices whose values are known.
#include "heddle/cpu/kernels/spectra/spectra.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace heddle::cpu {
namespace {

constexpr int64_t kBatch = 37;  // no multiple of any number of lanes

std::vector<const SpectrumTable*> tables() {
  std::vector<const SpectrumTable*> out = {&kSpectraGeneric};
#if defined(__x86_64__)
  if (has_isa(Isa::kAvx2)) out.push_back(&kSpectraAvx2);
  if (has_isa(Isa::kAvx512)) out.push_back(&kSpectraAvx512);
#endif
  return out;
}

template <class T>
const SpectrumLoops<T>& loops_of(const SpectrumTable& table) {
  if constexpr (sizeof(T) == 4) return table.f32;
  if constexpr (sizeof(T) == 8) return table.f64;
}

// Row-major.
struct Square {
  int64_t n = 0;
  std::vector<double> elements = {};

  double& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(i * n + j)]; }
};

// An orthogonal matrix: the product of two reflections.
Square orthogonal(int64_t n, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Square out{n, std::vector<double>(static_cast<size_t>(n * n))};
  for (int64_t i = 0; i < n; ++i) out.at(i, i) = 1;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> v(static_cast<size_t>(n));
    double square = 0;
    for (double& x : v) {
      x = normal(random);
      square += x * x;
    }
    for (int64_t j = 0; j < n; ++j) {
      double along = 0;
      for (int64_t i = 0; i < n; ++i) along += v[static_cast<size_t>(i)] * out.at(i, j);
      for (int64_t i = 0; i < n; ++i)
        out.at(i, j) -= 2 * along / square * v[static_cast<size_t>(i)];
    }
  }
  return out;
}

// Ascending: any; few, which repeat; zeros and one; of many sizes; all large; all small.
constexpr int kKinds = 6;
std::vector<double> spectrum(int64_t count, int64_t kind, bool has_signs, std::mt19937& random) {
  std::uniform_real_distribution<double> between(0.1, 1);
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const double sign = has_signs && random() % 2 == 0 ? -1 : 1;
    switch (kind) {
      case 0: out.push_back(sign * between(random)); break;
      case 1: out.push_back(sign * static_cast<double>(i % 2)); break;
      case 2: out.push_back(i == 0 ? sign : 0); break;
      case 3: out.push_back(sign * std::pow(10, -static_cast<double>(i))); break;
      case 4: out.push_back(sign * between(random) * 1e9); break;
      default: out.push_back(sign * between(random) * 1e-9);
    }
  }
  std::ranges::sort(out);
  return out;
}

// kBatch matrices l diag(values) r^T, and the values.
template <class T>
struct Batch {
  std::vector<T> a;
  std::vector<std::vector<double>> values;
};
template <class T>
Batch<T> batch_of(int64_t rows, int64_t columns, bool symmetric) {
  std::mt19937 random(static_cast<uint32_t>(rows * 10 + columns));
  Batch<T> out;
  for (int64_t at = 0; at < kBatch; ++at) {
    Square left = orthogonal(rows, random), right = symmetric ? left : orthogonal(columns, random);
    out.values.push_back(spectrum(std::min(rows, columns), at % kKinds, symmetric, random));
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < std::min(rows, columns); ++k)
          sum += left.at(i, k) * out.values.back()[static_cast<size_t>(k)] * right.at(j, k);
        out.a.push_back(static_cast<T>(sum));
      }
    }
  }
  return out;
}

template <class T>
void expect_values(const Batch<T>& batch, const std::vector<T>& got, int64_t count) {
  for (int64_t at = 0; at < kBatch; ++at) {
    const std::vector<double>& values = batch.values[static_cast<size_t>(at)];
    const double most = std::max(std::abs(values.front()), std::abs(values.back()));
    for (int64_t i = 0; i < count; ++i)
      EXPECT_NEAR(got[static_cast<size_t>(at * count + i)], values[static_cast<size_t>(i)],
                  8 * std::numeric_limits<T>::epsilon() * most)
          << at << " " << i;
  }
}

template <class T>
void expect_eigenvalues(const SpectrumTable& table, int64_t n) {
  SCOPED_TRACE(n);
  Batch<T> batch = batch_of<T>(n, n, true);
  const auto size = static_cast<size_t>(n * n);
  for (const bool lower : {false, true}) {
    std::vector<T> a = batch.a, got(static_cast<size_t>(kBatch * n));
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t row = i % size / static_cast<size_t>(n), column = i % static_cast<size_t>(n);
      if (lower ? column > row : column < row) a[i] = 7;  // the triangle that is not read
    }
    ASSERT_TRUE(loops_of<T>(table).eigenvalues(a.data(), kBatch, n, lower, got.data()));
    expect_values(batch, got, n);
    // Each matrix alone gives the same bits.
    for (size_t at = 0; at < kBatch; ++at) {
      std::vector<T> one(static_cast<size_t>(n));
      ASSERT_TRUE(loops_of<T>(table).eigenvalues(a.data() + at * size, 1, n, lower, one.data()));
      EXPECT_TRUE(std::ranges::equal(
          one, std::span(got).subspan(at * static_cast<size_t>(n), static_cast<size_t>(n))));
    }
  }
}

template <class T>
void expect_singular_values(const SpectrumTable& table, int64_t rows, int64_t columns) {
  SCOPED_TRACE(rows * 10 + columns);
  Batch<T> batch = batch_of<T>(rows, columns, false);
  const auto count = static_cast<size_t>(std::min(rows, columns));
  const auto size = static_cast<size_t>(rows * columns);
  for (std::vector<double>& values : batch.values) std::ranges::reverse(values);
  std::vector<T> got(kBatch * count);
  ASSERT_TRUE(
      loops_of<T>(table).singular_values(batch.a.data(), kBatch, rows, columns, got.data()));
  expect_values(batch, got, static_cast<int64_t>(count));
  for (size_t at = 0; at < kBatch; ++at) {
    std::vector<T> one(count);
    ASSERT_TRUE(loops_of<T>(table).singular_values(batch.a.data() + at * size, 1, rows, columns,
                                                   one.data()));
    EXPECT_TRUE(std::ranges::equal(one, std::span(got).subspan(at * count, count)));
  }
}

TEST(Spectra, EigenvaluesOfKnownMatrices) {
  for (const SpectrumTable* table : tables()) {
    for (int64_t n = 1; n <= kMostSpectrumRows; ++n) {
      expect_eigenvalues<float>(*table, n);
      expect_eigenvalues<double>(*table, n);
    }
  }
}

TEST(Spectra, SingularValuesOfKnownMatrices) {
  for (const SpectrumTable* table : tables()) {
    for (int64_t rows = 1; rows <= kMostSpectrumRows; ++rows) {
      for (int64_t columns = 1; columns <= kMostSpectrumRows; ++columns) {
        expect_singular_values<float>(*table, rows, columns);
        expect_singular_values<double>(*table, rows, columns);
      }
    }
  }
}

template <class T>
void expect_refused(const SpectrumTable& table) {
  using Limits = std::numeric_limits<T>;
  for (const T odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max(),
                      Limits::min(), Limits::denorm_min()}) {
    std::vector<T> a(kBatch * 9, T(0)), values(kBatch * 3);
    EXPECT_TRUE(loops_of<T>(table).eigenvalues(a.data(), kBatch, 3, true, values.data()));
    EXPECT_TRUE(std::ranges::all_of(values, [](T x) { return x == 0; }));
    a[20 * 9 + 4] = odd;
    EXPECT_FALSE(loops_of<T>(table).eigenvalues(a.data(), kBatch, 3, true, values.data())) << odd;
    EXPECT_FALSE(loops_of<T>(table).singular_values(a.data(), kBatch, 3, 3, values.data())) << odd;
  }
}

TEST(Spectra, NumbersThatCannotBeSquaredAreRefused) {
  for (const SpectrumTable* table : tables()) {
    expect_refused<float>(*table);
    expect_refused<double>(*table);
  }
}

}  // namespace
}  // namespace heddle::cpu
