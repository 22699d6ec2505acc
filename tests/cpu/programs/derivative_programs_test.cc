// Derivatives of second order of random programs of loops and branches on the native backend: what
// the evaluator gives, and the two modes agree. HEDDLE_RANDOM_PROGRAMS=FIRST:LAST runs others.
#include "heddle/tests/laws/derivative_programs.h"

#include <gtest/gtest.h>

#include "heddle/tests/cpu/support.h"

namespace heddle::laws {
namespace {

class CpuDerivativePrograms : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Eighth, CpuDerivativePrograms, ::testing::Range(0, 8));

TEST_P(CpuDerivativePrograms, GiveTheEvaluatorsValue) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto [first, last] = seeds(1000);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(seed);
    const LoopProgram program = loop_program(seed);
    const auto order_2 = second_order(program, seed);
    ASSERT_TRUE(order_2.ok()) << order_2.status();
    ASSERT_EQ(difference_on(cpu::cpu_device(), *order_2), "") << program.text;
  }
}

}  // namespace
}  // namespace heddle::laws
