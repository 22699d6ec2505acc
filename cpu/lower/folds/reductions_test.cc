#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// Narrow elements fill less than the registers in which lanes change places.
TEST(Reductions, ShortRowsOfEachTypeOnEachMachine) {
  for (const int64_t vector_bytes : {16, 32, 64}) {
    for (const char* type : {"u8", "s16", "f32", "f64"}) {
      const std::string text =
          cat("HloModule m\nf { a = ", type, "[] parameter(0)\n  b = ", type,
              "[] parameter(1)\n  ROOT c = ", type, "[] add(a, b) }\nENTRY main {\n  x = ", type,
              "[35,16] parameter(0)\n  s = ", type, "[] constant(0)\n  ROOT r = ", type,
              "[35] reduce(x, s), dimensions={1}, to_apply=f }\n");
      const Plan plan = lowered(text, vector_bytes).plan;
      for (const Node& node : plan.nodes) {
        if (node.op != Op::kShuffle) continue;
        for (const LaneSource& source : plan.shuffles[static_cast<size_t>(node.imm)])
          EXPECT_LT(source.lane, static_cast<uint32_t>(node.type.lanes)) << type;
      }
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
