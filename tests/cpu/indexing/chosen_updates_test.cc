// Arrays that are updated or stay as they are.
#include "heddle/cpu/rewrites/indexing/chosen_updates.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A choice between x[20,30] and what `lines` make of it, y, by a truth of a number. Rows i and j,
// columns and elements at constants of which some lie outside.
std::string choice_of(const std::string& type, const std::string& lines, const std::string& choose,
                      int i = 3) {
  return cat("HloModule m\nset { a = ", type, "[] parameter(0)\n ROOT b = ", type,
             "[] parameter(1) }\nadd { a = ", type, "[] parameter(0)\n b = ", type,
             "[] parameter(1)\n ROOT c = ", type, "[] add(a, b) }\nENTRY main {\n x = ", type,
             "[20,30] parameter(0)\n row = ", type, "[1,5] parameter(1)\n line = ", type,
             "[30] parameter(2)\n number = f32[] parameter(3)\n half = f32[] constant(0)\n"
             " p = pred[] compare(number, half), direction=GT\n"
             " ps = pred[20,30] broadcast(p), dimensions={}\n i = s32[] constant(",
             i, ")\n j = s32[] constant(11)\n zero = s32[] constant(0)\n k = s32[1] constant({", i,
             "})\n at = s32[1] maximum(k, k)\n", lines, " ROOT z = ", type, "[20,30] ", choose,
             " }");
}

bool is_chosen(const std::string& text) {
  return choose_updates(hlo::parse_text(text).value()).value().has_value();
}

TEST(ChosenUpdates, GiveTheEvaluatorsValue) {
  for (const std::string type : {"f32", "f64", "s32", "u8", "c64"}) {
    const std::string update = cat(" y = ", type, "[20,30] dynamic-update-slice(x, row, i, j)\n");
    const std::string two =
        cat(" u = ", type, "[20,30] dynamic-update-slice(x, row, i, j)\n y = ", type,
            "[20,30] dynamic-update-slice(u, row, j, i)\n");
    // Rows that change places.
    const std::string swap = cat(
        " a = ", type, "[1,5] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,5}\n b = ", type,
        "[1,5] dynamic-slice(x, j, zero), dynamic_slice_sizes={1,5}\n u = ", type,
        "[20,30] dynamic-update-slice(x, b, i, zero)\n y = ", type,
        "[20,30] dynamic-update-slice(u, a, j, zero)\n");
    const std::string scatter =
        cat(" five = ", type, "[5] slice(line), slice={[0:5]}\n y = ", type,
            "[20,30] scatter(x, at, five), update_window_dims={0}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=set\n");
    for (const std::string& lines : {update, two, swap, scatter}) {
      for (const char* choose : {"select(ps, y, x)", "select(ps, x, y)", "select(p, y, x)"}) {
        for (const int i : {0, 3, 19, 20, -1, 1000}) {
          const std::string text = choice_of(type, lines, choose, i);
          EXPECT_TRUE(is_chosen(text)) << text;
          expect_as_evaluated(text);
        }
      }
    }
  }
}

TEST(ChosenUpdates, OthersStay) {
  const std::string update = " y = f32[20,30] dynamic-update-slice(x, row, i, j)\n";
  EXPECT_TRUE(is_chosen(choice_of("f32", update, "select(ps, y, x)")));
  // Each element has its own truth, or the other array is another one.
  EXPECT_FALSE(is_chosen(choice_of("f32",
                                   cat(update,
                                       " qs = pred[20,30] compare(x, y), "
                                       "direction=GT\n"),
                                   "select(qs, y, x)")));
  EXPECT_FALSE(
      is_chosen(choice_of("f32", cat(update, " o = f32[20,30] negate(x)\n"), "select(ps, y, o)")));
  // More than a part of it is updated; the new elements join the old ones.
  EXPECT_FALSE(is_chosen(choice_of("f32",
                                   " most = f32[20,20] slice(x), slice={[0:20], [5:25]}\n"
                                   " y = f32[20,30] dynamic-update-slice(x, most, zero, zero)\n",
                                   "select(ps, y, x)")));
  EXPECT_FALSE(is_chosen(
      choice_of("f32",
                " five = f32[5] slice(line), slice={[0:5]}\n"
                " y = f32[20,30] scatter(x, at, five), update_window_dims={0}, "
                "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
                "to_apply=add\n",
                "select(ps, y, x)")));
}

// What is updated is read elsewhere too, as the energy of a new state is.
TEST(ChosenUpdates, OfWhatOthersReadToo) {
  const std::string lines =
      " y = f32[20,30] dynamic-update-slice(x, row, i, j)\n ny = f32[20,30] negate(y)\n"
      " s = f32[20,30] select(ps, y, x)\n";
  const std::string text = choice_of("f32", lines, "add(s, ny)");
  EXPECT_TRUE(is_chosen(text));
  expect_as_evaluated(text);
}

}  // namespace
}  // namespace heddle::cpu
