// The everyday functions against values worked out by hand or by plain loops.
#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor grid() { return reshape(arange(6), {2, 3}).astype(f32); }  // 0 1 2 / 3 4 5

TEST(Creation, RangesAndConstants) {
  EXPECT_THAT(arange(2, 11, 3).to_vector<int>(), ElementsAre(2, 5, 8));
  EXPECT_THAT(arange(3, 0, -1).to_vector<int>(), ElementsAre(3, 2, 1));
  EXPECT_EQ(arange(5, 5).size(), 0);
  EXPECT_THAT(linspace(1, 2, 5).to_vector<float>(), ElementsAre(1, 1.25, 1.5, 1.75, 2));
  EXPECT_THAT(eye(2, 3, 1).to_vector<float>(), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(one_hot(array<int>({2, -1, 0}), 3).to_vector<float>(),
              ElementsAre(0, 0, 1, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(tril(ones({3, 3})).to_vector<float>(), ElementsAre(1, 0, 0, 1, 1, 0, 1, 1, 1));
  EXPECT_THAT(triu(ones({2, 3}), 1).to_vector<float>(), ElementsAre(0, 1, 1, 0, 0, 1));
  for (const int64_t far : {int64_t{3}, int64_t{2147483647}, int64_t{1} << 40}) {  // all, or none
    EXPECT_THAT(tril(ones({2, 2}), far).to_vector<float>(), ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(tril(ones({2, 2}), -far).to_vector<float>(), ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(triu(ones({2, 2}), far).to_vector<float>(), ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(triu(ones({2, 2}), -far).to_vector<float>(), ElementsAre(1, 1, 1, 1));
  }
}

TEST(Creation, RangesOfFloatsAndOfAGivenDtype) {
  EXPECT_EQ(arange(2.5).shape(), Shape(f32, {3}));
  EXPECT_THAT(arange(2.5).to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(arange(3, f64).shape(), Shape(f64, {3}));
  EXPECT_THAT(arange(int64_t{2}, 5, s16).to_vector<int>(), ElementsAre(2, 3, 4));
  EXPECT_EQ(arange(2, 5, s16).dtype(), s16);
  EXPECT_EQ(arange(uint8_t{3}).shape(), Shape(s32, {3}));
  EXPECT_EQ(arange(-1, f32).size(), 0);
}

TEST(Creation, MovesNoByte) {
  Counters before = counters();
  zeros({4}), ones({2, 2}, bf16), arange(10), eye(3);
  Counters done = counters() - before;
  EXPECT_EQ(done.upload_bytes + done.download_bytes, 0);
}

TEST(Shaping, MovesElementsAsNumpyDoes) {
  EXPECT_THAT(transpose(grid()).to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(moveaxis(zeros({2, 3, 4}), 0, -1).shape(), Shape(f32, {3, 4, 2}));
  EXPECT_EQ(moveaxis(zeros({2, 3, 4, 5}), {0, 1}, {-1, 0}).shape(), Shape(f32, {3, 4, 5, 2}));
  EXPECT_EQ(moveaxis(zeros({2, 3, 4}), {0}, {1}).shape(), Shape(f32, {3, 2, 4}));
  EXPECT_THAT(error_of([] {
                moveaxis(zeros({2, 3}), {0, -2}, {0, 1});
              }),
              HasSubstr("moveaxis: from lists axis 0 of f32[2,3] twice"));
  EXPECT_THAT(error_of([] {
                moveaxis(zeros({2, 3}), {0, 1}, {1, 1});
              }),
              HasSubstr("moveaxis: to lists axis 1 of f32[2,3] twice"));
  EXPECT_THAT(error_of([] {
                moveaxis(zeros({2, 3}), {0, 1}, {1});
              }),
              HasSubstr("moveaxis: from lists 2 axes and to 1; they must list as many"));
  EXPECT_THAT(flip(arange(3)).to_vector<int>(), ElementsAre(2, 1, 0));
  EXPECT_THAT(roll(arange(5), 2, 0).to_vector<int>(), ElementsAre(3, 4, 0, 1, 2));
  EXPECT_THAT(tile(arange(2), {2, 2}).to_vector<int>(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(repeat(arange(2), 2, 0).to_vector<int>(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(reshape(grid(), {3, -1}).shape(), Shape(f32, {3, 2}));
  EXPECT_EQ(expand_dims(grid(), -1).shape(), Shape(f32, {2, 3, 1}));
  EXPECT_EQ(expand_dims(grid(), {2, 0}).shape(), Shape(f32, {1, 2, 1, 3}));
  EXPECT_EQ(expand_dims(grid(), {0, -1}).shape(), Shape(f32, {1, 2, 3, 1}));
  EXPECT_EQ(expand_dims(grid(), {}).shape(), Shape(f32, {2, 3}));
  EXPECT_THAT(error_of([] {
                expand_dims(grid(), {0, 4});
              }),
              HasSubstr("expand_dims: axis is 4; the result has axes -4 .. 3"));
  EXPECT_THAT(error_of([] {
                expand_dims(grid(), {0, -4});
              }),
              HasSubstr("expand_dims: axis -4 of the result is listed twice"));
  EXPECT_EQ(squeeze(zeros({1, 2, 1})).shape(), Shape(f32, {2}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), {}).shape(), Shape(f32, {1, 2, 1}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), std::vector<int64_t>()).shape(), Shape(f32, {1, 2, 1}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), {0, -1}).shape(), Shape(f32, {2}));
  EXPECT_THAT(concat({arange(2), arange(3)}).to_vector<int>(), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_EQ(stack({grid(), grid()}, -1).shape(), Shape(f32, {2, 3, 2}));
  EXPECT_THAT(split(arange(6), 3)[2].to_vector<int>(), ElementsAre(4, 5));
  const auto [first, second] = split<2>(arange(6), 0);
  EXPECT_THAT(first.to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(second.to_vector<int>(), ElementsAre(3, 4, 5));
  EXPECT_THAT(error_of([] { split(arange(6), 0); }),
              HasSubstr("split: the number of parts is 0; it must be 1 or more"));
  // As numpy: from the end, and parts that overlap where positions descend.
  EXPECT_THAT(split_at(arange(4), {-1})[0].to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(split_at(arange(4), {3, 1})[1].size(), 0);
  EXPECT_THAT(split_at(arange(4), {3, 1})[2].to_vector<int>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(split_at(arange(4), {9, -9})[1].size(), 0);
  EXPECT_THAT(pad(arange(2), 9, {{1, -1, 1}}).to_vector<int>(), ElementsAre(9, 0, 9));
}

TEST(Shaping, StartsMixValuesAndNumbers) {
  Tensor x = reshape(arange(12), {3, 4});
  Tensor i = scalar<int64_t>(1);
  EXPECT_THAT(dynamic_slice(x, {i, 2}, {1, 2}).to_vector<int>(), ElementsAre(6, 7));
  EXPECT_THAT(dynamic_slice(x, {5, 0}, {1, 2}).to_vector<int>(), ElementsAre(8, 9));  // clamped
  EXPECT_THAT(dynamic_slice(x, std::vector<Tensor>{i, i}, {1, 1}).to_vector<int>(), ElementsAre(5));
  Tensor y = dynamic_update_slice(x, full({1, 2}, -1, s32), {i + 1, 2});
  EXPECT_THAT(y[2].to_vector<int>(), ElementsAre(8, 9, -1, -1));
  EXPECT_THAT(error_of([&] {
                dynamic_slice(x, {scalar<uint8_t>(0), 300}, {1, 2});
              }),
              AllOf(HasSubstr("dynamic_slice: operand is the C++ number 300, which no u8 holds"),
                    HasSubstr("catalogue_test.cc:")));
}

// jax: jnp.array([-16, 5]) << 2 and >> 1; of u32 the sign bit is a bit like any other.
TEST(Shaping, BlocksAlongOneAxis) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_THAT(dynamic_slice_in_dim(x, array<int>({2})[0], 2, -1).to_vector<int>(),
              ElementsAre(1, 2, 4, 5));  // clamped
  EXPECT_THAT(dynamic_update_slice_in_dim(x, zeros({2, 1}, x.dtype()), 1, 1).to_vector<int>(),
              ElementsAre(0, 0, 2, 3, 0, 5));
  EXPECT_THAT(error_of([&] { dynamic_slice_in_dim(x, 0, 1, 2); }),
              StartsWith("dynamic_slice_in_dim: axis is 2; s32[2,3] has axes"));
  EXPECT_THAT(x.T().to_vector<int>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Elementwise, CompoundAssignmentLeavesCopiesAsTheyAre) {
  Tensor x = array<float>({1, 2});
  const Tensor before = x;
  x += 1;
  x *= x;
  x -= before;
  x /= 2.0;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1.5, 3.5));
  EXPECT_THAT(before.to_vector<float>(), ElementsAre(1, 2));
  Tensor bits = array<int>({5, 6});
  bits <<= 1;
  bits |= 1;
  bits &= 13;
  bits ^= 3;
  bits >>= 1;
  bits %= 4;
  EXPECT_THAT(bits.to_vector<int>(),
              ElementsAre((((5 << 1 | 1) & 13) ^ 3) / 2 % 4, (((6 << 1 | 1) & 13) ^ 3) / 2 % 4));
  EXPECT_THAT(error_of([&] { x += ones({3}); }), HasSubstr("catalogue_test.cc"));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1.5, 3.5));
}

TEST(Elementwise, ShiftOperatorsKeepTheSignOfSignedIntegers) {
  Tensor x = array<int>({-16, 5});
  EXPECT_THAT((x << 2).to_vector<int>(), ElementsAre(-64, 20));
  EXPECT_THAT((x >> 1).to_vector<int>(), ElementsAre(-8, 2));
  EXPECT_THAT((1 << array<int>({0, 3})).to_vector<int>(), ElementsAre(1, 8));
  EXPECT_THAT((x.astype(u32) >> 28).to_vector<uint32_t>(), ElementsAre(15u, 0u));
  EXPECT_THAT(error_of([&] { (void)(ones({2}) >> 1); }),
              AllOf(HasSubstr("shift_right"), HasSubstr("catalogue_test.cc:")));
}

// The first two numbers of splitmix64 from the state 0.
TEST(Elementwise, NumbersOfTheUpperHalfOfU64) {
  auto mix = [](const Tensor& state) {
    Tensor z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  };
  Tensor states = (arange(2).astype(u64) + 1) * 0x9E3779B97F4A7C15ull;
  EXPECT_THAT(mix(states).to_vector<uint64_t>(),
              ElementsAre(0xE220A8397B1DCDAFull, 0x6E789E6AA1B965F4ull));
  EXPECT_EQ((ones({}) * 9223372036854775808ull).item<float>(), 0x1p63F);
  EXPECT_THAT(error_of([] { (void)(ones({}, s64) * 18446744073709551615ull); }),
              HasSubstr("the C++ number 18446744073709551615, which no s64 holds"));
}

TEST(Elementwise, ComplexNumbersAreConstantsOfComplexTensorsOnly) {
  using C = std::complex<float>;
  Tensor x = array<C>({C(1, 2), C(-3, 0)});
  EXPECT_THAT((x * C(0, 1)).to_vector<C>(), ElementsAre(C(-2, 1), C(0, -3)));
  EXPECT_THAT((std::complex<double>(0.5, -1) + x).to_vector<C>(),
              ElementsAre(C(1.5, 1), C(-2.5, -1)));
  EXPECT_EQ((x * C(0, 1)).dtype(), c64);
  EXPECT_EQ((x.astype(c128) * C(0, 1)).dtype(), c128);
  EXPECT_THAT(full({2}, C(3, 4), c64).to_vector<C>(), ElementsAre(C(3, 4), C(3, 4)));
  EXPECT_THAT(error_of([] { (void)(ones({2}) * C(0, 1)); }),
              AllOf(HasSubstr("multiply: operand is the C++ number (0, 1), which no f32 holds"),
                    HasSubstr("catalogue_test.cc:")));
}

TEST(Elementwise, PlaceholderOutsideATraceIsToldWhatToDo) {
  Tensor x = placeholder({3}, f32);
  EXPECT_THAT(error_of([&] { (void)(x + 1.0); }),
              AllOf(HasSubstr("add: operand is placeholder #"), HasSubstr("trace the function"),
                    Not(HasSubstr("read:"))));
  EXPECT_THAT(error_of([&] { (void)x.to_vector<float>(); }),
              AllOf(StartsWith("to_vector: placeholder #"), Not(HasSubstr("read:"))));
}

TEST(Program, CallForAnotherStructureIsAnError) {
  using Two = std::pair<Tensor, Tensor>;
  Program one = trace([](Tensor x) { return x + 1.0; }, ones({2}));
  Program two = trace([](Tensor x) { return Two(x, x * 2.0); }, ones({2}));
  Tensor x = ones({2});
  EXPECT_THAT(error_of([&] { one.call<Two>(x); }),
              AllOf(HasSubstr("call: the program returns a tensor; call<..> must name the type"),
                    HasSubstr("catalogue_test.cc:")));
  EXPECT_THAT(error_of([&] { two.call<Tensor>(x); }), HasSubstr("returns a tuple of 2, (*, *)"));
  EXPECT_THAT(error_of([&] { two.call<std::array<Tensor, 3>>(x); }),
              HasSubstr("returns a tuple of 2, (*, *)"));
  EXPECT_THAT(error_of([&] { two.call<std::pair<Tensor, None>>(x); }), HasSubstr("returns"));
  EXPECT_THAT((two.call<std::array<Tensor, 2>>(x)[1].to_vector<float>()), ElementsAre(2, 2));
}

TEST(Elementwise, ClampIsOneOp) {
  Tensor x = arange(5);
  EXPECT_THAT(clamp(1, x, 3).to_vector<int>(), ElementsAre(1, 1, 2, 3, 3));
  EXPECT_THAT(clamp(array<int>({9, 0, 0, 0, 3}), x, 4).to_vector<int>(),
              ElementsAre(4, 1, 2, 3, 4));
}

TEST(Errors, OfEveryOpEndWithTheCallersLine) {
  Tensor x = ones({3});
  Tensor y = ones({3, 1});
  // The message itself ends in a bracket.
  EXPECT_THAT(error_of([&] {
                concat({x, y});
              }),
              HasSubstr("operand 0, f32[3] [catalogue_test.cc:"));
  EXPECT_THAT(error_of([&] { sort(x, 5); }), HasSubstr("sort: axis is 5"));
  EXPECT_THAT(error_of([] { (void)placeholder({3}, f32).item<float>(); }),
              HasSubstr("placeholder"));
}

TEST(Tensor, StreamsItsValueAndTellsItsStateByToString) {
  std::ostringstream out;
  Counters before = counters();
  out << ones({3});
  EXPECT_EQ(out.str(), "[1. 1. 1.]");
  EXPECT_EQ((counters() - before).downloads, 1);
  EXPECT_EQ(to_string(ones({3}).wait()), "ready f32[3]");
  EXPECT_EQ((counters() - before).downloads, 1);
}

TEST(Elementwise, NumbersReachTheEndsOfIntegerDtypes) {
  EXPECT_EQ((zeros({}, u64) + UINT64_MAX).item<uint64_t>(), UINT64_MAX);
  EXPECT_EQ((zeros({}, s64) + INT64_MAX).item<int64_t>(), INT64_MAX);
  EXPECT_EQ((zeros({}, s64) + INT64_MIN).item<int64_t>(), INT64_MIN);
  EXPECT_EQ((zeros({}, s8) + -128).item<int>(), -128);
  EXPECT_THROW(zeros({}, s8) + 128, Error);
  EXPECT_THROW(zeros({}, u8) + -1, Error);
  EXPECT_THROW(zeros({}, s64) + UINT64_MAX, Error);
  EXPECT_THROW(zeros({}, s64) + 0x1p63, Error);
}

TEST(Elementwise, BroadcastsAsNumpyDoes) {
  EXPECT_THAT((grid() + array<float>({10, 20, 30})).to_vector<float>(),
              ElementsAre(10, 21, 32, 13, 24, 35));
  EXPECT_THAT((grid() * array<float>({{2}, {3}})).to_vector<float>(),
              ElementsAre(0, 2, 4, 9, 12, 15));
  EXPECT_THAT(where(grid() > 2.0, grid(), -1.0).to_vector<float>(),
              ElementsAre(-1, -1, -1, 3, 4, 5));
  EXPECT_THAT(clip(grid(), 1, 4).to_vector<float>(), ElementsAre(1, 1, 2, 3, 4, 4));
  EXPECT_THAT((2.0 - arange(3).astype(f32)).to_vector<float>(), ElementsAre(2, 1, 0));
}

TEST(Reductions, OverAxes) {
  EXPECT_EQ(sum(grid()).item<float>(), 15);
  EXPECT_THAT(sum(grid(), {.axes = {0}}).to_vector<float>(), ElementsAre(3, 5, 7));
  EXPECT_EQ(max(grid(), {.axes = {-1}, .keep_dims = true}).shape(), Shape(f32, {2, 1}));
  EXPECT_EQ(sum(grid() > 1.0).item<int>(), 4);
  EXPECT_EQ(mean(grid()).item<float>(), 2.5);
  EXPECT_FLOAT_EQ(var(grid()).item<float>(), 35.0f / 12);
  EXPECT_EQ(prod(zeros({0})).item<float>(), 1);
  EXPECT_TRUE(all(grid() >= 0.0).item<bool>());
  EXPECT_FALSE(any(grid() > 5.0).item<bool>());
}

TEST(Reductions, ArgmaxTakesTheFirstOfEqualsAndNan) {
  EXPECT_THAT(argmax(array<float>({{1, 7, 7}, {2, NAN, 9}}), 1).to_vector<int>(),
              ElementsAre(1, 1));
  EXPECT_EQ(argmin(array<int>({3, 1, 1}), 0).item<int>(), 1);
}

TEST(Reductions, SoftmaxNeverOverflows) {
  const float inf = std::numeric_limits<float>::infinity();
  for (float x : softmax(array<float>({inf, 1})).to_vector<float>())  // as jax.nn
    EXPECT_TRUE(std::isnan(x));
  EXPECT_THAT(softmax(array<float>({-inf, 1})).to_vector<float>(), ElementsAre(0, 1));
  EXPECT_THAT(softmax(array<float>({1000, 1000})).to_vector<float>(), ElementsAre(0.5, 0.5));
  EXPECT_FLOAT_EQ(logsumexp(array<float>({1000, 1000})).item<float>(), 1000 + std::log(2.0f));
  EXPECT_EQ(logsumexp(full({2}, -INFINITY)).item<float>(), -INFINITY);
}

TEST(Contractions, MatmulOfEveryRank) {
  Tensor a = grid();
  EXPECT_THAT(matmul(a, transpose(a)).to_vector<float>(), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(matmul(a, ones({3})).to_vector<float>(), ElementsAre(3, 12));
  EXPECT_THAT(matmul(ones({2}), a).to_vector<float>(), ElementsAre(3, 5, 7));
  EXPECT_EQ(matmul(ones({5, 1, 2, 3}), ones({4, 3, 6})).shape(), Shape(f32, {5, 4, 2, 6}));
  EXPECT_EQ(matmul(ones({2, 3}, bf16), ones({3, 2}, bf16), f32).dtype(), f32);
}

TEST(Contractions, RankThreeTimesMatrixIsOneDot) {  // torch_xla no. 37
  std::string text = trace([](Tensor x, Tensor w) { return matmul(x, w); },
                           placeholder({2, 3, 4}, f32), placeholder({4, 5}, f32))
                         .hlo_text();
  EXPECT_THAT(text, HasSubstr("f32[2,3,5]"));
  EXPECT_EQ(text.find(" reshape("), std::string::npos);
  EXPECT_EQ(text.find(" transpose("), std::string::npos);
}

// Products of three and four operands are those of pairs, whatever order is taken.
TEST(Contractions, ManyOperandsAndPairsOfAxes) {
  Tensor a = reshape(arange(6), {2, 3}).astype(f32), b = reshape(arange(12), {3, 4}).astype(f32),
         c = reshape(arange(20), {4, 5}).astype(f32), v = array<float>({1, 2, 3});
  EXPECT_EQ(einsum("ij,jk,kl->il", {a, b, c}).to_vector<float>(),
            matmul(matmul(a, b), c).to_vector<float>());
  EXPECT_EQ(einsum("ij,jk,j->k", {a, b, v}).to_vector<float>(),
            sum(matmul(a * v, b), {.axes = {0}}).to_vector<float>());
  EXPECT_EQ(einsum("ij,jk,kl,j", {a, b, c, v}).to_vector<float>(),
            matmul(matmul(a * v, b), c).to_vector<float>());
  EXPECT_EQ(einsum("j,j,j->", {v, v, v}).item<float>(), 36);
  EXPECT_EQ(tensordot(a, b, {-1}, {0}).to_vector<float>(), matmul(a, b).to_vector<float>());
  EXPECT_EQ(tensordot(b, a, {0}, {1}).shape(), Shape(f32, {4, 2}));
  EXPECT_THAT(error_of([&] {
                tensordot(a, b, {0}, {0, 1});
              }),
              HasSubstr("tensordot: has 1 axes of a and 2 of b; give as many of both"));
  EXPECT_THAT(error_of([&] {
                einsum("ij,jk->ik", {a, b, c});
              }),
              HasSubstr("names 2 operands; 3 were given"));
  EXPECT_THAT(error_of([&] {
                einsum("ij;jk", {a, b});
              }),
              HasSubstr("\"ij;jk\": has ';', which is no letter; write labels as letters"));
}

// einsum against a plain loop over all letters.
TEST(Contractions, EinsumBatchedDiagonalAndImplicit) {
  Tensor a = reshape(arange(12), {2, 2, 3}).astype(f32);
  Tensor b = reshape(arange(12), {2, 3, 2}).astype(f32);
  EXPECT_EQ(einsum("bij,bjk->bik", a, b).to_vector<float>(), matmul(a, b).to_vector<float>());
  EXPECT_EQ(einsum("...ij,...jk", a, b).to_vector<float>(), matmul(a, b).to_vector<float>());
  EXPECT_THAT(einsum("ii->i", matmul(grid(), transpose(grid()))).to_vector<float>(),
              ElementsAre(5, 50));
  EXPECT_THAT(einsum("ij->j", grid()).to_vector<float>(), ElementsAre(3, 5, 7));
  EXPECT_THAT(einsum("i,j->ji", array<float>({1, 2}), array<float>({3, 4})).to_vector<float>(),
              ElementsAre(3, 6, 4, 8));
}

TEST(Contractions, EinsumErrorsNameTheSpec) {
  try {
    einsum("ij,jk->iz", grid(), grid());
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("einsum: \"ij,jk->iz\": "));
  }
}

TEST(Eager, OneFunctionIsOneProgram) {
  Tensor x = ones({4});
  Counters before = counters();
  softmax(x);
  Counters done = counters() - before;
  EXPECT_EQ(done.executions, 1);
  EXPECT_EQ(done.uploads + done.downloads, 0);
}

TEST(Eager, SecondCallCompilesNothing) {
  Tensor x = ones({3, 3});
  matmul(x, x);
  Counters before = counters();
  matmul(x, x);
  EXPECT_EQ((counters() - before).compiles, 0);
}

}  // namespace
}  // namespace heddle
