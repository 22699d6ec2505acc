// Random products of views (transposes, slices, broadcasts ..) of any layout and size, small enough
// to be exact: those that are written as loops, and those that a kernel computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string joined(const std::vector<int64_t>& numbers) {
  std::string out;
  for (int64_t n : numbers) out += cat(out.empty() ? "" : ",", n);
  return out;
}

class DotWriter {
 public:
  explicit DotWriter(uint64_t seed) : random_(seed) {
    static constexpr const char* kTypes[] = {"f32", "f32", "f64", "s32", "u8", "s64"};
    type_ = kTypes[below(6)];
  }

  std::string run() {
    // By kind: batch, rows, columns, contracted.
    std::vector<int64_t> sizes[4];
    static constexpr int kMost[] = {2, 3, 3, 3};
    for (int kind = 0; kind < 4; ++kind) {
      for (int64_t n = below(kMost[kind]); n > 0; --n) sizes[kind].push_back(size());
    }
    if (below(2) == 0) {  // of matrices, for the kernel
      sizes[0].clear();
      for (int kind = 1; kind < 4; ++kind) sizes[kind] = {16 + below(30)};
      for (int kind = 0; kind < 4; ++kind) {  // of several
        if (below(3) == 0) sizes[kind].insert(sizes[kind].begin(), 1 + below(3));
        if (below(6) == 0) sizes[kind].push_back(1 + below(3));
      }
    } else if (below(3) == 0) {  // long sums of few results
      sizes[1] = {1 + below(5)}, sizes[2] = {4 + below(20)}, sizes[3] = {200 + below(200)};
    } else if (below(2) == 0) {  // many rows of few elements
      for (int kind = 0; kind < 4; ++kind) sizes[kind] = {1 + below(5)};
      sizes[below(3)] = {8 + below(70)};
      if (below(2) == 0) sizes[0].clear();
    }
    std::vector<int64_t> lhs_dims[2], rhs_dims[2];  // batch, contracted
    const std::string lhs = operand(sizes[0], sizes[3], sizes[1], lhs_dims);
    const std::string rhs = operand(sizes[0], sizes[3], sizes[2], rhs_dims);
    std::vector<int64_t> to = sizes[0];
    to.insert(to.end(), sizes[1].begin(), sizes[1].end());
    to.insert(to.end(), sizes[2].begin(), sizes[2].end());
    std::string attributes;
    const auto add = [&](const char* name, const std::vector<int64_t>& dims) {
      if (!dims.empty()) attributes += cat(", ", name, "={", joined(dims), "}");
    };
    add("lhs_batch_dims", lhs_dims[0]);
    add("rhs_batch_dims", rhs_dims[0]);
    add("lhs_contracting_dims", lhs_dims[1]);
    add("rhs_contracting_dims", rhs_dims[1]);
    const std::string dot =
        cat("d = ", type_, "[", joined(to), "] dot(", lhs, ", ", rhs, ")", attributes);
    return cat("HloModule m\nENTRY main {\n  at = s32[] parameter(0)\n", lines_,
               below(3) == 0 ? transposed(dot, to) : cat("  ROOT ", dot), " }\n");
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t size() {
    static constexpr int64_t kSizes[] = {1, 1, 2, 3, 5, 8, 16, 17, 33, 0};
    return kSizes[below(below(8) == 0 ? 10 : 9)];
  }

  std::string transposed(const std::string& dot, const std::vector<int64_t>& from) {
    std::vector<int64_t> order(from.size()), to;
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    for (int64_t d : order) to.push_back(from[static_cast<size_t>(d)]);
    return cat("  ", dot, "\n  ROOT t = ", type_, "[", joined(to), "] transpose(d), dimensions={",
               joined(order), "}");
  }

  // An array with these dimensions in some order; `dims` are those of the first two kinds.
  std::string operand(const std::vector<int64_t>& batch, const std::vector<int64_t>& contracted,
                      const std::vector<int64_t>& own, std::vector<int64_t> (&dims)[2]) {
    std::vector<int64_t> all = batch;
    all.insert(all.end(), contracted.begin(), contracted.end());
    all.insert(all.end(), own.begin(), own.end());
    std::vector<int64_t> place(all.size());
    std::iota(place.begin(), place.end(), 0);
    std::ranges::shuffle(place, random_);
    // Its own keep their order in the result.
    std::sort(place.begin() + static_cast<std::ptrdiff_t>(all.size() - own.size()), place.end());
    std::vector<int64_t> sizes(all.size());
    for (size_t i = 0; i < all.size(); ++i) sizes[static_cast<size_t>(place[i])] = all[i];
    for (size_t i = 0; i < batch.size(); ++i) dims[0].push_back(place[i]);
    for (size_t i = 0; i < contracted.size(); ++i) dims[1].push_back(place[batch.size() + i]);
    return view(sizes, static_cast<int>(below(4)));
  }

  std::string line(const std::vector<int64_t>& sizes, const std::string& expression) {
    const std::string id = cat("v", ++count_);
    lines_ += cat("  ", id, " = ", type_, "[", joined(sizes), "] ", expression, "\n");
    return id;
  }

  // An array of these sizes, `depth` steps from a parameter.
  std::string view(const std::vector<int64_t>& sizes, int depth) {
    if (depth == 0) return line(sizes, cat("parameter(", ++parameters_, ")"));
    const size_t rank = sizes.size();
    std::vector<int64_t> from = sizes;
    switch (below(6)) {
      case 0: {
        std::vector<int64_t> order(rank);
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random_);
        for (size_t d = 0; d < rank; ++d) from[static_cast<size_t>(order[d])] = sizes[d];
        return line(
            sizes, cat("transpose(", view(from, depth - 1), "), dimensions={", joined(order), "}"));
      }
      case 1: {
        std::string slices;
        for (size_t d = 0; d < rank; ++d) {
          const int64_t start = below(3), stride = 1 + below(3);
          const int64_t limit = sizes[d] == 0 ? start : start + (sizes[d] - 1) * stride + 1;
          from[d] = limit + below(2);
          slices += cat(d == 0 ? "" : ", ", "[", start, ":", limit, ":", stride, "]");
        }
        return line(sizes, cat("slice(", view(from, depth - 1), "), slice={", slices, "}"));
      }
      case 2: {  // some dimensions are new
        std::vector<int64_t> kept;
        from.clear();
        for (size_t d = 0; d < rank; ++d) {
          if (below(3) == 0) continue;
          kept.push_back(static_cast<int64_t>(d));
          from.push_back(sizes[d]);
        }
        return line(sizes,
                    cat("broadcast(", view(from, depth - 1), "), dimensions={", joined(kept), "}"));
      }
      case 3: {
        std::string starts;
        for (size_t d = 0; d < rank; ++d) {
          from[d] += below(3);
          starts += ", at";
        }
        return line(sizes, cat("dynamic-slice(", view(from, depth - 1), starts,
                               "), dynamic_slice_sizes={", joined(sizes), "}"));
      }
      case 4: {
        from.insert(from.begin() + below(static_cast<int64_t>(rank) + 1), 1);
        return line(sizes, cat("reshape(", view(from, depth - 1), ")"));
      }
      default: return line(sizes, cat("negate(", view(from, depth - 1), ")"));
    }
  }

