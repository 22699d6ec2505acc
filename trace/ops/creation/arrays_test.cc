// array() of every kind of list that holds numbers, short forms of creation, and tensors moved
// between devices.
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <span>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using Dims = std::vector<int64_t>;

Dims dims(const Tensor& x) { return x.shape().dimensions(); }

TEST(Arrays, ComeFromSpansArraysAndCArrays) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::array<double, 3> fixed = {1, 2, 3};
  const int plain[4] = {1, 2, 3, 4};
  bool truths[2] = {true, false};
  EXPECT_EQ(doubles(array(std::span(values))), doubles(array(values)));
  EXPECT_EQ(array(std::span(values).subspan(1, 2)).to_vector<float>()[0], 2);
  EXPECT_EQ(dims(array(std::span(values), {2, 3})), (Dims{2, 3}));
  EXPECT_EQ(array(fixed).shape(), Shape(f64, {3}));
  EXPECT_EQ(dims(array(fixed, {3, 1})), (Dims{3, 1}));
  EXPECT_EQ(array(plain).shape(), Shape(s32, {4}));
  EXPECT_EQ(dims(array(plain, {2, 2})), (Dims{2, 2}));
  EXPECT_EQ(array(truths).shape(), Shape(pred, {2}));
  EXPECT_THAT(array(std::span<const bool>(truths)).to_vector<bool>(), ElementsAre(true, false));
  EXPECT_THAT(array(std::vector<bool>{true, false}).to_vector<bool>(), ElementsAre(true, false));
  EXPECT_EQ(array<float>({1, 2, 3}).dtype(), f32);
  EXPECT_EQ(array<float>({1}).shape(), Shape(f32, {1}));
  EXPECT_EQ(array(2.0f).shape(), Shape::scalar(f32));
  EXPECT_EQ(array<double>(std::vector<double>{1}).dtype(), f64);
  EXPECT_EQ(array(std::vector<float>()).shape(), Shape(f32, {0}));
}

TEST(Arrays, HaveTheDtypeAskedFor) {
  EXPECT_EQ(array({1, 2, 3}, f32).shape(), Shape(f32, {3}));
  EXPECT_THAT(doubles(array({1, 2.5}, bf16)), ElementsAre(1, 2.5));
  EXPECT_EQ(array({{1, 2}, {3, 4}}, f64).shape(), Shape(f64, {2, 2}));
  EXPECT_THAT(array(std::vector<double>{0, 255}, u8).to_vector<int>(), ElementsAre(0, 255));
  EXPECT_EQ(array(std::array<float, 2>{1, 2}, f32).dtype(), f32);
  EXPECT_EQ(array({1, 0}, pred).dtype(), pred);
  EXPECT_EQ(array({{1.0}, {2.0}}, f32).shape(), Shape(f32, {2, 1}));
  EXPECT_EQ(array({{0.5}}, f32).shape(), Shape(f32, {1, 1}));
  const int n = 3;
  EXPECT_THAT(doubles(array({n, 2.5}, f32)), ElementsAre(3, 2.5));
  EXPECT_EQ(array(std::vector<float>(), s32).shape(), Shape(s32, {0}));
  // One upload, in the dtype asked for.
  const Counters before = counters();
  const Tensor x = array({0.5, 1.5}, f16);
  EXPECT_EQ(counters().uploads - before.uploads, 1);
  EXPECT_EQ(counters().executions, before.executions);
}

TEST(Arrays, OfIntegersHoldTheirValuesOrSaySo) {
  EXPECT_THAT(error_of([] {
                (void)array({1.5, 2.0}, s32);
              }),
              HasSubstr("array: value 0 is 1.5, which no s32 holds; round it, or take another"));
  EXPECT_THAT(error_of([] { (void)array({2147483648.0F}, s32); }), HasSubstr("which no s32"));
  EXPECT_THAT(error_of([] { (void)array({0x1p64}, u64); }), HasSubstr("which no u64"));
  EXPECT_THAT(error_of([] { (void)array({0x1p63}).item<int64_t>(); }), HasSubstr("which no s64"));
  EXPECT_THAT(array({-0x1p63}, s64).to_vector<int64_t>(), ElementsAre(INT64_MIN));
  EXPECT_THAT(error_of([] { (void)array({NAN}, s32); }), HasSubstr("which no s32"));
  EXPECT_THAT(error_of([] { (void)array({1, -1}, u8); }), HasSubstr("value 1 is -1, which no u8"));
  EXPECT_THAT(error_of([] { (void)array(std::vector<int>{300}, u8); }),
              HasSubstr("value 0 is 300"));
  EXPECT_THAT(error_of([] { (void)array({std::complex<float>(1, 2)}, f32); }),
              HasSubstr("complex values"));
}

