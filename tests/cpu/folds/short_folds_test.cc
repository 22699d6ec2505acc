// Folds over few places whose elements no array in memory holds.
#include "heddle/cpu/rewrites/folds/short_folds.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool is_unrolled(const std::string& text) {
  return unroll_short_folds(hlo::parse_text(text).value()).value().has_value();
}

// `count` arrays, each of them `x` times a number less a half, stacked along a dimension of
// [rows, columns] and folded to `result` by `fold`, which reads `stack`.
std::string fold_of(int count, bool last, const std::string& result, const std::string& fold) {
  const std::string piece = last ? "[10,9,1]" : "[1,10,9]";
  const std::string all = last ? cat("[10,9,", count, "]") : cat("[", count, ",10,9]");
  std::string pieces, names;
  for (int k = 0; k < count; ++k) {
    pieces += cat("  k", k, " = f32[] constant(", k + 1, ")\n  b", k, " = f32[10,9] broadcast(k", k,
                  "), dimensions={}\n  m", k, " = f32[10,9] multiply(x, b", k, ")\n  r", k,
                  " = f32[10,9] remainder(m", k, ", threes)\n  p", k, " = f32", piece, " reshape(r",
                  k, ")\n");
    names += cat(k == 0 ? "" : ", ", "p", k);
  }
  return cat(
      "HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b) }\n"
      "most { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
      "  j = s32[] parameter(3)\n  gt = pred[] compare(a, b), direction=GT\n"
      "  eq = pred[] compare(a, b), direction=EQ\n  lt = pred[] compare(i, j), direction=LT\n"
      "  tie = pred[] and(eq, lt)\n  or = pred[] or(gt, tie)\n  v = f32[] select(gt, a, b)\n"
      "  n = s32[] select(or, i, j)\n  ROOT t = (f32[], s32[]) tuple(v, n) }\n"
      "weighted { a = f32[] parameter(0)\n  w = f32[] parameter(1)\n  b = f32[] parameter(2)\n"
      "  v = f32[] parameter(3)\n  bv = f32[] multiply(b, v)\n  c = f32[] add(a, bv)\n"
      "  x = f32[] add(w, v)\n  ROOT t = (f32[], f32[]) tuple(c, x) }\n"
      "ENTRY main {\n  x = f32[10,9] parameter(0)\n  three = f32[] constant(3)\n"
      "  threes = f32[10,9] broadcast(three), dimensions={}\n",
      pieces, "  stack = f32", all, " concatenate(", names, "), dimensions={", last ? 2 : 0,
      "}\n  zero = f32[] constant(0)\n  none = s32[] constant(0)\n  low = f32[] constant(-inf)\n",
      "  row = f32[9] constant({1, 2, 3, 4, 5, 6, 7, 8, 9})\n  numbers = s32", all,
      " iota(), iota_dimension=", last ? 2 : 0, "\n  line = s32[", count,
      "] iota(), iota_dimension=0\n  spread = s32", all, " broadcast(line), dimensions={",
      last ? 2 : 0, "}\n  alike = f32", all, " broadcast(row), dimensions={", last ? 1 : 2,
      "}\n  ROOT y = ", result, " ", fold, ", dimensions={", last ? 2 : 0, "} }\n");
}

TEST(ShortFolds, AreElementwise) {
  for (const int count : {1, 2, 5, 16}) {
    const std::string sum = fold_of(count, false, "f32[10,9]", "reduce(stack, zero), to_apply=sum");
    EXPECT_TRUE(is_unrolled(sum)) << sum;
    expect_as_evaluated(sum);
    for (const char* numbers : {"numbers", "spread"}) {
      const std::string most =
          fold_of(count, false, "(f32[10,9], s32[10,9])",
                  cat("reduce(stack, ", numbers, ", low, none), to_apply=most"));
      EXPECT_TRUE(is_unrolled(most)) << most;
      expect_as_evaluated(most);
    }
  }
}

TEST(ShortFolds, BesideAnArrayThatIsAlikeAtAllPlaces) {
  for (const bool last : {false, true}) {
    const auto sums = [&](const char* arrays) {
      return fold_of(4, last, "(f32[10,9], f32[10,9])",
                     cat("reduce(", arrays, ", zero, zero), to_apply=weighted"));
    };
    EXPECT_TRUE(is_unrolled(sums("stack, alike")));
    expect_as_evaluated(sums("stack, alike"), {.ulp = 4});  // a product may join a sum
    EXPECT_FALSE(is_unrolled(sums("alike, alike"))) << "nothing is stacked";
  }
}

