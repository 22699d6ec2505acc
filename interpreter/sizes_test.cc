// Values of dynamic size: each op at the size that its operands have. Expected values are those of
// XLA's CPU where it has them.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

// The value of `lines`, whose last one is the root, for d: the first n rows of x = f32[4,2] of 1 ..
// 8.
Literal value(std::string_view lines, int32_t n) {
  return run(base::cat(R"(HloModule m
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
    double { a = f32[<=4,2] parameter(0) ROOT b = f32[<=4,2] add(a, a) }
    twice { t = (s32[], f32[<=4,2]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(2) ROOT c = pred[] compare(i, n), direction=LT }
    step {
      t = (s32[], f32[<=4,2]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      one = s32[] constant(1)
      j = s32[] add(i, one)
      d = f32[<=4,2] get-tuple-element(t), index=1
      e = f32[<=4,2] call(d), to_apply=double
      ROOT r = (s32[], f32[<=4,2]) tuple(j, e)
    }
    ENTRY main {
      n = s32[] parameter(0)
      x = f32[4,2] constant({{1,2},{3,4},{5,6},{7,8}})
      zero = f32[] constant(0)
      none = s32[] constant(0)
      d = f32[<=4,2] set-dimension-size(x, n), dimensions={0}
      )",
                       lines, "\n}"),
             {s32_of(n)});
}

std::string failure(std::string_view lines, int32_t n) {
  try {
    value(lines, n);
    return "no error";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Sizes, ElementsBeyondTheSizeAreNotThere) {
  EXPECT_THAT(numbers(value("ROOT r = f32[2] reduce(d, zero), dimensions={0}, to_apply=add", 3)),
              ElementsAre(9, 12));
  EXPECT_THAT(numbers(value("ROOT r = f32[2] reduce(d, zero), dimensions={0}, to_apply=add", 0)),
              ElementsAre(0, 0));
  EXPECT_THAT(numbers(value("ROOT r = s32[] get-dimension-size(d), dimensions={0}", 3)),
              ElementsAre(3));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] negate(d)", 1)), ElementsAre(-1, -2));
}

TEST(Sizes, AStaticOperandIsCutToTheOther) {
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] subtract(x, d)", 2)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[2,2] dot(d, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", 2)),
      ElementsAre(10, 14, 14, 20));
  EXPECT_THAT(
      numbers(value("b = f32[<=4,2] broadcast(zero), dimensions={}\n ROOT r = f32[<=4,2] add(b, d)",
                    1)),
      ElementsAre(1, 2));
}

TEST(Sizes, OpsThatMoveElementsFollow) {
  EXPECT_THAT(numbers(value("s = f32[2,2] slice(x), slice={[0:2], [0:2]}\n ROOT r = f32[<=6,2] "
                            "concatenate(d, s), dimensions={0}",
                            1)),
              ElementsAre(1, 2, 1, 2, 3, 4));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] reverse(d), dimensions={0}", 2)),
              ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(
      numbers(value(
          "m = f32[<=4,2] negate(d)\n ROOT r = f32[<=4,2] sort(m), dimensions={0}, to_apply=less",
          2)),
      ElementsAre(-3, -4, -1, -2));
  EXPECT_THAT(numbers(value("ROOT r = f32[2,<=4] transpose(d), dimensions={1,0}", 2)),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=5,2] pad(d, zero), padding=1_0x0_0", 1)),
              ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,1] slice(d), slice={[0:4], [1:2]}", 2)),
              ElementsAre(2, 4));
  EXPECT_THAT(numbers(value("b = f32[<=4,1,2] reshape(d)\n ROOT r = f32[<=8] reshape(b)", 2)),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[<=2,2] reduce-window(d, zero), window={size=2x1 stride=2x1}, to_apply=add",
          3)),
      ElementsAre(4, 6));
  EXPECT_THAT(
      numbers(value(
          "i = s32[1] constant({0})\n ROOT r = f32[1,<=4] gather(d, i), offset_dims={1}, "
          "collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}",
          3)),
      ElementsAre(1, 3, 5));
}

TEST(Sizes, UpdatesAreWrittenWithinTheBound) {
  constexpr std::string_view kUpdate =
      "u = f32[1,2] constant({{9,9}})\n i = s32[] constant(1)\n ROOT r = f32[<=4,2] "
      "dynamic-update-slice(d, u, i, none)";
  EXPECT_THAT(numbers(value(kUpdate, 2)), ElementsAre(1, 2, 9, 9));
  EXPECT_THAT(numbers(value(kUpdate, 1)), ElementsAre(1, 2));
}

