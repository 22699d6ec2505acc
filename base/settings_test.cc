#include "heddle/base/settings.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "heddle/base/config.h"
#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"

namespace heddle {
namespace {

using ::testing::IsSupersetOf;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Settings, HaveTheTypeOfTheirRow) {
  static_assert(std::is_same_v<decltype(setting<Setting::kPerf>()), bool>);
  static_assert(std::is_same_v<decltype(setting<Setting::kCacheBytes>()), int64_t>);
  static_assert(std::is_same_v<decltype(setting<Setting::kDump>()), std::string>);
  const Variable bytes("HEDDLE_CACHE_BYTES", "12"), dump("HEDDLE_DUMP", "a b");
  EXPECT_EQ(setting<Setting::kCacheBytes>(), 12);
  EXPECT_EQ(setting<Setting::kDump>(), "a b");
  for (const char* yes : {"1", "on", "yes", "true"}) {
    const Variable perf("HEDDLE_PERF", yes);
    EXPECT_TRUE(setting<Setting::kPerf>()) << yes;
  }
  for (const char* no : {"0", "off", "no", "false"}) {
    const Variable cache("HEDDLE_CACHE", no);
    EXPECT_FALSE(setting<Setting::kCache>()) << no;
  }
}

TEST(Settings, AnEmptyOrMalformedValueIsTheDefault) {
  for (const char* wrong : {"", "1G", "-1", " 1", "99999999999999999999"}) {
    const Variable bytes("HEDDLE_CACHE_BYTES", wrong);
    EXPECT_EQ(setting<Setting::kCacheBytes>(), int64_t{1} << 30) << wrong;
    EXPECT_EQ(setting_problems().size(), *wrong != '\0') << wrong;
  }
  const Variable cache("HEDDLE_CACHE", "maybe");
  EXPECT_TRUE(setting<Setting::kCache>());
  EXPECT_THAT(setting_problems(), ElementsAre("HEDDLE_CACHE is \"maybe\"; it must be 1 or 0, on "
                                              "or off; it counts as 1"));
}

TEST(Settings, TextsThatAreNoneAreTold) {
  const auto has = [](const std::string& text) {
    const std::vector<std::string> all = setting_problems();
    return std::ranges::find(all, text) != all.end();
  };
  {
    const Variable trace("HEDDLE_TRACE", "-");
    const Variable plugins("HEDDLE_PLUGINS", "a:/b.so,x");
    EXPECT_EQ(setting<Setting::kTrace>(), "");
    EXPECT_TRUE(
        has("HEDDLE_TRACE is \"-\"; it must be the path of a file; ./- is one of that name; "
            "it counts as not set"));
    EXPECT_TRUE(
        has("HEDDLE_PLUGINS is \"a:/b.so,x\"; it must be NAME:PATH, with commas between "
            "several; what is behind that is not read"));
  }
  const Variable trace("HEDDLE_TRACE", "./-");
  const Variable plugins("HEDDLE_PLUGINS", "a:/b.so,c:/d:e.so");
  EXPECT_EQ(setting<Setting::kTrace>(), "./-");
  EXPECT_EQ(setting<Setting::kPlugins>(), "a:/b.so,c:/d:e.so");
  for (const std::string& problem : setting_problems())
    EXPECT_FALSE(problem.starts_with("HEDDLE_P"));
}

TEST(Settings, AMisspeltNameIsToldWithTheNearest) {
  const Variable swapped("HEDDLE_CAHCE", "0"), longer("HEDDLE_PLUGIN_PATHS", ""),
      other("HEDDLE_COLOUR", "red"), tests("HEDDLE_TEST_ANYTHING", "1"),
      hostile("HEDDLE_\x1b[2J", "1");
  EXPECT_THAT(
      setting_problems(),
      ::testing::UnorderedElementsAre(
          "the environment has \"HEDDLE_CAHCE\", which Heddle does not read; is it HEDDLE_CACHE?",
          "the environment has \"HEDDLE_PLUGIN_PATHS\", which Heddle does not read; is it "
          "HEDDLE_PLUGIN_PATH?",
          "the environment has \"HEDDLE_COLOUR\", which Heddle does not read; heddle info lists "
          "what it reads",
          "the environment has \"HEDDLE_?[2J\", which Heddle does not read; heddle info lists "
          "what it reads"));
}

TEST(Settings, SayWhereTheyComeFrom) {
  const Variable bytes("HEDDLE_CACHE_BYTES", "12"), perf("HEDDLE_PERF", "maybe");
  std::vector<std::string> lines;
  for (const SettingValue& s : settings()) lines.push_back(s.name + "=" + s.value + " " + s.from);
  EXPECT_THAT(lines, IsSupersetOf({"HEDDLE_CACHE_BYTES=12 environment", "HEDDLE_PERF=0 default"}));
}

TEST(Settings, ValuesBesideTheListAreTold) {
  const Variable bytes("HEDDLE_CPU_VECTOR_BYTES", "13");
  EXPECT_EQ(setting<Setting::kCpuVectorBytes>(), 64);
  EXPECT_THAT(
      setting_problems(),
      ElementsAre("HEDDLE_CPU_VECTOR_BYTES is \"13\"; it must be 64, 32 or 16; it counts as "
                  "64"));
}

// Says what was wrong on stderr, and ends the process.
template <class T>
void expect_in_child(const T& have, const T& want, int line) {
  if (have == want) return;
  std::cerr << "line " << line << ": " << have << ", and not " << want << '\n';
  std::_Exit(1);
}

// Processes of their own, since a program configures itself once.
TEST(SettingsDeathTest, AProgramSetsThemInPlaceOfTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Variable dump("HEDDLE_DUMP", "/environment"), perf("HEDDLE_PERF", "on");
  const auto program = [] {
    const Config config{.cache_bytes = 12, .dump = "/program"};
    expect_in_child(configure(config).ok(), true, __LINE__);
    expect_in_child(setting<Setting::kDump>(), std::string("/program"), __LINE__);
    expect_in_child(setting<Setting::kCacheBytes>(), int64_t{12}, __LINE__);
    expect_in_child(setting<Setting::kPerf>(), true, __LINE__);
    expect_in_child(setting<Setting::kCacheDir>(), std::string(), __LINE__);
    for (const SettingValue& s : settings())
      expect_in_child(s.from == "program",
                      s.name == "HEDDLE_DUMP" || s.name == "HEDDLE_CACHE_BYTES", __LINE__);
    expect_in_child(configure({.perf = true}).ok(), true, __LINE__);  // as it was read
    // The same again, and more that nothing has read, in a second call.
    expect_in_child(configure({.cache = false, .cache_bytes = 12}).ok(), true, __LINE__);
    expect_in_child(setting<Setting::kCache>(), false, __LINE__);
    std::_Exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "");
}

TEST(SettingsDeathTest, AProgramIsToldWhatItCannotSet) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto program = [] {
    (void)setting<Setting::kDump>();
    expect_in_child(
        configure({.dump = "/late", .perf = true}).message(),
        std::string_view("configure: dump is \"/late\", and Heddle has read HEDDLE_DUMP "
                         "as \"\" before; call configure before everything else of "
                         "Heddle"),
        __LINE__);
    expect_in_child(configure({.cache_bytes = -1, .perf = true}).message(),
                    std::string_view("configure: cache_bytes is \"-1\"; it must be a number, 0 or "
                                     "more"),
                    __LINE__);
    expect_in_child(configure({.plugins = "xla"}).message(),
                    std::string_view("configure: plugins is \"xla\"; it must be NAME:PATH, with "
                                     "commas between several"),
                    __LINE__);
    expect_in_child(setting<Setting::kPerf>(), false, __LINE__);  // nothing was set
    std::_Exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "");
}