TEST(ShortFolds, AlongTheLastDimension) {
  const std::string most =
      fold_of(3, true, "(f32[10,9], s32[10,9])", "reduce(stack, spread, low, none), to_apply=most");
  EXPECT_TRUE(is_unrolled(most));
  expect_as_evaluated(most);
}

TEST(ShortFolds, OfManyArraysOrFewResultsStay) {
  EXPECT_FALSE(is_unrolled(fold_of(17, false, "f32[10,9]", "reduce(stack, zero), to_apply=sum")));
  EXPECT_FALSE(
      is_unrolled("HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                  "  ROOT c = f32[] add(a, b) }\nENTRY main {\n  x = f32[1,5] parameter(0)\n"
                  "  s = f32[2,5] concatenate(x, x), dimensions={0}\n  zero = f32[] constant(0)\n"
                  "  ROOT y = f32[5] reduce(s, zero), dimensions={0}, to_apply=sum }\n"));
}

// A step of Viterbi with `states` states: the best score and its place of `all`, which is [batch,
// from, to] or [batch, to, from]; `along` is the dimension "from".
std::string best_of(int batch, int states, int along, const std::string& folds,
                    const std::string& root) {
  const std::string two = cat("[", batch, ",", states, "]");
  const std::string three = cat("[", batch, ",", states, ",", states, "]");
  return cat(
      "HloModule m\nmax { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] maximum(a, b) }\n"
      "most { a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
      "  j = s32[] parameter(3)\n  gt = pred[] compare(a, b), direction=GT\n"
      "  ne = pred[] compare(a, a), direction=NE\n  or = pred[] or(gt, ne)\n"
      "  v = f32[] select(or, a, b)\n  eq = pred[] compare(a, b), direction=EQ\n"
      "  lt = pred[] compare(i, j), direction=LT\n  tie = pred[] and(eq, lt)\n"
      "  all = pred[] or(or, tie)\n  n = s32[] select(all, i, j)\n"
      "  ROOT t = (f32[], s32[]) tuple(v, n) }\n"
      "ENTRY main {\n  scores = f32",
      two, " parameter(0)\n  weights = f32[", states, ",", states, "] parameter(1)\n  full = f32",
      three, " parameter(2)\n  s = f32", three, " broadcast(scores), dimensions={0,", along,
      "}\n  w = f32", three, " broadcast(weights), dimensions={1,2}\n  all = f32", three,
      " add(s, w)\n  seen = f32", three, " add(all, full)\n  numbers = s32", three,
      " iota(), iota_dimension=", along,
      "\n  low = f32[] constant(-inf)\n  none = s32[] constant(0)\n", folds, "  ROOT y = ", root,
      " }\n");
}

TEST(ShortFolds, OfWhatBroadcastsGive) {
  for (const int along : {1, 2}) {
    const std::string dimensions = cat(", dimensions={", along, "}, to_apply=");
    for (const int states : {2, 3, 4, 8, 15}) {
      const std::string two = cat("[40,", states, "]");
      const std::string best =
          best_of(40, states, along,
                  cat("  b = (f32", two, ", s32", two, ") reduce(all, numbers, low, none)",
                      dimensions, "most\n  v = f32", two, " reduce(all, low)", dimensions,
                      "max\n  n = s32", two, " get-tuple-element(b), index=1\n"),
                  cat("(f32", two, ", s32", two, ") tuple(v, n)"));
      EXPECT_TRUE(is_unrolled(best)) << best;
      expect_as_evaluated(best);
    }
  }
}

TEST(ShortFolds, OfLongRowsOrOfArraysInMemoryStay) {
  const auto most = [](int states, int along, const char* of) {
    return best_of(
        40, states, along, "",
        cat("f32[40,", states, "] reduce(", of, ", low), dimensions={", along, "}, to_apply=max"));
  };
  EXPECT_TRUE(is_unrolled(most(4, 1, "all")));
  EXPECT_FALSE(is_unrolled(most(4, 1, "seen"))) << "it reads an array of that size";
  EXPECT_FALSE(is_unrolled(most(16, 1, "all"))) << "vectors are full";
  EXPECT_FALSE(is_unrolled(most(4, 2, "all")))
      << "folds along the last dimension have their own way";
}

// As the softmax reads the numbers that it sums: they are computed once.
TEST(ShortFolds, OfAFunctionThatOthersReadStay) {
  const auto sum_of = [](const char* op, const char* root) {
    return best_of(40, 4, 1,
                   cat(" e = f32[40,4,4] ", op,
                       "(all)\n m = f32[40,4] reduce(e, low), dimensions={1}, to_apply=max\n"),
                   root);
  };
  const char* both = "(f32[40,4], f32[40,4,4]) tuple(m, e)";
  EXPECT_TRUE(is_unrolled(sum_of("exponential", "f32[40,4] copy(m)")));
  EXPECT_FALSE(is_unrolled(sum_of("exponential", both)));
  EXPECT_TRUE(is_unrolled(sum_of("negate", both)));
}

