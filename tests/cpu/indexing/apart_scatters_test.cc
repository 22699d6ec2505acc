// Scatters whose windows lie apart in the operand, as vmap and columns have them.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

struct Case {
  const char *operand, *indices, *updates, *attrs;
};

// Windows that do not fit, places that repeat, several indexed dimensions, batches, and none.
constexpr Case kCases[] = {
    {"f32[6,50]", "s32[7,1] constant({{3},{49},{50},{-1},{3},{3},{10}})", "f32[6,7]",
     "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1"},
    {"f32[6,50,3]", "s32[7,1] constant({{3},{49},{50},{-1},{3},{3},{10}})", "f32[6,3,7]",
     "update_window_dims={0,1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1"},
    {"f32[6,4,50]", "s32[7,1] constant({{3},{47},{48},{-1},{3},{4},{10}})", "f32[7,6,4,3]",
     "update_window_dims={1,2,3}, inserted_window_dims={}, scatter_dims_to_operand_dims={2}, "
     "index_vector_dim=1"},
    {"f32[6,4,50]", "s32[5,2] constant({{3,0},{47,1},{48,2},{-1,0},{3,0}})", "f32[5,6,3,3]",
     "update_window_dims={1,2,3}, inserted_window_dims={}, scatter_dims_to_operand_dims={2,1}, "
     "index_vector_dim=1"},
    {"f32[6,4]", "s32[5,1] constant({{0},{0},{0},{0},{1}})", "f32[5,6,4]",
     "update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1"},
    {"f32[6,2,50]", "s32[2,5,1] constant({{{1},{1},{2},{49},{50}},{{0},{1},{0},{1},{9}}})",
     "f32[6,2,5]",
     "update_window_dims={0}, inserted_window_dims={2}, scatter_dims_to_operand_dims={2}, "
     "input_batching_dims={1}, scatter_indices_batching_dims={0}, index_vector_dim=2"},
    {"f32[0,50]", "s32[7,1] constant({{3},{49},{50},{-1},{3},{3},{10}})", "f32[0,7]",
     "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
     "index_vector_dim=1"},
};

TEST(CpuApartScatters, GiveWhatWindowsInOneGive) {
  for (const Case& each : kCases) {
    // The order of what goes to one place counts in the last two.
    for (const char* combine : {"ROOT c = f32[] add(a, b)", "ROOT c = f32[] multiply(b, one)",
                                "h = f32[] multiply(a, half)\n ROOT c = f32[] subtract(b, h)"}) {
      expect_as_evaluated(
          base::cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n",
                    " one = f32[] constant(1)\n half = f32[] constant(0.5)\n ", combine,
                    " }\nENTRY e {\n x = ", each.operand, " parameter(0)\n u = ", each.updates,
                    " parameter(1)\n i = ", each.indices, "\n ROOT r = ", each.operand,
                    " scatter(x, i, u), ", each.attrs, ", to_apply=f\n}"));
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
