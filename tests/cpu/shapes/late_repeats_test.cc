// Repeated and tiled arrays, and what is computed of them.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

TEST(CpuLateRepeats, AreReadWhereTheyLie) {
  for (const char* type : {"f32", "f64", "u8"}) {
    const auto program = [&](const std::string& rest) {
      return cat("HloModule m\nENTRY main {\n x = ", type, "[3,5,20] parameter(0)\n y = ", type,
                 "[3,10,20] parameter(1)\n b = ", type,
                 "[3,5,2,20] broadcast(x), dimensions={0,1,3}\n r = ", type,
                 "[3,10,20] reshape(b)\n two = ", type, "[] constant(2)\n twos = ", type,
                 "[3,10,20] broadcast(two), dimensions={}\n", rest, "}\n");
    };
    const std::string t = type;
    expect_as_evaluated(program(" ROOT z = " + t + "[3,10,20] add(y, r)\n"));
    expect_as_evaluated(program(" ROOT z = " + t + "[3,10,20] multiply(r, twos)\n"));
    expect_as_evaluated(program(" m = " + t + "[3,10,20] multiply(r, twos)\n a = " + t +
                                "[3,10,20] add(m, r)\n ROOT z = " + t + "[3,5,2,20] reshape(a)\n"));
    expect_as_evaluated(program(" m = " + t + "[3,10,20] multiply(r, twos)\n ROOT z = (" + t +
                                "[3,10,20], " + t + "[3,10,20]) tuple(m, r)\n"));
    expect_as_evaluated(program(" s = " + t +
                                "[3,4,20] slice(r), slice={[0:3], [3:7], [0:20]}\n"
                                " q = " +
                                t +
                                "[3,4,20] slice(y), slice={[0:3], [1:5], [0:20]}\n"
                                " ROOT z = " +
                                t + "[3,4,20] add(s, q)\n"));
    // Tiles, and twice.
    expect_as_evaluated(program(" c = " + t + "[4,3,5,20] broadcast(x), dimensions={1,2,3}\n d = " +
                                t + "[12,5,20] reshape(c)\n e = " + t +
                                "[12,5,3,20] broadcast(d), dimensions={0,1,3}\n f = " + t +
                                "[12,15,20] reshape(e)\n w = " + t +
                                "[12,15,20] broadcast(two), dimensions={}\n ROOT z = " + t +
                                "[12,15,20] multiply(f, w)\n"));
    // All in one row, columns that are repeated, and dimensions of one.
    expect_as_evaluated(program(" c = " + t +
                                "[3,5,20,2] broadcast(x), dimensions={0,1,2}\n d = " + t +
                                "[3,5,40] reshape(c)\n ROOT z = " + t + "[3,5,40] add(d, d)\n"));
    expect_as_evaluated(program(" c = " + t +
                                "[3,1,5,2,20] broadcast(x), dimensions={0,2,4}\n"
                                " d = " +
                                t + "[3,10,1,20] reshape(c)\n e = " + t +
                                "[3,10,20] reshape(d)\n ROOT z = " + t +
                                "[3,10,20] subtract(e, y)\n"));
  }
}

TEST(CpuLateRepeats, UnderProductsAndFolds) {
  expect_as_evaluated(
      "HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) "
      "}\nENTRY main {\n x = f32[3,4,40] parameter(0)\n q = f32[12,33,40] parameter(1)\n b = "
      "f32[3,4,4,40] broadcast(x), dimensions={0,1,3}\n r = f32[12,4,40] reshape(b)\n z = f32[] "
      "constant(0)\n p = f32[12,4,33] dot(r, q), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n n = f32[12,4,40] negate(r)\n s = "
      "f32[4,40] reduce(n, z), dimensions={0}, to_apply=f\n ROOT t = (f32[12,4,33], f32[4,40]) "
      "tuple(p, s)\n}\n",
      {.share = 1e-6});
}

}  // namespace
}  // namespace heddle::cpu
