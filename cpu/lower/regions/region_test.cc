#include "heddle/cpu/lower/regions/region.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/control/counted_loop.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A program and what is known of its entry, by the names of its instructions.
class Known {
 public:
  explicit Known(const std::string& lines, const std::string& called = "")
      : module_(
            hlo::parse_text(cat("HloModule m\n", called, "ENTRY main {\n", lines, " }\n")).value()),
        region_(module_, module_.entry_computation()) {}

  const hlo::Module& module() const { return module_; }
  const Region& region() const { return region_; }
  hlo::InstructionId id(std::string_view name) const {
    const auto& all = module_.entry_computation().instructions;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].name == name) return hlo::InstructionId(i);
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }
  bool is_lazy(std::string_view name) const { return region_.is_lazy(region_.leaf(id(name))); }
  // When the step runs; -1: it is none.
  int64_t turn(std::string_view name) const {
    const auto found = std::ranges::find(region_.steps(), id(name));
    return found == region_.steps().end() ? -1 : found - region_.steps().begin();
  }

 private:
  hlo::Module module_;
  Region region_;
};

TEST(Region, ElementsAreComputedWhereTheyAreRead) {
  const Known known(
      "  x = f32[8] parameter(0)\n  c = f32[] constant(2)\n  d = f32[8] broadcast(c), "
      "dimensions={}\n"
      "  y = f32[8] multiply(x, d)\n  z = f32[8] sine(y)\n  ROOT r = f32[8] add(z, x)");
  EXPECT_TRUE(known.is_lazy("c"));
  EXPECT_TRUE(known.is_lazy("d"));
  EXPECT_TRUE(known.is_lazy("y"));
  EXPECT_TRUE(known.is_lazy("z"));
  EXPECT_FALSE(known.is_lazy("r")) << "a result has a place";
  EXPECT_EQ(known.region().steps().size(), 1u);
}

// The derivative of sum(diff(x)^2), and one of as many ops as a pass over memory would cost.
TEST(Region, AFewOpsUnderTwoPaddingsAreComputedTwice) {
  const auto is_lazy = [](const std::string& ops) {
    const Known known(
        cat("  x = f32[33,64] parameter(0)\n  z = f32[] constant(0)\n"
            "  a = f32[32,64] slice(x), slice={[1:33], [0:64]}\n"
            "  b = f32[32,64] slice(x), slice={[0:32], [0:64]}\n"
            "  d = f32[32,64] subtract(a, b)\n",
            ops,
            "  n = f32[32,64] negate(m)\n"
            "  p = f32[33,64] pad(n, z), padding=0_1x0_0\n"
            "  q = f32[33,64] pad(m, z), padding=1_0x0_0\n"
            "  ROOT r = f32[33,64] add(p, q)"));
    return known.is_lazy("m");
  };
  EXPECT_TRUE(is_lazy("  m = f32[32,64] add(d, d)\n"));
  EXPECT_FALSE(is_lazy("  m = f32[32,64] tanh(d)\n"));
  std::string many = "  m0 = f32[32,64] multiply(d, a)\n";
  for (int i = 1; i < 9; ++i) many += cat("  m", i, " = f32[32,64] multiply(m", i - 1, ", a)\n");
  EXPECT_FALSE(is_lazy(many + "  m = f32[32,64] add(m8, d)\n"));
}

// x[:, i * 2]: once, and not for each row of x.
TEST(Region, IndicesUnderAWindowHaveAPlace) {
  const auto gather = [](const char* shape, const char* window, const char* sizes,
                         const char* collapsed) {
    return cat(
        "  x = f32[8,100] parameter(0)\n  i = s32[32] parameter(1)\n"
        "  j = s32[32] add(i, i)\n  g = f32",
        shape, " gather(x, j), offset_dims={", window, "}, collapsed_slice_dims={", collapsed,
        "}, start_index_map={", collapsed, "}, index_vector_dim=1, slice_sizes=", sizes,
        "\n  ROOT r = f32", shape, " negate(g)");
  };
  EXPECT_FALSE(Known(gather("[8,32]", "0", "{8,1}", "1")).is_lazy("j"));
  EXPECT_TRUE(Known(gather("[32,100]", "1", "{1,100}", "0")).is_lazy("j")) << "rows go around";
}

