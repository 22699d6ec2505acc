#include "heddle/cpu/rewrites/loops/loop_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/rewrites/loops/parted_products.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/pass.h"

namespace heddle::cpu {
namespace {

using base::cat;
using hlo::Opcode;

// A loop over rows of 3 numbers: of x, row of xs, of i and of the state h `lines` make the next
// state g and the row y of the results.
hlo::Module loop(std::string_view lines, int64_t turns = 100) {
  const std::string rows = cat("f32[", turns, ",3]");
  const std::string state = cat("(s32[], f32[3], ", rows, ", ", rows, ", f32[64,64])");
  const hlo::Module module =
      hlo::parse_text(
          cat("HloModule m\ncond { s = ", state,
              " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(",
              turns, ")\n ROOT r = pred[] compare(i, n), direction=LT }\nbody { s = ", state,
              " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
              " h = f32[3] get-tuple-element(s), index=1\n xs = ", rows,
              " get-tuple-element(s), index=2\n ys = ", rows,
              " get-tuple-element(s), index=3\n w = f32[64,64] get-tuple-element(s), index=4\n",
              " one = s32[] constant(1)\n zero = s32[] constant(0)\n j = s32[] add(i, one)\n",
              " x1 = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}\n",
              " x = f32[3] reshape(x1)\n", lines, " y1 = f32[1,3] reshape(y)\n zs = ", rows,
              " dynamic-update-slice(ys, y1, i, zero)\n ROOT r = ", state,
              " tuple(j, g, xs, zs, w) }\nENTRY main { h = f32[3] parameter(0)\n xs = ", rows,
              " parameter(1)\n w = f32[64,64] parameter(2)\n i = s32[] constant(0)\n",
              " z = f32[] constant(0)\n ys = ", rows,
              " broadcast(z), dimensions={}\n init = ", state,
              " tuple(i, h, xs, ys, w)\n l = ", state, " while(init), condition=cond, body=body\n",
              " a = f32[3] get-tuple-element(l), index=1\n b = ", rows,
              " get-tuple-element(l), index=3\n ROOT r = (f32[3], ", rows, ") tuple(a, b) }\n"))
          .value();
  return transform::run_pipeline(module, transform::kFlattenPipeline).value();
}

struct Counts {
  bool is_found = false;
  int64_t in_loop = 0, outside = 0;  // of the opcode
  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* to) {
  *to << counts.is_found << " " << counts.in_loop << " " << counts.outside;
}

template <class Rewrite>
Counts counts(Rewrite rewrite, const hlo::Module& module, Opcode opcode) {
  const std::optional<hlo::Module> now = rewrite(module).value();
  if (!now) return {};
  const hlo::Module flat = transform::run_pipeline(*now, transform::kFlattenPipeline).value();
  Counts out{.is_found = true};
  for (const hlo::Computation& computation : flat.computations) {
    const bool is_entry = &computation == &flat.entry_computation();
    (is_entry ? out.outside : out.in_loop) +=
        std::ranges::count(computation.instructions, opcode, &hlo::Instruction::opcode);
  }
  return out;
}
Counts before(const hlo::Module& module, Opcode opcode) {
  return counts(compute_before_loops, module, opcode);
}
Counts after(const hlo::Module& module, Opcode opcode) {
  return counts(compute_after_loops, module, opcode);
}
constexpr Counts kStays;
constexpr Counts kMoves{.is_found = true, .in_loop = 0, .outside = 1};

TEST(LoopDistribution, FunctionsOfRowsAreComputedBefore) {
  const hlo::Module module =
      loop(" e = f32[3] exponential(x)\n g = f32[3] add(h, e)\n y = f32[3] copy(g)\n");
  EXPECT_EQ(before(module, Opcode::kExp), kMoves);
  EXPECT_EQ(after(module, Opcode::kExp), kStays);
}

TEST(LoopDistribution, FunctionsOfTheTurnAreComputedBefore) {
  EXPECT_EQ(before(loop(" f = f32[] convert(i)\n c = f32[] cosine(f)\n"
                        " e = f32[3] broadcast(c), dimensions={}\n g = f32[3] multiply(h, e)\n"
                        " y = f32[3] negate(g)\n"),
                   Opcode::kCos),
            kMoves);
}

TEST(LoopDistribution, FunctionsOfTheStateAreComputedAfter) {
  const hlo::Module module = loop(" g = f32[3] multiply(h, x)\n y = f32[3] tanh(g)\n");
  EXPECT_EQ(after(module, Opcode::kTanh), kMoves);
  EXPECT_EQ(before(module, Opcode::kTanh), kStays);
}

// The next state is one: it is read in the loop.
TEST(LoopDistribution, FunctionsThatTheNextTurnNeedsStay) {
  const hlo::Module module =
      loop(" e = f32[3] exponential(h)\n g = f32[3] add(e, x)\n y = f32[3] copy(e)\n");
  EXPECT_EQ(after(module, Opcode::kExp), kStays);
  EXPECT_EQ(before(module, Opcode::kExp), kStays);
}

TEST(LoopDistribution, CheapArithmeticStays) {
  const hlo::Module module =
      loop(" t = f32[3] multiply(x, x)\n g = f32[3] add(h, t)\n y = f32[3] add(g, g)\n");
  EXPECT_EQ(after(module, Opcode::kAdd), kStays);
  EXPECT_EQ(before(module, Opcode::kMultiply), kStays);
}

TEST(LoopDistribution, LongChainsDoNot) {
  std::string chain = " c0 = f32[3] negate(x)\n";
  for (int k = 1; k <= 30; ++k) chain += cat(" c", k, " = f32[3] multiply(c", k - 1, ", x)\n");
  EXPECT_EQ(before(loop(chain + " g = f32[3] add(h, c30)\n y = f32[3] copy(g)\n"), Opcode::kNegate),
            kMoves);
}

// Nothing of the turns before: no loop is left to do it.
TEST(LoopDistribution, MapsAreComputedAtOnce) {
  EXPECT_EQ(after(loop(" y = f32[3] multiply(x, x)\n g = f32[3] copy(h)\n"), Opcode::kMultiply),
            kMoves);
}

TEST(LoopDistribution, TermsOfSumsAreComputedAfter) {
  const hlo::Module module = loop(
      " k = f32[3] multiply(x, x)\n t = f32[3] logistic(k)\n g = f32[3] subtract(h, t)\n"
      " y = f32[3] copy(x)\n");
  EXPECT_EQ(after(module, Opcode::kLogistic), kMoves);
  // The sum is read elsewhere too.
  EXPECT_EQ(after(loop(" e = f32[3] tanh(h)\n t = f32[3] logistic(x)\n g = f32[3] add(h, t)\n"
                       " y = f32[3] copy(e)\n"),
                  Opcode::kLogistic),
            (Counts{.is_found = true, .in_loop = 1, .outside = 0}));
}

TEST(LoopDistribution, ShortLoopsStay) {
  EXPECT_EQ(after(loop(" g = f32[3] multiply(h, x)\n y = f32[3] tanh(g)\n", 63), Opcode::kTanh),
            kStays);
}

// What reads the results in the loop would see none.
TEST(LoopDistribution, ResultsThatTheLoopReadsStay) {
  EXPECT_EQ(
      after(loop(" old1 = f32[1,3] dynamic-slice(ys, zero, zero), dynamic_slice_sizes={1,3}\n"
                 " old = f32[3] reshape(old1)\n g = f32[3] add(h, old)\n y = f32[3] tanh(g)\n"),
            Opcode::kTanh),
      kStays);
}

TEST(LoopDistribution, ProductsOfFewRowsWithABigMatrixAreOneProduct) {
  const std::string product =
      " x64 = f32[64] broadcast(x0), dimensions={}\n"
      " d = f32[64] dot(x64, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      " d3 = f32[3] slice(d), slice={[0:3]}\n";
  const std::string first = " x01 = f32[1] slice(x), slice={[0:1]}\n x0 = f32[] reshape(x01)\n";
  EXPECT_EQ(before(loop(first + product + " g = f32[3] multiply(h, d3)\n y = f32[3] copy(g)\n"),
                   Opcode::kDot),
            kMoves);
  const std::string state = " h01 = f32[1] slice(h), slice={[0:1]}\n x0 = f32[] reshape(h01)\n";
  EXPECT_EQ(after(loop(state + product + " g = f32[3] multiply(h, x)\n y = f32[3] copy(d3)\n"),
                  Opcode::kDot),
            kMoves);
}

// The turn's own part of the rows can leave the loop, and does.
TEST(PartedProducts, OfTheTurnAndTheStateAreTwo) {
  const auto joined = [](std::string_view rows) {
    return loop(
        cat(" x01 = f32[1] slice(x), slice={[0:1]}\n x0 = f32[] reshape(x01)\n"
            " xb = f32[61] broadcast(x0), dimensions={}\n hx = f32[64] concatenate(",
            rows, "), dimensions={0}\n",
            " d = f32[64] dot(hx, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
            " g = f32[3] slice(d), slice={[0:3]}\n y = f32[3] copy(g)\n"));
  };
  const std::optional<hlo::Module> parted = part_products(joined("h, xb")).value();
  ASSERT_TRUE(parted.has_value());
  EXPECT_EQ(
      before(transform::run_pipeline(*parted, transform::kFlattenPipeline).value(), Opcode::kDot),
      (Counts{.is_found = true, .in_loop = 1, .outside = 1}));
  EXPECT_FALSE(part_products(joined("x, xb")).value().has_value());
}

// sum of x * exp(t[i]): the summands are added as they come.
TEST(LoopDistribution, StoresNoWideSummands) {
  const auto found = [](int64_t size) {
    const std::string row = cat("f32[", size, "]"),
                      state = cat("(s32[], ", row, ", ", row, ", f32[100])");
    const std::string text =
        cat("HloModule m\ncond { s = ", state,
            " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
            " n = s32[] constant(100)\n ROOT r = pred[] compare(i, n), direction=LT }\nbody { s = ",
            state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n sum = ", row,
            " get-tuple-element(s), index=1\n x = ", row, " get-tuple-element(s), index=2\n",
            " ts = f32[100] get-tuple-element(s), index=3\n one = s32[] constant(1)\n",
            " j = s32[] add(i, one)\n t1 = f32[1] dynamic-slice(ts, i), dynamic_slice_sizes={1}\n",
            " t = f32[] reshape(t1)\n e = f32[] exponential(t)\n es = ", row,
            " broadcast(e), dimensions={}\n m = ", row, " multiply(x, es)\n next = ", row,
            " add(sum, m)\n ROOT r = ", state, " tuple(j, next, x, ts) }\nENTRY main { x = ", row,
            " parameter(0)\n ts = f32[100] parameter(1)\n i = s32[] constant(0)\n",
            " z = f32[] constant(0)\n zs = ", row, " broadcast(z), dimensions={}\n init = ", state,
            " tuple(i, zs, x, ts)\n l = ", state,
            " while(init), condition=cond, body=body\n ROOT r = ", row,
            " get-tuple-element(l), index=1 }\n");
    const hlo::Module flat =
        transform::run_pipeline(hlo::parse_text(text).value(), transform::kFlattenPipeline).value();
    return compute_after_loops(flat).value().has_value();
  };
  EXPECT_FALSE(found(4000));
  EXPECT_TRUE(found(8));
}

}  // namespace
}  // namespace heddle::cpu
