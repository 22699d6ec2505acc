// What a profile shows of what a user's program does.
#include "heddle/base/metrics/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "heddle/heddle.h"

namespace heddle {
namespace {

using ::testing::HasSubstr;

// Small ops run at once, without a program; they are calls all the same.
TEST(Profile, ShowsEagerOps) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "eager_ops.json";
  const Tensor x = arange(4.0f), y = ones({4});
  int line = 0;
  {
    Profile profile(path);
    line = __LINE__ + 1;
    Tensor z = x + y;
    z = tanh(z * 3.0);
    (void)z[1];
    (void)z[Slice{0, 2}];
    (void)(x < y);
    (void)full({3}, 2.0);
    (void)concat({x, y});
    ASSERT_EQ(profile.finish(), Status());
  }
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char* name : {"call add", "call multiply", "call tanh", "call index", "call compare",
                           "call full", "call concat"})
    EXPECT_THAT(text, HasSubstr(name));
  EXPECT_THAT(text, HasSubstr("profile_test.cc:" + std::to_string(line)));
  const std::string add = "\"call add\"";
  EXPECT_EQ(text.find(add), text.rfind(add)) << "once";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace heddle
