// Scatters at places that follow each other by steps.
#include "heddle/cpu/rewrites/indexing/strided_scatters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool is_strided(const std::string& text) {
  const hlo::Module module = update_strided_scatters(hlo::parse_text(text).value()).value();
  return std::ranges::count(module.entry_computation().instructions, hlo::Opcode::kScatter,
                            &hlo::Instruction::opcode) == 0;
}

// start + step * place along dimension d of an array of these sizes.
std::string places(std::string_view name, std::string_view sizes, int d, int step, int start) {
  return cat(" ", name, "_i = s32", sizes, " iota(), iota_dimension=", d, "\n ", name,
             "_k = s32[] constant(", step, ")\n ", name, "_b = s32", sizes, " broadcast(", name,
             "_k), dimensions={}\n ", name, "_m = s32", sizes, " multiply(", name, "_i, ", name,
             "_b)\n ", name, "_a = s32[] constant(", start, ")\n ", name, "_c = s32", sizes,
             " broadcast(", name, "_a), dimensions={}\n ", name, " = s32", sizes, " add(", name,
             "_m, ", name, "_c)\n");
}

std::string scatter(std::string_view type, std::string_view op, std::string_view sizes,
                    std::string_view updates, std::string_view indices, std::string_view attrs) {
  const std::string own = op == "second" ? cat(" ROOT c = ", type, "[] copy(b)\n")
                                         : cat(" ROOT c = ", type, "[] ", op, "(a, b)\n");
  return cat("HloModule m\nf {\n a = ", type, "[] parameter(0)\n",
             op == "second" ? cat(" ROOT b = ", type, "[] parameter(1)\n")
                            : cat(" b = ", type, "[] parameter(1)\n", own),
             "}\nENTRY e {\n x = ", type, sizes, " parameter(0)\n y = ", type, updates,
             " parameter(1)\n", indices, " ROOT r = ", type, sizes, " scatter(x, at, y), ", attrs,
             ", to_apply=f\n}\n");
}

constexpr std::string_view kRows =
    "update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},"
    " index_vector_dim=1";

std::string rows(std::string_view type, std::string_view op, int count, int step, int start) {
  return scatter(type, op, "[12,10,3]", cat("[", count, ",10,3]"),
                 places("at", cat("[", count, ",1]"), 0, step, start), kRows);
}

TEST(StridedScatters, OfRows) {
  for (const char* type : {"f32", "bf16", "u8", "s64"}) {
    for (const char* op : {"second", "add", "subtract", "maximum", "multiply"}) {
      for (const auto& [count, step, start] :
           {std::tuple(6, 2, 0), {6, 2, 1}, {5, 2, 1}, {4, 3, 2}, {2, 4, 4}, {1, 12, 0}}) {
        const std::string text = rows(type, op, count, step, start);
        EXPECT_EQ(is_strided(text), count > 1) << text;
        expect_as_evaluated(text);
      }
    }
  }
}

// Components of the index vectors, in the order of the array's dimensions or in another one.
TEST(StridedScatters, OfElements) {
  const auto all = [](std::string_view first, std::string_view second, std::string_view sizes) {
    return cat(first, second, " n = s32[] constant(1)\n c = s32", sizes,
               " broadcast(n), dimensions={}\n");
  };
  constexpr std::string_view kAttrs =
      "update_window_dims={}, inserted_window_dims={0,1,2}, index_vector_dim=2,";
  const std::string one =
      all(places("p", "[4,5,1]", 0, 3, 2), places("q", "[4,5,1]", 1, 2, 1), "[4,5,1]");
  const std::string turned =
      all(places("p", "[5,4,1]", 1, 3, 2), places("q", "[5,4,1]", 0, 2, 1), "[5,4,1]");
  const std::string vector = "[4,5,3] concatenate(p, q, c), dimensions={2}\n";
  for (const char* op : {"second", "add"}) {
    for (const std::string& text :
         {scatter("f32", op, "[12,10,3]", "[4,5]", cat(one, " at = s32", vector),
                  cat(kAttrs, " scatter_dims_to_operand_dims={0,1,2}")),
          scatter("f32", op, "[12,3,10]", "[4,5]",
                  cat(one, " at = s32[4,5,3] concatenate(p, c, q), dimensions={2}\n"),
                  cat(kAttrs, " scatter_dims_to_operand_dims={0,1,2}")),
          scatter("f32", op, "[3,10,12]", "[4,5]", cat(one, " at = s32", vector),
                  cat(kAttrs, " scatter_dims_to_operand_dims={2,1,0}")),
          scatter("f32", op, "[12,10,3]", "[5,4]",
                  cat(turned, " at = s32[5,4,3] concatenate(p, q, c), dimensions={2}\n"),
                  cat(kAttrs, " scatter_dims_to_operand_dims={0,1,2}"))}) {
      EXPECT_TRUE(is_strided(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

TEST(StridedScatters, OthersStay) {
  EXPECT_FALSE(is_strided(rows("f32", "second", 6, 2, 2))) << "the last one lies outside";
  EXPECT_FALSE(is_strided(rows("f32", "second", 2, 2, -1)));
  EXPECT_FALSE(is_strided(rows("f32", "second", 2, 5, 0))) << "12 is no multiple of 5";
  EXPECT_FALSE(is_strided(rows("f32", "second", 6, -2, 11)));
  EXPECT_FALSE(is_strided(rows("f32", "add", 4, 0, 3))) << "all in one place";
  EXPECT_FALSE(is_strided(rows("f32", "divide", 6, 2, 0)));
  // Two rows of indices for one row of places.
  const std::string twice = scatter(
      "f32", "add", "[12,10,3]", "[2,6,10,3]", places("at", "[2,6,1]", 1, 2, 0),
      "update_window_dims={2,3}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},"
      " index_vector_dim=2");
  EXPECT_FALSE(is_strided(twice));
  expect_as_evaluated(twice, {.share = 1e-6});
}

// x.at[1::2].add(y) in each turn of a loop, in the memory of x.
TEST(StridedScatters, OfStatesOfLoops) {
  expect_as_evaluated(cat(
      "HloModule m\nf {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, "
      "b)\n}\nbody {\n s = (s32[], f32[12,10,3]) parameter(0)\n i = s32[] get-tuple-element(s), "
      "index=0\n x = f32[12,10,3] get-tuple-element(s), index=1\n y = f32[6,10,3] slice(x), "
      "slice={[0:12:2], [0:10], [0:3]}\n",
      places("at", "[6,1]", 0, 2, 1), " r = f32[12,10,3] scatter(x, at, y), ", kRows,
      ", to_apply=f\n one = s32[] constant(1)\n j = s32[] add(i, one)\n ROOT t = (s32[], "
      "f32[12,10,3]) tuple(j, r)\n}\ncond {\n s = (s32[], f32[12,10,3]) parameter(0)\n i = s32[] "
      "get-tuple-element(s), index=0\n n = s32[] constant(5)\n ROOT l = pred[] compare(i, n), "
      "direction=LT\n}\nENTRY e {\n x = f32[12,10,3] parameter(0)\n z = s32[] constant(0)\n t = "
      "(s32[], f32[12,10,3]) tuple(z, x)\n w = (s32[], f32[12,10,3]) while(t), condition=cond, "
      "body=body\n ROOT r = f32[12,10,3] get-tuple-element(w), index=1\n}\n"));
}

}  // namespace
}  // namespace heddle::cpu
