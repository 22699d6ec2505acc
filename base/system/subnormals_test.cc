#include "heddle/base/system/subnormals.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(FlushSubnormals, HoldsInItsBlockOnly) {
  volatile float tiny = 1e-40f;
  volatile float product = tiny * 0.5f;
  volatile float flushed = 1;
  {
    FlushSubnormals flush;
    flushed = tiny * 0.5f;
  }
  volatile float again = tiny * 0.5f;
  EXPECT_GT(product, 0.0f);
  EXPECT_GT(again, 0.0f);
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_EQ(flushed, 0.0f);
#endif
}

TEST(FloatControl, TakesOverWhatAnotherThreadDoes) {
  const FloatControl keeping = FloatControl::of_this_thread();
  const FlushSubnormals flush;
  const FloatControl flushing = FloatControl::of_this_thread();
  volatile float tiny = 1e-40f;
  keeping.apply();
  EXPECT_GT(tiny * 0.5f, 0.0f);
  flushing.apply();
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_EQ(tiny * 0.5f, 0.0f);
#endif
}

}  // namespace
}  // namespace heddle
