// What printing moves, and what it says of tensors without a value. That the text is numpy's is
// shown in tests/numpy.
#include "heddle/trace/printing.h"

#include <sstream>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

std::string printed(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(Printing, ShowsTheValueAndCountsTheDownload) {
  const Tensor x = array({{1.0f, 2.5f}, {3.0f, 0.25f}});
  const Counters before = counters();
  EXPECT_EQ(printed(x), "[[1.   2.5 ]\n [3.   0.25]]");
  EXPECT_EQ((counters() - before).downloads, 1);
  EXPECT_EQ((counters() - before).download_bytes, 16);
}

TEST(Printing, OfSmallFloatsIsAsOfOthers) {
  EXPECT_EQ(printed(array({1.0f, 0.1f, -2.5f}).astype(bf16)), "[ 1.   0.1 -2.5]");
  EXPECT_EQ(printed(array({1.0f, 3.14159f}).astype(bf16)), "[1.   3.14]");
  EXPECT_EQ(printed(array({1.0f, 0.5f, 96.0f}).astype(f8e4m3fn)), "[ 1.   0.5 96. ]");
  EXPECT_EQ(printed(scalar(0.1f).astype(f8e4m3fn)), "0.1015625");
  EXPECT_EQ(printed(array({255.0f, 1.0f}).astype(bf16)), "[255.   1.]");
  EXPECT_EQ(printed(array({652.0f, 1.0f}).astype(bf16)), "[6.52e+02 1.00e+00]");
  EXPECT_EQ(printed(array({1.0f, 0.1f, -6.0f}).astype(f4e2m1fn)), "[ 1.  0. -6.]");
  EXPECT_EQ(printed(scalar(0.3f).astype(bf16)), "0.3");
  EXPECT_EQ(printed(array({7, -8, 1}).astype(s4)), "[ 7 -8  1]");
  EXPECT_EQ(printed(array({3e38f, 1.0f}).astype(bf16)), "[3.e+38 1.e+00]");
}

TEST(Printing, DescribesWhatHasNoValue) {
  const Tensor p = placeholder({2}, f32);
  EXPECT_EQ(printed(p), to_string(p));
  EXPECT_THAT(printed(p), HasSubstr("placeholder #"));
  EXPECT_EQ(printed(Tensor()), "no value");
  std::string traced;
  trace(
      [&](Tensor x) {
        traced = printed(x * 2.0);
        return x;
      },
      ones(3));
  EXPECT_EQ(traced, "traced f32[3]");
  const Tensor x = ones(3);
  const CompiledProgram given =
      trace([](Tensor t) { return t + 1.0; }, x).compile().with({.donate = {0}});
  given.call<Tensor>(x);
  EXPECT_EQ(printed(x), "donated f32[3]");
}

TEST(Printing, ObeysTheGuardAndSaysSo) {
  const Tensor x = ones(3);
  TransferGuard guard(TransferGuard::Policy::kForbid);
  EXPECT_THAT(error_of([&] { printed(x); }),
              ContainsRegex("asked for by print of what was made at printing_test.cc:[0-9]+, and a "
                            "TransferGuard at .* forbids it"));
  EXPECT_EQ(to_string(x), "ready f32[3]");
  EXPECT_EQ(testing::PrintToString(x), "ready f32[3]");
}

TEST(Printing, ByGoogleTestMovesNoByte) {
  const std::vector<Tensor> xs = {ones(2), zeros({}, f64)};
  const Counters before = counters();
  EXPECT_EQ(testing::PrintToString(xs), "{ ready f32[2], ready f64[] }");
  EXPECT_EQ(counters() - before, Counters());
}

TEST(Printing, TakesNumpysOptions) {
  const Tensor x = array({1.0f / 3, 20.0f});
  EXPECT_EQ(array_to_string(x, {.precision = 2}), "[ 0.33 20.  ]");
  EXPECT_EQ(array_to_string(scalar(1.0 / 3), {.precision = 3}), "0.333");
  EXPECT_EQ(array_to_string(arange(10), {.threshold = 5, .edge_items = 1}), "[0 ... 9]");
  EXPECT_EQ(error_of([&] { array_to_string(x, {.precision = -1}); }),
            base::cat("array_to_string: precision is -1; it must be 0 or more ", here()));
  EXPECT_THAT(error_of([&] { array_to_string(x, {.line_width = 0}); }),
              HasSubstr("line_width is 0; it must be 1 or more"));
}

TEST(Printing, OfATupleHasALineForEach) {
  const Literal both =
      Literal::tuple({Literal::scalar(f32, 1.5), Literal::scalar(s32, int64_t{2})});
  EXPECT_EQ(array_to_string(both), "1.5\n2");
}

}  // namespace
}  // namespace heddle
