// Random loops that put vectors together of scalars, compute with them and take them apart again:
// lanes that are computed apart give the evaluator's bits.
// HEDDLE_RANDOM_PROGRAMS=FIRST:LAST runs those of these numbers.
#include <gtest/gtest.h>

#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr uint64_t kPrograms = 200;

// A scan over a state of 2 to 8 numbers. No product meets a sum: that would be rounded once.
class LoopWriter {
 public:
  explicit LoopWriter(uint64_t seed) : random_(seed), size_(2 + below(7)) {
    vector_ = cat("f32[", size_, "]");
  }

  std::string run() {
    std::vector<std::string> vectors{"v"}, scalars{"x"};
    const int stages = 2 + below(4);
    for (int i = 0; i < stages; ++i) {
      vectors.push_back(stacked(vectors.back(), scalars));
      for (int n = below(4); n > 0; --n) vectors.push_back(combined(vectors));
      if (below(3) == 0) scalars.push_back(folded(vectors.back()));
    }
    const std::string next = combined(vectors);
    return cat(
        "HloModule m\nsum { u = f32[] parameter(0)\n w = f32[] parameter(1)\n",
        "  ROOT l = f32[] add(u, w) }\nmost { u = f32[] parameter(0)\n",
        " w = f32[] parameter(1)\n  ROOT l = f32[] maximum(u, w) }\n", "more { s = (s32[], ",
        vector_, ") parameter(0)\n",
        "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(7)\n",
        "  ROOT l = pred[] compare(i, n), direction=LT }\nturn { s = (s32[], ", vector_,
        ") parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  v = ", vector_,
        " get-tuple-element(s), index=1\n  x = f32[] convert(i)\n  one = s32[] constant(1)\n",
        "  j = s32[] add(i, one)\n  zero = f32[] constant(0)\n", body_, "  ROOT t = (s32[], ",
        vector_, ") tuple(j, ", next, ") }\nENTRY e { v = ", vector_,
        " parameter(0)\n  z = s32[] constant(0)\n  s = (s32[], ", vector_,
        ") tuple(z, v)\n  ROOT w = (s32[], ", vector_, ") while(s), condition=more, body=turn }");
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  const std::string& any(const std::vector<std::string>& names) {
    return names[static_cast<size_t>(below(static_cast<int>(names.size())))];
  }
  std::string line(const std::string& type, const std::string& expression) {
    const std::string name = cat("v", ++count_);
    body_ += cat("  ", name, " = ", type, " ", expression, "\n");
    return name;
  }

  // Lanes of the vector, in any order; some of them after a chain of divisions.
  std::string stacked(const std::string& vector, const std::vector<std::string>& scalars) {
    std::string parts;
    for (int i = 0; i < size_; ++i) {
      const int from = below(size_);
      std::string x =
          line("f32[1]", cat("slice(", vector, "), slice={[", from, ":", from + 1, "]}"));
      x = line("f32[]", cat("reshape(", x, ")"));
      for (int n = below(3) == 0 ? 3 : 0; n > 0; --n) {
        const std::string size = line("f32[]", cat("abs(", x, ")"));
        const std::string other = line("f32[]", cat("maximum(", size, ", ", any(scalars), ")"));
        x = line("f32[]", cat("divide(", any(scalars), ", ", other, ")"));
      }
      parts += cat(i > 0 ? ", " : "", line("f32[1]", cat("reshape(", x, ")")));
    }
    return line(vector_, cat("concatenate(", parts, "), dimensions={0}"));
  }
  std::string combined(const std::vector<std::string>& vectors) {
    const char* ops[] = {"add", "subtract", "maximum", "minimum", "divide"};
    const std::string& x = below(2) == 0 ? vectors.back() : any(vectors);
    if (below(5) == 0) {
      const std::string p =
          line(cat("pred[", size_, "]"), cat("compare(", x, ", ", any(vectors), "), direction=LT"));
      return line(vector_, cat("select(", p, ", ", any(vectors), ", ", x, ")"));
    }
    return line(vector_, cat(ops[below(5)], "(", x, ", ", any(vectors), ")"));
  }
  std::string folded(const std::string& vector) {
    return line("f32[]", cat("reduce(", vector, ", zero), dimensions={0}, to_apply=most"));
  }

  std::mt19937_64 random_;
  int size_;
  int count_ = 0;
  std::string vector_, body_;
};

TEST(LanesApart, GiveTheEvaluatorsBits) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto [first, last] = random_numbers(kPrograms);
  int apart = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(cat("program ", seed));
    const std::string text = LoopWriter(seed).run();
    expect_as_evaluated(text);
    const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
    if (plan.find("scalars in registers: 1") == std::string::npos) ++apart;
  }
  if (last - first < kPrograms) return;
  EXPECT_GE(apart, static_cast<int>(kPrograms) / 4) << "programs whose vectors are scalars";
}

// y'' = -sin(y) - y' and a copy of it, by the classical method of Runge and Kutta: the sines of
// four stages wait for two of them. No vector is left in a turn.
TEST(LanesApart, StagesOfRungeAndKuttaAreScalars) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  std::string body;
  const auto slope = [&](const std::string& to, const std::string& from) {
    body +=
        cat("  ", to, "a = f32[1] slice(", from, "), slice={[0:1]}\n  ", to, "b = f32[1] slice(",
            from, "), slice={[1:2]}\n  ", to, "c = f32[1] sine(", to, "a)\n  ", to,
            "d = f32[1] subtract(", to, "c, ", to, "b)\n  ", to, " = f32[4] concatenate(", to,
            "b, ", to, "d, ", to, "d, ", to, "b), dimensions={0}\n");
  };
  std::string before = "x";
  for (const std::string stage : {"k1", "k2", "k3", "k4"}) {
    slope(stage, before);
    body += cat("  h", stage, " = f32[4] multiply(", stage, ", h)\n  x", stage,
                " = f32[4] add(x, h", stage, ")\n");
    before = "x" + stage;
  }
  const std::string text = cat(R"(HloModule m
more { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(50)
  ROOT l = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  g = f32[] constant(0.01)
  h = f32[4] broadcast(g), dimensions={}
)",
                               body, R"(  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4]) tuple(j, xk4) }
ENTRY e { x = f32[4] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[4]) tuple(z, x)
  ROOT w = (s32[], f32[4]) while(s), condition=more, body=turn })");
  expect_as_evaluated(text, {.share = 1e-5});
  const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
  EXPECT_NE(plan.find("scalars in registers: 5"), std::string::npos) << plan;
}

}  // namespace
}  // namespace heddle::cpu
