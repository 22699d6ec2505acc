// while, conditional, call, map: values against plain C++.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

// Counts i up to the limit in the state, doubling x.
constexpr std::string_view kDoubling = R"(HloModule m
  body {
    s = (s32[], s32[], f32[2]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    limit = s32[] get-tuple-element(s), index=1
    x = f32[2] get-tuple-element(s), index=2
    one = s32[] constant(1)
    next = s32[] add(i, one)
    twice = f32[2] add(x, x)
    ROOT out = (s32[], s32[], f32[2]) tuple(next, limit, twice)
  }
  condition {
    s = (s32[], s32[], f32[2]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    limit = s32[] get-tuple-element(s), index=1
    ROOT goes_on = pred[] compare(i, limit), direction=LT
  }
  ENTRY main {
    zero = s32[] constant(0)
    limit = s32[] parameter(0)
    x = f32[2] parameter(1)
    s = (s32[], s32[], f32[2]) tuple(zero, limit, x)
    end = (s32[], s32[], f32[2]) while(s), condition=condition, body=body
    ROOT y = f32[2] get-tuple-element(end), index=2
  })";

TEST(While, RunsUntilTheConditionIsFalse) {
  EXPECT_THAT(numbers(run(kDoubling, {s32_of(3), floats({1, 5})})), ElementsAre(8, 40));
}

TEST(While, OfZeroTripsReturnsTheState) {
  EXPECT_THAT(numbers(run(kDoubling, {s32_of(0), floats({1, 5})})), ElementsAre(1, 5));
  EXPECT_THAT(numbers(run(kDoubling, {s32_of(-7), floats({1, 5})})), ElementsAre(1, 5));
}

TEST(While, StateNeedNotBeATuple) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    body { x = s32[] parameter(0) ROOT y = s32[] add(x, x) }
    condition { x = s32[] parameter(0) limit = s32[] constant(100) ROOT c = pred[] compare(x, limit), direction=LT }
    ENTRY main { x = s32[] parameter(0) ROOT y = s32[] while(x), condition=condition, body=body })",
                          {s32_of(3)})),
              ElementsAre(192));
}

