// Products of a few columns, and small ones of a batch, whose lanes lie along rows.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

// Their rows are read in vectors and converted there; the last rows are fewer than lanes.
TEST(CpuNarrowProducts, OfFewColumnsThatAreConverted) {
  for (const char* type : {"s8", "u8", "s16", "u16", "s32", "u32", "f16", "bf16", "f8e4m3fn"}) {
    for (const int64_t columns : {2, 3, 5, 7, 10, 16}) {
      SCOPED_TRACE(base::cat(type, " ", columns));
      expect_as_evaluated(
          base::cat("HloModule m\nENTRY e {\n x = ", type, "[77,", columns,
                    "] parameter(0)\n w = f32[", columns, "] parameter(1)\n c = f32[77,", columns,
                    "] convert(x)\n ROOT y = f32[77] dot(c, w), lhs_contracting_dims={1}, "
                    "rhs_contracting_dims={0} }"),
          {.share = 1e-6});
    }
  }
  for (const auto& [type, sum] : {std::pair("bf16", "f32"),
                                  {"f16", "f32"},
                                  {"s8", "s32"},
                                  {"u8", "u32"},
                                  {"s16", "s32"},
                                  {"u8", "s32"}}) {
    SCOPED_TRACE(base::cat(type, " ", sum));
    expect_as_evaluated(
        base::cat("HloModule m\nENTRY e {\n x = ", type, "[77,3] parameter(0)\n w = ", type,
                  "[3,2] parameter(1)\n ROOT y = ", sum,
                  "[77,2] dot(x, w), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0} }"),
        {.share = 1e-6});
  }
}

// As points of each sample by the sample's matrix, in any order of the dimensions.
TEST(CpuNarrowProducts, OfSmallMatricesInABatch) {
  for (const char* type : {"f32", "f64", "s32", "bf16"}) {
    for (const auto& [m, k, n] : {std::tuple(8, 3, 3),
                                  {33, 3, 3},
                                  {12, 3, 4},
                                  {7, 3, 5},
                                  {5, 5, 5},
                                  {3, 8, 3},
                                  {20, 1, 2},
                                  {4, 4, 1},
                                  {16, 2, 3}}) {
      for (int order = 0; order < 4; ++order) {
        const bool turned = (order & 1) != 0, other_turned = (order & 2) != 0;
        const std::string x = turned ? base::cat("[35,", k, ",", m, "]")
                                     : base::cat("[35,", m, ",", k, "]"),
                          y = other_turned ? base::cat("[35,", n, ",", k, "]")
                                           : base::cat("[35,", k, ",", n, "]");
        SCOPED_TRACE(base::cat(type, x, y));
        expect_as_evaluated(
            base::cat("HloModule m\nENTRY e {\n x = ", type, x, " parameter(0)\n y = ", type, y,
                      " parameter(1)\n ROOT z = ", type == std::string("bf16") ? "f32" : type,
                      "[35,", m, ",", n, "] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, ",
                      "lhs_contracting_dims={", turned ? 1 : 2, "}, rhs_contracting_dims={",
                      other_turned ? 2 : 1, "} }"),
            {.share = 1e-6});
      }
    }
  }
}

// As the covariances of many filters by one transition: the batch lies between rows and columns.
TEST(CpuNarrowProducts, OfManyMatricesByOne) {
  for (const char* type : {"f32", "f64", "s32"}) {
    for (const auto& [m, k, n] : {std::tuple(3, 3, 3), {2, 3, 4}, {4, 2, 2}, {6, 2, 1}}) {
      SCOPED_TRACE(base::cat(type, " ", m, " ", k, " ", n));
      const auto array = [&](int64_t a, int64_t b, int64_t c) {
        return base::cat(type, "[", a, ",", b, ",", c, "]");
      };
      const std::string first =
          base::cat("HloModule m\nENTRY e {\n f = ", type, "[", m, ",", k,
                    "] parameter(0)\n p = ", array(77, k, n), " parameter(1)\n ");
      expect_as_evaluated(base::cat(first, "ROOT t = ", array(m, 77, n),
                                    " dot(f, p), lhs_contracting_dims={1}, "
                                    "rhs_contracting_dims={1} }"),
                          {.share = 1e-6});
      expect_as_evaluated(base::cat(first, "t = ", array(m, 77, n),
                                    " dot(f, p), lhs_contracting_dims={1}, "
                                    "rhs_contracting_dims={1}\n g = ",
                                    type, "[", m, ",", n, "] parameter(2)\n u = ", array(m, 77, m),
                                    " dot(t, g), lhs_contracting_dims={2}, "
                                    "rhs_contracting_dims={1}\n ROOT r = ",
                                    array(77, m, m), " transpose(u), dimensions={1,0,2} }"),
                          {.share = 1e-6});
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