// As x * 1e300 does, where numpy warns.
TEST(Arrays, OfFloatsHoldTheirValuesOrSaySo) {
  EXPECT_THAT(error_of([] {
                (void)array(std::vector<double>{1, 1e300}, f32);
              }),
              HasSubstr("value 1 is 1e+300, which no f32 holds; take another dtype, or give an "
                        "infinity"));
  EXPECT_THAT(error_of([] { (void)array({70000.0F}, f16); }), HasSubstr("which no f16"));
  EXPECT_THAT(array({HUGE_VAL, 1e-300}, f32).to_vector<float>(), ElementsAre(INFINITY, 0));
  EXPECT_THAT(array({std::numeric_limits<double>::quiet_NaN()}, f32).to_vector<float>(),
              ElementsAre(IsNan()));
}

// No element is asked for where the type holds all of them.
TEST(Arrays, OfShortIntegersAreReadAsLongOnes) {
  EXPECT_THAT(array(std::vector<uint8_t>{0, 255}).to_vector<int>(), ElementsAre(0, 255));
  EXPECT_THAT(error_of([] { (void)array(std::vector<int8_t>{-1}).to_vector<uint16_t>(); }),
              HasSubstr("which no u16"));
}

TEST(Arrays, ComeFromNestedLists) {
  EXPECT_EQ(dims(array(std::vector<std::vector<float>>{{1, 2}, {3, 4}, {5, 6}})), (Dims{3, 2}));
  const double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(array(matrix).shape(), Shape(f64, {2, 3}));
  EXPECT_THAT(doubles(array(matrix)), ElementsAre(1, 2, 3, 4, 5, 6));
  const int cube[2][1][2] = {{{1, 2}}, {{3, 4}}};
  EXPECT_EQ(dims(array(cube)), (Dims{2, 1, 2}));
  EXPECT_EQ(dims(array({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})), (Dims{2, 2, 2}));
  EXPECT_EQ(dims(array({{1.0f, 2.0f}, {3.0f, 4.0f}})), (Dims{2, 2}));
  const std::vector<std::array<float, 2>> points = {{1, 2}, {3, 4}};
  EXPECT_EQ(dims(array(points)), (Dims{2, 2}));
  EXPECT_EQ(array(std::vector<std::vector<bool>>{{true}, {false}}).dtype(), pred);
  EXPECT_EQ(dims(array(std::vector<std::vector<std::vector<int>>>{{{1}, {2}}})), (Dims{1, 2, 1}));
  EXPECT_EQ(dims(array(std::vector<std::vector<float>>{})), (Dims{0, 0}));
  EXPECT_EQ(dims(array(std::vector<std::vector<float>>{{}, {}})), (Dims{2, 0}));
}

TEST(Arrays, RowsAreOfOneLength) {
  EXPECT_EQ(error_of([] {
              array(std::vector<std::vector<float>>{{1, 2}, {3}});
            }),
            base::cat("array: row 1 has 1 values; it must have 2 as row 0 ", here()));
  EXPECT_EQ(error_of([] {
              array({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8, 9}}});
            }),
            base::cat("array: row [1][1] has 3 values; it must have 2 as row [0][0] ", here()));
  EXPECT_EQ(error_of([] {
              array(std::vector<std::vector<int>>{{}, {1}});
            }),
            base::cat("array: row 1 has 1 values; it must have 0 as row 0 ", here()));
  const std::array<float, 3> three = {1, 2, 3};
  EXPECT_EQ(error_of([&] {
              array(three, {2, 2});
            }),
            base::cat("array: has 3 values; f32[2,2] takes 4 ", here()));
}

