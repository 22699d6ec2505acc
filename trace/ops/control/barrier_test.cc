#include "heddle/trace/ops/control/barrier.h"

#include <map>
#include <string>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// Both leaves go through one barrier, also in the plain form that backends get.
TEST(OptimizationBarrier, IsOneForAllLeavesOfATree) {
  auto fn = [](std::pair<Tensor, Tensor> t) {
    const auto [a, b] = optimization_barrier(t);
    return a + b;
  };
  const std::pair two(ones({2}), full({2}, 3));
  const Program p = trace(fn, two);
  const std::string barrier = "opt-barrier(";
  const std::string text = p.lowered().hlo_text();
  ASSERT_THAT(text, HasSubstr(barrier));
  EXPECT_EQ(text.find(barrier, text.find(barrier) + 1), std::string::npos);
  EXPECT_THAT(text, HasSubstr("(f32[2]{0}, f32[2]{0}) opt-barrier("));
  EXPECT_THAT(p.call<Tensor>(two).to_vector<float>(), ElementsAre(4, 4));
}

TEST(OptimizationBarrier, GivesBackWhatItTook) {
  EXPECT_THAT(optimization_barrier(array<float>({1, 2})).to_vector<float>(), ElementsAre(1, 2));
  const std::map<std::string, Tensor> named{{"a", ones({2})}, {"b", zeros({2}, s32)}};
  EXPECT_THAT(optimization_barrier(named).at("b").to_vector<int>(), ElementsAre(0, 0));
  EXPECT_EQ(optimization_barrier(None{}), None{});
  EXPECT_THAT(error_of([] { optimization_barrier(std::pair(ones({2}), Tensor())); }),
              HasSubstr("optimization_barrier: operand has no value"));
}

}  // namespace
}  // namespace heddle
