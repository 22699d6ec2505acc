// Loops whose states are kept with their short last dimension first.
#include "heddle/cpu/rewrites/loops/transposed_states.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/rewrites/loops/own_conditions.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool is_transposed(const std::string& text) {
  return transpose_states(hlo::parse_text(text).value()).value().has_value();
}

constexpr std::string_view kSum =
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n";

// The array `x` of `shape`, [.., n], rolled by one along dimension d of size n.
std::string rolled(std::string_view name, std::string_view head, int n, std::string_view tail,
                   int d, std::string_view ranges_before, std::string_view ranges_after) {
  const auto shape = [&](int size) { return cat("f32[", head, size, tail, "]"); };
  const auto part = [&](int from, int to) {
    return cat("{", ranges_before, "[", from, ":", to, "]", ranges_after, "}");
  };
  return cat(" ", name, "a = ", shape(1), " slice(x), slice=", part(n - 1, n), "\n ", name,
             "b = ", shape(n - 1), " slice(x), slice=", part(0, n - 1), "\n ", name, " = ",
             shape(n), " concatenate(", name, "a, ", name, "b), dimensions={", d, "}\n");
}

// 12 turns on x f32[40,n] of which `lines` make y, and z, which all turns stack; they read row w of
// an array f32[12,40,n], the counter i, and s, to which each adds t f32[].
std::string loop(int n, std::string_view lines, std::string_view limit = "i") {
  const std::string rows = cat("f32[40,", n, "]"), all = cat("f32[12,40,", n, "]");
  const std::string state = cat("(s32[], ", rows, ", ", all, ", ", all, ", f32[])");
  return cat(
      "HloModule m\n", kSum, "cond { s = ", state, " parameter(0)\n",
      " i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(12)\n",
      limit == "i"
          ? ""
          : cat(" x = ", rows, " get-tuple-element(s), index=1\n zero = f32[] constant(0)\n",
                " f = f32[] reduce(x, zero), dimensions={0,1}, to_apply=sum\n",
                " most = f32[] constant(1e30)\n c = pred[] compare(f, most), direction=LT\n",
                " d = pred[] compare(i, n), direction=LT\n ROOT both = pred[] and(c, d) }\n"),
      limit == "i" ? " ROOT r = pred[] compare(i, n), direction=LT }\n" : "", "body { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ", rows,
      " get-tuple-element(s), index=1\n xs = ", all, " get-tuple-element(s), index=2\n zs = ", all,
      " get-tuple-element(s), index=3\n q = f32[] get-tuple-element(s), index=4\n",
      " one = s32[] constant(1)\n none = s32[] constant(0)\n j = s32[] add(i, one)\n",
      " zero = f32[] constant(0)\n w1 = f32[1,40,", n,
      "] dynamic-slice(xs, i, none, none), dynamic_slice_sizes={1,40,", n, "}\n w = ", rows,
      " reshape(w1)\n", rolled("p", "40,", n, "", 1, "[0:40], ", ""), lines, " z1 = f32[1,40,", n,
      "] reshape(z)\n zz = ", all, " dynamic-update-slice(zs, z1, i, none, none)\n",
      " qt = f32[] add(q, t)\n ROOT r = ", state,
      " tuple(j, y, xs, zz, qt) }\nENTRY main { x = ", rows, " parameter(0)\n xs = ", all,
      " parameter(1)\n i = s32[] constant(0)\n o = f32[] constant(0)\n", " zs = ", all,
      " broadcast(o), dimensions={}\n init = ", state, " tuple(i, x, xs, zs, o)\n l = ", state,
      " while(init), condition=cond, body=body\n a = ", rows,
      " get-tuple-element(l), index=1\n b = ", all,
      " get-tuple-element(l), index=3\n c = f32[] get-tuple-element(l), index=4\n ROOT r = (", rows,
      ", ", all, ", f32[]) tuple(a, b, c) }\n");
}

