// Reductions of rows of a few vectors, which are folded together with their neighbours.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// ROOT: x, of a shape, folded by an op along dimensions.
std::string folded(const std::string& type, const std::string& shape, const std::string& op,
                   const std::string& start, const std::string& kept, const std::string& along) {
  return cat("HloModule m\nf { a = ", type, "[] parameter(0)\n  b = ", type,
             "[] parameter(1)\n  ROOT c = ", type, "[] ", op,
             "(a, b) }\nENTRY main {\n  x = ", type, shape, " parameter(0)\n  s = ", type,
             "[] constant(", start, ")\n  y = ", type, shape, " multiply(x, x)\n  ROOT r = ", type,
             kept, " reduce(y, s), dimensions={", along, "}, to_apply=f }\n");
}

TEST(CpuShortRows, OfEachLengthAndNumber) {
  // Rows of one to four vectors and more, with a rest or without; rows of some blocks and a rest.
  for (const char* type : {"f32", "f64", "s32", "u8"}) {
    for (const int length : {2, 4, 8, 16, 17, 32, 48, 64, 80}) {
      for (const int rows : {1, 3, 8, 16, 19, 35}) {
        expect_as_evaluated(
            folded(type, cat("[", rows, ",", length, "]"), "add", "0", cat("[", rows, "]"), "1"),
            {.share = 1e-6});
      }
    }
  }
}

TEST(CpuShortRows, ByEachFunctionAndSeveralDimensions) {
  for (const auto& [op, start] : {std::pair("maximum", "-inf"), std::pair("minimum", "inf"),
                                  std::pair("multiply", "1"), std::pair("add", "5")}) {
    expect_as_evaluated(folded("f32", "[37,16]", op, start, "[37]", "1"), {.share = 1e-6});
    expect_as_evaluated(folded("f32", "[3,35,32]", op, start, "[3,35]", "2"), {.share = 1e-6});
    expect_as_evaluated(folded("f32", "[2,33,16]", op, start, "[33]", "0,2"), {.share = 1e-6});
    // A last vector that is not full.
    for (const int length : {13, 21, 47, 70})
      expect_as_evaluated(folded("f32", cat("[37,", length, "]"), op, start, "[37]", "1"),
                          {.share = 1e-6});
    expect_as_evaluated(folded("f32", "[2,33,19]", op, start, "[33]", "0,2"), {.share = 1e-6});
  }
  for (const char* op : {"and", "or", "xor"}) {
    for (const int length : {13, 16, 21, 70})
      expect_as_evaluated(folded("s32", cat("[37,", length, "]"), op, "0", "[37]", "1"));
  }
}

// The place of the largest element, by two arrays that are folded as one.
TEST(CpuShortRows, PlacesOfTheLargest) {
  for (const std::string type : {"f32", "s32", "u8", "f64"}) {
    const std::string low = type[0] == 'f' ? "-inf" : type == "u8" ? "0" : "-2147483648";
    for (const int length : {9, 10, 13, 16, 17, 23, 32, 33}) {
      const std::string from = cat("[37,", length, "]");
      expect_as_evaluated(
          cat("HloModule m\nlater { v = ", type,
              "[] parameter(0)\n i = s32[] parameter(1)\n w = ", type,
              "[] parameter(2)\n j = s32[] parameter(3)\n g = pred[] compare(v, w), "
              "direction=GT\n e = pred[] compare(v, w), direction=EQ\n l = pred[] compare(i, j), "
              "direction=LT\n t = pred[] and(e, l)\n p = pred[] or(g, t)\n a = ",
              type, "[] select(p, v, w)\n b = s32[] select(p, i, j)\n ROOT r = (", type,
              "[], s32[]) tuple(a, b) }\nENTRY main {\n x = ", type, from,
              " parameter(0)\n k = s32", from, " iota(), iota_dimension=1\n s = ", type,
              "[] constant(", low, ")\n z = s32[] constant(0)\n ROOT r = (", type,
              "[37], s32[37]) reduce(x, k, s, z), dimensions={1}, to_apply=later }\n"));
    }
  }
}

// Rows of less than a vector: lanes lie along the rows, and columns come out of shuffles.
TEST(CpuShortRows, NarrowOnes) {
  const auto expect_sums = [](const std::string& type, const std::string& from,
                              const std::string& kept, const std::string& along) {
    expect_as_evaluated(folded(type, from, "add", "0", kept, along), {.share = 1e-6});
  };
  for (const char* type : {"f32", "f64", "s32", "u8"}) {
    for (const int rows : {16, 19, 64, 77}) {
      for (const int columns : {2, 3, 5, 8, 9})
        expect_sums(type, cat("[", rows, ",", columns, "]"), cat("[", rows, "]"), "1");
      expect_sums(type, cat("[2,", rows, ",3,4]"), cat("[2,", rows, ",3]"), "3");
      expect_sums(type, cat("[2,", rows, ",3,4]"), cat("[2,", rows, ",4]"), "2");
      expect_sums(type, cat("[", rows, ",2,3]"), cat("[", rows, "]"), "1,2");
    }
  }
}

