// Arrays of one element beside scalars of the same bytes, and loops whose counter has few bits.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The array lives on and changes in place; the scalar is what it was.
TEST(SmallResults, AnArrayOfOneElementAndItsScalar) {
  for (const std::string type : {"s8", "u8", "bf16", "f32", "s64"}) {
    const std::string one = type + "[1]", state = cat("(s32[], ", one, ")");
    expect_as_evaluated(
        cat("HloModule m\nbody {\n p = ", state, " parameter(0)\n",
            " i = s32[] get-tuple-element(p), index=0\n x = ", one,
            " get-tuple-element(p), index=1\n o = s32[] constant(1)\n j = s32[] add(i, o)\n",
            " c = ", one, " constant({1})\n y = ", one, " add(x, c)\n ROOT r = ", state,
            " tuple(j, y) }\ncond {\n p = ", state, " parameter(0)\n",
            " i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(5)\n",
            " ROOT c = pred[] compare(i, n), direction=LT }\nENTRY e {\n a = ", one,
            " parameter(0)\n y = ", one, " add(a, a)\n z = ", type,
            "[] reshape(y)\n k = s32[] constant(0)\n t = ", state, " tuple(k, y)\n w = ", state,
            " while(t), condition=cond, body=body\n v = ", one,
            " get-tuple-element(w), index=1\n ROOT r = (", one, ", ", type, "[]) tuple(v, z) }"));
  }
  expect_as_evaluated(
      "HloModule m\nsecond { a = s32[] parameter(0)\n ROOT b = s32[] parameter(1) }\n"
      "ENTRY e {\n x = s32[] parameter(0)\n p = s32[1] parameter(1)\n"
      " i = s32[1] subtract(p, p)\n u = s32[1] constant({7})\n"
      " y = s32[1] broadcast(x), dimensions={}\n"
      " s = s32[1] scatter(y, i, u), update_window_dims={}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second\n"
      " z = s32[] reshape(y)\n ROOT r = (s32[1], s32[]) tuple(s, z) }");
}

// Numbers wrap before they pass the limit, so that there are more turns than limit / step. The last
// of them write the last element: a start is clamped.
TEST(SmallResults, CountersOfFewBitsWrap) {
  struct Counter {
    const char *type, *step, *limit;
  };
  for (const auto& [type, step, limit] :
       {Counter{"s4", "5", "7"}, {"u4", "7", "15"}, {"s8", "93", "126"}, {"u8", "77", "254"}}) {
    const std::string state = cat("(", type, "[], s32[], s32[4])");
    expect_as_evaluated(cat(
        "HloModule m\nbody {\n p = ", state, " parameter(0)\n i = ", type,
        "[] get-tuple-element(p), index=0\n k = s32[] get-tuple-element(p), index=1\n",
        " y = s32[4] get-tuple-element(p), index=2\n step = ", type, "[] constant(", step,
        ")\n j = ", type, "[] add(i, step)\n one = s32[] constant(1)\n",
        " l = s32[] add(k, one)\n v = s32[1] reshape(l)\n",
        " z = s32[4] dynamic-update-slice(y, v, k)\n ROOT r = ", state,
        " tuple(j, l, z) }\ncond {\n p = ", state, " parameter(0)\n i = ", type,
        "[] get-tuple-element(p), index=0\n n = ", type, "[] constant(", limit,
        ")\n ROOT c = pred[] compare(i, n), direction=LT }\nENTRY e {\n",
        " y = s32[4] parameter(0)\n s = ", type, "[] constant(0)\n k = s32[] constant(0)\n t = ",
        state, " tuple(s, k, y)\n ROOT w = ", state, " while(t), condition=cond, body=body }"));
  }
}

// Positions that wrap are no order of places.
TEST(SmallResults, ArgmaxOfPositionsThatWrap) {
  for (const std::string type : {"u8", "s8", "s32"}) {
    expect_as_evaluated(
        cat("HloModule m\narg {\n a = f32[] parameter(0)\n c = ", type,
            "[] parameter(1)\n b = f32[] parameter(2)\n d = ", type,
            "[] parameter(3)\n g = pred[] compare(a, b), direction=GT\n",
            " n = pred[] compare(a, a), direction=NE\n p = pred[] or(g, n)\n",
            " e = pred[] compare(a, b), direction=EQ\n l = pred[] compare(c, d), direction=LT\n",
            " m = pred[] and(e, l)\n pp = pred[] or(p, m)\n x = f32[] select(p, a, b)\n y = ", type,
            "[] select(pp, c, d)\n ROOT q = (f32[], ", type,
            "[]) tuple(x, y) }\nENTRY e {\n x = f32[300] parameter(0)\n i = ", type,
            "[300] iota(), iota_dimension=0\n z = f32[] constant(-inf)\n k = ", type,
            "[] constant(0)\n w = (f32[], ", type,
            "[]) reduce(x, i, z, k), dimensions={0}, to_apply=arg\n ROOT v = ", type,
            "[] get-tuple-element(w), index=1 }"));
  }
}

