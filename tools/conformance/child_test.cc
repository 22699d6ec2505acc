#include "heddle/tools/conformance/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
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

TEST(Child, ThatGoesOnBehindItsLastWordIsGivenUp) {
  Child child(
      [](int to) {
        close(to);
        return pause();
      },
      1);
  EXPECT_EQ(child.line(), std::nullopt);
  EXPECT_EQ(child.fate(), "did not end in 1 s");
  EXPECT_EQ(child.fate(), "did not end in 1 s");
}

// A signal that the caller handles ends neither the wait for a line nor that for the end.
TEST(Child, SaysAllItsLinesToACallerThatSignalsInterrupt) {
  Child child(
      [](int to) {
        usleep(100'000);
        say(to, "one");
        close(to);
        usleep(100'000);
        return 4;
      },
      60);
  struct sigaction interrupt = {}, before = {};
  interrupt.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &interrupt, &before), 0);
  const itimerval often{{0, 5'000}, {0, 5'000}}, never{};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  EXPECT_EQ(lines_of(child), std::vector<std::string>{"one"});
  EXPECT_EQ(child.fate(), "ended the process with 4");
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
}  // namespace heddle::conformance
