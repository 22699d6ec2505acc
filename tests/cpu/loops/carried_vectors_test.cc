// A vector that a loop carries from a difference on, and of which one lane is read.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// c = op(row i % 2 of xs, c) in three turns; result: element 1 of c.
std::string carried(const std::string& dtype, const std::string& op) {
  return cat(
      "HloModule m\nbody { p = (s32[], ", dtype, "[2,4], ", dtype,
      "[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n xs = ", dtype,
      "[2,4] get-tuple-element(p), index=1\n c = ", dtype,
      "[4] get-tuple-element(p), index=2\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
      " two = s32[] constant(2)\n q = s32[] remainder(i, two)\n z = s32[] constant(0)\n d = ",
      dtype, "[1,4] dynamic-slice(xs, q, z), dynamic_slice_sizes={1,4}\n x = ", dtype,
      "[4] reshape(d)\n n = ", dtype, "[4] ", op, "(x, c)\n ROOT t = (s32[], ", dtype, "[2,4], ",
      dtype, "[4]) tuple(j, xs, n) }\ncond { p = (s32[], ", dtype, "[2,4], ", dtype,
      "[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n l = s32[] constant(3)\n"
      " ROOT b = pred[] compare(i, l), direction=LT }\nENTRY e { c = ",
      dtype, "[4] parameter(0)\n xs = ", dtype,
      "[2,4] parameter(1)\n k = s32[] constant(0)\n t = (s32[], ", dtype, "[2,4], ", dtype,
      "[4]) tuple(k, xs, c)\n w = (s32[], ", dtype, "[2,4], ", dtype,
      "[4]) while(t), condition=cond, body=body\n r = ", dtype,
      "[4] get-tuple-element(w), index=2\n ROOT e = ", dtype, "[1] slice(r), slice={[1:2]} }\n");
}

// LLVM 19 changes the operands' places where it combines instructions.
TEST(CpuCarriedVectors, KeepTheOrderOfOperands) {
  for (const char* op : {"subtract", "divide", "multiply"}) {
    for (const char* dtype : {"f32", "f64"}) expect_as_evaluated(carried(dtype, op));
  }
  for (const char* op : {"subtract", "shift-left", "shift-right-logical", "remainder"})
    expect_as_evaluated(carried("s32", op));
}

}  // namespace
}  // namespace heddle::cpu
