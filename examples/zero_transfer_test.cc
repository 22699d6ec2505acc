// A user's unit test: nothing is uploaded, traced or compiled behind your back.
#include <gtest/gtest.h>

#include "heddle/heddle.h"
#include "heddle/testing.h"

namespace {

using namespace heddle;

// A leaky integrator. xs: f32[time].
Tensor integrate(Tensor xs) {
  auto step = [](Tensor state, Tensor x) {
    Tensor next = 0.9 * state + x;
    return std::pair(next, next);
  };
  return scan(step, zeros({}), xs).second;
}

TEST(Integrate, StagesWithoutTouchingTheDevice) {
  Counters before = counters();
  Program program = trace(integrate, placeholder({1000000}, f32));
  Counters done = counters() - before;
  EXPECT_EQ(done.upload_bytes, 0);
  EXPECT_EQ(done.download_bytes, 0);
  EXPECT_EQ(done.compiles, 0);
}

// [test]
TEST(Integrate, SecondCallRunsAndDoesNothingElse) {
  Tensor xs = ones({100});
  integrate(xs);
  Counters before = counters();
  integrate(xs);
  Counters done = counters() - before;
  EXPECT_EQ(done.traces, 0);
  EXPECT_EQ(done.lowerings, 0);
  EXPECT_EQ(done.compiles, 0);
  EXPECT_EQ(done.uploads, 0);
}
// [/test]

}  // namespace
