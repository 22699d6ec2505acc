// Transposes in squares that shuffles turn, also of a part of an array and of a reversed one.
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

std::string of_type(std::string text, const std::string& type) {
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) text.replace(at, 1, type);
  return text;
}

TEST(Tiles, TakeNoGathers) {
  const char* programs[] = {
      "ROOT y = T[128,128] transpose(x), dimensions={1,0}",
      "s = T[64,64] slice(x), slice={[3:67], [9:73]}\n"
      " ROOT y = T[64,64] transpose(s), dimensions={1,0}",
      "r = T[128,128] reverse(x), dimensions={0}\n"
      " ROOT y = T[128,128] transpose(r), dimensions={1,0}",
      "r = T[128,128] reverse(x), dimensions={1}\n"
      " ROOT y = T[128,128] transpose(r), dimensions={1,0}",
      "s = T[128,64] slice(x), slice={[0:128], [9:73]}\n"
      " r = T[128,64] reverse(s), dimensions={0,1}\n"
      " ROOT y = T[64,128] transpose(r), dimensions={1,0}",
  };
  for (const int64_t vector_bytes : {16, 32, 64}) {
    for (const std::string type : {"u8", "s16", "bf16", "f32", "f64"}) {
      for (const char* program : programs) {
        EXPECT_EQ(gathers(module_of(type, "128,128", of_type(program, type)), vector_bytes), 0)
            << type << " " << vector_bytes << " " << program;
      }
    }
  }
}

// Rows of a few elements become a few rows, and the other way round.
TEST(Tiles, OfFewRowsOrColumns) {
  for (const int few : {2, 3, 5, 6, 7, 8, 12, 15, 17}) {
    for (const int many : {5, 131, 144}) {
      const std::string x = cat(many, ",", few), y = cat(few, ",", many);
      const std::pair<std::string, std::string> programs[] = {
          {x, cat("ROOT y = T[", y, "] transpose(x), dimensions={1,0}")},
          {y, cat("ROOT y = T[", x, "] transpose(x), dimensions={1,0}")},
          {cat("3,", x),
           cat("t = T[3,", y, "] transpose(x), dimensions={0,2,1}\n n = T[3,", y,
               "] negate(t)\n b = T[3,", y, "] broadcast(n), dimensions={0,1,2}\n ROOT y = T[3,", y,
               "] subtract(b, t)")},
          {y, cat("r = T[", y, "] reverse(x), dimensions={0,1}\n t = T[", x,
                  "] transpose(r), dimensions={1,0}\n ROOT y = T[", x, "] add(t, t)")},
          {cat(many, ",", few + 1),
           cat("s = T[", x, "] slice(x), slice={[0:", many, "], [1:", few + 1, "]}\n ROOT y = T[",
               y, "] transpose(s), dimensions={1,0}")},
      };
      for (const std::string type : {"u8", "bf16", "f32", "f64", "c64", "pred"}) {
        for (const auto& [from, rest] : programs) {
          const std::string text = of_type(rest, type);
          const bool computes =
              text.find("add") != std::string::npos || text.find("negate") != std::string::npos;
          if (computes && (type == "c64" || type == "pred")) continue;
          SCOPED_TRACE(cat(type, " ", text));
          const hlo::Module module = module_of(type, from, text);
          const bool has_numbers = type != "c64" && type != "pred";
          if (rest == programs[0].second && has_numbers && few < 15 && many == 144) {
            for (const int64_t vector_bytes : {16, 32, 64})
              EXPECT_LE(gathers(module, vector_bytes), vector_bytes == 64 ? 0 : few);
          }
          if (!has_code_generator()) continue;
          const Literal numbers_of_x = numbers(type, from);
          EXPECT_EQ(difference(OnCpu(module).run({numbers_of_x}),
                               interpreter::evaluate(module, {numbers_of_x}).value()),
                    "");
        }
      }
    }
  }
}

// Of as many rows as a vector has lanes: all their numbers are known.
TEST(Tiles, OfOneStripReadTheirOwnArray) {
  for (const char* shape : {"f32[8,8]", "f32[4,4]", "f32[16,16]", "f64[4,4]", "f32[8,24]"}) {
    for (const char* turned : {"0", "1", "0,1"}) {
      const std::string to = shape == std::string("f32[8,24]") ? "f32[24,8]" : shape;
      expect_as_evaluated(cat("HloModule m\nENTRY e {\n x = ", shape, " parameter(0)\n r = ", shape,
                              " reverse(x), dimensions={", turned, "}\n ROOT y = ", to,
                              " transpose(r), dimensions={1,0} }"));
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
      {"50,37",
       "r = T[50,37] reverse(x), dimensions={1}\n"
       " ROOT y = T[37,50] transpose(r), dimensions={1,0}"},
      {"50,37",
       "s = T[48,30] slice(x), slice={[1:49], [5:35]}\n r = T[48,30] reverse(s), dimensions={0,1}\n"
       " ROOT y = T[30,48] transpose(r), dimensions={1,0}"},
      {"50,37",
       "r = T[50,37] reverse(x), dimensions={0,1}\n s = T[45,33] slice(r), slice={[2:47], [4:37]}\n"
       " t = T[33,45] transpose(s), dimensions={1,0}\n ROOT y = T[33,45] reverse(t), "
       "dimensions={1}"},
      {"36,36",
       "t = T[36,36] transpose(x), dimensions={1,0}\n r = T[36,36] reverse(t), dimensions={0}\n"
       " u = T[36,36] reverse(t), dimensions={1}\n v = T[36,36] add(t, r)\n"
       " ROOT y = T[36,36] add(u, v)"},
      {"50,50",
       "s = T[25,50] slice(x), slice={[0:50:2], [0:50]}\n"
       " ROOT y = T[50,25] transpose(s), dimensions={1,0}"},
  };
  for (const char* type : {"u8", "s16", "bf16", "f32", "f64", "c64", "pred"}) {
    for (const auto& [from, rest] : programs) {
      const std::string text = of_type(rest, type);
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