// Vectors compute what a scatter takes one by one.
TEST(Region, IndicesOfAScatterHaveAPlace) {
  const auto scatter = [](int n) {
    return cat("  x = f32[100] parameter(0)\n  i = s32[", n, ",1] parameter(1)\n  j = s32[", n,
               ",1] add(i, i)\n  u = f32[", n, "] parameter(2)\n  v = f32[", n,
               "] negate(u)\n  ROOT s = f32[100] scatter(x, j, v), update_window_dims={}, "
               "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
               "to_apply=sum");
  };
  const std::string sum =
      "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n";
  const Known many(scatter(64), sum);
  EXPECT_FALSE(many.is_lazy("j"));
  EXPECT_FALSE(many.is_lazy("v"));
  EXPECT_TRUE(Known(scatter(4), sum).is_lazy("j"));
}

// One at a time it would be computed a lane a vector.
TEST(Region, WorkUnderABroadcastThatTakesAsLongAsARowHasAPlace) {
  const auto lines = [](std::string_view op, int64_t repeats) {
    return cat("  x = f32[64,8] parameter(0)\n  e = f32[64,8] ", op, "(x)\n",
               "  s = f32[64,8] add(e, x)\n  b = f32[64,8,", repeats,
               "] broadcast(s), dimensions={0,1}\n  ROOT r = f32[64,8,", repeats, "] negate(b)");
  };
  for (const int64_t repeats : {3, 150}) {
    EXPECT_FALSE(Known(lines("exponential", repeats)).is_lazy("s")) << "with all that it takes";
    EXPECT_TRUE(Known(lines("exponential", repeats)).is_lazy("e"));
  }
  EXPECT_TRUE(Known(lines("exponential", 300)).is_lazy("s")) << "one of 300";
  EXPECT_TRUE(Known(lines("sqrt", 3)).is_lazy("s")) << "little work";
  EXPECT_TRUE(Known(lines("exponential", 1)).is_lazy("s")) << "elements stand side by side";
}

TEST(Region, AProductReadsATransposeByStrides) {
  EXPECT_TRUE(Known("  x = f32[64,64] parameter(0)\n  v = f32[64] parameter(1)\n"
                    "  y = f32[64,64] add(x, x)\n"
                    "  t = f32[64,64] transpose(y), dimensions={1,0}\n"
                    "  ROOT d = f32[64] dot(t, v), lhs_contracting_dims={1}, "
                    "rhs_contracting_dims={0}")
                  .is_lazy("t"));
}

// By tiles. It is read where it lies if it has few columns, or if one step computes little of it.
TEST(Region, ATransposeOfWhichMuchIsComputedHasAPlace) {
  const auto is_lazy = [](const char* from, const char* to, const char* lines) {
    return Known(cat(" x = f32", from, " parameter(0)\n t = f32", to,
                     " transpose(x), dimensions={1,0}\n", lines))
        .is_lazy("t");
  };
  const char* const exponential =
      " h = f32[40,60] negate(t)\n ROOT y = f32[40,60] exponential(h)\n";
  EXPECT_FALSE(is_lazy("[60,40]", "[40,60]", exponential));
  EXPECT_TRUE(is_lazy("[60,40]", "[40,60]", " ROOT y = f32[40,60] negate(t)\n"));
  EXPECT_TRUE(is_lazy("[300,8]", "[8,300]", " ROOT y = f32[8,300] exponential(t)\n"));
  EXPECT_TRUE(is_lazy("[8,300]", "[300,8]", " ROOT y = f32[300,8] exponential(t)\n"));
  EXPECT_TRUE(is_lazy("[30,34]", "[34,30]", " ROOT y = f32[34,30] exponential(t)\n"));
  EXPECT_FALSE(is_lazy("[60,40]", "[40,60]",
                       " a = f32[40,60] negate(t)\n b = f32[40,60] abs(t)\n"
                       " ROOT y = (f32[40,60], f32[40,60]) tuple(a, b)\n"));
}

