#include "heddle/tools/conformance/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace heddle::conformance {
namespace {

std::vector<std::string> lines_of(Child& child) {
  std::vector<std::string> out;
  while (std::optional<std::string> line = child.line()) out.push_back(*std::move(line));
  return out;
}

TEST(Child, SaysLinesAndHowItEnded) {
  Child child(
      [](int to) {
        say(to, "one");
        say(to, "two\nthree");
        return 3;
      },
      /*silence_s=*/60);
  EXPECT_TRUE(child.is_made());
  EXPECT_EQ(lines_of(child), (std::vector<std::string>{"one", "two three"}));
  EXPECT_EQ(child.fate(), "ended the process with 3");
}

// Its words end before it can be waited for.
TEST(Child, ThatEndsBehindItsLastWordIsWaitedFor) {
  Child child(
      [](int to) {
        close(to);
        usleep(100'000);
        return 7;
      },
      60);
  EXPECT_EQ(child.line(), std::nullopt);
  EXPECT_EQ(child.fate(), "ended the process with 7");
}

TEST(Child, SaysWhichSignalEndedIt) {
  Child child([](int) { return raise(SIGKILL); }, 60);
  EXPECT_EQ(child.line(), std::nullopt);
  EXPECT_EQ(child.fate(), "ended the process by signal 9, Killed");
}

TEST(Child, ThatIsSilentIsGivenUpAndEnded) {
  const auto begin = std::chrono::steady_clock::now();
  {
    Child child(
        [](int to) {
          say(to, "one");
          pause();
          return 0;
        },
        1);
    EXPECT_EQ(child.line(), "one");
    EXPECT_EQ(child.line(), std::nullopt);
    EXPECT_EQ(child.fate(), "did not end in 1 s");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace heddle::conformance