// One small result of an inner loop stays in registers, the other is an array in its place.
TEST(SmallResults, OfALoopInALoopHavePlacesOfTheirOwn) {
  expect_as_evaluated(R"(HloModule m
ib {
  p = (s32[], f32[2,2], f32[2,2], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  b = f32[2,2] get-tuple-element(p), index=1
  c = f32[2,2] get-tuple-element(p), index=2
  j = s32[] get-tuple-element(p), index=3
  z = s32[] constant(0)
  d = f32[2,2] add(b,b)
  one = f32[2,1] constant({{1},{1}})
  u = f32[2,2] dynamic-update-slice(d, one, z, n)
  k = s32[] constant(1)
  i = s32[] add(j, k)
  ROOT o = (s32[], f32[2,2], f32[2,2], s32[]) tuple(n, d, u, i)
}
ic {
  p = (s32[], f32[2,2], f32[2,2], s32[]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  j = s32[] get-tuple-element(p), index=3
  ROOT a = pred[] compare(j, n), direction=LT
}
ob {
  p = (s32[], f32[2,2], f32[2,2]) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  a = f32[2,2] get-tuple-element(p), index=1
  f = f32[2,2] constant({{0,0},{1,1}})
  z = s32[] constant(0)
  t = (s32[], f32[2,2], f32[2,2], s32[]) tuple(n, f, a, z)
  w = (s32[], f32[2,2], f32[2,2], s32[]) while(t), condition=ic, body=ib
  b = f32[2,2] get-tuple-element(w), index=1
  c = f32[2,2] get-tuple-element(w), index=2
  k = s32[] constant(1)
  i = s32[] add(n, k)
  ROOT o = (s32[], f32[2,2], f32[2,2]) tuple(i, b, c)
}
oc {
  p = (s32[], f32[2,2], f32[2,2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[2,2] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[2,2], f32[2,2]) tuple(z, x, x)
  w = (s32[], f32[2,2], f32[2,2]) while(t), condition=oc, body=ob
  a = f32[2,2] get-tuple-element(w), index=1
  c = f32[2,2] get-tuple-element(w), index=2
  ROOT r = (f32[2,2], f32[2,2]) tuple(a, c)
}
)");
  expect_as_evaluated(R"(HloModule m
t1 {
  p = (f32[6], f32[6]) parameter(0)
  a = f32[6] get-tuple-element(p), index=0
  ROOT o = (f32[6], f32[6]) tuple(a, a)
}
t2 {
  ROOT p = (f32[6], f32[6]) parameter(0)
}
ib {
  p = (f32[6], f32[6], s32[]) parameter(0)
  a = f32[6] get-tuple-element(p), index=0
  b = f32[6] get-tuple-element(p), index=1
  j = s32[] get-tuple-element(p), index=2
  n = f32[6] negate(a)
  k = s32[] constant(1)
  i = s32[] add(j, k)
  q = s32[] constant(2)
  c = pred[] compare(j, q), direction=LT
  t = (f32[6], f32[6]) tuple(a, b)
  w = (f32[6], f32[6]) conditional(c, t, t), true_computation=t1, false_computation=t2
  e = f32[6] get-tuple-element(w), index=1
  ROOT o = (f32[6], f32[6], s32[]) tuple(n, e, i)
}
ic {
  p = (f32[6], f32[6], s32[]) parameter(0)
  j = s32[] get-tuple-element(p), index=2
  n = s32[] constant(1)
  ROOT a = pred[] compare(j, n), direction=LT
}
ob {
  p = (f32[6], f32[6], s32[]) parameter(0)
  a = f32[6] get-tuple-element(p), index=0
  b = f32[6] get-tuple-element(p), index=1
  j = s32[] get-tuple-element(p), index=2
  z = s32[] constant(0)
  t = (f32[6], f32[6], s32[]) tuple(b, a, z)
  w = (f32[6], f32[6], s32[]) while(t), condition=ic, body=ib
  c = f32[6] get-tuple-element(w), index=0
  d = f32[6] get-tuple-element(w), index=1
  k = s32[] constant(1)
  i = s32[] add(j, k)
  ROOT o = (f32[6], f32[6], s32[]) tuple(c, d, i)
}
oc {
  p = (f32[6], f32[6], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=2
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[6] parameter(0)
  y = f32[6] parameter(1)
  z = s32[] constant(0)
  t = (f32[6], f32[6], s32[]) tuple(x, y, z)
  w = (f32[6], f32[6], s32[]) while(t), condition=oc, body=ob
  a = f32[6] get-tuple-element(w), index=0
  c = f32[6] get-tuple-element(w), index=1
  ROOT r = (f32[6], f32[6]) tuple(a, c)
}
)");
}

}  // namespace
}  // namespace heddle::cpu
