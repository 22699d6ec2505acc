#include "heddle/base/system/stop.h"

#include <gtest/gtest.h>

#include "heddle/base/system/std_stop.h"

namespace heddle {
namespace {

TEST(Stop, TokensAskWhenTheirSourceDoes) {
  StopSource source;
  const StopToken token = source.token(), never;
  EXPECT_TRUE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
  source.request_stop();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_FALSE(never.stop_possible());
  EXPECT_FALSE(never.stop_requested());
}

TEST(Stop, AStandardTokenBecomesOne) {
  std::stop_source source;
  const StopToken token = stop_token(source.get_token());
  EXPECT_FALSE(token.stop_requested());
  source.request_stop();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(stop_token(source.get_token()).stop_requested()) << "asked before";
  EXPECT_FALSE(stop_token(std::stop_token()).stop_possible());
}

}  // namespace
}  // namespace heddle
