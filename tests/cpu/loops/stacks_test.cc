// Loops that stack many scalars, each in an array of its own, as gradients of loops do.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr int kTurns = 7;

// "f(0), f(1), .." of so many.
std::string list(int count, const std::function<std::string(int)>& item) {
  std::string out;
  for (int k = 0; k < count; ++k) out += cat(k == 0 ? "" : ", ", item(k));
  return out;
}
std::string lines(int count, const std::function<std::string(int)>& line) {
  std::string out;
  for (int k = 0; k < count; ++k) out += cat("  ", line(k), "\n");
  return out;
}

// What the first loop computes for scalar k, as lines that define nK from x0.., aK, i, i1 and zero.
using Step = std::function<std::string(int)>;

// A loop over scalars x that stacks them in arrays a, and one that goes backwards through the
// arrays: y_k = y_k * a_k[i] + y_(k + 1).
std::string stacking(const std::string& type, int leaves, const Step& step) {
  const std::string scalar = cat(type, "[]"), array = cat(type, "[", kTurns, "]");
  const auto repeated = [&](const std::string& word) {
    return list(leaves, [&](int) { return word; });
  };
  const std::string state = cat("(s32[], ", repeated(scalar), ", ", repeated(array), ")");
  const auto parts = [&](const std::string& name) {
    return lines(leaves, [&](int k) {
      return cat(name, k, " = ", scalar, " get-tuple-element(p), index=", k + 1, "\n  a", k, " = ",
                 array, " get-tuple-element(p), index=", leaves + k + 1);
    });
  };
  const auto numbered = [&](const std::string& name) {
    return list(leaves, [&](int k) { return cat(name, k); });
  };
  const std::string counter =
      "  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n"
      "  i1 = s32[] add(i, one)\n";
  return cat(
      "HloModule m\nmore { p = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", "  n = s32[] constant(", kTurns,
      ")\n  ROOT c = pred[] compare(i, n), direction=LT }\n", "forth { p = ", state,
      " parameter(0)\n", counter, "  zero = s32[] constant(0)\n", parts("x"), lines(leaves, step),
      lines(leaves,
            [&](int k) {
              return cat("w", k, " = ", type, "[1] reshape(n", k, ")\n  b", k, " = ", array,
                         " dynamic-update-slice(a", k, ", w", k, ", i)");
            }),
      "  ROOT t = ", state, " tuple(i1, ", numbered("n"), ", ", numbered("b"), ") }\n",
      "back { p = ", state, " parameter(0)\n", counter, "  last = s32[] constant(", kTurns - 1,
      ")\n  j = s32[] subtract(last, i)\n", parts("y"),
      lines(leaves,
            [&](int k) {
              return cat("r", k, " = ", type, "[1] dynamic-slice(a", k,
                         ", j), dynamic_slice_sizes={1}\n  s", k, " = ", scalar, " reshape(r", k,
                         ")\n  m", k, " = ", scalar, " multiply(y", k, ", s", k, ")\n  z", k, " = ",
                         scalar, " add(m", k, ", y", (k + 1) % leaves, ")");
            }),
      "  ROOT t = ", state, " tuple(i1, ", numbered("z"), ", ", numbered("a"), ") }\n",
      "ENTRY main {\n",
      lines(leaves, [&](int k) { return cat("x", k, " = ", scalar, " parameter(", k, ")"); }),
      "  zero = s32[] constant(0)\n  nothing = ", scalar, " constant(0)\n  empty = ", array,
      " broadcast(nothing), dimensions={}\n  start = ", state, " tuple(zero, ", numbered("x"), ", ",
      repeated("empty"), ")\n  done = ", state, " while(start), condition=more, body=forth\n",
      lines(leaves,
            [&](int k) {
              return cat("e", k, " = ", scalar, " get-tuple-element(done), index=", k + 1, "\n  a",
                         k, " = ", array, " get-tuple-element(done), index=", leaves + k + 1);
            }),
      "  again = ", state, " tuple(zero, ", numbered("e"), ", ", numbered("a"),
      ")\n  end = ", state, " while(again), condition=more, body=back\n",
      lines(leaves,
            [&](int k) {
              return cat("o", k, " = ", scalar, " get-tuple-element(end), index=", k + 1);
            }),
      "  ROOT r = (", repeated(scalar), ") tuple(", numbered("o"), ") }\n");
}