// `how` of x: `type`[rows,9,20], which `fold` reads, along the first dimension.
std::string moved(const std::string& type, int64_t rows, const std::string& how) {
  return cat("HloModule m\nsum { a = ", type, "[] parameter(0)\n  b = ", type,
             "[] parameter(1)\n  ROOT c = ", type, "[] add(a, b) }\nENTRY main {\n  x = ", type,
             "[", rows, ",9,20] parameter(0)\n  zero = ", type, "[] constant(0)\n  two = ", type,
             "[] constant(2)\n", how, "\n  ROOT r = ", type,
             "[9,20] reduce(y, zero), dimensions={0}, to_apply=sum }\n");
}

TEST(ShortFolds, OfWhatMovesPlaces) {
  for (const char* type : {"f32", "s8", "f64"}) {
    const auto of = [&](const std::string& sizes, const std::string& op) {
      return cat(" ", type, sizes, " ", op, "\n");
    };
    const std::string head = "  h =" + of("[1,9,20]", "slice(x), slice={[0:1], [0:9], [0:20]}");
    const std::string tail = "  t =" + of("[4,9,20]", "slice(x), slice={[1:5], [0:9], [0:20]}");
    for (const std::string& how :
         {// y = x * roll(x, -1)
          head + tail + "  w =" + of("[5,9,20]", "concatenate(t, h), dimensions={0}") +
              "  y =" + of("[5,9,20]", "multiply(x, w)"),
          // x[1:] - x[:-1]
          tail + "  f =" + of("[4,9,20]", "slice(x), slice={[0:4], [0:9], [0:20]}") +
              "  y =" + of("[4,9,20]", "subtract(t, f)"),
          "  w =" + of("[5,9,20]", "reverse(x), dimensions={0}") +
              "  y =" + of("[5,9,20]", "multiply(x, w)"),
          "  e =" + of("[3,9,20]", "slice(x), slice={[0:5:2], [0:9], [0:20]}") +
              "  w =" + of("[5,9,20]", "pad(e, two), padding=3_-1x0_0x0_0") +
              "  y =" + of("[5,9,20]", "multiply(x, w)"),
          "  w =" + of("[4,9,20]", "pad(x, two), padding=-2_1x0_0x0_0") +
              "  v =" + of("[4,9,20]", "reverse(w), dimensions={0}") +
              "  y =" + of("[4,9,20]", "multiply(v, w)")}) {
      const std::string text = moved(type, 5, how);
      EXPECT_TRUE(is_unrolled(text)) << text;
      expect_as_evaluated(text);
    }
    // A part alone, or what moves in another dimension, is folded where it lies.
    for (const std::string& how :
         {"  y =" + of("[4,9,20]", "slice(x), slice={[1:5], [0:9], [0:20]}"),
          "  w =" + of("[5,9,20]", "reverse(x), dimensions={1}") +
              "  y =" + of("[5,9,20]", "multiply(x, w)"),
          "  y =" + of("[5,9,20]", "multiply(x, x)")}) {
      const std::string text = moved(type, 5, how);
      EXPECT_FALSE(is_unrolled(text)) << text;
      expect_as_evaluated(text);
    }
    EXPECT_FALSE(is_unrolled(moved(type, 17,
                                   "  w =" + of("[17,9,20]", "reverse(x), dimensions={0}") +
                                       "  y =" + of("[17,9,20]", "multiply(x, w)"))));
  }
}

// What is computed of them would be written for each place.
TEST(ShortFolds, OfLongChainsStay) {
  std::string chain =
      "  w = f32[5,9,20] reverse(x), dimensions={0}\n  c0 = f32[5,9,20] subtract(w, x)\n";
  const auto of = [&](int count) {
    std::string lines = chain;
    for (int k = 1; k < count; ++k)
      lines += cat("  c", k, " = f32[5,9,20] subtract(c", k - 1, ", x)\n");
    return moved("f32", 5, lines + cat("  y = f32[5,9,20] negate(c", count - 1, ")\n"));
  };
  EXPECT_TRUE(is_unrolled(of(20)));
  EXPECT_FALSE(is_unrolled(of(60)));
  EXPECT_FALSE(is_unrolled(of(5000)));
  expect_as_evaluated(of(20));
  expect_as_evaluated(of(60));
}

}  // namespace
}  // namespace heddle::cpu
