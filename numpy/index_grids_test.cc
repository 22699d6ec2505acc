// Grids and polynomials against results of numpy 2 and jax.numpy 0.10.
#include "heddle/numpy/index_grids.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/numpy/polynomials.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

auto near(double x) { return DoubleNear(x, 1e-14); }

TEST(Grids, Triangles) {
  EXPECT_THAT(ints(tri(2, 3, 1)), ElementsAre(1, 1, 0, 1, 1, 1));
  EXPECT_EQ(tri(2).shape(), Shape(f32, {2, 2}));
  std::vector<Tensor> low = tril_indices(3, -1);
  EXPECT_THAT(ints(low[0]), ElementsAre(1, 2, 2));
  EXPECT_THAT(ints(low[1]), ElementsAre(0, 0, 1));
  std::vector<Tensor> high = triu_indices(2, 1, 4);
  EXPECT_THAT(ints(high[0]), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(ints(high[1]), ElementsAre(1, 2, 3, 2, 3));
  EXPECT_EQ(triu_indices(2, 5)[0].size(), 0);
  Tensor x = reshape(arange(9), {3, 3});
  EXPECT_THAT(ints(x[{low[0], low[1]}]), ElementsAre(3, 6, 7));
  EXPECT_THAT(error_of([] { tril_indices(-1); }),
              HasSubstr("tril_indices: rows is -1; it must be 0 or more"));
}

TEST(Grids, PositionsOfAllElements) {
  EXPECT_THAT(ints(indices({2, 3})), ElementsAre(0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2));
  EXPECT_EQ(indices({}).size(), 0);
  EXPECT_THAT(ints(diag_indices(3)[1]), ElementsAre(0, 1, 2));
  std::vector<Tensor> grid = open_grid({array<int>({0, 2}), array<int>({3, 1})});
  EXPECT_EQ(grid[0].shape(), Shape(s32, {2, 1}));
  Tensor x = reshape(arange(12), {3, 4});
  EXPECT_THAT(ints(x[{grid[0], grid[1]}]), ElementsAre(3, 1, 11, 9));
  EXPECT_THAT(open_grid({}), IsEmpty());
  EXPECT_THAT(error_of([&] { open_grid({x}); }), HasSubstr("open_grid: vector 0 is s32[3,4]"));
}

TEST(Grids, FlatPositions) {
  std::vector<Tensor> at = unravel_index(array<int>({22, -1, 99, -99}), {7, 6});
  EXPECT_THAT(ints(at[0]), ElementsAre(3, 6, 6, 0));
  EXPECT_THAT(ints(at[1]), ElementsAre(4, 5, 5, 0));
  EXPECT_THAT(ints(ravel_multi_index({array<int>({3, 6, 9}), array<int>({4, 5, -1})}, {7, 6})),
              ElementsAre(22, 41, 36));
  EXPECT_THAT(error_of([] { unravel_index(1.5, {2}); }), HasSubstr("unravel_index: flat is f32[]"));
  EXPECT_THAT(error_of([] {
                ravel_multi_index({arange(2)}, {2, 3});
              }),
              HasSubstr("ravel_multi_index: has 1 positions for 2 axes"));
}

TEST(Grids, Diagonals) {
  EXPECT_THAT(ints(diagflat(array<int>({{1, 2}}), 1)), ElementsAre(0, 1, 0, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(ints(fill_diagonal(zeros({3, 2}), 5)), ElementsAre(5, 0, 0, 5, 0, 0));
  EXPECT_THAT(ints(fill_diagonal(zeros({3, 3}, s32), array<int>({1, 2}))),
              ElementsAre(1, 0, 0, 0, 2, 0, 0, 0, 1));
  EXPECT_THAT(ints(fill_diagonal(zeros({2, 2, 2}), 1)), ElementsAre(1, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(error_of([] {
                fill_diagonal(zeros({2, 3, 2}), 1);
              }),
              HasSubstr("fill_diagonal: x is f32[2,3,2]; it must be a matrix"));
}

TEST(Grids, Powers) {
  EXPECT_THAT(ints(vander(array<int>({1, 2, 3}))), ElementsAre(1, 1, 1, 4, 2, 1, 9, 3, 1));
  EXPECT_THAT(ints(vander(array<int>({2, 3}), 4, true)), ElementsAre(1, 2, 4, 8, 1, 3, 9, 27));
  EXPECT_EQ(vander(arange(2), 0).shape(), Shape(s32, {2, 0}));
  const Tensor many = vander(array<double>({0.5, -2}), 100),
               up = vander(array<double>({2.0}), 100, true);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(many[0][i].item<double>(), std::pow(0.5, 99 - i)) << i;
    EXPECT_EQ(many[1][i].item<double>(), std::pow(-2, 99 - i)) << i;
    EXPECT_EQ(up[0][i].item<double>(), std::pow(2, i)) << i;
  }
  EXPECT_THAT(doubles(logspace(0, 2, 3, 10, f64)), ElementsAre(near(1), near(10), near(100)));
  EXPECT_THAT(doubles(geomspace(-1, -8, 4, f64)), ElementsAre(-1, near(-2), near(-4), -8));
  EXPECT_THAT(doubles(geomspace(3, 5, 1)), ElementsAre(3));
  EXPECT_THAT(error_of([] { geomspace(-1, 8); }),
              HasSubstr("geomspace: reaches from -1 to 8; both must be above 0 or both below"));
}

TEST(Grids, Windows) {
  EXPECT_THAT(doubles(bartlett(5, f64)), ElementsAre(0, 0.5, 1, 0.5, 0));
  EXPECT_THAT(doubles(hamming(5, f64)),
              ElementsAre(near(0.08), near(0.54), near(1), near(0.54), near(0.08)));
  EXPECT_THAT(doubles(hanning(4, f64)), ElementsAre(0, near(0.75), near(0.75), near(0)));
  EXPECT_THAT(doubles(blackman(5, f64)),
              ElementsAre(near(0), near(0.34), near(1), near(0.34), near(0)));
  EXPECT_THAT(doubles(hamming(1)), ElementsAre(1));
  EXPECT_EQ(hamming(0).size(), 0);
  EXPECT_THAT(error_of([] { hanning(3, s32); }), HasSubstr("hanning: dtype is s32"));
}

TEST(Polynomials, AreEvaluated) {
  EXPECT_THAT(ints(polyval(array<int>({2, 0, 1}), array<int>({0, 3}))), ElementsAre(1, 19));
  EXPECT_EQ(polyval(array<double>({1, 1}), 2).item<double>(), 3);
  EXPECT_THAT(ints(polyval(zeros({0}, s32), array<int>({0, 3}))), ElementsAre(0, 0));
  EXPECT_THAT(error_of([] { polyval(ones({2}), ones({2}, f64)); }),
              HasSubstr("polyval: x is f64[2]; it must be of f32 as the others"));
}

TEST(Polynomials, SumsAndProducts) {
  Tensor p = array<int>({1, 2, 3}), q = array<int>({4, 5});
  EXPECT_THAT(ints(polyadd(p, q)), ElementsAre(1, 6, 8));
  EXPECT_THAT(ints(polysub(q, p)), ElementsAre(-1, 2, 2));
  EXPECT_THAT(ints(polymul(p, q)), ElementsAre(4, 13, 22, 15));
  EXPECT_THAT(ints(polymul(q, p)), ElementsAre(4, 13, 22, 15));
  EXPECT_THAT(error_of([&] { polymul(p, ones({0}, s32)); }),
              HasSubstr("polymul: operands are s32[3] and s32[0]; they must have elements"));
}

TEST(Polynomials, ProductsOfSmallFloatsAreRoundedOnce) {
  const Tensor p = ones({300}, bf16), q = ones({300}, bf16);
  EXPECT_EQ(polymul(p, q)[299].item<double>(), 300);
  EXPECT_EQ(polymul(p, q).dtype(), bf16);
}

TEST(Polynomials, Quotients) {
  Quotient one = polydiv(array<double>({2, 5, 3, 1}), array<double>({1, 2}));
  EXPECT_THAT(doubles(one.quotient), ElementsAre(2, 1, 1));
  EXPECT_THAT(doubles(one.remainder), ElementsAre(-1));
  Quotient two = polydiv(array<double>({3, 5, 2, 7}), array<double>({2, 1, 1}));
  EXPECT_THAT(doubles(two.quotient), ElementsAre(1.5, 1.75));
  EXPECT_THAT(doubles(two.remainder), ElementsAre(-1.25, 5.25));
  EXPECT_THAT(doubles(polydiv(array<double>({6, 4}), array<double>({2})).quotient),
              ElementsAre(3, 2));
  EXPECT_THAT(doubles(polydiv(array<double>({6}), array<double>({2, 1})).remainder),
              ElementsAre(6));
}

TEST(Polynomials, DerivativesIntegralsAndRoots) {
  EXPECT_THAT(doubles(polyder(array<double>({4, 3, 2, 1}), 2)), ElementsAre(24, 6));
  EXPECT_EQ(polyder(array<double>({4}), 3).size(), 0);
  EXPECT_EQ(polyder(array<double>({4, 1}), int64_t{1} << 40).size(), 0);
  EXPECT_THAT(doubles(polyder(array<double>({4, 3, 2, 1}), 0)), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(doubles(polyint(array<double>({3, 2, 1}), 2)),
              ElementsAre(0.25, near(1.0 / 3), 0.5, 0, 0));
  // A loop, not an operation for each of the times.
  EXPECT_EQ(polyint(array<double>({1, 0}), 5000).to_vector<double>()[1], 0);
  EXPECT_THAT(doubles(polyint(array<double>({2}), 20)), Contains(near(2 / 2432902008176640000.0)));
  EXPECT_THAT(doubles(poly(array<double>({1, 2, -3}))), ElementsAre(1, 0, -7, 6));
  EXPECT_THAT(doubles(poly(zeros({0}))), ElementsAre(1));
  EXPECT_THAT(doubles(real(polyder(complex(array<float>({2, 1}), array<float>({0, 1}))))),
              ElementsAre(2));
  EXPECT_THAT(error_of([] { polyder(arange(3)); }),
              HasSubstr("polyder: p is s32[3]; it must be of floats or complex numbers"));
}

}  // namespace
}  // namespace heddle
