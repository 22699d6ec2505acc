// Gathers by several indices, which become one number, and what machines gather at once.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/cpu/rewrites/indexing/flat_gathers.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The greatest number of indices that a gather of the module has, once they are flat.
size_t indices(const std::string& text) {
  const hlo::Module flat = flatten_gathers(hlo::parse_text(text).value()).value();
  size_t most = 0;
  for (const hlo::Instruction& instruction : flat.entry_computation().instructions) {
    if (instruction.opcode == hlo::Opcode::kGather)
      most = std::max(most, instruction.attrs.get<hlo::GatherAttrs>().start_index_map.size());
  }
  return most;
}

// Of x with indices `i` of type `index`, which arguments_of() makes: some are out of range.
std::string gather(const std::string& x, const std::string& index, const std::string& shape,
                   const std::string& attrs) {
  return cat("HloModule m\nENTRY main {\n  x = ", x, " parameter(0)\n  i = ", index,
             " parameter(1)\n  ROOT g = ", shape, " gather(x, i), ", attrs, " }\n");
}

TEST(CpuGathers, NeighbouringDimensionsAreOne) {
  const auto two = gather("f32[3,5,7]", "s32[40,2]", "f32[3,40]",
                          "offset_dims={0}, collapsed_slice_dims={1,2}, start_index_map={2,1}, "
                          "index_vector_dim=1, slice_sizes={3,1,1}");
  EXPECT_EQ(indices(two), 1u);
  expect_as_evaluated(two);
  const auto three = gather("f64[4,5,2,6]", "s64[3,9]", "f64[9,6]",
                            "offset_dims={1}, collapsed_slice_dims={0,1,2}, "
                            "start_index_map={0,1,2}, index_vector_dim=0, slice_sizes={1,1,1,6}");
  EXPECT_EQ(indices(three), 1u);
  expect_as_evaluated(three);
  const auto batched =
      gather("f32[2,3,4,5]", "u32[3,17,2]", "f32[3,17,2]",
             "offset_dims={2}, collapsed_slice_dims={2,3}, start_index_map={2,3}, "
             "operand_batching_dims={1}, start_indices_batching_dims={0}, index_vector_dim=2, "
             "slice_sizes={2,1,1,1}");
  EXPECT_EQ(indices(batched), 1u);
  expect_as_evaluated(batched);
}

TEST(CpuGathers, IndicesThatStandSideBySideAreNotInterleaved) {
  expect_as_evaluated(
      "HloModule m\nENTRY main {\n  x = f32[6,20] parameter(0)\n  i = s32[50] parameter(1)\n"
      "  j = s32[50] parameter(2)\n  a = s32[50,1] reshape(i)\n  b = s32[50,1] reshape(j)\n"
      "  k = s32[50,2] concatenate(a, b), dimensions={1}\n"
      "  ROOT g = f32[50] gather(x, k), offset_dims={}, collapsed_slice_dims={0,1}, "
      "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1} }\n");
}

// Elements of one and two bytes come out of words of four where these hold all of the array.
TEST(CpuGathers, OfNarrowElements) {
  for (const char* type : {"pred", "s8", "u8", "s16", "u16", "bf16", "f16", "s4"}) {
    for (const int size : {1, 2, 3, 4, 7, 62, 64, 65}) {
      for (const char* index : {"s32", "u8", "s64"}) {
        SCOPED_TRACE(cat(type, "[", size, "] by ", index));
        expect_as_evaluated(gather(cat(type, "[", size, "]"), cat(index, "[203,1]"),
                                   cat(type, "[203]"),
                                   "offset_dims={}, collapsed_slice_dims={0}, "
                                   "start_index_map={0}, index_vector_dim=1, slice_sizes={1}"));
      }
    }
  }
}

TEST(CpuGathers, OtherGathersStay) {
  const auto apart = gather("f32[3,5,7]", "s32[40,2]", "f32[40,5]",
                            "offset_dims={1}, collapsed_slice_dims={0,2}, start_index_map={0,2}, "
                            "index_vector_dim=1, slice_sizes={1,5,1}");
  EXPECT_EQ(indices(apart), 2u);
  expect_as_evaluated(apart);
  const auto windows = gather("f32[5,7]", "s32[40,2]", "f32[40,2,1]",
                              "offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, "
                              "index_vector_dim=1, slice_sizes={2,1}");
  EXPECT_EQ(indices(windows), 2u);
  expect_as_evaluated(windows);
  const auto narrow = gather("f32[5,7]", "s8[40,2]", "f32[40]",
                             "offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
                             "index_vector_dim=1, slice_sizes={1,1}");
  EXPECT_EQ(indices(narrow), 2u);
  expect_as_evaluated(narrow);
}

TEST(CpuGathers, OfEachTypeAndNumberOfLanes) {
  for (const char* type : {"f32", "f64", "s32", "s64", "u8", "bf16", "pred"}) {
    for (const char* index : {"s32", "s64", "u32", "u8"}) {
      for (const int n : {1, 3, 4, 7, 16, 37}) {
        expect_as_evaluated(gather(cat(type, "[50]"), cat(index, "[", n, ",1]"),
                                   cat(type, "[", n, "]"),
                                   "offset_dims={}, collapsed_slice_dims={0}, "
                                   "start_index_map={0}, index_vector_dim=1, slice_sizes={1}"));
      }
    }
  }
}

