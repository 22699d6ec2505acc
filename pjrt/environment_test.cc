// Variables are set so that whoever reads them at that time reads what was there. ctest gives each
// test a process of its own.
#include "heddle/pjrt/internal/environment.h"

#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heddle/base/strings.h"
#include "heddle/base/support_test.h"

namespace heddle::pjrt {
namespace {

std::vector<std::string> variables(char** from) {
  std::vector<std::string> all;
  for (char** each = from; *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

TEST(Environment, AVariableThatIsSetStaysUnlessItIsReplaced) {
  EXPECT_TRUE(set_environment_variable("HEDDLE_TEST_A", "1"));
  EXPECT_FALSE(set_environment_variable("HEDDLE_TEST_A", "2"));
  EXPECT_EQ(environment_variable("HEDDLE_TEST_A"), "1");
  EXPECT_TRUE(set_environment_variable("HEDDLE_TEST_A", "2", IfSet::kReplace));
  EXPECT_FALSE(set_environment_variable("HEDDLE_TEST_A", "2", IfSet::kReplace));
  EXPECT_EQ(environment_variable("HEDDLE_TEST_A"), "2");
  EXPECT_THAT(variables(environ), Not(Contains("HEDDLE_TEST_A=1")));
  EXPECT_TRUE(set_environment_variable("HEDDLE_TEST_EMPTY", ""));
  EXPECT_FALSE(set_environment_variable("HEDDLE_TEST_EMPTY", "x"));  // it is set
}

TEST(Environment, WhoeverReadsItMeanwhileReadsWhatWasThere) {
  set_environment_variable("HEDDLE_TEST_A", "1", IfSet::kReplace);
  char** const old = environ;
  const std::vector<std::string> before = variables(old);
  const char* const value = std::getenv("HEDDLE_TEST_A");
  for (int i = 0; i < 100; ++i) {
    set_environment_variable("HEDDLE_TEST_A", base::cat("value ", i), IfSet::kReplace);
    set_environment_variable(base::cat("HEDDLE_TEST_", i), "x");
  }
  EXPECT_NE(environ, old);
  EXPECT_EQ(variables(old), before);
  EXPECT_STREQ(value, "1");
  EXPECT_EQ(variables(environ).size(), before.size() + 100);
}

TEST(Environment, TheLibrarysOwnFunctionsGoOnWorking) {
  set_environment_variable("HEDDLE_TEST_A", "1");
  EXPECT_EQ(setenv("HEDDLE_TEST_B", "2", 1), 0);
  set_environment_variable("HEDDLE_TEST_C", "3");
  EXPECT_EQ(unsetenv("HEDDLE_TEST_A"), 0);
  EXPECT_EQ(setenv("HEDDLE_TEST_C", "4", 1), 0);
  EXPECT_EQ(environment_variable("HEDDLE_TEST_A"), "");
  EXPECT_EQ(environment_variable("HEDDLE_TEST_B"), "2");
  EXPECT_EQ(environment_variable("HEDDLE_TEST_C"), "4");
  EXPECT_TRUE(set_environment_variable("HEDDLE_TEST_A", "5"));
  EXPECT_EQ(environment_variable("HEDDLE_TEST_A"), "5");
  EXPECT_EQ(clearenv(), 0);
  EXPECT_TRUE(set_environment_variable("HEDDLE_TEST_A", "6"));
  EXPECT_EQ(variables(environ), std::vector<std::string>{"HEDDLE_TEST_A=6"});
}

TEST(Environment, ThreadsReadWhileAnotherSets) {
  set_environment_variable("HEDDLE_TEST_ZERO", "0");
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) EXPECT_EQ(environment_variable("HEDDLE_TEST_ZERO"), "0");
    });
  }
  for (int i = 0; i < 2000; ++i)
    set_environment_variable(base::cat("HEDDLE_TEST_", i), base::cat(i));
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace heddle::pjrt
