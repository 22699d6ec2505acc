// The calls that XLA writes itself, by what they must satisfy, and by XLA's own signs and orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/interpreter/linalg/internal/jacobi.h"
#include "heddle/interpreter/linalg/internal/solve.h"
#include "heddle/interpreter/linalg/internal/testing.h"

namespace heddle::interpreter::linalg {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using namespace linalg::testing;  // NOLINT: the helpers of these tests

template <class T>
using XlaCalls = OfField<T>;
TYPED_TEST_SUITE(XlaCalls, Fields);

template <class T>
std::string_view name_of() {
  return std::is_same_v<T, double> ? "f64" : "c128";
}

TYPED_TEST(XlaCalls, EighPutTogetherIsA) {
  using T = TypeParam;
  const DType dtype = letters<T>()[1].dtype;
  for (int64_t n : {1, 2, 3, 4, 5, 8}) {
    const Matrix<T> a = hermitian(random_matrix<T>(n, n, static_cast<uint32_t>(n)), true);
    const Literal found = call("Eigh", {literal_of<T>(dtype, {a, a})},
                               base::cat("(", name_of<T>(), "[2,", n, ",", n, "], f64[2,", n, "])"),
                               "\"1,1,100,1e-9\"");
    for (int64_t at : {0, 1}) {
      const Matrix<T> v = read_matrix<T>(found.elements()[0], at);
      const std::span<const double> all = found.elements()[1].values<double>();
      const std::vector<double> w(all.begin() + at * n, all.begin() + (at + 1) * n);
      EXPECT_TRUE(std::ranges::is_sorted(w));
      EXPECT_LE(unitarity(v), 1e-13);
      EXPECT_LE(distance(product(product(v, testing::diagonal<T>(w, n, n)), adjoint(v)), a), 1e-8)
          << n;
    }
  }
}

TYPED_TEST(XlaCalls, ReflectorsOfQrGiveItsQ) {
  using T = TypeParam;
  const DType dtype = letters<T>()[1].dtype;
  const Matrix<T> a = random_matrix<T>(5, 3, 7);
  const std::string matrix = base::cat(name_of<T>(), "[1,5,3]");
  const Literal factors =
      call("Qr", {literal_of<T>(dtype, {a})}, base::cat("(", matrix, ", ", name_of<T>(), "[1,3])"));
  const Matrix<T> q = read_matrix<T>(call("ProductOfElementaryHouseholderReflectors",
                                          {factors.elements()[0], factors.elements()[1]}, matrix),
                                     0);
  Matrix<T> r = rows_of(read_matrix<T>(factors.elements()[0], 0), 0, 3);
  for (int64_t j = 0; j < 3; ++j) std::ranges::fill(r.column(j, j + 1), T(0));
  EXPECT_LE(unitarity(q), 1e-14);
  EXPECT_LE(distance(product(q, r), a), 1e-14);
}

// As XLA's CPU gives it, unsorted: the order that the rotations leave.
TEST(XlaCalls, EighLeavesItsOrderOnRequest) {
  const Literal a = Literal::from<float>(Shape(f32, {3, 3}), {2, 1, 0, 1, -1, 0.5F, 0, 0.5F, 3});
  const Literal found = call("Eigh", {a}, "(f32[3,3], f32[3])", "\"1,0,100,1e-6\"");
  const auto near = [](float x) { return ::testing::FloatNear(x, 1e-5F); };
  const auto values = found.elements()[1].values<float>(),
             vectors = found.elements()[0].values<float>();
  EXPECT_THAT(std::vector<float>(values.begin(), values.end()),
              ElementsAre(near(2.276129F), near(-1.3554245F), near(3.0792954F)));
  EXPECT_THAT(std::vector<float>(vectors.begin(), vectors.begin() + 3),
              ElementsAre(near(0.94803745F), near(-0.28389788F), near(0.14362109F)));
}

TYPED_TEST(XlaCalls, PerturbedSolvesWhatIsRegular) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 7}) {
    const Matrix<T> diagonals = random_matrix<T>(n, 3, static_cast<uint32_t>(n)),
                    b = random_matrix<T>(n, 2, 5);
    Matrix<T> x = b, a(n, n);
    solve_perturbed<T>(diagonals.column(0), diagonals.column(1), diagonals.column(2), x);
    for (int64_t i = 0; i < n; ++i) {
      a(i, i) = diagonals(i, 1);
      if (i > 0) a(i, i - 1) = diagonals(i, 0);
      if (i + 1 < n) a(i, i + 1) = diagonals(i, 2);
    }
    EXPECT_LE(distance(product(a, x), b), 1e-13) << n;
  }
}

// Of a matrix of zeros the pivots become the least normal number, doubled until x is finite.
TEST(XlaCalls, PerturbedIsFiniteWhereTheMatrixIsSingular) {
  const auto solve = [](std::vector<double> middle, std::vector<double> couplings) {
    const int64_t n = std::ssize(middle);
    Matrix<double> x(n, 1);
    std::ranges::fill(x.values(), 1.0);
    solve_perturbed<double>(couplings, middle, couplings, x);
    return x.values();
  };
  EXPECT_THAT(solve({0, 0}, {0, 0}), Each(AllOf(Gt(1e300), Lt(1e308))));
  const std::vector<double> x = solve({1, 1, 1}, {1, 1, 0});  // [[1,1,0],[1,1,0],[0,0,1]] and so on
  EXPECT_TRUE(std::ranges::all_of(x, [](double each) { return std::isfinite(each); }));
}

TEST(XlaCalls, RefuseWhatXlaRefuses) {
  const Literal a = Literal::from<float>(Shape(f32, {1, 2}), {1, 2});
  const auto error = [&](std::string_view target, std::string_view result,
                         std::string_view config) {
    return base::message_of(try_call(target, {a}, result, config).status());
  };
  EXPECT_THAT(error("Eigh", "(f32[2,2], f32[2])", "\"1,1,100,1e-6\""),
              HasSubstr("last two dimensions must be equal"));
  EXPECT_THAT(error("Eigh", "(f32[2,2], f32[2])", "\"1,1\""),
              HasSubstr("must be lower,sort,sweeps,tolerance"));
  EXPECT_THAT(error("Qr", "(f32[1,2], f32[2])", "{}"),
              HasSubstr("its operands give (f32[1,2], f32[1])"));
  const Literal half(Shape(f16, {2, 2}));
  EXPECT_EQ(base::message_of(try_call("Qr", {half}, "(f16[2,2], f16[2])", "{}").status()),
            "custom-call: Qr: operand 0 is f16[2,2]; must be of f32, f64, c64 or c128");
}

}  // namespace
}  // namespace heddle::interpreter::linalg
