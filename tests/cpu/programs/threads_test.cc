// Loops that are large enough for several threads: the values are the evaluator's, and have the
// same bits whether threads help or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

class CpuThreads : public ::testing::Test {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

// A program with this entry, whose loops threads share.
std::string shared_program(const std::string& entry, const std::string& called = "") {
  const std::string text = cat("HloModule m\n", called, "ENTRY main {\n", entry, "}\n");
  const auto stages = stages_of(hlo::parse_text(text).value());
  EXPECT_NE(stages.value().plan.find("shared by"), std::string::npos) << text;
  return text;
}

const std::string kSum =
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT r = f32[] add(a, b) }\n";

TEST_F(CpuThreads, Elementwise) {
  for (int size : {100'000, 100'003}) {
    const std::string type = cat("f32[", size, "]");
    expect_as_evaluated(
        shared_program(cat("x = ", type, " parameter(0)\n y = ", type, " parameter(1)\n",
                           "k = f32[] parameter(2)\n ks = ", type, " broadcast(k), dimensions={}\n",
                           "e = ", type, " tanh(x)\n d = ", type, " divide(e, y)\n", "t = ", type,
                           " sine(d)\n ROOT r = ", type, " multiply(t, ks)\n")),
        {.ulp = 8});
  }
}

TEST_F(CpuThreads, ElementwiseInPlace) {
  expect_as_evaluated(shared_program("x = f32[300,1001] parameter(0)\n"
                                     "row = f32[1001] parameter(1)\n"
                                     "rows = f32[300,1001] broadcast(row), dimensions={1}\n"
                                     "s = f32[300,1001] add(x, rows)\n"
                                     "e = f32[300,1001] exponential(s)\n"
                                     "t = f32[300,1001] tanh(e)\n"
                                     "ROOT both = (f32[300,1001], f32[300,1001]) tuple(e, t)\n"),
                      {.ulp = 8});
}

TEST_F(CpuThreads, ReductionsOfRowsAndColumns) {
  expect_as_evaluated(
      shared_program("x = f32[700,701] parameter(0)\n zero = f32[] constant(0)\n"
                     "t = f32[700,701] tanh(x)\n"
                     "u = f32[700,701] exponential(t)\n"
                     "rows = f32[700] reduce(u, zero), dimensions={1}, to_apply=sum\n"
                     "cols = f32[701] reduce(u, zero), dimensions={0}, to_apply=sum\n"
                     "ROOT r = (f32[700], f32[701]) tuple(rows, cols)\n",
                     kSum),
      {.share = 1e-5});
}

// In chunks, and what is left of them.
TEST_F(CpuThreads, ReductionsToAScalar) {
  for (const char* shape : {"[1000003]", "[1003,701]", "[3,5,70001]", "[200000,3]"}) {
    const std::string type = cat("f64", shape);
    const int rank = static_cast<int>(std::ranges::count(std::string(shape), ',')) + 1;
    const std::string all = rank == 1 ? "{0}" : rank == 2 ? "{0,1}" : "{0,1,2}";
    expect_as_evaluated(
        shared_program(cat("x = ", type, " parameter(0)\n two = f64[] constant(2)\n", "t = ", type,
                           " tanh(x)\n u = ", type, " exponential(t)\n",
                           "s = f64[] reduce(u, two), dimensions=", all, ", to_apply=sum\n",
                           "m = f64[] reduce(u, two), dimensions=", all, ", to_apply=most\n",
                           "ROOT r = (f64[], f64[]) tuple(s, m)\n"),
                       "sum { a = f64[] parameter(0)\n b = f64[] parameter(1)\n"
                       " ROOT r = f64[] add(a, b) }\n"
                       "most { a = f64[] parameter(0)\n b = f64[] parameter(1)\n"
                       " ROOT r = f64[] maximum(a, b) }\n"),
        {.share = 1e-12});
  }
}

TEST_F(CpuThreads, InsideOfLoops) {
  const std::string state = "(s32[], f32[200000], f32[])";
  expect_as_evaluated(
      shared_program(
          cat("x = f32[200000] parameter(0)\n k = f32[] parameter(1)\n i = s32[] constant(0)\n",
              "init = ", state, " tuple(i, x, k)\n", "ROOT w = ", state,
              " while(init), condition=cond, body=body\n"),
          cat("cond { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
              " n = s32[] constant(5)\n ROOT r = pred[] compare(i, n), direction=LT }\n",
              "body { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
              " x = f32[200000] get-tuple-element(s), index=1\n",
              " k = f32[] get-tuple-element(s), index=2\n one = s32[] constant(1)\n",
              " j = s32[] add(i, one)\n ks = f32[200000] broadcast(k), dimensions={}\n",
              " a = f32[200000] multiply(x, ks)\n b = f32[200000] tanh(a)\n",
              " half = f32[] constant(0.5)\n l = f32[] multiply(k, half)\n", " ROOT r = ", state,
              " tuple(j, b, l) }\n")),
      {.ulp = 16});
}

