#include "heddle/cpu/rewrites/shapes/late_transposes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

hlo::Module parsed(const std::string& entry) {
  return hlo::parse_text(base::cat("HloModule m\n"
                                   "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                                   " ROOT s = f32[] add(a, b) }\n"
                                   "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                                   " ROOT s = f32[] subtract(a, b) }\n"
                                   "ENTRY main {\n",
                                   entry, "}\n"))
      .value();
}

// How often the opcode stands in what the root needs, and the same values as before.
int64_t count(hlo::Opcode opcode, const std::string& entry, const std::vector<Shape>& types) {
  const hlo::Module module = parsed(entry);
  const auto late = transpose_late(module).value();
  if (!late) return -1;
  std::vector<Literal> arguments;
  for (const Shape& type : types) {
    std::vector<float> values(static_cast<size_t>(type.element_count()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5;
    arguments.push_back(Literal::from<float>(type, values));
  }
  EXPECT_EQ(interpreter::evaluate(*late, arguments).value(),
            interpreter::evaluate(module, arguments).value())
      << entry;
  const hlo::Computation& in = late->entry_computation();
  std::vector<bool> is_needed(in.instructions.size());
  is_needed[in.root.value] = true;
  int64_t found = 0;
  for (size_t i = in.instructions.size(); i-- > 0;) {
    if (!is_needed[i]) continue;
    found += in.instructions[i].opcode == opcode ? 1 : 0;
    for (const hlo::InstructionId operand : in.instructions[i].operands)
      is_needed[operand.value] = true;
  }
  return found;
}

constexpr auto kTranspose = hlo::Opcode::kTranspose;
const Shape kMatrix(f32, {3, 5}), kBlock(f32, {2, 3, 4});

TEST(LateTransposes, AFoldTakesTheArrayAsItLies) {
  const std::string x =
      "x = f32[3,5] parameter(0)\n z = f32[] constant(0)\n"
      "t = f32[5,3] transpose(x), dimensions={1,0}\n";
  for (const char* dimensions :
       {"f32[5] reduce(t, z), dimensions={1}", "f32[3] reduce(t, z), dimensions={0}",
        "f32[] reduce(t, z), dimensions={0,1}"}) {
    EXPECT_EQ(
        count(kTranspose, base::cat(x, "ROOT r = ", dimensions, ", to_apply=sum\n"), {kMatrix}), 0);
  }
}

TEST(LateTransposes, OfWhatAFoldLeavesTheOrderStays) {
  const std::string x =
      "x = f32[2,3,4] parameter(0)\n z = f32[] constant(0)\n"
      "t = f32[4,2,3] transpose(x), dimensions={2,0,1}\n";
  EXPECT_EQ(count(kTranspose, x + "ROOT r = f32[4,3] reduce(t, z), dimensions={1}, to_apply=sum\n",
                  {kBlock}),
            1);
  EXPECT_EQ(count(kTranspose, x + "ROOT r = f32[2,3] reduce(t, z), dimensions={0}, to_apply=sum\n",
                  {kBlock}),
            0);
}

TEST(LateTransposes, ComeAfterElementwiseOpsThatFoldsAndProductsRead) {
  const std::string text =
      "x = f32[3,5] parameter(0)\n y = f32[5] parameter(1)\n z = f32[] constant(0)\n"
      "t = f32[5,3] transpose(x), dimensions={1,0}\n"
      "b = f32[5,3] broadcast(y), dimensions={0}\n d = f32[5,3] subtract(t, b)\n"
      "e = f32[5,3] multiply(d, t)\n r = f32[3] reduce(e, z), dimensions={0}, to_apply=sum\n"
      "p = f32[5,5] dot(d, e), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "ROOT o = (f32[3], f32[5,5]) tuple(r, p)\n";
  // The two that the product reads are views.
  EXPECT_EQ(count(kTranspose, text, {kMatrix, Shape(f32, {5})}), 2);
  EXPECT_EQ(count(hlo::Opcode::kBroadcast, text, {kMatrix, Shape(f32, {5})}), 1);
}

TEST(LateTransposes, ComeAfterReversals) {
  const std::string x =
      "x = f32[2,3,4] parameter(0)\n t = f32[4,2,3] transpose(x), dimensions={2,0,1}\n"
      "v = f32[4,2,3] reverse(t), dimensions={0,2}\n s = f32[4,2,3] add(v, t)\n";
  EXPECT_EQ(
      count(kTranspose, x + "ROOT r = f32[2,3,4] transpose(s), dimensions={1,2,0}\n", {kBlock}),
      2);  // one that undoes the other
  EXPECT_EQ(count(kTranspose,
                  x + "z = f32[] constant(0)\n"
                      "ROOT r = f32[2,3] reduce(s, z), dimensions={0}, to_apply=sum\n",
                  {kBlock}),
            0);
}

TEST(LateTransposes, StayWhereSomethingElseReadsThem) {
  const std::string x =
      "x = f32[3,5] parameter(0)\n y = f32[5,3] parameter(1)\n"
      "t = f32[5,3] transpose(x), dimensions={1,0}\n";
  const std::vector<Shape> types = {kMatrix, Shape(f32, {5, 3})};
  EXPECT_EQ(count(kTranspose, x + "ROOT r = f32[5,3] negate(t)\n", types), -1);
  EXPECT_EQ(count(kTranspose,
                  x + "s = f32[5,3] add(t, y)\n z = f32[] constant(0)\n"
                      "ROOT r = f32[3] reduce(s, z), dimensions={0}, to_apply=sum\n",
                  types),
            -1);
  // Of two that one reads, the first stays for another.
  EXPECT_EQ(count(kTranspose,
                  x + "n = f32[5,3] negate(t)\n m = f32[5,3] multiply(n, t)\n"
                      "z = f32[] constant(0)\n"
                      "f = f32[3] reduce(m, z), dimensions={0}, to_apply=sum\n"
                      "ROOT r = (f32[5,3], f32[3]) tuple(n, f)\n",
                  types),
            -1);
  // A fold whose order counts.
  EXPECT_EQ(count(kTranspose,
                  x + "z = f32[] constant(0)\n"
                      "ROOT r = f32[3] reduce(t, z), dimensions={0}, to_apply=less\n",
                  types),
            -1);
}

}  // namespace
}  // namespace heddle::cpu