TEST(Sizes, GoThroughLoopsBranchesAndTuples) {
  EXPECT_THAT(numbers(value(
                  "t = (s32[], f32[<=4,2]) tuple(none, d)\n w = (s32[], f32[<=4,2]) while(t), "
                  "condition=twice, body=step\n ROOT r = f32[<=4,2] get-tuple-element(w), index=1",
                  1)),
              ElementsAre(4, 8));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[<=4,2] conditional(none, d, d), branch_computations={double, double}", 1)),
      ElementsAre(2, 4));
}

TEST(Sizes, ConvolutionsOfADynamicBatch) {
  EXPECT_THAT(
      numbers(value("b = f32[<=4,1,2] reshape(d)\n k = f32[1,1,2] constant({{{1,10}}})\n ROOT r = "
                    "f32[<=4,1,1] convolution(b, k), window={size=2}, dim_labels=bf0_oi0->bf0",
                    2)),
      ElementsAre(21, 43));
}

TEST(Sizes, DynamicReshapeTakesItsSizesFromOperands) {
  EXPECT_THAT(numbers(value(
                  "two = s32[] constant(2)\n ROOT r = f32[<=4,<=2] dynamic-reshape(d, two, n)", 2)),
              ElementsAre(1, 2, 3, 4));
}

// A type without the flag promises all of its elements: those beyond the size are zeros.
TEST(Sizes, ThatATypeFixesAreFilled) {
  for (const char* line :
       {"r = f32[4,2] reverse(d), dimensions={1}", "r = f32[4,2] opt-barrier(d)",
        "k = token[] after-all()\n r = f32[4,2] add-dependency(d, k)",
        "t = (f32[4,2]) tuple(d)\n r = f32[4,2] get-tuple-element(t), index=0",
        "t = (f32[<=4,2]) tuple(d)\n r = f32[4,2] get-tuple-element(t), index=0",
        "t = (f32[<=4,2]) tuple(d)\n b = (f32[4,2]) opt-barrier(t)\n r = f32[4,2] "
        "get-tuple-element(b), index=0",
        "t = f32[2,4] transpose(d), dimensions={1,0}\n r = f32[4,2] transpose(t), dimensions={1,0}",
        "r = f32[4,2] custom-call(d), custom_call_target=\"Sharding\"",
        "r = f32[4,2] all-reduce(d), replica_groups={}, to_apply=add",
        "r = f32[4,2] slice(d), slice={[0:4], [0:2]}"}) {
    const Literal squares = value(base::cat(line, "\n ROOT q = f32[4,2] multiply(r, r)"), 1);
    std::vector<double> got = numbers(squares);
    std::ranges::sort(got);
    EXPECT_THAT(got, ElementsAre(0, 0, 0, 0, 0, 0, 1, 4)) << line;
  }
  const Literal tuple = value("ROOT t = (f32[4,2], s32[]) tuple(d, n)", 1);
  EXPECT_THAT(numbers(tuple.element(0)), ElementsAre(1, 2, 0, 0, 0, 0, 0, 0));
}

TEST(Sizes, ThatNothingBoundsAreRefused) {
  EXPECT_EQ(
      failure("u = f32[?] reshape(x)\n ROOT r = s32[] get-dimension-size(u), dimensions={0}", 1),
      "reshape: u of main is f32[?]; every dimension must have a size or a bound");
  EXPECT_THAT(failure("ROOT u = f32[?] broadcast(zero), dimensions={}", 1), HasSubstr("f32[?]"));
  EXPECT_THAT(failure("u = f32[?] bitcast(x)\n ROOT t = (f32[?]) tuple(u)", 1),
              HasSubstr("f32[?]"));
  EXPECT_THAT(failure("k = s32[] constant(8)\n ROOT u = f32[?] dynamic-reshape(x, k)", 1),
              HasSubstr("f32[?]"));
}

TEST(Sizes, DynamicReshapeStaysInItsBounds) {
  EXPECT_EQ(
      failure("k = s32[] constant(8)\n l = s32[] constant(1)\n ROOT r = f32[<=2,<=4] "
              "dynamic-reshape(x, k, l)",
              1),
      "dynamic-reshape: the sizes are {8,1}; must be in the bounds of the result f32[<=2,<=4]");
  EXPECT_THAT(failure("h = s32[] constant(65536)\n ROOT r = f32[<=2,<=2,<=2,<=1] "
                      "dynamic-reshape(d, h, h, h, h)",
                      0),
              HasSubstr("must be in the bounds"));
}