  std::mt19937_64 random_;
  std::string type_;
  std::string lines_;
  int count_ = 0, parameters_ = 0;
};

TEST(CpuDots, OfRandomViewsAreExact) {
  const auto [first, last] = random_numbers(500);
  for (uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(cat("product ", seed));
    expect_as_evaluated(DotWriter(seed).run(), {.any_zero = true});
    if (HasFailure()) return;
  }
}

// Their rows are added up in memory, and threads share the columns.
// One array gives numbers and vectors.
TEST(CpuDots, OfAnArrayWithItself) {
  for (const char* type : {"f32", "f64", "s32"}) {
    for (const int64_t columns : {2, 3, 4, 5, 7, 8, 12}) {
      const int64_t rows = 4097 / (columns * columns) + 40;
      const std::string x = cat(type, "[", rows, ",", columns, "]");
      expect_as_evaluated(
          cat("HloModule m\nENTRY main {\n  x = ", x, " parameter(0)\n  ROOT d = ", type, "[",
              columns, ",", columns,
              "] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} }\n"),
          {.share = 1e-5});
      expect_as_evaluated(
          cat("HloModule m\nENTRY main {\n  x = ", x, " parameter(0)\n  s = ", type, "[", rows,
              ",2] slice(x), slice={[0:", rows, "], [0:2]}\n  ROOT d = ", type, "[", columns,
              ",2] dot(x, s), lhs_contracting_dims={0}, rhs_contracting_dims={0} }\n"),
          {.share = 1e-5});
    }
  }
}