// A process of its own, since it is told once.
TEST(SettingsDeathTest, ProblemsAreToldOnceOnStderr) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Variable wrong("HEDDLE_CAHCE", "0");
  const auto read_twice = [] {
    (void)setting<Setting::kPerf>();
    (void)setting<Setting::kCache>();
    std::_Exit(0);
  };
  EXPECT_EXIT(read_twice(), ::testing::ExitedWithCode(0),
              "^heddle: the environment has \"HEDDLE_CAHCE\"[^\n]*\n$");
}

std::string table() {
  std::string page = "| variable | is | default | what it does |\n|---|---|---|---|\n";
  for (const settings_internal::Row& row : settings_internal::kRows) {
    constexpr const char* kTypes[] = {"0 or 1", "number", "text"};
    base::append(page, "| `", row.name, "` | ", kTypes[static_cast<size_t>(row.type)], " | ",
                 row.fallback, " | ", row.field.empty() ? "tests: " : "", row.meaning, " |\n");
  }
  return page;
}

TEST(Settings, AreInTheDocs) {
  const std::string path = "docs/observability.md", begin = "<!-- settings -->\n";
  std::ifstream in(path);
  std::string page{std::istreambuf_iterator<char>(in), {}};
  const size_t from = page.find(begin) + begin.size(), to = page.find("<!-- end -->", from);
  ASSERT_NE(to, page.npos) << path << "; run from the project's root";
  const std::string wanted = page.substr(0, from) + table() + page.substr(to);
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && std::string(update) == "1")
    std::ofstream(path) << (page = wanted);
  EXPECT_EQ(page, wanted) << path << " is out of date: run ./dev docs";
}

}  // namespace
}  // namespace heddle
