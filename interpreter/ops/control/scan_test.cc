// scan: against the same steps written out in C++.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

// Running sum of x: outputs the sum before each step, and carries the sum and the number of steps.
std::string running_sum(int64_t n, bool reverse) {
  const std::string x = base::cat("f32[", n, "]");
  return base::cat(
      R"(HloModule m
    body {
      x = f32[] parameter(0)
      sum = f32[] parameter(1)
      count = s32[] parameter(2)
      next = f32[] add(sum, x)
      one = s32[] constant(1)
      more = s32[] add(count, one)
      ROOT out = (f32[], f32[], s32[]) tuple(sum, next, more)
    }
    ENTRY main {
      x = )",
      x, R"( parameter(0)
      sum = f32[] constant(100)
      zero = s32[] constant(0)
      ROOT r = ()",
      x, ", f32[], s32[]) scan(x, sum, zero), dimensions={0}, num_carries=2, to_apply=body",
      reverse ? ", is_reverse=true" : "", "\n}");
}

TEST(Scan, WalksForwards) {
  const Literal r = run(running_sum(4, false), {floats({1, 2, 3, 4})});
  EXPECT_THAT(numbers(r.element(0)), ElementsAre(100, 101, 103, 106));
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(110));
  EXPECT_THAT(numbers(r.element(2)), ElementsAre(4));
}

TEST(Scan, BackwardsPutsOutputsWhereInputsCameFrom) {
  const Literal r = run(running_sum(4, true), {floats({1, 2, 3, 4})});
  EXPECT_THAT(numbers(r.element(0)), ElementsAre(109, 107, 104, 100));
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(110));
}

TEST(Scan, OfLengthZeroReturnsTheCarries) {
  const Literal r = run(running_sum(0, false), {floats({})});
  EXPECT_EQ(to_string(r.shape()), "(f32[0], f32[], s32[])");
  EXPECT_THAT(numbers(r.element(0)), IsEmpty());
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(100));
  EXPECT_THAT(numbers(r.element(2)), ElementsAre(0));
}

TEST(Scan, OfLengthOneTakesOneStep) {
  const Literal r = run(running_sum(1, true), {floats({7})});
  EXPECT_THAT(numbers(r.element(0)), ElementsAre(100));
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(107));
}

TEST(Scan, SlicesAndStacksAlongAnInnerDimension) {
  // x is [2, 3]: columns are read, and rows of 2 are stacked as columns.
  const Literal r =
      run(R"(HloModule m
    body {
      x = f32[2] parameter(0)
      k = s32[2] parameter(1)
      a = f32[2] parameter(2)
      kf = f32[2] convert(k)
      ax = f32[2] multiply(a, x)
      next = f32[2] add(ax, kf)
      ROOT out = (f32[2], s32[2], f32[2]) tuple(next, k, next)
    }
    ENTRY main {
      x = f32[2,3] parameter(0)
      k = s32[2,3] parameter(1)
      a = f32[2] parameter(2)
      ROOT r = (f32[2,3], s32[2,3], f32[2]) scan(x, k, a), dimensions={1}, num_carries=1, to_apply=body
    })",
          {Literal::from<float>(Shape(f32, {2, 3}), {1, 2, 3, 4, 5, 6}),
           Literal::from<int32_t>(Shape(s32, {2, 3}), {10, 20, 30, 40, 50, 60}), floats({1, 1})});
  float a[2] = {1, 1}, want[2][3];
  const float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, k[2][3] = {{10, 20, 30}, {40, 50, 60}};
  for (int t = 0; t < 3; ++t) {
    for (int i = 0; i < 2; ++i) want[i][t] = a[i] = a[i] * x[i][t] + k[i][t];
  }
  EXPECT_THAT(numbers(r.element(0)),
              ElementsAre(want[0][0], want[0][1], want[0][2], want[1][0], want[1][1], want[1][2]));
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_THAT(numbers(r.element(2)), ElementsAre(a[0], a[1]));
}

TEST(Scan, WithoutCarriesMaps) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    body { x = f32[] parameter(0) ROOT y = f32[] multiply(x, x) }
    ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] scan(x), dimensions={0}, num_carries=0, to_apply=body })",
                          {floats({1, 2, 3})})),
              ElementsAre(1, 4, 9));
}

