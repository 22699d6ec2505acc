// Derivatives of second order of random programs of loops and branches on real XLA: what the
// evaluator gives, and the two modes agree. XLA compiles such a program in 0.5 s, so these are few;
// HEDDLE_RANDOM_PROGRAMS=0:1000 runs as many as the other backends have.
#include "heddle/tests/laws/derivative_programs.h"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle::laws {
namespace {

class XlaDerivativePrograms : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    xla_ = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  }
  std::unique_ptr<runtime::Backend> xla_;
};
INSTANTIATE_TEST_SUITE_P(Eighth, XlaDerivativePrograms, ::testing::Range(0, 8));

TEST_P(XlaDerivativePrograms, GiveTheEvaluatorsValue) {
  const auto [first, last] = seeds(160);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(seed);
    const LoopProgram program = loop_program(seed);
    const auto order_2 = second_order(program, seed);
    ASSERT_TRUE(order_2.ok()) << order_2.status();
    ASSERT_EQ(difference_on(*xla_->devices()[0], *order_2), "") << program.text;
  }
}

}  // namespace
}  // namespace heddle::laws
