// Corners of the catalogue, against what jax.numpy 0.10 gives in 64 bits: empty axes, dtypes of few
// bits, numbers at the ends of theirs. And which op an error names, and which line a program has.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>

#include "heddle/base/support_test.h"
#include "heddle/numpy/cosine_transforms.h"
#include "heddle/numpy/index_grids.h"
#include "heddle/numpy/manipulation.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/sorting.h"
#include "heddle/numpy/statistics/nan_statistics.h"
#include "heddle/numpy/statistics/quantiles.h"
#include "heddle/numpy/statistics/statistics.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/run/program_lines_test.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using Complex = std::complex<double>;

TEST(Reads, OfIntegersKeepTheNumberOrSayThatTheyDoNot) {
  const auto error = [](auto&& read) -> std::string {
    try {
      read();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error([] {
                (void)array<int>({3, 300}).to_vector<uint8_t>();
              }),
              HasSubstr("to_vector: element 1 of the operand, s32[2], is 300, which no u8 holds; "
                        "read another type, or round and cast the tensor first"));
  EXPECT_THAT(error([] { (void)scalar(1.75f).item<int>(); }), HasSubstr("1.75, which no s32"));
  EXPECT_THAT(error([] { (void)scalar(NAN).item<int>(); }), HasSubstr("which no s32"));
  EXPECT_THAT(error([] { (void)scalar(-1).item<uint64_t>(); }), HasSubstr("-1, which no u64"));
  EXPECT_THAT(error([] { (void)scalar(~uint64_t{0}).item<int64_t>(); }), HasSubstr("no s64"));
  EXPECT_EQ(scalar(-0.0f).item<int>(), 0);
  EXPECT_EQ(scalar(3.0).item<int>(), 3);
  EXPECT_EQ(scalar(true).item<int>(), 1);
  EXPECT_EQ(scalar(int64_t{300}).item<uint16_t>(), 300);
  EXPECT_EQ(scalar(1.75).item<float>(), 1.75f);
}

TEST(Corners, DivisionsByNothing) {
  EXPECT_THAT(ints(fmod(array<int>({5, -5}), 0)), ElementsAre(0, 0));
  EXPECT_THAT(ints(fmod(array<int>({5, -5}), 3)), ElementsAre(2, -2));
  EXPECT_TRUE(std::isnan(fmod(array<float>({5}), 0).item<float>()));
}

TEST(Corners, VectorsMustHaveOneSize) {
  EXPECT_THAT(error_of([] { vecdot(ones({3}), ones({1})); }),
              StartsWith("vecdot: operands are f32[3] and f32[1]; their last axes must have one"));
  EXPECT_THAT(error_of([] { vecdot(2.0, ones({3})); }),
              StartsWith("vecdot: x is f32[]; it must have rank 1 or more"));
  EXPECT_THAT(error_of([] {
                matvec(ones({1, 1}), 2.0);
              }),
              StartsWith("matvec: x is f32[]; it must have rank 1 or more"));
  EXPECT_THAT(error_of([] {
                vecmat(2.0, ones({1, 3}));
              }),
              StartsWith("vecmat: x is f32[]; it must have rank 1 or more"));
}

TEST(Corners, FloatsWithoutInfinities) {
  const Tensor x = array<float>({-1, -2}).astype(f8e4m3fn);
  EXPECT_EQ(nan_max(x).item<float>(), -1);
  EXPECT_EQ(nan_min(x).item<float>(), -2);
  EXPECT_EQ(max(x).item<float>(), -1);
  EXPECT_EQ(nan_argmax(x, 0).item<int>(), 0);
  EXPECT_EQ(nan_argmin(x, 0).item<int>(), 1);
}

TEST(Corners, MeansOf16BitsAreRoundedOnce) {
  const Tensor threes = full({257}, 3, bf16);
  EXPECT_EQ(mean(threes).item<float>(), 3);
  EXPECT_EQ(mean(threes).dtype(), bf16);
  EXPECT_EQ(var(threes).item<float>(), 0);
  EXPECT_EQ(std_dev(threes).item<float>(), 0);
  EXPECT_EQ(nan_mean(threes).item<float>(), 3);
  EXPECT_EQ(nan_var(threes).item<float>(), 0);
  EXPECT_EQ(nan_std(threes).dtype(), bf16);
  EXPECT_EQ(average(threes, ones({257}, bf16)).item<float>(), 3);
  const Tensor many = (arange(70000) % 2).astype(f16);
  EXPECT_EQ(mean(many).item<float>(), 0.5);
  EXPECT_EQ(nan_mean(many).item<float>(), 0.5);
  EXPECT_EQ(nan_var(many).item<float>(), 0.25);
}

TEST(Corners, IntegersHaveNoNan) {
  const Tensor x = array<int>({3, 7, 5});
  EXPECT_EQ(nan_max(x).item<int>(), 7);
  EXPECT_EQ(nan_min(x).item<int>(), 3);
  EXPECT_EQ(nan_prod(x).item<int>(), 105);
  EXPECT_EQ(nan_argmax(x, 0).item<int>(), 1);
  const Tensor z = array({Complex(1, 1), Complex(2, 0), Complex(NAN, 1)});
  EXPECT_EQ(nan_prod(z).item<Complex>(), Complex(2, 2));
}

TEST(Corners, PlacesOfADerivativeHaveItsDtype) {
  const Tensor y = array<float>({1, 2, 4});
  EXPECT_THAT(error_of([&] {
                gradient_at(y, array<double>({1, 2, 4}));
              }),
              StartsWith("gradient_at: places is f64[3]; it must be of f32"));
  EXPECT_THAT(error_of([&] {
                gradient_at(y, array<uint8_t>({9, 4, 1}));
              }),
              StartsWith("gradient_at: places is u8[3]; it must be of f32"));
}

TEST(Corners, PositionsAreClampedBeforeTheyAreNarrowed) {
  const int64_t far = (int64_t{1} << 32) + 1;
  EXPECT_EQ(ravel_multi_index({scalar<int64_t>(far)}, {5}).item<int>(), 4);
  EXPECT_EQ(ravel_multi_index({scalar<uint64_t>(UINT64_MAX)}, {5}).item<int>(), 4);
  EXPECT_EQ(ravel_multi_index({scalar<int8_t>(100)}, {300}).item<int>(), 100);
  const Tensor x = reshape(arange(6), {3, 2}), none = array<int>({0});
  const Tensor last = array<uint64_t>({UINT64_MAX});
  EXPECT_THAT(ints(x[{last}]), ElementsAre(4, 5));
  EXPECT_THAT(ints(x[{last, none}]), ElementsAre(4));
  EXPECT_THAT(ints(x.at({last, none}).set(9)), ElementsAre(0, 1, 2, 3, 4, 5));
  const std::vector<Tensor> places = unravel_index(scalar<int>(5), {70000, 70000});
  EXPECT_EQ(places[0].item<int>(), 0);
  EXPECT_EQ(places[1].item<int>(), 5);
}

TEST(Corners, ScalesThatRoundOnce) {
  const auto x = static_cast<float>(257.5 / 512 - 0x1p-24);
  EXPECT_EQ(ldexp(array<float>({x}), -140).item<float>(), std::ldexp(x, -140));
  for (const float each : {x, -x, 1.5f, 0x1p-149f, 0x1.fffffep127f, 0.f, -0.f, INFINITY}) {
    for (const int n : {-400, -280, -149, -127, -24, 0, 1, 127, 128, 277, 400})
      EXPECT_EQ(ldexp(array<float>({each}), n).item<float>(), std::ldexp(each, n)) << each << n;
  }
  EXPECT_EQ(ldexp(scalar<double>(0x1.8p-1074 * 4), 2097).item<double>(),
            std::ldexp(0x1.8p-1074 * 4, 2097));
  EXPECT_THAT(doubles(around(array<float>({1.5, -2.25, 0}), 40)), ElementsAre(1.5, -2.25, 0));
  EXPECT_THAT(doubles(around(array<double>({1.5, 0}), 400)), ElementsAre(1.5, 0));
}

TEST(Corners, ManyPlacesOf16Bits) {
  const Tensor line = linspace(0, 1, 5000, f16);
  EXPECT_EQ(line.dtype(), f16);
  // 4990 / 4999, rounded once, as in numpy; jax rounds the position to 4992 first.
  EXPECT_EQ(line[4990].item<float>(), 0.998046875f);
  EXPECT_EQ(linspace(0, 1, 70000, f16)[35000].item<float>(), 0.5f);
}

TEST(Corners, PowersWhoseProductUnderflows) {
  const Tensor line = geomspace(1e-200, 1e-180, 3, f64);
  EXPECT_EQ(line[0].item<double>(), 1e-200);
  EXPECT_NEAR(line[1].item<double>() / 1e-190, 1, 1e-12);
  EXPECT_THAT(error_of([] { geomspace(0, 1); }), StartsWith("geomspace: reaches from 0 to 1"));
}

// trace/ops/elementwise/extremes.cc has a table of its own; what the formats hold is in hlo/.
TEST(Corners, ExtremesOfFewBitsAreThoseOfAllPatterns) {
  for (DType dtype : {f8e5m2, f8e4m3fn, f8e4m3b11fnuz, f8e5m2fnuz, f8e4m3fnuz, f8e4m3, f8e3m4,
                      f8e8m0fnu, f4e2m1fn}) {
    const Tensor patterns = bit_width(dtype) == 4 ? iota(u4, {16}, 0) : iota(u8, {256}, 0);
    std::vector<double> values = doubles(bitcast_convert(patterns, dtype));
    std::erase_if(values, [](double v) { return std::isnan(v); });
    const auto [least, greatest] = std::ranges::minmax(values);
    EXPECT_EQ(trace_internal::extreme(dtype, true).to_double(0), least) << to_string(dtype);
    EXPECT_EQ(trace_internal::extreme(dtype, false).to_double(0), greatest) << to_string(dtype);
  }
}

TEST(Corners, ManyChoicesForAFewBits) {
  const std::vector<Tensor> choices(300, array<int>({1, 2}));
  EXPECT_THAT(ints(choose(array<int8_t>({3, -1}), choices)), ElementsAre(1, 2));
}

TEST(Corners, ListsOfPartsAreLists) {
  const Tensor x = array<float>({1, 2, 3});
  EXPECT_EQ(quantile(x, {0.5}).shape(), Shape(f32, {1}));
  EXPECT_EQ(quantile(x, 0.5).shape(), Shape(f32, {}));
  EXPECT_EQ(quantile(x, {0.5, 0.2}).shape(), Shape(f32, {2}));
  EXPECT_THAT(error_of([&] { quantile(x, {}); }), StartsWith("quantile: q has no parts"));
}

// The numbers are numpy's.
TEST(Corners, QuantilesAreOverSeveralAxesAndKeepThem) {
  const auto near = [](std::vector<double> values) {
    return Pointwise(::testing::DoubleNear(1e-5), values);
  };
  const Tensor x = (reshape(arange(24), {2, 3, 4}) * 7 % 24).astype(f32);
  EXPECT_THAT(doubles(median(x, {0, 2})), ElementsAre(10.5, 12, 12.5));
  EXPECT_THAT(doubles(median(x)), ElementsAre(11.5));
  EXPECT_EQ(median(x, {0, -1}, true).shape(), Shape(f32, {1, 3, 1}));
  EXPECT_EQ(median(x, {.keep_dims = true}).shape(), Shape(f32, {1, 1, 1}));
  EXPECT_EQ(median(x, 1, true).shape(), Shape(f32, {2, 1, 4}));
  EXPECT_EQ(median(x, {.axes = {}}).to_vector<float>(), x.to_vector<float>());
  const Tensor two = quantile(x, {0.25, 0.9}, {.axes = {-1, 0}, .keep_dims = true});
  EXPECT_EQ(two.shape(), Shape(f32, {2, 1, 3, 1}));
  EXPECT_THAT(doubles(two), near({5.75, 5.5, 7.25, 19.6, 19.5, 20.6}));
  const Tensor gap = x.at({0, 1, 2}).set(NAN);
  EXPECT_THAT(doubles(nan_percentile(gap, 30, {1, 2})), near({5, 9.3}));
  EXPECT_TRUE(std::isnan(doubles(percentile(gap, 30, {1, 2}))[0]));
  const Tensor kept = nanmedian(gap, {0, 1}, true);
  EXPECT_EQ(kept.shape(), Shape(f32, {1, 1, 4}));
  EXPECT_THAT(doubles(kept), ElementsAre(10, 13, 10, 11));
  EXPECT_EQ(doubles(nanquantile(gap, 0.3, {2, 1})), doubles(nan_percentile(gap, 30, {1, 2})));
  const auto levels = array<float>({0.25, 0.9});
  EXPECT_THAT(doubles(quantile(x, levels, {.axes = {0, 2}, .keep_dims = true})),
              near({5.75, 5.5, 7.25, 19.6, 19.5, 20.6}));
  EXPECT_THAT(error_of([&] { median(x, {0, 0}); }), HasSubstr("axis 0"));
  EXPECT_THAT(error_of([&] { median(zeros({2, 0}), 1); }), HasSubstr("it must have elements"));
  EXPECT_EQ(median(zeros({2, 0}), 0).shape(), Shape(f32, {0}));
  EXPECT_EQ(median(zeros({2, 0, 3}), {0, 2}, true).shape(), Shape(f32, {1, 0, 1}));
}

TEST(Corners, NothingIsTakenFromNothing) {
  const Tensor none = zeros({0}, s32);
  EXPECT_EQ(take(zeros({0}), none).shape(), Shape(f32, {0}));
  EXPECT_EQ(take(zeros({2, 0}), none, 1).shape(), Shape(f32, {2, 0}));
  EXPECT_EQ(zeros({0})[{none}].shape(), Shape(f32, {0}));
  EXPECT_EQ((zeros({0, 2})[{none, none}]).shape(), Shape(f32, {0}));
  EXPECT_EQ((zeros({3, 0, 2})[{Slice{}, none, none}]).shape(), Shape(f32, {3, 0}));
  EXPECT_EQ(take_along_axis(zeros({0, 2}), zeros({0, 2}, s32), 0).shape(), Shape(f32, {0, 2}));
  const auto taken = [](Dimensions x, Dimensions indices, int axis) {
    return take_along_axis(zeros(x), zeros(indices, s32), axis).shape().dimensions();
  };
  EXPECT_THAT(taken({0, 3}, {0, 2}, 1), ElementsAre(0, 2));
  EXPECT_THAT(taken({0, 3}, {1, 2}, 1), ElementsAre(0, 2));
  EXPECT_THAT(taken({2, 0, 3}, {2, 0, 5}, -1), ElementsAre(2, 0, 5));
  EXPECT_THAT(taken({0, 0}, {5, 1}, 0), ElementsAre(5, 0));
  EXPECT_THAT(error_of([&] {
                (void)taken({0, 3}, {5, 3}, 0);
              }),
              StartsWith("take_along_axis: axis 0 of f32[0,3] has size 0; there is nothing to "));
  const Tensor first = array<int>({0});
  EXPECT_THAT(error_of([&] {
                (void)zeros({0, 2})[{first, first}];
              }),
              HasSubstr("axis 0 of f32[0,2] has size 0; there is nothing to take"));
  EXPECT_EQ((zeros({0, 2}).at({first, first}).set(1)).shape(), Shape(f32, {0, 2}));
}

TEST(Corners, UpdatesOfMasksAndLongSteps) {
  const Tensor x = array<int>({1, 2, 3});
  EXPECT_THAT(ints(x.at({array<bool>({true, false, true})}).set(array<int>({5}))),
              ElementsAre(5, 2, 5));
  const Tensor rows = array<int>({{1, 2}, {3, 4}});
  EXPECT_THAT(ints(rows.at({array<bool>({true, false})}).set(array<int>({{5, 6}}))),
              ElementsAre(5, 6, 3, 4));
  const Tensor wide = zeros({2, 5}, s32), one = array<int>({1});
  EXPECT_THAT(ints(wide.at({one, Slice{0, 5, INT64_MAX}}).set(7)[1]), ElementsAre(7, 0, 0, 0, 0));
  EXPECT_THAT(ints(wide.at({one, Slice{4, {}, INT64_MIN}}).set(7)[1]), ElementsAre(0, 0, 0, 0, 7));
  EXPECT_THAT(ints(arange(5)[Slice{3, {}, INT64_MIN}]), ElementsAre(3));
  EXPECT_THAT(ints(arange(5)[Slice{1, {}, INT64_MAX}]), ElementsAre(1));
}

TEST(Corners, UpdatesThatTakeAwayAndDivide) {
  const Tensor x = array<double>({1, 2, 3}), i = array<int>({0, 0, 2});
  EXPECT_THAT(doubles(x.at({i}).subtract(array<double>({1, 5, 7}))), ElementsAre(-5, 2, -4));
  EXPECT_THAT(doubles(x.at({i}).divide(array<double>({2, 5, 8}))), ElementsAre(0.1, 2, 0.375));
}

std::vector<Complex> complexes(const Tensor& x) { return x.to_vector<Complex>(); }

TEST(Corners, ComplexNumbersAreSorted) {
  const Tensor z = array({Complex(3, 1), Complex(1, -2), Complex(1, -5), Complex(NAN, 0),
                          Complex(1, NAN), Complex(-4, 0)});
  EXPECT_THAT(ints(argsort(z)), ElementsAre(5, 2, 1, 4, 0, 3));
  EXPECT_THAT(ints(lexsort({arange(6), z})), ElementsAre(5, 2, 1, 4, 0, 3));
  const Tensor some = z[Slice{0, 3}];
  EXPECT_THAT(complexes(sort(some)), ElementsAre(Complex(1, -5), Complex(1, -2), Complex(3, 1)));
  EXPECT_EQ(complexes(partition(some, 1))[1], Complex(1, -2));
  EXPECT_THAT(complexes(sort(some, -1, true)),
              ElementsAre(Complex(3, 1), Complex(1, -2), Complex(1, -5)));
}

TEST(Corners, PartsThatAreImaginary) {
  const Tensor z = array({Complex(1, 0), Complex(2, 1)});
  EXPECT_THAT(ints(iscomplex(z)), ElementsAre(0, 1));
  EXPECT_THAT(ints(isreal(z)), ElementsAre(1, 0));
  EXPECT_THAT(ints(iscomplex(ones({2}))), ElementsAre(0, 0));
  EXPECT_THAT(ints(isreal(ones({2}, s32))), ElementsAre(1, 1));
}

TEST(Corners, FlattenedPositionsAndElements) {
  const Tensor x = array<int>({{0, 3, 0}, {4, 0, 5}});
  EXPECT_THAT(ints(flatnonzero(x, 4, -1)), ElementsAre(1, 3, 5, -1));
  const Tensor is = array<bool>({true, false, true, true});
  EXPECT_THAT(ints(compress(is, array<int>({{1, 2}, {3, 4}}), 2)), ElementsAre(1, 3));
  EXPECT_THAT(ints(compress(is, x, 2)), ElementsAre(0, 0));
  EXPECT_THAT(error_of([&] {
                compress(is, array<int>({1, 2, 3}), 2);
              }),
              HasSubstr("it must be a vector of at most 3 elements, as x flattened has"));
}

// A tensor beside x is never cast to its dtype.
TEST(Corners, OtherDtypesAreRefused) {
  const Tensor x = arange(3), half = scalar<float>(2.5f), square = zeros({2, 2}, s32);
  const Tensor is = array<bool>({true, false, true});
  const std::string text = " is f32[]; it must be of s32 as the others, cast them with astype(f32)";
  EXPECT_THAT(error_of([&] { insert(x, 0, half); }), StartsWith("insert: value" + text));
  EXPECT_THAT(error_of([&] { fill_diagonal(square, half); }),
              StartsWith("fill_diagonal: value" + text));
  EXPECT_THAT(error_of([&] { put_along_axis(x, x, half, 0); }),
              StartsWith("put_along_axis: value" + text));
  EXPECT_THAT(error_of([&] { select({is}, {x}, half); }), StartsWith("select: otherwise" + text));
  EXPECT_THAT(error_of([&] { compress(is, x, 2, 0, half); }), StartsWith("compress: fill" + text));
  EXPECT_THAT(error_of([&] { (void)x.at({0}).set(half); }), StartsWith("at.set: value" + text));
}

// Errors do not name the functions inside of the one that the user called.
TEST(Corners, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor x = ones({2}), n = arange(3), m = ones({2, 3});
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"fmod", [&] { fmod(x, n); }},
      {"divmod", [&] { divmod(x, n); }},
      {"percentile", [&] { percentile(n, 50); }},
      {"logspace", [] { logspace(0, 1, -1); }},
      {"geomspace", [] { geomspace(1, 2, -1); }},
      {"tri", [] { tri(-1); }},
      {"indices", [] { indices({-1}); }},
      {"resize",
       [&] {
         resize(x, {-1, 3});
       }},
      {"ihfft", [] { ihfft(ones({4}, c64)); }},
      {"hfft", [&] { hfft(n); }},
      {"compress", [&] { compress(n, n, -1); }},
      {"extract", [&] { extract(n, n, -1); }},
      {"select", [&] { select({n}, {n}); }},
      {"choose",
       [&] {
         choose(n, {x, m});
       }},
      {"vecdot",
       [&] {
         vecdot(m, array<double>({1, 2, 3}));
       }},
      {"matvec", [&] { matvec(m, x); }},
      {"vecmat", [&] { vecmat(n.astype(f32), m); }},
      {"vstack",
       [&] {
         vstack({x, n});
       }},
      {"hstack",
       [&] {
         hstack({x, n});
       }},
      {"column_stack",
       [&] {
         column_stack({x, n});
       }},
      {"block_matrix",
       [&] {
         block_matrix({{x, n}});
       }},
      {"insert", [&] { insert(m, 0, ones({7}), 0); }},
      {"at.set", [&] { (void)m.at({0}).set(ones({7})); }},
      {"at.add",
       [&] {
         (void)m.at({array<int>({0, 1})}).add(ones({7}));
       }},
      {"put_along_axis", [&] { put_along_axis(n, n, ones({7}, s32), 0); }},
  };
  for (const auto& [name, call] : calls) EXPECT_THAT(error_of(call), StartsWith(name + ": "));
}

TEST(Corners, ProgramsHaveTheLineOfTheUser) {
  const Program program = trace(
      [](Tensor x, Tensor i, Tensor z) {
        return std::vector<Tensor>{sort(x),
                                   lexsort({x, i}),
                                   sort_complex(z),
                                   argsort(x),
                                   top_k(x, 2).values,
                                   segment_sum(x, i, 3),
                                   segment_prod(x, i, 3),
                                   segment_max(x, i, 3),
                                   segment_min(x, i, 3),
                                   quantile(x, 0.3),
                                   nan_quantile(x, 0.3),
                                   compress(i, x, 2),
                                   argwhere(x, 2),
                                   repeat(x, 2, 0),
                                   x.at({i}).divide(2.0),
                                   median(x),
                                   nan_max(x),
                                   fmod(x, 2),
                                   ldexp(x, i)};
      },
      placeholder({4}, f32), placeholder({4}, s32), placeholder({4}, c64));
  EXPECT_THAT(lines_outside("corners_test.cc", program), IsEmpty());
}

}  // namespace
}  // namespace heddle
