// Transposes in squares that shuffles turn.
#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

hlo::Module module_of(const std::string& type, const std::string& from, const std::string& rest) {
  return hlo::parse_text(cat("HloModule m\nENTRY e {\n  x = ", type, "[", from,
                             "] parameter(0)\n  ", rest, " }"))
      .value();
}

// Each row differs from the others.
Literal numbers(const std::string& type, const std::string& sizes) {
  const std::string shape = cat("[", sizes, "]"),
                    last = std::to_string(std::ranges::count(sizes, ','));
  const std::string text = cat(
      "HloModule m\nENTRY e {\n  i = s32", shape, " iota(), iota_dimension=", last, "\n  j = s32",
      shape, " iota(), iota_dimension=0\n  k = s32", shape, " iota(), iota_dimension=1\n  p = s32",
      shape, " multiply(i, k)\n  q = s32", shape, " add(p, j)\n  m = s32[] constant(89)\n  n = s32",
      shape, " broadcast(m), dimensions={}\n  r = s32", shape,
      " remainder(q, n)\n  ROOT x = ", type, shape, " convert(r) }");
  return interpreter::evaluate(hlo::parse_text(text).value(), {}).value();
}

int64_t gathers(const hlo::Module& module, int64_t vector_bytes) {
  const auto program = lower(module, vector_bytes, false).value();
  return std::ranges::count(program.plan.nodes, Op::kGather, &Node::op);
}

TEST(Tiles, TakeNoGathers) {
  for (const int64_t vector_bytes : {16, 32, 64}) {
    for (const char* type : {"u8", "s16", "bf16", "f32", "f64"}) {
      const std::string t = type;
      EXPECT_EQ(
          gathers(module_of(t, "64,64", "ROOT y = " + t + "[64,64] transpose(x), dimensions={1,0}"),
                  vector_bytes),
          0)
          << type << " " << vector_bytes;
    }
  }
}

TEST(Tiles, GiveTheEvaluatorsValue) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::pair<const char*, const char*> programs[] = {
      {"33,70", "ROOT y = T[70,33] transpose(x), dimensions={1,0}"},
      {"16,16", "ROOT y = T[16,16] transpose(x), dimensions={1,0}"},
      {"2,20,3,37", "ROOT y = T[2,3,37,20] transpose(x), dimensions={0,2,3,1}"},
      {"2,20,3,37", "ROOT y = T[37,2,3,20] transpose(x), dimensions={3,0,2,1}"},
      {"40,40", "t = T[40,40] transpose(x), dimensions={1,0}\n ROOT y = T[40,40] add(x, t)"},
      {"3,35,40",
       "t = T[3,40,35] transpose(x), dimensions={0,2,1}\n n = T[3,40,35] add(t, t)\n"
       " c = f32[3,40,35] convert(n)\n ROOT y = f32[3,40,35] add(c, c)"},
      {"35,17", "b = T[17,2,35] broadcast(x), dimensions={2,0}\n ROOT y = T[17,2,35] add(b, b)"},
      {"50,50",
       "s = T[35,40] slice(x), slice={[3:38], [0:40]}\n"
       " ROOT y = T[40,35] transpose(s), dimensions={1,0}"},
      {"50,50",
       "r = T[50,50] reverse(x), dimensions={0}\n"
       " ROOT y = T[50,50] transpose(r), dimensions={1,0}"},
  };
  for (const char* type : {"u8", "s16", "bf16", "f32", "f64", "c64", "pred"}) {
    for (const auto& [from, rest] : programs) {
      std::string text = rest;
      for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos;)
        text.replace(at, 1, type);
      if (type == std::string("c64") || type == std::string("pred"))
        if (text.find("convert") != std::string::npos || text.find("add") != std::string::npos)
          continue;
      SCOPED_TRACE(cat(type, " ", text));
      const hlo::Module module = module_of(type, from, text);
      const Literal x = numbers(type, from);
      EXPECT_EQ(difference(OnCpu(module).run({x}), interpreter::evaluate(module, {x}).value()), "");
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