// What sums nothing is a product of broadcasts: of any batch, transposed, added to what is there.
TEST(CpuDots, OfVectorsAreElementwise) {
  for (const char* type : {"f32", "f64", "s32", "c64", "bf16"}) {
    expect_as_evaluated(
        cat("HloModule m\nENTRY e {\n x = ", type, "[5,7,3] parameter(0)\n y = ", type,
            "[7,4,1,5] parameter(1)\n m = ", type, "[4,5,7,3] parameter(2)\n p = ", type,
            "[5,7,3,4,1] dot(x, y), lhs_batch_dims={0,1}, rhs_batch_dims={3,0}\n q = ", type,
            "[5,7,3,4] reshape(p)\n t = ", type,
            "[4,5,7,3] transpose(q), dimensions={3,0,1,2}\n ROOT r = ", type,
            "[4,5,7,3] add(m, t)\n}"),
        {.any_zero = true});
    expect_as_evaluated(
        cat("HloModule m\nENTRY e {\n x = ", type, "[1,30] parameter(0)\n y = ", type,
            "[20,1] parameter(1)\n ROOT p = ", type,
            "[30,20] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n}"),
        {.any_zero = true});
  }
  // With a type of its own for the sums, which are none.
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  x = bf16[9] parameter(0)
  y = bf16[8] parameter(1)
  p = f32[9,8] dot(x, y)
  a = s8[9] parameter(2)
  b = s8[8] parameter(3)
  q = s32[9,8] dot(a, b)
  ROOT r = (f32[9,8], s32[9,8]) tuple(p, q)
})");
}

// y = convert(w) x, of a matrix by a vector: `view` takes w to [rows,columns] of `wide`.
std::string product_of_converted(const std::string& parameter, const std::string& view,
                                 const std::string& wide, int rows, int columns, bool on_rhs) {
  return cat("HloModule m\nENTRY e {\n w = ", parameter, " parameter(0)\n x = ", wide, "[",
             on_rhs ? rows : columns, "] parameter(1)\n", view, " ROOT y = ", wide, "[",
             on_rhs ? columns : rows, on_rhs ? "] dot(x, m)" : "] dot(m, x)",
             ", lhs_contracting_dims={", on_rhs ? 0 : 1, "}, rhs_contracting_dims={0}\n}");
}

// Products by vectors convert narrow elements of the matrix as they read it.
TEST(CpuDots, OfConvertedMatricesByVectors) {
  struct Types {
    const char *narrow, *wide;
  };
  for (const auto& [narrow, wide] : {Types{"s8", "f32"},
                                     {"u8", "f32"},
                                     {"s16", "f32"},
                                     {"u16", "f64"},
                                     {"bf16", "f32"},
                                     {"f16", "f32"},
                                     {"f16", "f64"},
                                     {"s32", "f64"},
                                     {"u32", "f64"},
                                     {"f32", "f64"}}) {
    for (const auto& [rows, columns] :
         {std::pair{128, 128}, {37, 53}, {200, 40}, {16, 19}, {3, 5}}) {
      for (const bool on_rhs : {false, true}) {
        const std::string type = cat("[", rows, ",", columns, "]"),
                          turned = cat("[", columns, ",", rows, "]");
        expect_as_evaluated(product_of_converted(cat(narrow, type),
                                                 cat(" m = ", wide, type, " convert(w)\n"), wide,
                                                 rows, columns, on_rhs));
        expect_as_evaluated(
            product_of_converted(cat(narrow, turned),
                                 cat(" c = ", wide, turned, " convert(w)\n m = ", wide, type,
                                     " transpose(c), dimensions={1,0}\n"),
                                 wide, rows, columns, on_rhs));
      }
    }
  }
}

