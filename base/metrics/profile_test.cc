#include "heddle/base/metrics/profile.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>
#include <vector>

#include "heddle/base/containers/span.h"
#include "heddle/base/support_test.h"

namespace heddle {
namespace {

using base::Activity;
using base::Span;

std::string file(const std::string& name) { return ::testing::TempDir() + "heddle_" + name; }

// Without times and the process.
std::string read(const std::string& path) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return std::regex_replace(text, std::regex("\"(pid|ts|dur)\": [0-9.]+, "), "");
}

TEST(Profiles, HaveASpanALine) {
  const std::string path = file("spans.json");
  {
    const Span before(Activity::kCompile, "before");  // is not in it: it began earlier
    Profile profile(path);
    { const Span span(Activity::kTrace, "step", {"src/train.cc", 41}); }
    { const Span span(Activity::kUpload, {}, {}, 12); }
    { const Span span(Activity::kCompile, "a \"b\"\n\\"); }
    EXPECT_EQ(profile.finish(), Status());
  }
  { const Span after(Activity::kCompile, "after"); }
  EXPECT_EQ(read(path), R"({"displayTimeUnit": "ns", "otherData": {"dropped": 0}, "traceEvents": [
{"ph": "M", "tid": 1, "name": "thread_name", "args": {"name": "thread 1"}},
{"ph": "X", "tid": 1, "cat": "trace", "name": "trace step", "args": {"line": "train.cc:41"}},
{"ph": "X", "tid": 1, "cat": "upload", "name": "upload", "args": {"bytes": 12}},
{"ph": "X", "tid": 1, "cat": "compile", "name": "compile a \"b\"\u000a\\", "args": {}}
]}
)");
  std::filesystem::remove(path);
}

TEST(Profiles, EachThreadHasItsRow) {
  const std::string path = file("threads.json");
  Profile profile(path);
  for (const char* name : {"first", "second"})
    std::thread([&] { const Span span(Activity::kExecute, name); }).join();
  EXPECT_EQ(profile.finish(), Status());
  const std::string text = read(path);
  EXPECT_TRUE(std::regex_search(text, std::regex("\"tid\": (\\d+),[^\n]*execute first[^\n]*\n"
                                                 "[^\n]*thread_name[^\n]*\n"
                                                 "\\{[^\n]*execute second")))
      << text;
  std::filesystem::remove(path);
}

TEST(Profiles, OfWhichOneIsInsideOfAnotherHaveTheirOwnSpans) {
  const std::string outer_path = file("outer.json"), inner_path = file("inner.json");
  Profile outer(outer_path);
  { const Span span(Activity::kExecute, "one"); }
  {
    Profile inner(inner_path);
    { const Span span(Activity::kExecute, "two"); }
  }
  { const Span span(Activity::kExecute, "three"); }
  EXPECT_EQ(outer.finish(), Status());
  for (const char* name : {"one", "two", "three"}) EXPECT_THAT(read(outer_path), HasSubstr(name));
  EXPECT_THAT(read(inner_path), HasSubstr("two"));
  for (const char* name : {"one", "three"}) EXPECT_THAT(read(inner_path), Not(HasSubstr(name)));
  EXPECT_FALSE(base::is_observed());
  std::filesystem::remove(outer_path);
  std::filesystem::remove(inner_path);
}

TEST(Profiles, ThatCannotBeWrittenSaySoAtOnce) {
  ::testing::internal::CaptureStderr();
  Profile profile("/no/such/folder/x.json");
  const std::string text = "profile: /no/such/folder/x.json cannot be written";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "heddle: " + text + "\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(base::message_of(profile.finish()), text);
}

// Under ThreadSanitizer too: threads end and begin spans while a file is written.
TEST(Profiles, MayBeWrittenWhileThreadsGoOn) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) const Span span(Activity::kExecute, "busy");
    });
  }
  const std::string path = file("busy.json");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Profile(path).finish(), Status());
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove(path);
}

// A process of its own: the environment is read once, and the file written at its end.
TEST(ProfilesDeathTest, OfAProcessAreAskedForByTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = file("process.json");
  setenv("HEDDLE_TRACE", path.c_str(), 1);
  const auto spans = [] {
    { const Span span(Activity::kExecute, "step"); }
    std::exit(0);
  };
  EXPECT_EXIT(spans(), ::testing::ExitedWithCode(0), "");
  unsetenv("HEDDLE_TRACE");
  EXPECT_THAT(read(path), HasSubstr("\"execute step\""));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace heddle
