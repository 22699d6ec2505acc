// A user's unit test: nothing is uploaded, traced or compiled behind your back.
#include <gtest/gtest.h>

#include "heddle/heddle.h"
#include "heddle/testing.h"

namespace {

using namespace heddle;

// One step of a leaky integrator. It has a name, and so is traced once.
const Function kLeak("leak", [](Tensor state, Tensor x) {
  Tensor next = 0.9 * state + x;
  return std::pair(next, next);
});

// xs: f32[time].
Tensor integrate(Tensor xs) { return scan(kLeak, zeros({}), xs).second; }

TEST(Integrate, StagesWithoutTouchingTheDevice) {
  auto stage = [] { (void)trace(integrate, placeholder({1000000}, f32)); };
  expect_zero_bytes_up(stage);
  expect_zero_bytes_down(stage);
  expect_zero_compiles(stage);
}

// [test]
TEST(Integrate, SecondCallRunsAndDoesNothingElse) {
  Tensor xs = ones({100});
  (void)integrate(xs);  // traces, lowers, compiles
  expect_nothing_behind_my_back([&] { (void)integrate(xs); });
}

TEST(Integrate, AnotherLengthIsCompiledButNothingGoesUp) {
  Tensor xs = ones({7});
  expect_zero_bytes_up([&] { (void)integrate(xs); });
  expect_zero_bytes_down([&] { (void)integrate(xs); });
  Counters read = effects_of([&] { EXPECT_EQ(integrate(xs).to_vector<float>().size(), 7u); });
  EXPECT_EQ(read.download_bytes, 7 * 4);  // what the test itself asked for
}
// [/test]

}  // namespace