TEST(While, CarriesMayChangePlaces) {
  const Literal end = run(R"(HloModule m
    body {
      s = (s32[], f32[1], f32[1]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      a = f32[1] get-tuple-element(s), index=1
      b = f32[1] get-tuple-element(s), index=2
      one = s32[] constant(1)
      next = s32[] subtract(i, one)
      ROOT out = (s32[], f32[1], f32[1]) tuple(next, b, a)
    }
    condition {
      s = (s32[], f32[1], f32[1]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      zero = s32[] constant(0)
      ROOT goes_on = pred[] compare(i, zero), direction=GT
    }
    ENTRY main {
      s = (s32[], f32[1], f32[1]) parameter(0)
      ROOT end = (s32[], f32[1], f32[1]) while(s), condition=condition, body=body
    })",
                          {Literal::tuple({s32_of(3), floats({1}), floats({2})})});
  EXPECT_THAT(numbers(end.element(1)), ElementsAre(2));
  EXPECT_THAT(numbers(end.element(2)), ElementsAre(1));
}

// while (i < 3) { while (j < 4) { while (k < 5) { sum += i + 10 j + 100 k } } }
constexpr std::string_view kNested = R"(HloModule m
  inner_body {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    j = s32[] get-tuple-element(s), index=1
    k = s32[] get-tuple-element(s), index=2
    sum = s32[] get-tuple-element(s), index=3
    ten = s32[] constant(10)
    hundred = s32[] constant(100)
    one = s32[] constant(1)
    tens = s32[] multiply(j, ten)
    hundreds = s32[] multiply(k, hundred)
    a = s32[] add(i, tens)
    b = s32[] add(a, hundreds)
    c = s32[] add(sum, b)
    next = s32[] add(k, one)
    ROOT out = (s32[], s32[], s32[], s32[]) tuple(i, j, next, c)
  }
  inner_condition {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    k = s32[] get-tuple-element(s), index=2
    n = s32[] constant(5)
    ROOT c = pred[] compare(k, n), direction=LT
  }
  middle_body {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    j = s32[] get-tuple-element(s), index=1
    sum = s32[] get-tuple-element(s), index=3
    zero = s32[] constant(0)
    one = s32[] constant(1)
    begin = (s32[], s32[], s32[], s32[]) tuple(i, j, zero, sum)
    end = (s32[], s32[], s32[], s32[]) while(begin), condition=inner_condition, body=inner_body
    total = s32[] get-tuple-element(end), index=3
    next = s32[] add(j, one)
    ROOT out = (s32[], s32[], s32[], s32[]) tuple(i, next, zero, total)
  }
  middle_condition {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    j = s32[] get-tuple-element(s), index=1
    n = s32[] constant(4)
    ROOT c = pred[] compare(j, n), direction=LT
  }
  outer_body {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    sum = s32[] get-tuple-element(s), index=3
    zero = s32[] constant(0)
    one = s32[] constant(1)
    begin = (s32[], s32[], s32[], s32[]) tuple(i, zero, zero, sum)
    end = (s32[], s32[], s32[], s32[]) while(begin), condition=middle_condition, body=middle_body
    total = s32[] get-tuple-element(end), index=3
    next = s32[] add(i, one)
    ROOT out = (s32[], s32[], s32[], s32[]) tuple(next, zero, zero, total)
  }
  outer_condition {
    s = (s32[], s32[], s32[], s32[]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(3)
    ROOT c = pred[] compare(i, n), direction=LT
  }
  ENTRY main {
    zero = s32[] constant(0)
    s = (s32[], s32[], s32[], s32[]) tuple(zero, zero, zero, zero)
    end = (s32[], s32[], s32[], s32[]) while(s), condition=outer_condition, body=outer_body
    ROOT sum = s32[] get-tuple-element(end), index=3
  })";

TEST(While, NestsThreeDeep) {
  int want = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 5; ++k) want += i + 10 * j + 100 * k;
    }
  }
  EXPECT_THAT(numbers(run(kNested)), ElementsAre(want));
}

std::string three_branches() {
  return R"(HloModule m
    plus { x = f32[] parameter(0) one = f32[] constant(1) ROOT y = f32[] add(x, one) }
    twice { x = f32[] parameter(0) ROOT y = f32[] add(x, x) }
    square { x = f32[] parameter(0) ROOT y = f32[] multiply(x, x) }
    ENTRY main {
      index = s32[] parameter(0)
      x = f32[] parameter(1)
      y = f32[] parameter(2)
      z = f32[] parameter(3)
      ROOT r = f32[] conditional(index, x, y, z), branch_computations={plus, twice, square}
    })";
}

double branch(int32_t index) {
  return run(three_branches(), {s32_of(index), f32_of(3), f32_of(5), f32_of(7)}).values<float>()[0];
}

TEST(Conditional, RunsTheBranchOfItsIndex) {
  EXPECT_EQ(branch(0), 4);
  EXPECT_EQ(branch(1), 10);
  EXPECT_EQ(branch(2), 49);
}

TEST(Conditional, AnIndexOutOfRangeTakesTheLastBranch) {
  EXPECT_EQ(branch(3), 49);
  EXPECT_EQ(branch(-1), 49);
  EXPECT_EQ(branch(INT32_MIN), 49);
  EXPECT_EQ(branch(INT32_MAX), 49);
}

TEST(Conditional, TrueIsTheFirstBranch) {
  constexpr std::string_view text = R"(HloModule m
    yes { x = f32[] parameter(0) ROOT y = f32[] add(x, x) }
    no { x = s32[] parameter(0) ROOT y = f32[] convert(x) }
    ENTRY main {
      p = pred[] parameter(0)
      x = f32[] parameter(1)
      k = s32[] parameter(2)
      ROOT r = f32[] conditional(p, x, k), true_computation=yes, false_computation=no
    })";
  const Literal yes = Literal::from<bool>(Shape::scalar(pred), {true});
  const Literal no = Literal::from<bool>(Shape::scalar(pred), {false});
  EXPECT_THAT(numbers(run(text, {yes, f32_of(1.5), s32_of(7)})), ElementsAre(3));
  EXPECT_THAT(numbers(run(text, {no, f32_of(1.5), s32_of(7)})), ElementsAre(7));
}