TEST(ShortForms, TakeADtypeWhereNumpyDoes) {
  EXPECT_EQ(eye(2, f64).shape(), Shape(f64, {2, 2}));
  EXPECT_THAT(doubles(eye(2, 3, s32)), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_EQ(zeros(3, f64).shape(), Shape(f64, {3}));
  EXPECT_EQ(zeros({2, 3}, bf16).dtype(), bf16);
  EXPECT_EQ(ones(3).dtype(), f32);
  EXPECT_THAT(doubles(full(3, 1.5f)), ElementsAre(1.5, 1.5, 1.5));
  EXPECT_EQ(arange(5, f32).dtype(), f32);
  EXPECT_EQ(linspace(0, 1).size(), 50);
  EXPECT_THAT(doubles(linspace(0, 1, 5)), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(doubles(linspace(0, 1, 4, /*endpoint=*/false)), ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_THAT(linspace(0, 8, 4, false, s32).to_vector<int>(), ElementsAre(0, 2, 4, 6));
  const Tensor x = array({1, 2});
  EXPECT_EQ(zeros_like(x).dtype(), s32);
  EXPECT_EQ(zeros_like(x, f64).dtype(), f64);
  EXPECT_EQ(ones_like(x, bf16).dtype(), bf16);
  EXPECT_THAT(doubles(full_like(x, 0.5, f32)), ElementsAre(0.5, 0.5));
}

struct Pair {
  Tensor w, b;
  static constexpr auto kFields = fields(field("w", &Pair::w), field("b", &Pair::b));
};

TEST(DevicePut, MovesTensorsAndTreesAndCountsThem) {
  const auto other = interpreter::make_backend({});
  Device& there = *other->devices()[0];
  const Pair here_ = {ones(3), zeros(2)};
  Counters before = counters();
  const Pair moved = device_put(here_, there);
  const Counters done = counters() - before;
  EXPECT_EQ(done.downloads, 2);
  EXPECT_EQ(done.uploads, 2);
  EXPECT_EQ(done.upload_bytes, 20);
  EXPECT_EQ(&device_of(moved.b), &there);
  EXPECT_THAT(doubles(moved.w), ElementsAre(1, 1, 1));
}

TEST(FullLike, TakesTheValueFromTheDeviceOfX) {
  const auto other = interpreter::make_backend({});
  const Tensor x = device_put(ones(2), *other->devices()[0]);
  EXPECT_EQ(&device_of(full_like(x, 3)), &device_of(x));
  EXPECT_EQ(&device_of(full_like(x, scalar(3.0f))), &device_of(x)) << "a C++ number";
  EXPECT_THAT(error_of([&] { full_like(x, sum(ones(2))); }),
              StartsWith("full_like: operands are on "));
  EXPECT_THAT(doubles(full_like(ones(2), sum(ones(2)))), ElementsAre(2, 2));
}

TEST(DevicePut, OnTheSameDeviceGivesTheSameTensor) {
  const Tensor x = ones(3);
  const Counters before = counters();
  EXPECT_EQ(device_put(x, device_of(x)).id(), x.id());
  EXPECT_EQ(device_put(x, &device_of(x)).id(), x.id());
  EXPECT_EQ(device_put(x, device_of(x).name()).id(), x.id());
  EXPECT_EQ(counters() - before, Counters());
}

TEST(DevicePut, SaysWhatCannotMove) {
  const Tensor x = ones(3);
  EXPECT_THAT(error_of([&] { (void)device_put(x, "gpu"); }), HasSubstr("device_put: "));
  EXPECT_THAT(error_of([&] { (void)device_put(x, "gpu"); }), HasSubstr("interpreter"));
  Device* none = nullptr;
  EXPECT_EQ(
      error_of([&] { (void)device_put(x, none); }),
      base::cat("device_put: the device is null; name one, or take one of devices() ", here()));
  EXPECT_THAT(error_of([&] {
                (void)device_put(Pair{x, placeholder({2}, f32)}, "interpreter");
              }),
              HasSubstr("device_put: x.b is placeholder"));
  const auto other = interpreter::make_backend({});
  TransferGuard guard(TransferGuard::Policy::kForbid);
  EXPECT_THAT(error_of([&] { (void)device_put(x, *other->devices()[0]); }),
              ContainsRegex("asked for by device_put, and a TransferGuard at .* forbids it"));
  EXPECT_EQ(device_put(x, device_of(x)).id(), x.id());
}

TEST(Arrays, IntegersThatAreNotHeldAreNamedToTheLastDigit) {
  const Tensor x = array<uint64_t>({18446744073709551615u}),
               y = array<int64_t>({-9007199254740993});
  EXPECT_THAT(error_of([&] { (void)x.to_vector<int64_t>(); }),
              HasSubstr("element 0 of the operand, u64[1], is 18446744073709551615, which no s64"));
  EXPECT_THAT(error_of([&] { (void)y.to_vector<int>(); }),
              HasSubstr("is -9007199254740993, which"));
}

}  // namespace
}  // namespace heddle