TEST(Scan, WithoutInputsHasTheLengthOfItsOutputs) {
  const Literal r = run(R"(HloModule m
    body { a = f32[] parameter(0) b = f32[] add(a, a) ROOT out = (f32[], f32[]) tuple(a, b) }
    ENTRY main { a = f32[] parameter(0) ROOT r = (f32[5], f32[]) scan(a), dimensions={0}, num_carries=1, to_apply=body })",
                        {f32_of(1)});
  EXPECT_THAT(numbers(r.element(0)), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(numbers(r.element(1)), ElementsAre(32));
}

TEST(Scan, ASingleResultMayStandBareOrInATuple) {
  const std::string body =
      "HloModule m\nbody { x = s32[] parameter(0) a = s32[] parameter(1) ROOT b = s32[] add(a, x) "
      "}\n";
  const std::string main = "ENTRY main { x = s32[3] parameter(0) a = s32[] constant(5) ROOT r = ";
  const std::string scan = " scan(x, a), dimensions={0}, num_carries=1, to_apply=body }";
  EXPECT_THAT(numbers(run(body + main + "s32[]" + scan, {ints({1, 2, 3})})), ElementsAre(11));
  EXPECT_THAT(numbers(run(body + main + "(s32[])" + scan, {ints({1, 2, 3})}).element(0)),
              ElementsAre(11));
}

TEST(Scan, EqualsItsStepsWrittenOut) {
  const std::string body = R"(
    step {
      x = f32[2] parameter(0)
      h = f32[2] parameter(1)
      z = f32[2] add(h, x)
      y = f32[2] tanh(z)
      ROOT out = (f32[2], f32[2]) tuple(z, y)
    })";
  const Literal x = Literal::from<float>(Shape(f32, {3, 2}), {.1f, .2f, .3f, .4f, .5f, .6f});
  const Literal scanned = run(base::cat("HloModule m\n", body, R"(
    ENTRY main {
      x = f32[3,2] parameter(0)
      h = f32[2] parameter(1)
      ROOT r = (f32[3,2], f32[2]) scan(x, h), dimensions={0}, num_carries=1, to_apply=step
    })"),
                              {x, floats({1, -1})});
  std::string main = "ENTRY main { x = f32[3,2] parameter(0) h0 = f32[2] parameter(1)\n";
  for (int t = 0; t < 3; ++t) {
    base::append(main, "r", t, " = f32[1,2] slice(x), slice={[", t, ":", t + 1, "], [0:2]}\n x", t,
                 " = f32[2] reshape(r", t, ")\n c", t, " = (f32[2], f32[2]) call(x", t, ", h", t,
                 "), to_apply=step\n z", t, " = f32[2] get-tuple-element(c", t, "), index=0\n h",
                 t + 1, " = f32[2] get-tuple-element(c", t, "), index=1\n");
  }
  const Literal written =
      run(base::cat("HloModule m\n", body, main,
                    "z = f32[6] concatenate(z0, z1, z2), dimensions={0}\n ROOT r = "
                    "(f32[6], f32[2]) tuple(z, h3)\n}"),
          {x, floats({1, -1})});
  EXPECT_EQ(numbers(scanned.element(0)), numbers(written.element(0)));
  EXPECT_EQ(numbers(scanned.element(1)), numbers(written.element(1)));
}

TEST(Scan, AnEmptySliceCostsNothingHoweverManyRowsItHas) {
  const Literal r = run(R"(HloModule m
    body { x = f32[1099511627776,0] parameter(0) ROOT y = f32[1099511627776,0] add(x, x) }
    ENTRY main {
      x = f32[1099511627776,3,0] parameter(0)
      ROOT y = f32[1099511627776,3,0] scan(x), dimensions={1}, num_carries=0, to_apply=body
    })",
                        {Literal(Shape(f32, {1099511627776, 3, 0}))});
  EXPECT_EQ(r.element_count(), 0);
}

}  // namespace
}  // namespace heddle::interpreter