TEST(Call, RunsItsComputationOnItsOperands) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    f { a = f32[2] parameter(0) b = f32[2] parameter(1) ROOT c = f32[2] subtract(a, b) }
    ENTRY main {
      x = f32[2] parameter(0)
      y = f32[2] parameter(1)
      d = f32[2] call(x, y), to_apply=f
      e = f32[2] call(y, x), to_apply=f
      ROOT r = f32[2] multiply(d, e)
    })",
                          {floats({1, 5}), floats({3, 2})})),
              ElementsAre(-4, -9));
}

TEST(Fusion, IsACallOfItsComputation) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    fused { a = f32[2] parameter(0) b = f32[2] exponential(a) ROOT c = f32[2] add(a, b) }
    ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] fusion(x), kind=kLoop, calls=fused })",
                          {floats({0, 0})})),
              ElementsAre(1, 1));
}

TEST(Map, AppliesAnElementwiseBodyAtEveryPosition) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    f { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] convert(b) half = f32[] constant(0.5) d = f32[] add(a, c) ROOT e = f32[] multiply(d, half) }
    ENTRY main {
      x = f32[3] parameter(0)
      k = s32[3] parameter(1)
      ROOT y = f32[3] map(x, k), dimensions={0}, to_apply=f
    })",
                          {floats({1, 2, 3}), ints({10, 20, 30})})),
              ElementsAre(5.5, 11, 16.5));
}

TEST(Map, ManyElementsCrossTheChunks) {
  std::vector<float> x(10'001);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Literal y = run(R"(HloModule m
    f { a = f32[] parameter(0) ROOT b = f32[] add(a, a) }
    ENTRY main { x = f32[73,137] parameter(0) ROOT y = f32[73,137] map(x), dimensions={0,1}, to_apply=f })",
                        {Literal::from<float>(Shape(f32, {73, 137}), x)});
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y.values<float>()[i], 2 * x[i]) << i;
}

// Collatz steps: a body with a loop is called element by element.
TEST(Map, ABodyMayBeMoreThanElementwise) {
  EXPECT_THAT(numbers(run(R"(HloModule m
    body {
      s = (s32[], s32[]) parameter(0)
      n = s32[] get-tuple-element(s), index=0
      steps = s32[] get-tuple-element(s), index=1
      one = s32[] constant(1)
      two = s32[] constant(2)
      three = s32[] constant(3)
      bit = s32[] and(n, one)
      odd = pred[] compare(bit, one), direction=EQ
      half = s32[] divide(n, two)
      triple = s32[] multiply(n, three)
      up = s32[] add(triple, one)
      next = s32[] select(odd, up, half)
      more = s32[] add(steps, one)
      ROOT out = (s32[], s32[]) tuple(next, more)
    }
    condition {
      s = (s32[], s32[]) parameter(0)
      n = s32[] get-tuple-element(s), index=0
      one = s32[] constant(1)
      ROOT c = pred[] compare(n, one), direction=GT
    }
    collatz {
      n = s32[] parameter(0)
      zero = s32[] constant(0)
      s = (s32[], s32[]) tuple(n, zero)
      end = (s32[], s32[]) while(s), condition=condition, body=body
      ROOT steps = s32[] get-tuple-element(end), index=1
    }
    ENTRY main { n = s32[4] parameter(0) ROOT y = s32[4] map(n), dimensions={0}, to_apply=collatz })",
                          {ints({1, 2, 7, 27})})),
              ElementsAre(0, 1, 16, 111));
}

}  // namespace
}  // namespace heddle::interpreter