// As jax.random's bits are made: the turns become one loop, which works on two vectors at a time.
TEST_F(CpuThreads, ShortLoopsOverWholeArrays) {
  for (int size : {65536, 65552, 65537}) {
    const std::string array = cat("u32[", size, "]");
    const std::string state = cat("(s32[], ", array, ", ", array, ", u32[2], u32[2])");
    std::string rounds;
    for (int round = 0; round < 4; ++round) {
      const std::string n = std::to_string(round), before = round == 0 ? "" : cat(round - 1);
      rounds += cat(" rs", n, " = u32[1] slice(r), slice={[", round % 2, ":", round % 2 + 1, "]}\n",
                    " rx", n, " = u32[] reshape(rs", n, ")\n rb", n, " = ", array, " broadcast(rx",
                    n, "), dimensions={}\n y", n, " = ", array, " add(y", before, ", x", before,
                    ")\n up", n, " = ", array, " shift-left(x", before, ", rb", n, ")\n x", n,
                    " = ", array, " xor(up", n, ", y", n, ")\n");
    }
    expect_as_evaluated(shared_program(
        cat("p = ", array, " parameter(0)\n q = ", array, " parameter(1)\n i = s32[] constant(0)\n",
            "r = u32[2] constant({13, 17})\n t = u32[2] constant({5, 40})\n init = ", state,
            " tuple(i, p, q, r, t)\n w = ", state, " while(init), condition=cond, body=body\n a = ",
            array, " get-tuple-element(w), index=1\n b = ", array,
            " get-tuple-element(w), index=2\n f = f32[", size, "] convert(a)\n g = f32[", size,
            "] tanh(f)\n h = f32[", size, "] convert(b)\n ROOT z = f32[", size,
            "] multiply(g, h)\n"),
        cat("cond { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
            " n = s32[] constant(5)\n ROOT l = pred[] compare(i, n), direction=LT }\n",
            "body { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ",
            array, " get-tuple-element(s), index=1\n y = ", array,
            " get-tuple-element(s), index=2\n r = u32[2] get-tuple-element(s), index=3\n",
            " t = u32[2] get-tuple-element(s), index=4\n one = s32[] constant(1)\n",
            " j = s32[] add(i, one)\n", rounds, " ROOT o = ", state,
            " tuple(j, x3, y3, t, r) }\n")));
  }
}

// A scan whose steps are few bytes each: parts of the rows take all steps, in whichever order.
TEST_F(CpuThreads, StepsOverRows) {
  const std::string state = "(s32[], f32[1008], f32[3000,1008], f32[3000,1008])";
  expect_as_evaluated(shared_program(
      cat("h = f32[1008] parameter(0)\n x = f32[3000,1008] parameter(1)\n i = s32[] constant(0)\n",
          "zero = f32[] constant(0)\n ys = f32[3000,1008] broadcast(zero), dimensions={}\n",
          "init = ", state, " tuple(i, h, ys, x)\n w = ", state,
          " while(init), condition=cond, body=body\n last = f32[1008] get-tuple-element(w), "
          "index=1\n",
          " all = f32[3000,1008] get-tuple-element(w), index=2\n",
          " ROOT r = (f32[1008], f32[3000,1008]) tuple(last, all)\n"),
      cat("cond { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
          " n = s32[] constant(3000)\n ROOT l = pred[] compare(i, n), direction=LT }\n",
          "body { s = ", state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
          " h = f32[1008] get-tuple-element(s), index=1\n",
          " ys = f32[3000,1008] get-tuple-element(s), index=2\n",
          " x = f32[3000,1008] get-tuple-element(s), index=3\n zero = s32[] constant(0)\n",
          " row = f32[1,1008] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,1008}\n",
          " r = f32[1008] reshape(row)\n half = f32[] constant(0.5)\n",
          " halves = f32[1008] broadcast(half), dimensions={}\n p = f32[1008] multiply(h, "
          "halves)\n",
          " next = f32[1008] add(p, r)\n y = f32[1,1008] reshape(next)\n",
          " out = f32[3000,1008] dynamic-update-slice(ys, y, i, zero)\n one = s32[] constant(1)\n",
          " j = s32[] add(i, one)\n ROOT o = ", state, " tuple(j, next, out, x) }\n")));
}

// One of the callers has the pool's help, the others have none.
TEST_F(CpuThreads, CallersAtTheSameTimeGetTheSameBits) {
  const hlo::Module module =
      hlo::parse_text(shared_program("x = f32[400,1000] parameter(0)\n zero = f32[] constant(0)\n"
                                     "e = f32[400,1000] exponential(x)\n"
                                     "t = f32[400,1000] tanh(e)\n"
                                     "s = f32[] reduce(t, zero), dimensions={0,1}, to_apply=sum\n"
                                     "ROOT r = (f32[400,1000], f32[]) tuple(t, s)\n",
                                     kSum))
          .value();
  const OnCpu program(module);
  const std::vector<Literal> arguments = arguments_of(module);
  const Literal alone = program.run(arguments);
  std::vector<std::thread> callers;
  std::vector<std::string> differences(4);
  for (std::string& found : differences) {
    callers.emplace_back([&] {
      for (int i = 0; i < 20 && found.empty(); ++i)
        found = difference(program.run(arguments), alone);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& found : differences) EXPECT_EQ(found, "");
}

}  // namespace
}  // namespace heddle::cpu
