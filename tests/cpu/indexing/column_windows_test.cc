// Gathers and scatters of columns, which are rows of transposed arrays.
#include "heddle/cpu/rewrites/indexing/column_windows.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A program of `type` whose combiner is `combine`: the lines, with T for the type.
std::string program(const std::string& type, const std::string& combine, std::string lines) {
  for (size_t at = 0; (at = lines.find("T[", at)) != std::string::npos;) lines.replace(at, 1, type);
  return cat("HloModule m\nf { a = ", type, "[] parameter(0)\n b = ", type,
             "[] parameter(1)\n ROOT c = ", type, "[] ", combine, " }\nENTRY main {\n", lines, "}");
}

bool turns(const std::string& text) {
  return turn_column_windows(hlo::parse_text(text).value()).value().has_value();
}

const std::string kScatter =
    "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
    "index_vector_dim=1, to_apply=f\n";

TEST(ColumnWindows, OfWhatIsGiven) {
  const std::string lines =
      cat("x = T[5,300] parameter(0)\n i = s32[400,1] iota(), iota_dimension=0\n"
          " n = s32[] constant(37)\n ns = s32[400,1] broadcast(n), dimensions={}\n"
          " p = s32[400,1] multiply(i, ns)\n m = s32[] constant(307)\n"
          " ms = s32[400,1] broadcast(m), dimensions={}\n at = s32[400,1] remainder(p, ms)\n"
          " u = T[5,400] parameter(1)\n ROOT y = T[5,300] scatter(x, at, u), ",
          kScatter);
  for (const std::string type : {"f32", "f64", "s32", "u8", "bf16", "c64"}) {
    for (const std::string combine : {"add(a, b)", "maximum(a, b)", "parameter(1)"}) {
      if (type == "c64" && combine != "add(a, b)") continue;
      std::string text = program(type, combine, lines);
      if (combine == "parameter(1)") {
        text = cat("HloModule m\nf { a = ", type, "[] parameter(0)\n ROOT b = ", type,
                   "[] parameter(1) }\n", text.substr(text.find("ENTRY")));
      }
      EXPECT_TRUE(turns(text)) << text;
      expect_as_evaluated(text, {.share = 1e-5});
    }
  }
}

// Messages along edges, in a loop whose state they make.
TEST(ColumnWindows, OfWhatIsGathered) {
  const std::string state = "(s32[], f32[2,3,70])";
  const std::string text = cat(
      "HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) "
      "}\n"
      "cond { s = ",
      state,
      " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(4)\n"
      " ROOT r = pred[] compare(k, n), direction=LT }\nbody { s = ",
      state,
      " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n x = f32[2,3,70] "
      "get-tuple-element(s), index=1\n one = s32[] constant(1)\n next = s32[] add(k, one)\n"
      " i = s32[20,15] iota(), iota_dimension=0\n j = s32[20,15] iota(), iota_dimension=1\n"
      " ks = s32[20,15] broadcast(k), dimensions={}\n ij = s32[20,15] multiply(i, j)\n"
      " from = s32[20,15] add(ij, ks)\n to = s32[20,15] subtract(ij, i)\n"
      " g = f32[2,3,20,15] gather(x, from), offset_dims={0,1}, collapsed_slice_dims={2}, "
      "start_index_map={2}, index_vector_dim=2, slice_sizes={2,3,1}\n"
      " h = f32[] constant(0.125)\n hs = f32[2,3,20,15] broadcast(h), dimensions={}\n"
      " u = f32[2,3,20,15] multiply(g, hs)\n zero = f32[] constant(0)\n"
      " zeros = f32[2,3,70] broadcast(zero), dimensions={}\n y = f32[2,3,70] scatter(zeros, to, "
      "u), update_window_dims={0,1}, inserted_window_dims={2}, scatter_dims_to_operand_dims={2}, "
      "index_vector_dim=2, to_apply=f\n z = f32[2,3,70] add(x, y)\n ROOT r = ",
      state,
      " tuple(next, z) }\nENTRY main { x = f32[2,3,70] parameter(0)\n k = s32[] constant(0)\n"
      " init = ",
      state, " tuple(k, x)\n w = ", state,
      " while(init), condition=cond, body=body\n ROOT r = f32[2,3,70] get-tuple-element(w), "
      "index=1 }\n");
  EXPECT_TRUE(turns(text));
  expect_as_evaluated(text, {.share = 1e-5});
}

TEST(ColumnWindows, OthersStay) {
  const auto scatter = [](const std::string& x, const std::string& u, const std::string& dims) {
    return program("f32", "add(a, b)",
                   cat("x = T[", x, "] parameter(0)\n i = s32[400,1] parameter(1)\n u = T[", u,
                       "] parameter(2)\n ROOT y = T[", x, "] scatter(x, i, u), ", dims));
  };
  EXPECT_TRUE(turns(scatter("5,300", "5,400", kScatter)));
  EXPECT_FALSE(turns(scatter("5,500", "5,400", kScatter))) << "most places get nothing";
  EXPECT_FALSE(turns(scatter("1,300", "1,400", kScatter))) << "columns of one element";
  EXPECT_FALSE(turns(
      scatter("300,5", "400,5",
              "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
              "index_vector_dim=1, to_apply=f\n")))
      << "rows";
}

}  // namespace
}  // namespace heddle::cpu