TEST(Region, ATransposeIsWrittenAsTheProductThatItAloneReads) {
  const std::string product =
      "  x = f32[4,3] parameter(0)\n  y = f32[3,5] parameter(1)\n"
      "  p = f32[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  t = f32[5,4] transpose(p), dimensions={1,0}\n";
  const Known alone(product + "  ROOT r = f32[5,4] negate(t)");
  EXPECT_EQ(alone.region().product_of(alone.id("t")), alone.id("p"));
  EXPECT_TRUE(alone.is_lazy("p"));
  EXPECT_FALSE(alone.is_lazy("t"));
  EXPECT_EQ(alone.region().reads(alone.id("t")).size(), 2u) << "the product's operands";
  const Known both(product + "  ROOT r = (f32[5,4], f32[4,5]) tuple(t, p)");
  EXPECT_FALSE(both.region().product_of(both.id("t")).valid());
  EXPECT_FALSE(both.is_lazy("p"));
  EXPECT_FALSE(both.region().product_of(both.id("p")).valid()) << "no transpose";
}

TEST(Region, WhatOneBranchNeedsIsComputedThere) {
  const Known known(
      "  p = s32[] parameter(0)\n  x = f32[8] parameter(1)\n  y = f32[8] sine(x)\n"
      "  z = f32[8] cosine(x)\n  w = f32[8] tanh(x)\n  a = (f32[8], f32[8]) tuple(y, w)\n"
      "  b = (f32[8], f32[8]) tuple(z, w)\n"
      "  ROOT c = f32[8] conditional(p, a, b), branch_computations={f, f}",
      "f { t = (f32[8], f32[8]) parameter(0)\n  q = f32[8] get-tuple-element(t), index=0\n"
      "  r = f32[8] get-tuple-element(t), index=1\n  ROOT s = f32[8] add(q, r) }\n");
  EXPECT_TRUE(known.is_lazy("y"));
  EXPECT_TRUE(known.is_lazy("z"));
  EXPECT_FALSE(known.is_lazy("w")) << "both need it";
}

TEST(Region, WhatTwoStepsReadIsComputedOnce) {
  const Known known(
      "  x = f32[8] parameter(0)\n  y = f32[8] sine(x)\n  a = f32[8] add(y, x)\n"
      "  v = f32[8] reverse(y), dimensions={0}\n  b = f32[8] multiply(v, x)\n"
      "  ROOT r = (f32[8], f32[8]) tuple(a, b)");
  EXPECT_FALSE(known.is_lazy("y"));
  EXPECT_TRUE(known.is_lazy("v")) << "a movement costs nothing";
  EXPECT_LT(known.turn("y"), known.turn("a"));
  EXPECT_EQ(known.region().read_count(known.region().leaf(known.id("y"))), 2);
}

TEST(Region, ASumWithABroadcastNumberIsAsCheapAsARead) {
  const auto lines = [](std::string_view op) {
    return base::cat("  x = f32[64] parameter(0)\n  c = f32[] parameter(1)\n",
                     "  w = f32[64] broadcast(c), dimensions={}\n  y = f32[64] ", op,
                     "(x, w)\n  a = f32[64] sine(y)\n  b = f32[64] cosine(y)\n"
                     "  ROOT r = (f32[64], f32[64]) tuple(a, b)");
  };
  EXPECT_TRUE(Known(lines("add")).is_lazy("y"));
  EXPECT_FALSE(Known(lines("divide")).is_lazy("y"));
}