TEST(CpuShortRows, NarrowOnesOfWhatIsBroadcastAndMoved) {
  for (const int rows : {16, 50, 67}) {
    const std::string size = cat("f32[", rows, ",5] ");
    std::string text = "HloModule m\nENTRY main {\n";
    const auto add = [&](const std::string& name, const std::string& type, const std::string& op) {
      text += cat("  ", name, " = ", type, op, "\n");
    };
    add("x", size, "parameter(0)");
    add("s", cat("f32[", rows, "] "), "parameter(1)");
    add("c", "f32[5] ", "parameter(2)");
    add("w", cat("f32[5,", rows, "] "), "parameter(3)");
    add("z", cat("f32[", rows + 3, ",7] "), "parameter(4)");
    add("a", size, "broadcast(s), dimensions={0}");
    add("b", size, "broadcast(c), dimensions={1}");
    add("t", size, "transpose(w), dimensions={1,0}");
    add("p", size, cat("slice(z), slice={[2:", rows + 2, "],[1:6]}"));
    add("q", size, "reverse(x), dimensions={0,1}");
    add("d", size, "multiply(a, b)");
    add("e", size, "add(d, t)");
    add("f", size, "add(e, p)");
    add("g", size, "add(f, q)");
    add("h", size, "exponential(g)");
    add("ROOT r", size, "divide(h, a)");
    expect_as_evaluated(text + "}\n", {.share = 1e-5});
  }
}

// h = a h + x[t] b[t], y[t] = fold of each row of h c[t]: a state-space model of 64 channels.
std::string channels(const std::string& type, int states, const std::string& op,
                     const std::string& start) {
  const std::string h = cat(type, "[64,", states, "]"), x = cat(type, "[200,64]"),
                    b = cat(type, "[200,", states, "]"), b_row = cat(type, "[", states, "]"),
                    row = cat(type, "[64]"),
                    state = cat("(s32[], ", h, ", ", x, ", ", h, ", ", x, ", ", b, ", ", b, ")");
  const auto element = [&](int i, const std::string& of) {
    return cat(of, " get-tuple-element(s), index=", i, "\n");
  };
  const auto sliced = [&](const std::string& name, const std::string& from, int width) {
    return cat(" s", name, " = ", type, "[1,", width, "] dynamic-slice(", from,
               ", i, z), dynamic_slice_sizes={1,", width, "}\n r", name, " = ", type, "[", width,
               "] reshape(s", name, ")\n");
  };
  return cat(
      "HloModule m\nf { p = ", type, "[] parameter(0)\n q = ", type,
      "[] parameter(1)\n ROOT c = ", type, "[] ", op, "(p, q) }\ncond { s = ", state,
      " parameter(0)\n i = ", element(0, "s32[]"),
      " n = s32[] constant(200)\n ROOT l = pred[] compare(i, n), direction=LT }\n",
      "body { s = ", state, " parameter(0)\n i = ", element(0, "s32[]"), " h = ", element(1, h),
      " ys = ", element(2, x), " a = ", element(3, h), " x = ", element(4, x),
      " b = ", element(5, b), " c = ", element(6, b), " z = s32[] constant(0)\n",
      sliced("x", "x", 64), sliced("b", "b", states), sliced("c", "c", states), " ah = ", h,
      " multiply(a, h)\n xs = ", h, " broadcast(rx), dimensions={0}\n bs = ", h,
      " broadcast(rb), dimensions={1}\n xb = ", h, " multiply(xs, bs)\n next = ", h,
      " add(ah, xb)\n cs = ", h, " broadcast(rc), dimensions={1}\n hc = ", h,
      " multiply(next, cs)\n start = ", type, "[] constant(", start, ")\n y = ", row,
      " reduce(hc, start), dimensions={1}, to_apply=f\n y1 = ", type,
      "[1,64] reshape(y)\n out = ", x,
      " dynamic-update-slice(ys, y1, i, z)\n one = s32[] constant(1)\n j = s32[] add(i, one)\n",
      " ROOT o = ", state, " tuple(j, next, out, a, x, b, c) }\nENTRY main {\n h = ", h,
      " parameter(0)\n a = ", h, " parameter(1)\n x = ", x, " parameter(2)\n b = ", b,
      " parameter(3)\n c = ", b, " parameter(4)\n i = s32[] constant(0)\n zero = ", type,
      "[] constant(0)\n ys = ", x, " broadcast(zero), dimensions={}\n t = ", state,
      " tuple(i, h, ys, a, x, b, c)\n w = ", state,
      " while(t), condition=cond, body=body\n last = ", h,
      " get-tuple-element(w), index=1\n all = ", x, " get-tuple-element(w), index=2\n ROOT r = (",
      h, ", ", x, ") tuple(last, all)\n}\n");
}

