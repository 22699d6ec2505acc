#include "heddle/compile/internal/mixed_rows.h"

#include <gtest/gtest.h>

#include "heddle/hlo/op.h"

namespace heddle::compile_internal {
namespace {

TEST(MixedRows, HasARuleForEachOpThatSaysSoAndForNoOther) {
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<hlo::Opcode>(i);
    EXPECT_EQ(has_rule_of_rows(opcode), hlo::facts(opcode).rows == hlo::Rows::kByRule)
        << hlo::to_string(opcode);
  }
}

}  // namespace
}  // namespace heddle::compile_internal
