#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "heddle/base/support_test.h"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/tools/command.h"

namespace heddle::tools {
namespace {

namespace fs = std::filesystem;

// The commands on a folder of the test's own.
class CacheCommand : public ::testing::Test {
 protected:
  CacheCommand() {
    std::string name = fs::temp_directory_path() / "heddle_cmd_cache_XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("HEDDLE_CACHE", "1", 1);
    setenv("HEDDLE_CACHE_DIR", (folder_ / "own").c_str(), 1);
    setenv("HEDDLE_CACHE_BYTES", "5000", 1);
  }
  ~CacheCommand() override {
    setenv("HEDDLE_CACHE", "0", 1);
    unsetenv("HEDDLE_CACHE_DIR");
    unsetenv("HEDDLE_CACHE_BYTES");
    fs::remove_all(folder_);
  }
  // What it prints; code_ is its exit status.
  std::string run(std::vector<std::string> words) {
    words.insert(words.begin(), {"heddle", "cache"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    ::testing::internal::CaptureStdout();
    code_ = run_command_line(static_cast<int>(arguments.size()), arguments.data());
    return ::testing::internal::GetCapturedStdout();
  }
  void store(const std::string& key, size_t bytes) {
    runtime::DiskCache cache(runtime::disk_cache_options().value());
    cache.store(key, "program " + key, std::string(bytes, 'x'));
  }

  fs::path folder_;
  int code_ = -1;
};

TEST_F(CacheCommand, ListsWhatIsThere) {
  const std::string first_line = (folder_ / "own").string() + ", at most 5000 bytes\n";
  EXPECT_EQ(run({"list"}), first_line + "0 programs, 0 bytes\n");
  store("a", 100);
  store("b", 200);
  EXPECT_THAT(run({"list"}), AllOf(StartsWith(first_line), HasSubstr("program a\n"),
                                   HasSubstr("program b\n"), HasSubstr("2 programs, ")));
  EXPECT_EQ(code_, 0);
}

TEST_F(CacheCommand, VerifiesAndRemovesWhatIsNotWhole) {
  store("a", 100);
  store("b", 200);
  EXPECT_THAT(run({"verify"}), EndsWith("2 programs whole, 0 not\n"));
  EXPECT_EQ(code_, 0);
  const fs::path file = fs::directory_iterator(folder_ / "own")->path();
  fs::resize_file(file, 90);
  EXPECT_THAT(run({"verify"}), AllOf(HasSubstr(file.filename().string() + "  damaged or cut off\n"),
                                     EndsWith("1 programs whole, 1 not\n")));
  EXPECT_EQ(code_, 1);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_THAT(run({"verify", "--remove"}), HasSubstr("damaged or cut off; removed\n"));
  EXPECT_EQ(code_, 0);
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(CacheCommand, PrunesToASizeAndClears) {
  store("a", 1000);
  store("b", 1000);
  store("c", 1000);
  EXPECT_THAT(run({"prune"}), HasSubstr("0 programs removed, 0 bytes; 3 left, "));
  EXPECT_THAT(run({"prune", "--bytes", "2500"}), HasSubstr("1 program removed, "));
  EXPECT_THAT(run({"clear"}),
              AllOf(HasSubstr("2 programs removed, "), EndsWith("0 left, 0 bytes\n")));
  EXPECT_EQ(code_, 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "own"));
}

TEST_F(CacheCommand, AFolderOfOthersIsAnErrorAndNoCacheToo) {
  store("a", 100);
  ASSERT_EQ(chmod((folder_ / "own").c_str(), 0755), 0);
  ::testing::internal::CaptureStderr();
  run({"list"});
  EXPECT_EQ(code_, 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("may be used by other users"));
  setenv("HEDDLE_CACHE", "0", 1);
  ::testing::internal::CaptureStderr();
  run({"clear"});
  EXPECT_EQ(code_, 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "heddle: error: disk cache: off, by HEDDLE_CACHE=0\n");
}

}  // namespace
}  // namespace heddle::tools