// Many elements into few places: neighbours go to arrays of their own.
TEST(CpuScatters, OfManyElementsIntoFewPlaces) {
  for (const char* type : {"f32", "s32", "f64", "u8", "bf16"}) {
    for (const char* fold : {"add", "maximum", "minimum", "multiply"}) {
      for (const char* outer : {"67", "2,130", "40,3"}) {
        const int last = cat(outer).find(',') == std::string::npos ? 1 : 2;
        expect_as_evaluated(
            cat("HloModule m\nf { a = ", type, "[] parameter(0)\n  b = ", type,
                "[] parameter(1)\n  ROOT c = ", type, "[] ", fold,
                "(a, b) }\nENTRY main {\n  x = ", type, "[20] parameter(0)\n  i = s32[", outer,
                "] parameter(1)\n  u = ", type, "[", outer, "] parameter(2)\n  ROOT s = ", type,
                "[20] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=",
                last, ", to_apply=f }\n"),
            {.share = type[0] == 'f' || type[0] == 'b' ? 1e-5 : 0});
      }
    }
  }
}

// A product whose sum runs along a column.
TEST(CpuGathers, ProductsAlongColumns) {
  for (const int n : {5, 16, 100, 203}) {
    expect_as_evaluated(
        cat("HloModule m\nENTRY main {\n  x = f32[", n, ",7] parameter(0)\n  y = f32[", n,
            "] parameter(1)\n  k = s32[] parameter(2)\n  zero = s32[] constant(0)\n  s = f32[", n,
            ",1] dynamic-slice(x, zero, k), dynamic_slice_sizes={", n, ",1}\n  c = f32[", n,
            "] reshape(s)\n  ROOT d = f32[] dot(c, y), lhs_contracting_dims={0}, "
            "rhs_contracting_dims={0} }\n"),
        {.share = 1e-5});
  }
}

// Parts of other sizes than one are not the indices of a dimension each.
TEST(CpuGathers, OfIndicesInUnequalParts) {
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  x = f32[4,5] parameter(0)
  a = s32[6,2] parameter(1)
  b = s32[6,0] parameter(2)
  i = s32[6,2] concatenate(a, b), dimensions={1}
  ROOT g = f32[6] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1},
    start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
})");
}

// They are computed where they are read.
TEST(CpuGathers, OfFewElementsOfWhatIsComputed) {
  expect_as_evaluated(
      "HloModule m\nENTRY e { x = s8[900,20] parameter(0)\n s = f32[900] parameter(1)\n"
      " i = s32[7] parameter(2)\n w = f32[900,20] convert(x)\n"
      " b = f32[900,20] broadcast(s), dimensions={0}\n t = f32[900,20] multiply(w, b)\n"
      " ROOT y = f32[7,20] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
      "start_index_map={0}, index_vector_dim=1, slice_sizes={1,20} }");
  expect_as_evaluated(
      "HloModule m\nENTRY e { x = f32[6,50,9] parameter(0)\n i = s32[6,2] parameter(1)\n"
      " t = f32[6,50,9] negate(x)\n"
      " ROOT y = f32[6,9] gather(t, i), offset_dims={1}, collapsed_slice_dims={0,1}, "
      "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1,9} }");
  expect_as_evaluated(
      "HloModule m\nENTRY e { x = f32[5,400] parameter(0)\n i = s32[5,3] parameter(1)\n"
      " t = f32[5,400] multiply(x, x)\n"
      " ROOT y = f32[5,3] gather(t, i), offset_dims={}, collapsed_slice_dims={1}, "
      "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
      "index_vector_dim=2, slice_sizes={1,1} }");
}

// A row of a history is set from places of the history: it is written in place.
TEST(CpuGathers, OfAHistoryThatIsWritten) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::string text = R"(HloModule m
second { a = f32[] parameter(0)
  ROOT b = f32[] parameter(1) }
body { s = (s32[], f32[50,90], s32[90]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  b = f32[50,90] get-tuple-element(s), index=1
  k = s32[90] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  is = s32[90] broadcast(i), dimensions={}
  rows = s32[90] add(is, k)
  rows1 = s32[90,1] reshape(rows)
  columns1 = s32[90,1] iota(), iota_dimension=0
  places = s32[90,2] concatenate(rows1, columns1), dimensions={1}
  taken = f32[90] gather(b, places), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
  next = f32[90] negate(taken)
  twenty = s32[] constant(20)
  to = s32[] add(i, twenty)
  to1 = s32[1] reshape(to)
  c = f32[50,90] scatter(b, to1, next), update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=second
  ROOT r = (s32[], f32[50,90], s32[90]) tuple(j, c, k) }
cond { s = (s32[], f32[50,90], s32[90]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(30)
  ROOT lt = pred[] compare(i, n), direction=LT }
ENTRY main { b = f32[50,90] parameter(0)
  k = s32[90] parameter(1)
  i = s32[] constant(0)
  t = (s32[], f32[50,90], s32[90]) tuple(i, b, k)
  w = (s32[], f32[50,90], s32[90]) while(t), condition=cond, body=body
  ROOT r = f32[50,90] get-tuple-element(w), index=1 })";
  expect_as_evaluated(text);
  const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
  size_t copies = 0;
  for (size_t at = plan.find("copies 18000 bytes"); at != std::string::npos;
       at = plan.find("copies 18000 bytes", at + 1))
    ++copies;
  EXPECT_EQ(copies, 1u) << plan.substr(0, 2000);  // of the argument, before the loop
}

}  // namespace
}  // namespace heddle::cpu