// What is no array in memory would be computed twice, or read twice out of order.
TEST(Region, ASumOfWhatIsNoArrayInMemoryIsComputedOnce) {
  const auto is_lazy = [](std::string_view from) {
    return Known(base::cat("  t = f32[64,64] parameter(0)\n  u = f32[80,64] parameter(1)\n",
                           "  c = f32[] parameter(2)\n  x = f32[64,64] ", from,
                           "\n  w = f32[64,64] broadcast(c), dimensions={}\n",
                           "  y = f32[64,64] add(x, w)\n  a = f32[64,64] sine(y)\n",
                           "  b = f32[64,64] cosine(y)\n",
                           "  ROOT r = (f32[64,64], f32[64,64]) tuple(a, b)"))
        .is_lazy("y");
  };
  EXPECT_FALSE(is_lazy("transpose(t), dimensions={1,0}"));
  EXPECT_FALSE(is_lazy("reverse(t), dimensions={1}"));
  EXPECT_FALSE(is_lazy("exponential(t)"));
  EXPECT_TRUE(is_lazy("slice(u), slice={[8:72], [0:64]}"));
}

// The first round gives the exponential a place. To move its elements costs nothing then, so that
// both steps read them there.
TEST(Region, AMoveOfWhatHasAPlaceIsNoPlace) {
  const Known known(
      "  x = f32[64,64] parameter(0)\n  e = f32[64,64] exponential(x)\n"
      "  p = f32[32,64] slice(e), slice={[0:32], [0:64]}\n  a = f32[32,64] sine(p)\n"
      "  b = f32[32,64] cosine(p)\n  d = f32[64,64] sine(e)\n"
      "  ROOT r = (f32[32,64], f32[32,64], f32[64,64]) tuple(a, b, d)");
  EXPECT_FALSE(known.is_lazy("e"));
  EXPECT_TRUE(known.is_lazy("p"));
}

TEST(Region, KernelsReadMemory) {
  const Known known(
      "  x = f32[8] parameter(0)\n  y = f32[8] negate(x)\n"
      "  ROOT r = f32[8] sort(y), dimensions={0}, to_apply=less",
      "less { u = f32[] parameter(0)\n v = f32[] parameter(1)\n"
      "  ROOT l = pred[] compare(u, v), direction=LT }\n");
  EXPECT_FALSE(known.is_lazy("y"));
  EXPECT_FALSE(is_loop_step(known.module(), known.module().entry_computation(),
                            known.module().entry_computation().at(known.id("r"))));
}

TEST(Region, WhatNobodyReadsIsNoStep) {
  const Known known("  x = f32[8] parameter(0)\n  y = f32[8] sine(x)\n  ROOT r = f32[8] negate(x)");
  EXPECT_EQ(known.turn("y"), -1);
}

TEST(Region, AnUpdateRunsBehindTheReadersOfItsArray) {
  const Known known(
      "  p = f32[8] parameter(0)\n  x = f32[8] sine(p)\n  i = s32[] parameter(1)\n"
      "  u = f32[1] constant({7})\n  s = f32[8] dynamic-update-slice(x, u, i)\n"
      "  a = f32[8] cosine(x)\n  b = f32[8] add(a, s)\n"
      "  ROOT r = (f32[8], f32[8], f32[8]) tuple(s, a, b)");
  EXPECT_LT(known.turn("a"), known.turn("s"));
  EXPECT_LT(known.turn("s"), known.turn("b"));
}

// o waits for t, which reads what it overwrites; t waits for s, which waits for o. The chain breaks
// where a reader needs a step that waits.
TEST(Region, EveryStepRunsBehindWhatItReads) {
  const Known known(
      "  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  i = s32[] parameter(2)\n"
      "  u = f32[1] constant({7})\n  s = f32[8] dynamic-update-slice(x, u, i)\n"
      "  part = f32[2] slice(x), slice={[1:3]}\n  o = f32[8] dynamic-update-slice(y, part, i)\n"
      "  t = f32[8] add(s, y)\n  ROOT r = (f32[8], f32[8], f32[8]) tuple(o, t, s)");
  EXPECT_LT(known.turn("o"), known.turn("s")) << "it reads what s overwrites";
  EXPECT_LT(known.turn("s"), known.turn("t"));
}