// A wave: y and z of the state, its neighbours and row w.
std::string wave(int n) {
  const std::string rows = cat("f32[40,", n, "]");
  return cat(" half = f32[] constant(0.25)\n h = ", rows,
             " broadcast(half), dimensions={}\n d = ", rows, " subtract(p, x)\n e = ", rows,
             " multiply(d, h)\n f = ", rows, " add(e, w)\n g = ", rows,
             " multiply(f, h)\n y = ", rows, " add(x, g)\n z = ", rows, " multiply(p, y)\n");
}

TEST(CpuTransposedStates, RolledRowsAndTheirStacks) {
  for (const int n : {2, 5, 17, 31, 40}) {
    const std::string text = loop(n, wave(n) + " t = f32[] constant(1)\n");
    EXPECT_TRUE(is_transposed(text)) << n;
    expect_as_evaluated(text, {.share = 1e-6});
  }
}

TEST(CpuTransposedStates, AllThatATurnMayDoWithThem) {
  // Padded, cut, reversed and numbered rows; broadcasts of rows, columns and of the other order; a
  // number that chooses; folds of rows, of columns and of all.
  const std::string text = loop(
      17,
      wave(17) +
          " pd = f32[40,19] pad(x, zero), padding=0_0x1_1\n"
          " cut = f32[40,17] slice(pd), slice={[0:40], [2:19]}\n"
          " back = f32[40,17] reverse(cut), dimensions={1}\n"
          " col = s32[40,17] iota(), iota_dimension=1\n row = s32[40,17] iota(), iota_dimension=0\n"
          " at = s32[40,17] multiply(col, row)\n atf = f32[40,17] convert(at)\n"
          " cols = f32[17] reduce(back, zero), dimensions={0}, to_apply=sum\n"
          " rows = f32[40] reduce(back, zero), dimensions={1}, to_apply=sum\n"
          " colsb = f32[40,17] broadcast(cols), dimensions={1}\n"
          " rowsb = f32[40,17] broadcast(rows), dimensions={0}\n"
          " is = pred[] compare(i, one), direction=GT\n"
          " which = f32[40,17] select(is, colsb, rowsb)\n"
          " isb = pred[40,17] broadcast(is), dimensions={}\n"
          " which2 = f32[40,17] select(isb, which, atf)\n"
          " aa = f32[40,17] add(which2, back)\n bb = f32[40,17] tanh(aa)\n"
          " cc = f32[40,17] multiply(bb, z)\n dd = f32[40,17] abs(cc)\n"
          " ee = f32[40,17] cosine(dd)\n"
          " t = f32[] reduce(ee, zero), dimensions={0,1}, to_apply=sum\n");
  EXPECT_TRUE(is_transposed(text));
  expect_as_evaluated(text, {.share = 1e-5});
}

TEST(CpuTransposedStates, TwoRolledDimensions) {
  const std::string state = "(s32[], f32[4,8,5,9])";
  const std::string text = cat(
      "HloModule m\ncond { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(9)\n",
      " ROOT r = pred[] compare(i, n), direction=LT }\nbody { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
      " x = f32[4,8,5,9] get-tuple-element(s), index=1\n one = s32[] constant(1)\n",
      " j = s32[] add(i, one)\n", rolled("p", "4,8,5,", 9, "", 3, "[0:4], [0:8], [0:5], ", ""),
      rolled("q", "4,8,", 5, ",9", 2, "[0:4], [0:8], ", ", [0:9]"),
      " a = f32[4,8,5,9] add(p, q)\n half = f32[] constant(0.25)\n",
      " h = f32[4,8,5,9] broadcast(half), dimensions={}\n",
      " b = f32[4,8,5,9] multiply(a, h)\n y = f32[4,8,5,9] tanh(b)\n ROOT r = ", state,
      " tuple(j, y) }\nENTRY main { x = f32[4,8,5,9] parameter(0)\n i = s32[] constant(0)\n",
      " init = ", state, " tuple(i, x)\n l = ", state, " while(init), condition=cond, body=body\n",
      " ROOT a = f32[4,8,5,9] get-tuple-element(l), index=1 }\n");
  EXPECT_TRUE(is_transposed(text));
  expect_as_evaluated(text, {.share = 1e-6});
}