TEST(CpuShortRows, OfStateInALoop) {
  for (const char* type : {"f32", "f64"}) {
    for (const int states : {2, 4, 8, 16, 20, 32}) {
      expect_as_evaluated(channels(type, states, "add", "0"), {.share = 1e-5});
      expect_as_evaluated(channels(type, states, "maximum", "-inf"), {.share = 1e-5});
    }
  }
}

// Rows of a few elements side by side: whole rows are copied, whatever they are parts of.
TEST(CpuShortRows, SideBySide) {
  for (const char* type : {"u8", "s16", "f32", "f64", "pred"}) {
    const std::string x =
        cat("HloModule m\nENTRY main {\n x = ", type, "[7,20,3] parameter(0)\n y = ", type,
            "[7,4,3] parameter(1)\n z = ", type, "[3] parameter(2)\n");
    for (const char* of : {"x, y, x", "y, a, b", "r, x, s", "y, c, x, d"}) {
      expect_as_evaluated(cat(x, " a = ", type,
                              "[7,18,3] slice(x), slice={[0:7], [2:20], [0:3]}\n b = ", type,
                              "[7,2,3] slice(x), slice={[0:7], [0:2], [0:3]}\n r = ", type,
                              "[7,4,3] reverse(y), dimensions={1}\n s = ", type,
                              "[7,20,3] reverse(x), dimensions={0}\n c = ", type,
                              "[7,5,3] broadcast(z), dimensions={2}\n d = ", type,
                              "[7,4,3] reverse(y), dimensions={2}\n ROOT out = ", type, "[7,",
                              of[0] == 'x'   ? 44
                              : of[0] == 'r' ? 44
                              : of[3] == 'a' ? 24
                                             : 33,
                              ",3] concatenate(", of, "), dimensions={1}\n}\n"));
    }
    expect_as_evaluated(cat(x, " n = ", type, "[7,20,3] reverse(x), dimensions={2}\n ROOT out = ",
                            type, "[14,20,3] concatenate(x, n), dimensions={0}\n}\n"));
    expect_as_evaluated(
        cat(x, " ROOT out = ", type, "[7,4,6] concatenate(y, y), dimensions={2}\n}\n"));
  }
}

TEST(CpuShortRows, TurnedWhereAFlagOfTheImageSays) {
  for (const int images : {3, 16, 40}) {
    const std::string x = cat("f32[", images, ",5,33,3]"), k = cat("s32[", images, "]");
    expect_as_evaluated(cat("HloModule m\nENTRY main {\n x = ", x, " parameter(0)\n k = ", k,
                            " parameter(1)\n z = s32[] constant(0)\n zs = ", k,
                            " broadcast(z), dimensions={}\n p = pred[", images,
                            "] compare(k, zs), direction=GT\n ps = pred[", images,
                            ",5,33,3] broadcast(p), dimensions={0}\n r = ", x,
                            " reverse(x), dimensions={2}\n ROOT y = ", x,
                            " select(ps, r, x)\n}\n"));
  }
}

// Windows of rows, from places that may lie outside.
TEST(CpuShortRows, OfAGather) {
  for (const char* type : {"u8", "f32", "f64"}) {
    for (const char* slice : {"1,6,5,3", "1,6,5,2", "1,6,9,3", "1,8,5,3"}) {
      const std::string sizes(slice + 2);
      expect_as_evaluated(cat("HloModule m\nENTRY main {\n x = ", type,
                              "[4,8,9,3] parameter(0)\n i = s32[10,3] "
                              "parameter(1)\n j = s32[10,3] add(i, i)\n ROOT g = ",
                              type, "[10,", sizes,
                              "] gather(x, j), offset_dims={1,2,3}, collapsed_slice_dims={0}, "
                              "start_index_map={0,1,2}, index_vector_dim=1, slice_sizes={",
                              slice, "}\n}\n"));
      expect_as_evaluated(
          cat("HloModule m\nENTRY main {\n x = ", type,
              "[4,8,9,3] parameter(0)\n i = s32[4,2] "
              "parameter(1)\n ROOT g = ",
              type, "[4,", sizes,
              "] gather(x, i), offset_dims={1,2,3}, collapsed_slice_dims={}, "
              "operand_batching_dims={0}, "
              "start_indices_batching_dims={0}, start_index_map={2,1}, index_vector_dim=1, "
              "slice_sizes={",
              slice, "}\n}\n"));
    }
  }
}

// Rows of a block and those behind the last one are folded in one order.
TEST(CpuShortRows, EqualRowsHaveEqualSums) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const hlo::Module module =
      hlo::parse_text(folded("f32", "[35,16]", "add", "0", "[35]", "1")).value();
  Literal x(Shape(f32, {35, 16}));
  for (int64_t i = 0; i < 35 * 16; ++i)
    x.mutable_values<float>()[static_cast<size_t>(i)] = 1.0f / static_cast<float>(i % 16 + 3);
  const Literal sums = OnCpu(module).run({x});
  for (int64_t row = 1; row < 35; ++row) EXPECT_EQ(sums.to_double(row), sums.to_double(0)) << row;
}

}  // namespace
}  // namespace heddle::cpu