TEST(Region, ReadsInPlaceAreThoseOfTheSameElement) {
  const Known known(
      "  x = f32[8] parameter(0)\n  n = f32[8] negate(x)\n  v = f32[8] reverse(x), dimensions={0}\n"
      "  w = f32[8] reverse(n), dimensions={0}\n  a = f32[8] add(x, n)\n  b = f32[8] add(x, v)\n"
      "  c = f32[8] add(w, w)\n  ROOT r = (f32[8], f32[8], f32[8]) tuple(a, b, c)");
  const LeafId x = known.region().leaf(known.id("x"));
  EXPECT_TRUE(known.region().reads_in_place(known.id("a"), x));
  EXPECT_FALSE(known.region().reads_in_place(known.id("b"), x));
  EXPECT_TRUE(known.region().reaches(known.region().leaf(known.id("v")), x));
}

TEST(Region, TuplesAreTheirLeaves) {
  const Known known(
      "  p = (f32[2], (s32[], f32[3])) parameter(0)\n  q = (s32[], f32[3]) get-tuple-element(p), "
      "index=1\n"
      "  a = f32[3] get-tuple-element(q), index=1\n  t = (f32[3], (s32[], f32[3])) tuple(a, q)\n"
      "  ROOT r = ((f32[3], (s32[], f32[3])), f32[3]) tuple(t, a)");
  ASSERT_EQ(known.region().parameters().size(), 3u);
  ASSERT_EQ(known.region().results().size(), 4u);
  EXPECT_EQ(known.region().results()[0], known.region().parameters()[2]);
  EXPECT_EQ(known.region().results()[1], known.region().parameters()[1]);
  EXPECT_EQ(known.region().results()[3], known.region().parameters()[2]);
  EXPECT_TRUE(known.region().steps().empty());
}

TEST(Region, ReshapesThatKeepTheOrderOfDimensionsAreDegenerate) {
  const auto is_degenerate = [](std::vector<int64_t> from, std::vector<int64_t> to) {
    return is_degenerate_reshape(Shape(f32, std::move(from)), Shape(f32, std::move(to)));
  };
  EXPECT_TRUE(is_degenerate({1, 3}, {3}));
  EXPECT_TRUE(is_degenerate({2, 1, 3}, {2, 3, 1, 1}));
  EXPECT_TRUE(is_degenerate({1}, {}));
  EXPECT_FALSE(is_degenerate({2, 3}, {6}));
  EXPECT_FALSE(is_degenerate({2, 3}, {3, 2}));
}

// Counted loops ---------------------------------------------------------------------------------

// while (i DIRECTION n) { a[start] = u; i = i + step } from i = first, of f32[3,2].
struct Rows {
  std::string start = "i";
  std::string lines;  // that name it
  std::string read;   // another reader of a, "" or the third result
  std::string direction = "LT";
  int first = 0, turns = 3, step = 1;
};

struct Analysed {
  hlo::Module module;
  std::optional<CountedLoop> counted;
  bool all_rows = false;
};