TEST(CpuTransposedStates, ReshapesAndBroadcastsOfThem) {
  // Rows of other arrays: more of them, of other lengths, and one for all places of an array.
  const std::string text = loop(
      4, wave(4) +
             " v = f32[2,40,2] reshape(y)\n u = f32[2,40,2] tanh(v)\n b = f32[4,40,4]"
             " broadcast(z), dimensions={1,2}\n c = f32[40,4,3] broadcast(z), dimensions={0,1}\n"
             " bs = f32[] reduce(b, zero), dimensions={0,1,2}, to_apply=sum\n"
             " cs = f32[] reduce(c, zero), dimensions={0,1,2}, to_apply=sum\n"
             " us = f32[40,2] reduce(u, zero), dimensions={0}, to_apply=sum\n"
             " ut = f32[] reduce(us, zero), dimensions={0,1}, to_apply=sum\n"
             " bc = f32[] add(bs, cs)\n t = f32[] add(bc, ut)\n");
  expect_as_evaluated(text, {.share = 1e-5});
}

TEST(CpuTransposedStates, NotWhereALoopTakesTheWholeState) {
  std::string text = loop(17, wave(17) + " t = f32[] constant(1)\n");
  const size_t at = text.find(" one = s32[] constant(1)");
  const std::string state = "(s32[], f32[40,17], f32[12,40,17], f32[12,40,17], f32[])";
  text.insert(at, cat(" c = ", state,
                      " call(s), to_apply=same\n k = s32[] get-tuple-element(c), index=0\n"));
  text.insert(text.find("cond {"),
              cat("same { p = ", state, " parameter(0)\n ROOT q = ", state, " copy(p) }\n"));
  EXPECT_FALSE(is_transposed(text));
}

TEST(CpuTransposedStates, NotWhereItWouldCost) {
  const std::string one = " t = f32[] constant(1)\n";
  // The condition reads the state.
  EXPECT_FALSE(is_transposed(loop(17, wave(17) + one, "sum of x")));
  // Rows that fill vectors, and too few of them.
  EXPECT_FALSE(is_transposed(loop(65, wave(65) + one)));
  EXPECT_FALSE(is_transposed(loop(41, wave(41) + one)));
  // A turn that does little else than a product, which takes rows.
  EXPECT_FALSE(is_transposed(
      loop(17,
           " k = f32[17,17] broadcast(q), dimensions={}\n y = f32[40,17] dot(p, k),"
           " lhs_contracting_dims={1}, rhs_contracting_dims={0}\n z = f32[40,17] negate(y)\n" +
               one)));
}

TEST(CpuTransposedStates, LoopsWithOneCondition) {
  const std::string once = loop(17, wave(17) + " t = f32[] constant(1)\n");
  const size_t end = once.find(" a = f32[40,17] get-tuple-element(l)");
  const std::string state = "(s32[], f32[40,17], f32[12,40,17], f32[12,40,17], f32[])";
  std::string text = once;
  text.insert(end, cat(" x2 = f32[40,17] get-tuple-element(l0), index=1\n init2 = ", state,
                       " tuple(i, x2, xs, zs, o)\n l = ", state,
                       " while(init2), condition=cond, body=body2\n"));
  const size_t first = text.find(" l = (");
  text.replace(first, 4, " l0 =");
  const size_t body = text.find("body {"), entry = text.find("ENTRY");
  std::string second = text.substr(body, entry - body);
  second.replace(0, 4, "body2");
  second.replace(second.find("multiply(p, y)"), 14, "multiply(x, p)");
  text.insert(entry, second);
  const hlo::Module module = hlo::parse_text(text).value();
  EXPECT_FALSE(transpose_states(module).value().has_value());
  const auto own = copy_shared_conditions(module).value();
  ASSERT_TRUE(own.has_value());
  EXPECT_TRUE(transpose_states(*own).value().has_value());
  EXPECT_FALSE(copy_shared_conditions(*own).value().has_value());
  expect_as_evaluated(text, {.share = 1e-6});
}

}  // namespace
}  // namespace heddle::cpu