// One for each place of a batch; each turn's own matrix of a stack; of a vector by itself, which
// both operands convert.
TEST(CpuDots, OfOtherConvertedArrays) {
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  w = s8[5,40,33] parameter(0)
  c = f32[5,40,33] convert(w)
  x = f32[5,33] parameter(1)
  ROOT y = f32[5,40] dot(c, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1}
})");
  expect_as_evaluated(R"(HloModule m
body {
  p = (s32[], f32[32], s8[6,32,32]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[32] get-tuple-element(p), index=1
  w = s8[6,32,32] get-tuple-element(p), index=2
  z = s32[] constant(0)
  s = s8[1,32,32] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,32,32}
  r = s8[32,32] reshape(s)
  c = f32[32,32] convert(r)
  y = f32[32] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = f32[] constant(0.0078125)
  b = f32[32] broadcast(k), dimensions={}
  v = f32[32] multiply(y, b)
  one = s32[] constant(1)
  n = s32[] add(i, one)
  ROOT t = (s32[], f32[32], s8[6,32,32]) tuple(n, v, w)
}
condition {
  p = (s32[], f32[32], s8[6,32,32]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(6)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  x = f32[32] parameter(0)
  w = s8[6,32,32] parameter(1)
  t = (s32[], f32[32], s8[6,32,32]) tuple(z, x, w)
  l = (s32[], f32[32], s8[6,32,32]) while(t), condition=condition, body=body
  ROOT y = f32[32] get-tuple-element(l), index=1
})",
                      {.share = 1e-6});
  for (const char* type : {"s8", "bf16", "f16"}) {  // one conversion of another
    expect_as_evaluated(cat("HloModule m\nENTRY e {\n w = ", type,
                            "[40,33] parameter(0)\n c = f32[40,33] convert(w)\n"
                            " t = f32[33,40] transpose(c), dimensions={1,0}\n"
                            " d = f64[33,40] convert(t)\n e = f64[40,33] convert(c)\n"
                            " x = f64[40] parameter(1)\n z = f64[33] parameter(2)\n"
                            " y = f64[33] dot(d, x), lhs_contracting_dims={1}, "
                            "rhs_contracting_dims={0}\n u = f64[40] dot(e, z), "
                            "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                            " ROOT r = (f64[33], f64[40]) tuple(y, u)\n}"));
    expect_as_evaluated(cat("HloModule m\nENTRY e {\n w = ", type,
                            "[40,33] parameter(0)\n c = f32[40,33] convert(w)\n"
                            " d = f64[40,33] convert(c)\n x = f64[33] parameter(1)\n"
                            " ROOT y = f64[40] dot(d, x), lhs_contracting_dims={1}, "
                            "rhs_contracting_dims={0}\n}"));
  }
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  w = bf16[40,33] parameter(0)
  c = f32[40,33] convert(w)
  x = f64[33] parameter(1)
  ROOT y = f64[40] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  x = f16[300] parameter(0)
  c = f32[300] convert(x)
  ROOT y = f32[] dot(c, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})");
}

