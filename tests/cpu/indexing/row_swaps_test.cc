// Updates that read what another one overwrites.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// Each of `turns` turns with the arrays x and y, 32 x 32, and two rows i and j, some alike.
std::string loop_of(const std::string& lines) {
  return cat(
      "HloModule m\ncond { s = (s32[], f32[32,32], f32[32,32]) parameter(0)\n"
      " k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(50)\n"
      " ROOT r = pred[] compare(k, n), direction=LT }\n"
      "body { s = (s32[], f32[32,32], f32[32,32]) parameter(0)\n"
      " k = s32[] get-tuple-element(s), index=0\n x = f32[32,32] get-tuple-element(s), index=1\n"
      " y = f32[32,32] get-tuple-element(s), index=2\n one = s32[] constant(1)\n"
      " next = s32[] add(k, one)\n zero = s32[] constant(0)\n seven = s32[] constant(7)\n"
      " size = s32[] constant(32)\n i = s32[] remainder(k, size)\n m = s32[] multiply(k, seven)\n"
      " j = s32[] remainder(m, size)\n"
      " xi = f32[1,32] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,32}\n"
      " xj = f32[1,32] dynamic-slice(x, j, zero), dynamic_slice_sizes={1,32}\n"
      " yi = f32[1,32] dynamic-slice(y, i, zero), dynamic_slice_sizes={1,32}\n"
      " yj = f32[1,32] dynamic-slice(y, j, zero), dynamic_slice_sizes={1,32}\n"
      " ci = f32[32,1] dynamic-slice(x, zero, i), dynamic_slice_sizes={32,1}\n"
      " cj = f32[32,1] dynamic-slice(x, zero, j), dynamic_slice_sizes={32,1}\n",
      lines,
      " ROOT r = (s32[], f32[32,32], f32[32,32]) tuple(next, u, v) }\n"
      "ENTRY main { x = f32[32,32] parameter(0)\n y = f32[32,32] parameter(1)\n"
      " k = s32[] constant(0)\n init = (s32[], f32[32,32], f32[32,32]) tuple(k, x, y)\n"
      " w = (s32[], f32[32,32], f32[32,32]) while(init), condition=cond, body=body\n"
      " p = f32[32,32] get-tuple-element(w), index=1\n"
      " q = f32[32,32] get-tuple-element(w), index=2\n"
      " ROOT r = (f32[32,32], f32[32,32]) tuple(p, q) }\n");
}

TEST(RowSwaps, GiveTheEvaluatorsValue) {
  const char* bodies[] = {
      // Two rows, two columns, and a cycle of three.
      " a = f32[32,32] dynamic-update-slice(x, xj, i, zero)\n"
      " u = f32[32,32] dynamic-update-slice(a, xi, j, zero)\n v = f32[32,32] copy(y)\n",
      " a = f32[32,32] dynamic-update-slice(x, cj, zero, i)\n"
      " u = f32[32,32] dynamic-update-slice(a, ci, zero, j)\n v = f32[32,32] copy(y)\n",
      " d = f32[1,32] dynamic-slice(x, one, zero), dynamic_slice_sizes={1,32}\n"
      " a = f32[32,32] dynamic-update-slice(x, xj, i, zero)\n"
      " b = f32[32,32] dynamic-update-slice(a, d, j, zero)\n"
      " u = f32[32,32] dynamic-update-slice(b, xi, one, zero)\n v = f32[32,32] copy(y)\n",
      // Sums of rows go to each other's place.
      " s2 = f32[1,32] add(xi, xj)\n d2 = f32[1,32] subtract(xi, xj)\n"
      " a = f32[32,32] dynamic-update-slice(x, s2, i, zero)\n"
      " u = f32[32,32] dynamic-update-slice(a, d2, j, zero)\n v = f32[32,32] copy(y)\n",
      // Rows of two arrays, at the same and at other places, and one array that the other reads.
      " u = f32[32,32] dynamic-update-slice(x, yi, i, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, xi, i, zero)\n",
      " u = f32[32,32] dynamic-update-slice(x, yj, i, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, xi, j, zero)\n",
      " u = f32[32,32] dynamic-update-slice(x, yj, i, zero)\n"
      " w2 = f32[1,32] add(xi, yj)\n v = f32[32,32] dynamic-update-slice(y, w2, i, zero)\n",
      " v = f32[32,32] dynamic-update-slice(y, xi, j, zero)\n"
      " u = f32[32,32] dynamic-update-slice(x, xj, i, zero)\n",
      // The new array is read, too.
      " a = f32[32,32] dynamic-update-slice(x, xj, i, zero)\n"
      " new = f32[1,32] dynamic-slice(a, j, zero), dynamic_slice_sizes={1,32}\n"
      " t = f32[1,32] add(new, xi)\n u = f32[32,32] dynamic-update-slice(a, t, j, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, xi, i, zero)\n",
      // Rotations: each of two rows, of one array or of two, is computed of both.
      " d2 = f32[1,32] subtract(xi, yi)\n s2 = f32[1,32] add(xi, yi)\n"
      " u = f32[32,32] dynamic-update-slice(x, d2, i, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, s2, i, zero)\n",
      " rx = f32[32] reshape(xi)\n ry = f32[32] reshape(yj)\n d2 = f32[32] subtract(rx, ry)\n"
      " s2 = f32[32] add(rx, ry)\n du = f32[1,32] reshape(d2)\n su = f32[1,32] reshape(s2)\n"
      " u = f32[32,32] dynamic-update-slice(x, du, i, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, su, j, zero)\n",
      " d2 = f32[1,32] subtract(xi, xj)\n s2 = f32[1,32] add(xj, xi)\n"
      " a = f32[32,32] dynamic-update-slice(x, d2, i, zero)\n"
      " u = f32[32,32] dynamic-update-slice(a, s2, j, zero)\n v = f32[32,32] copy(y)\n",
      // An error that both rows need, and three arrays in a circle.
      " e = f32[1,32] multiply(xi, yj)\n ex = f32[1,32] multiply(e, yj)\n"
      " ey = f32[1,32] multiply(e, xi)\n nx = f32[1,32] subtract(xi, ex)\n"
      " ny = f32[1,32] subtract(yj, ey)\n u = f32[32,32] dynamic-update-slice(x, nx, i, zero)\n"
      " v = f32[32,32] dynamic-update-slice(y, ny, j, zero)\n",
  };
  for (const char* body : bodies)
    expect_as_evaluated(loop_of(body), {.ulp = 4});  // products may join sums
}

}  // namespace
}  // namespace heddle::cpu