TEST(Sizes, BitcastsGoThroughMemory) {
  constexpr std::string_view kBitcast =
      "u = f32[<=4,2]{0,1} copy(d)\n ROOT r = f32[2,<=4]{1,0} bitcast(u)";
  EXPECT_THAT(numbers(value(kBitcast, 4)), ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  EXPECT_EQ(
      failure(kBitcast, 2),
      "bitcast: x is f32[<=4,2] at the sizes {2,2}; must fill its bounds where a layout is not "
      "row-major");
  EXPECT_THAT(numbers(value("ROOT r = f32[<=8] bitcast(d)", 2)), ElementsAre(1, 2, 3, 4));
}

// Their rules believe the declared type, which has bounds and no sizes.
TEST(Sizes, OfTypesThatAreBelievedComeFromTheOperand) {
  for (const int32_t n : {4, 1}) {
    const auto rows = static_cast<size_t>(n);
    for (const char* op : {"custom-call(d), custom_call_target=\"Sharding\", sharding={replicated}",
                           "custom-call(d), custom_call_target=\"annotate_device_placement\"",
                           "all-gather(d), dimensions={0}, replica_groups={}",
                           "all-reduce(d), replica_groups={}, to_apply=add"}) {
      EXPECT_THAT(numbers(value(base::cat("ROOT r = f32[<=4,2] ", op), n)), SizeIs(2 * rows)) << op;
    }
    const Literal top =
        value("ROOT r = (f32[<=4,1], s32[<=4,1]) custom-call(d), custom_call_target=\"TopK\"", n);
    EXPECT_THAT(numbers(top.element(0)), SizeIs(rows));
    EXPECT_THAT(
        numbers(value("c = (f32[<=4,2], f32[<=4,2], u32[]) copy-start(d)\n ROOT r = f32[<=4,2] "
                      "copy-done(c)",
                      n)),
        SizeIs(2 * rows));
    EXPECT_THAT(numbers(value("one = f32[] constant(1)\n g = f32[<=4,2] rng(zero, one), "
                              "distribution=rng_uniform\n ROOT r = f32[<=4,2] subtract(g, d)",
                              n)),
                SizeIs(2 * rows));
  }
  EXPECT_THAT(numbers(value("f = f32[<=4,2] negate(d)\n ROOT r = f32[2,<=5] custom-call(), "
                            "custom_call_target=\"dce_sink\"",
                            1)),
              SizeIs(10));
  EXPECT_THAT(
      failure("ROOT r = f32[<=7] custom-call(d), custom_call_target=\"Sharding\"", 3),
      HasSubstr("custom-call: operand 0 is f32[<=4,2] at the sizes {3,2}; what dimension 0 of "
                "the result f32[<=7] is then is not known"));
}

TEST(Sizes, AnArgumentMayBeSmallerThanItsBound) {
  constexpr std::string_view kText = R"(HloModule m
    ENTRY main { x = f32[<=4] parameter(0) ROOT s = s32[] get-dimension-size(x), dimensions={0} })";
  EXPECT_EQ(run(kText, {floats({1, 2})}).to_int64(0), 2);
  EXPECT_EQ(error_of(kText, {floats({1, 2, 3, 4, 5})}),
            "evaluate: parameter 0, x, of m is f32[<=4]; its argument is f32[5]");
}

TEST(Sizes, ThatDoNotFitAreErrors) {
  EXPECT_EQ(
      failure("ROOT r = s32[] get-dimension-size(d), dimensions={0}", 5),
      "set-dimension-size: dimension 0 of x, f32[4,2], is given the size 5; must be in [0, 4]");
  EXPECT_EQ(error_of(R"(HloModule m
    ENTRY main { x = f32[4] parameter(0) n = s32[] constant(5) ROOT d = f32[<=4] set-dimension-size(x, n), dimensions={0} })",
                     {floats({1, 2, 3, 4})}),
            "set-dimension-size: dimension 0 of x, f32[4], is given the size 5; must be in [0, 4]");
  EXPECT_EQ(error_of(R"(HloModule m
    ENTRY main { x = f32[6] parameter(0) n = s32[] constant(5) d = f32[<=6] set-dimension-size(x, n), dimensions={0} ROOT r = f32[<=2,<=3] reshape(d) })",
                     {floats({1, 2, 3, 4, 5, 6})}),
            "reshape: x is f32[<=6] at the sizes {5}, the result f32[<=2,<=3]; its dynamic "
            "dimensions must each follow from dimensions of their own");
}

}  // namespace
}  // namespace heddle::interpreter