// Matrices of bf16, s8 and u8 go to the processor's unit, where it has one: of any batch, either
// way around. Others are widened, and so are small ones and products by vectors.
TEST(CpuDots, OfNarrowElements) {
  struct Types {
    const char *operands, *result;
  };
  for (const auto& [type, result] : {Types{"bf16", "bf16"},
                                     {"bf16", "f32"},
                                     {"f16", "f16"},
                                     {"f16", "f32"},
                                     {"s8", "s8"},
                                     {"s8", "s16"},
                                     {"s8", "s32"},
                                     {"s8", "s64"},
                                     {"u8", "s32"},
                                     {"u8", "u32"},
                                     {"u8", "u8"},
                                     {"s8", "u32"},
                                     {"u16", "s32"},
                                     {"s16", "s64"}}) {
    for (const int inner : {1, 32, 45, 600}) {
      expect_as_evaluated(cat("HloModule m\nENTRY e {\n x = ", type, "[3,20,", inner,
                              "] parameter(0)\n y = ", type, "[", inner,
                              ",3,33] parameter(1)\n ROOT p = ", result,
                              "[3,20,33] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1}, "
                              "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n}"));
      expect_as_evaluated(cat("HloModule m\nENTRY e {\n x = ", type, "[", inner,
                              ",20] parameter(0)\n y = ", type, "[70,", inner,
                              "] parameter(1)\n p = ", result,
                              "[20,70] dot(x, y), lhs_contracting_dims={0}, "
                              "rhs_contracting_dims={1}\n ROOT t = ",
                              result, "[70,20] transpose(p), dimensions={1,0}\n}"));
      expect_as_evaluated(cat("HloModule m\nENTRY e {\n x = ", type, "[", inner,
                              "] parameter(0)\n y = ", type, "[70,", inner,
                              "] parameter(1)\n ROOT p = ", result,
                              "[70] dot(x, y), lhs_contracting_dims={0}, "
                              "rhs_contracting_dims={1}\n}"));
    }
  }
}

// One operand lies across: sums in parts.
TEST(CpuDots, OfColumnsByVectors) {
  for (const int rows : {1, 3, 8, 100, 200}) {
    expect_as_evaluated(
        cat("HloModule m\nENTRY e {\n a = f32[", rows, ",50] parameter(0)\n x = f32[", rows,
            "] parameter(1)\n i = s32[] parameter(2)\n z = s32[] constant(0)\n c = f32[", rows,
            ",1] dynamic-slice(a, z, i), dynamic_slice_sizes={", rows, ",1}\n v = f32[", rows,
            "] reshape(c)\n ROOT d = f32[] dot(x, v), ",
            "lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}"),
        {.any_zero = true});
  }
}