// x_k * x_(k + 1) - x_k
Step product(const std::string& type, int leaves) {
  return [=](int k) {
    return cat("q", k, " = ", type, "[] multiply(x", k, ", x", (k + 1) % leaves, ")\n  n", k, " = ",
               type, "[] subtract(q", k, ", x", k, ")");
  };
}

TEST(CpuStacks, OfEachTypeAndNumber) {
  for (const char* type : {"f32", "f64", "s32", "u8", "s64", "bf16", "f16"}) {
    for (const int leaves : {3, 4, 5, 16, 21, 40})
      expect_as_evaluated(stacking(type, leaves, product(type, leaves)), {.share = 1e-6});
  }
}

// Element i of the arrays is read before it is written, and the one before it after that.
TEST(CpuStacks, ThatTheirLoopReads) {
  for (const char* at : {"i", "i1", "zero"}) {
    for (const int leaves : {4, 18}) {
      expect_as_evaluated(stacking("f32", leaves, [&](int k) {
        return cat("d", k, " = f32[1] dynamic-slice(a", k, ", ", at,
                   "), dynamic_slice_sizes={1}\n  f", k, " = f32[] reshape(d", k, ")\n  n", k,
                   " = f32[] subtract(f", k, ", x", (k + 1) % leaves, ")");
      }));
    }
  }
}

// Scalars that do not do the same: what is stored is in no vector, or in parts of several.
TEST(CpuStacks, OfUnlikeScalars) {
  for (const int leaves : {4, 9, 33}) {
    expect_as_evaluated(stacking("f32", leaves, [&](int k) {
      static constexpr const char* kOps[] = {"add", "multiply", "subtract"};
      return cat("n", k, " = f32[] ", kOps[k * k % 3], "(x", k, ", x", (k + 2) % leaves, ")");
    }));
  }
}

// Each turn writes a row of h, and also reads the array that it makes, where later rows are still
// the first ones: a part of it, a sum, or all of it as another state.
TEST(CpuStacks, WhoseNewArrayIsReadInTheLoop) {
  const auto loop = [](const std::string& other, const std::string& of_new) {
    const std::string state = cat("(s32[], f32", other, ", f32[4,8])");
    return cat(
        "HloModule m\nadds { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
        "add(a, b) }\nbody { p = ",
        state, " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n a = f32", other,
        " get-tuple-element(p), index=1\n h = f32[4,8] get-tuple-element(p), index=2\n"
        " one = s32[] constant(1)\n z = s32[] constant(0)\n j = s32[] add(i, one)\n"
        " u = f32[1,8] constant({{1,2,3,4,5,6,7,8}})\n zero = f32[] constant(0)\n"
        " k = f32[4,8] dynamic-update-slice(h, u, i, z)\n",
        of_new, " ROOT o = ", state, " tuple(j, c, k)\n}\ncondition { p = ", state,
        " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(4)\n"
        " ROOT l = pred[] compare(i, n), direction=LT\n}\nENTRY main { a = f32",
        other, " parameter(0)\n h = f32[4,8] parameter(1)\n z = s32[] constant(0)\n t = ", state,
        " tuple(z, a, h)\n ROOT w = ", state, " while(t), condition=condition, body=body\n}\n");
  };
  expect_as_evaluated(loop("[4]",
                           " s = f32[4,1] slice(k), slice={[0:4], [7:8]}\n"
                           " l = f32[4] reshape(s)\n c = f32[4] add(a, l)\n"));
  expect_as_evaluated(loop("[8]",
                           " s = f32[8] reduce(k, zero), dimensions={0}, to_apply=adds\n"
                           " c = f32[8] add(a, s)\n"));
  expect_as_evaluated(loop("[4,8]", " c = f32[4,8] copy(k)\n"));
  expect_as_evaluated(loop("[32]", " c = f32[32] reshape(k)\n"));
  expect_as_evaluated(loop("[4,8]", " c = f32[4,8] add(k, a)\n"));
}

}  // namespace
}  // namespace heddle::cpu