Analysed analysed(const Rows& rows) {
  const std::string state = "(s32[], f32[3,2], f32[3,2])";
  const std::string text = cat(
      "HloModule m\ncond { s = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n", "  n = s32[] constant(",
      rows.turns, ")\n  ROOT l = pred[] compare(i, n), direction=", rows.direction,
      " }\nbody { s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
      "  a = f32[3,2] get-tuple-element(s), index=1\n  b = f32[3,2] get-tuple-element(s), "
      "index=2\n",
      "  k = s32[] constant(", rows.step, ")\n  next = s32[] add(i, k)\n  z = s32[] constant(0)\n",
      "  one = s32[] constant(1)\n  two = s32[] constant(2)\n  three = s32[] constant(3)\n",
      "  u = f32[1,2] constant({{7, 8}})\n", rows.lines,
      "  na = f32[3,2] dynamic-update-slice(a, u, ", rows.start, ", z)\n  ROOT r = ", state,
      " tuple(next, na, ", rows.read.empty() ? "b" : rows.read, ") }\n",
      "ENTRY main {\n  i = s32[] constant(", rows.first,
      ")\n  a = f32[3,2] parameter(0)\n  b = f32[3,2] parameter(1)\n  t = ", state,
      " tuple(i, a, b)\n  ROOT w = ", state, " while(t), condition=cond, body=body }\n");
  Analysed out{hlo::parse_text(text).value(), {}, false};
  const hlo::Computation& entry = out.module.entry_computation();
  const hlo::Instruction& loop = entry.root_instruction();
  const Region outer(out.module, entry), body(out.module, out.module.at(loop.called[0])),
      condition(out.module, out.module.at(loop.called[1]));
  out.counted = counted_loop(outer, loop, condition, body);
  if (out.counted) out.all_rows = writes_all_rows(*out.counted, condition, body, 1);
  return out;
}

TEST(CountedLoop, IsKnownByItsConditionStartAndStep) {
  const auto counted = analysed({}).counted;
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->counter, 0u);
  EXPECT_EQ(counted->turns, 3);
  EXPECT_FALSE(analysed({.first = 1}).counted);
  const auto by_two = analysed({.step = 2}).counted;
  ASSERT_TRUE(by_two);
  EXPECT_EQ(by_two->turns, 2);
  EXPECT_EQ(by_two->step, 2);
  EXPECT_FALSE(analysed({.step = 2}).all_rows);
  EXPECT_FALSE(analysed({.step = 0}).counted);
  EXPECT_FALSE(analysed({.step = -1}).counted);
  EXPECT_FALSE(analysed({.turns = 0}).counted);
  EXPECT_FALSE(analysed({.direction = "LE"}).counted);
}

TEST(CountedLoop, WritesAllRowsUpOrDown) {
  EXPECT_TRUE(analysed({}).all_rows);
  EXPECT_TRUE(analysed({.start = "d", .lines = "  d = s32[] subtract(two, i)\n"}).all_rows);
  EXPECT_TRUE(analysed({.start = "d",
                        .lines = "  e = s32[] subtract(three, i)\n  d = s32[] subtract(e, one)\n"})
                  .all_rows);
  const char* wrapped =
      "  p = pred[] compare(i, z), direction=LT\n  e = s32[] add(i, three)\n"
      "  d = s32[] select(p, e, i)\n";
  EXPECT_TRUE(analysed({.start = "d", .lines = wrapped}).all_rows);
}

TEST(CountedLoop, LeavesRowsOfOtherIndices) {
  EXPECT_FALSE(analysed({.turns = 2}).all_rows);
  EXPECT_FALSE(analysed({.start = "next"}).all_rows);
  EXPECT_FALSE(analysed({.start = "one"}).all_rows);
  EXPECT_FALSE(analysed({.start = "d", .lines = "  d = s32[] subtract(three, i)\n"}).all_rows);
  const char* chosen =
      "  p = pred[] compare(i, one), direction=EQ\n  back = s32[] subtract(two, i)\n"
      "  d = s32[] select(p, z, back)\n";
  EXPECT_FALSE(analysed({.start = "d", .lines = chosen}).all_rows) << "a choice of another kind";
}

TEST(CountedLoop, LeavesRowsThatSomebodyReads) {
  EXPECT_FALSE(analysed({.read = "a"}).all_rows);
  EXPECT_FALSE(analysed({.lines = "  c = f32[3,2] add(a, b)\n", .read = "c"}).all_rows);
}

}  // namespace
}  // namespace heddle::cpu