TEST(CpuDots, OfLargeMatricesByVectors) {
  const auto module = [](const std::string& type, const std::string& x, const std::string& w,
                         const std::string& to, const std::string& dims) {
    return cat("HloModule m\nENTRY main {\n  x = ", type, x, " parameter(0)\n  w = ", type, w,
               " parameter(1)\n  ROOT d = ", type, to, " dot(", dims, " }\n");
  };
  for (const char* type : {"f32", "f64", "s32"}) {
    for (int64_t rows : {512, 515}) {
      SCOPED_TRACE(cat(type, " ", rows));
      const Allowed allowed = {.share = 1e-5, .any_zero = true};
      const std::string matrix = cat("[", rows, ",1536]"), heads = cat("[", rows, ",8,64]"),
                        of_heads = cat("[8,", rows, "]");
      expect_as_evaluated(module(type, cat("[1,", rows, "]"), matrix, "[1,1536]",
                                 "x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                          allowed);
      expect_as_evaluated(module(type, cat("[", rows, "]"), matrix, "[1536]",
                                 "w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
                          allowed);
      expect_as_evaluated(module(type, of_heads, heads, "[8,64]",
                                 "x, w), lhs_batch_dims={0}, rhs_batch_dims={1}, "
                                 "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                          allowed);
      expect_as_evaluated(module(type, "[8,64]", heads, of_heads,
                                 "x, w), lhs_batch_dims={0}, rhs_batch_dims={1}, "
                                 "lhs_contracting_dims={1}, rhs_contracting_dims={2}"),
                          allowed);
    }
  }
}

// A carried vector or matrix, two turns: products by matrices that stay the same, in each order of
// their dimensions, and of what the turn before made.
std::string in_a_loop(const std::string& type, int64_t n, const std::string& state,
                      const std::string& step) {
  const std::string carried = cat(type, "[", state, "]"), matrix = cat(type, "[", n, ",", n, "]");
  const std::string all = cat("(s32[], ", carried, ", ", matrix, ")");
  return cat("HloModule m\ncond { s = ", all,
             " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(2)\n"
             "  ROOT l = pred[] compare(i, n), direction=LT }\nbody { s = ",
             all, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  h = ", carried,
             " get-tuple-element(s), index=1\n  w = ", matrix,
             " get-tuple-element(s), index=2\n  one = s32[] constant(1)\n"
             "  j = s32[] add(i, one)\n",
             step, "\n  ROOT t = ", all, " tuple(j, next, w) }\nENTRY main {\n  h = ", carried,
             " parameter(0)\n  w = ", matrix, " parameter(1)\n  i = s32[] constant(0)\n  s = ", all,
             " tuple(i, h, w)\n  r = ", all,
             " while(s), condition=cond, body=body\n  ROOT out = ", carried,
             " get-tuple-element(r), index=1 }\n");
}

TEST(CpuDots, InLoopsGiveWhatTheEvaluatorGives) {
  for (const char* type : {"f32", "f64", "s32", "s16"}) {
    for (int64_t n : {1, 2, 3, 4, 5, 8, 16, 17, 33, 64}) {
      SCOPED_TRACE(cat(type, " ", n));
      // The numbers are whole, but too large for an exact f32.
      const Allowed allowed = {.share = type == std::string("f32") ? 1e-5 : 0, .any_zero = true};
      for (int l : {0, 1}) {
        const std::string vector = cat(type, "[", n, "]");
        const std::string product =
            cat("  p = ", vector, " dot(w, h), lhs_contracting_dims={", l,
                "}, rhs_contracting_dims={0}\n  q = ", vector,
                " dot(p, w), lhs_contracting_dims={0}, rhs_contracting_dims={", l,
                "}\n  next = ", vector, " subtract(q, h)");
        expect_as_evaluated(in_a_loop(type, n, cat(n), product), allowed);
        const std::string square = cat(type, "[", n, ",", n, "]");
        const std::string products =
            cat("  p = ", square, " dot(w, h), lhs_contracting_dims={", l,
                "}, rhs_contracting_dims={", 1 - l, "}\n  next = ", square,
                " dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}");
        if (n <= 17) expect_as_evaluated(in_a_loop(type, n, cat(n, ",", n), products), allowed);
      }
      if (HasFailure()) return;
    }
  }
}

// Rows that are folded as many at a time as a vector has lanes, and the rest.
TEST(CpuDots, OfRowsByAVectorGiveWhatTheEvaluatorGives) {
  for (const std::string type : {"f32", "f64", "s32", "bf16"}) {
    const Allowed allowed = {.ulp = type == "bf16" ? 1 : 0, .share = 1e-6, .any_zero = true};
    for (const int rows : {7, 8, 15, 16, 17, 33, 50}) {
      for (const int columns : {8, 16, 48, 80, 81}) {
        const std::string matrix = cat(type, "[", rows, ",", columns, "]"),
                          vector = cat(type, "[", columns, "]"), to = cat(type, "[", rows, "]");
        SCOPED_TRACE(matrix);
        const std::string x =
            cat("HloModule m\nENTRY e { x = ", matrix, " parameter(0)\n y = ", vector,
                " parameter(1)\n ROOT d = ", to, " dot(");
        expect_as_evaluated(x + "x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
                            allowed);
        expect_as_evaluated(x + "y, x), lhs_contracting_dims={0}, rhs_contracting_dims={1} }",
                            allowed);
      }
    }
    expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", type, "[3,20,32] parameter(0)\n y = ",
                            type, "[3,32] parameter(1)\n ROOT d = ", type,
                            "[3,20] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                            "lhs_contracting_dims={2}, rhs_contracting_dims={1} }"),
                        allowed);
  }
}

}  // namespace
}  // namespace heddle::cpu
