#include "heddle/runtime/cache/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/settings.h"
#include "heddle/base/system/sealed.h"
#include "heddle/runtime/storing_test.h"

namespace heddle::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string name = fs::temp_directory_path() / "heddle_disk_cache_XXXXXX";
    top_ = mkdtemp(name.data());
    folder_ = top_ / "programs";
  }
  ~DiskCacheTest() override { fs::remove_all(top_); }

  DiskCache cache(int64_t capacity = DiskCacheOptions::kDefaultCapacity) const {
    return DiskCache({.folder = folder_, .capacity_bytes = capacity});
  }
  static std::optional<std::string> found(DiskCache& cache, std::string_view key) {
    std::optional<std::string> payload;
    cache.find(key, [&](std::string_view bytes) {
      payload = bytes;
      return true;
    });
    return payload;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }
  // The file of a key that was stored.
  fs::path file_of(std::string_view key) const {
    for (const fs::path& file : files()) {
      const std::string bytes = contents_of(file);
      if (const auto sealed = base::open_sealed(bytes); sealed.ok() && sealed->key == key)
        return file;
    }
    return {};
  }

  fs::path top_, folder_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  DiskCache cache = this->cache();
  const Counters before = counters();
  EXPECT_EQ(found(cache, "key"), std::nullopt);
  EXPECT_FALSE(fs::exists(folder_));  // looking makes nothing
  cache.store("key", "about it", std::string("pay\0load", 8));
  EXPECT_EQ(found(cache, "key"), std::string("pay\0load", 8));
  EXPECT_EQ(found(cache, "Key"), std::nullopt);
  DiskCache another = this->cache();
  EXPECT_EQ(found(another, "key"), std::string("pay\0load", 8));
  const Counters done = counters() - before;
  EXPECT_EQ(done.disk_hits, 2);
  EXPECT_EQ(done.disk_misses, 2);
  EXPECT_EQ(done.disk_refused, 0);
  const auto size = static_cast<int64_t>(fs::file_size(files().at(0)));
  EXPECT_EQ(done.disk_read_bytes, 2 * size);
  EXPECT_EQ(done.disk_written_bytes, size);
  const auto entries = cache.entries().value();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].about, "about it");
  EXPECT_EQ(entries[0].problem, "");
}

TEST_F(DiskCacheTest, ALaterPayloadReplacesAnEarlierOne) {
  DiskCache cache = this->cache();
  cache.store("key", "", "one");
  cache.store("key", "", "two");
  EXPECT_EQ(found(cache, "key"), "two");
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(DiskCacheTest, FilesAreTheUsersAlone) {
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  struct stat status {};
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(stat(files().at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(DiskCacheTest, WhatItsReaderRefusesIsRemovedAndCounted) {
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  const Counters before = counters();
  EXPECT_FALSE(cache.find("key", [](std::string_view) { return false; }));
  const Counters done = counters() - before;
  EXPECT_EQ(done.disk_refused, 1);
  EXPECT_EQ(done.disk_misses, 1);
  EXPECT_EQ(done.disk_hits, 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(DiskCacheTest, AFolderThatOthersMayUseIsRefusedWithOneSentence) {
  for (const mode_t mode : {0755, 0770, 0701, 0777}) {
    cache().store("key", "", "payload");
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    DiskCache open = cache();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(found(open, "key"), std::nullopt);
    open.store("other", "", "payload");
    EXPECT_EQ(found(open, "key"), std::nullopt);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "heddle: disk cache: " + folder_.string() +
                  " may be used by other users, so no program is read from it or written to it; "
                  "make it a folder of your own with mode 700, or set HEDDLE_CACHE_DIR\n");
    EXPECT_EQ(open.entries().status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(open.prune(0).status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(files(), SizeIs(1));
    ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
    EXPECT_EQ(found(open, "key"), "payload");
  }
}

TEST_F(DiskCacheTest, AFolderThatWasNamedAndCannotBeMadeIsToldOnce) {
  const fs::path file = top_ / "file";
  write_anew(file, "no folder");
  for (const bool is_named : {false, true}) {
    DiskCache cache({.folder = (file / "cache").string(), .is_named = is_named});
    ::testing::internal::CaptureStderr();
    cache.store("key", "", "payload");
    cache.store("other", "", "payload");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              is_named ? "heddle: disk cache: " + (file / "cache").string() +
                             " cannot be made, so no program is read from it or written to it; "
                             "make it a folder of your own with mode 700, or set HEDDLE_CACHE_DIR\n"
                       : "");
  }
}

TEST_F(DiskCacheTest, ALinkOfTheUsersOwnIsFollowed) {
  fs::create_directory(top_ / "elsewhere");
  fs::permissions(top_ / "elsewhere", fs::perms::owner_all);
  fs::create_directory_symlink(top_ / "elsewhere", folder_);
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  EXPECT_EQ(found(cache, "key"), "payload");
  EXPECT_FALSE(fs::is_empty(top_ / "elsewhere"));
}

TEST_F(DiskCacheTest, AnotherUsersFolderLinkAndFilesAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes files of others";
  constexpr uid_t kOther = 12345;
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  const fs::path file = files().at(0);
  ASSERT_EQ(chown(file.c_str(), kOther, kOther), 0);
  EXPECT_EQ(found(cache, "key"), std::nullopt);
  cache.store("key", "", "payload");
  ASSERT_EQ(chown(folder_.c_str(), kOther, kOther), 0);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(found(cache, "key"), std::nullopt);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("is another user's"));
  ASSERT_EQ(chown(folder_.c_str(), 0, 0), 0);
  EXPECT_EQ(found(cache, "key"), "payload");
  fs::create_directory_symlink(folder_, top_ / "link");
  ASSERT_EQ(lchown((top_ / "link").c_str(), kOther, kOther), 0);
  DiskCache linked({.folder = top_ / "link"});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(found(linked, "key"), std::nullopt);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("is another user's"));
  // Nothing is made inside of another user's folder.
  ASSERT_EQ(chown(top_.c_str(), kOther, kOther), 0);
  DiskCache inside({.folder = top_ / "new"});
  inside.store("key", "", "payload");
  EXPECT_FALSE(fs::exists(top_ / "new"));
}

TEST_F(DiskCacheTest, AFileThatOthersMayWriteIsRefused) {
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  ASSERT_EQ(chmod(files().at(0).c_str(), 0660), 0);
  EXPECT_EQ(found(cache, "key"), std::nullopt);
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedGoFirst) {
  const std::string payload(10000, 'x');
  DiskCache small = cache(55000);
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    small.store(key, "", payload);
    usleep(2000);
  }
  EXPECT_TRUE(found(small, "a"));  // used now
  usleep(2000);
  small.store("f", "", payload);
  EXPECT_TRUE(found(small, "a"));
  EXPECT_FALSE(found(small, "b"));
  for (const char* key : {"c", "d", "e", "f"}) EXPECT_TRUE(found(small, key)) << key;
  EXPECT_LE(small.size()->bytes, 55000);
  small.store("large", "", std::string(60000, 'x'));  // could never be held
  EXPECT_FALSE(found(small, "large"));
  EXPECT_EQ(small.size()->files, 5);
  EXPECT_EQ(small.prune(25000)->files, 3);
  EXPECT_EQ(small.size()->files, 2);
  EXPECT_TRUE(found(small, "f"));
  EXPECT_EQ(small.prune(0)->files, 2);
  EXPECT_EQ(small.size()->bytes, 0);
}

// As many processes have it, which store in turn.
TEST_F(DiskCacheTest, SeveralKeepTheirCapacityTogether) {
  constexpr int64_t kCapacity = 100'000;
  std::vector<std::unique_ptr<DiskCache>> caches;
  for (int i = 0; i < 8; ++i)
    caches.push_back(std::make_unique<DiskCache>(
        DiskCacheOptions{.folder = folder_, .capacity_bytes = kCapacity}));
  int number = 0;
  for (int turn = 0; turn < 5; ++turn) {
    for (auto& cache : caches) {
      cache->store(base::cat("key ", number++), "", std::string(5000, 'x'));
      EXPECT_LE(cache->size()->bytes, kCapacity);
    }
  }
  EXPECT_GT(caches[0]->size()->files, 15);
}

TEST_F(DiskCacheTest, WhatWasLeftUnfinishedGoesWhenItIsOld) {
  DiskCache cache = this->cache();
  cache.store("key", "", "payload");
  write_anew(folder_ / ".old.tmp", "half");
  write_anew(folder_ / ".new.tmp", "half");
  write_anew(folder_ / "notes.txt", "not ours");
  const timespec past[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_ / ".old.tmp").c_str(), past, 0), 0);
  ASSERT_TRUE(cache.prune(0).ok());
  EXPECT_FALSE(fs::exists(folder_ / ".old.tmp"));
  EXPECT_TRUE(fs::exists(folder_ / ".new.tmp"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

TEST_F(DiskCacheTest, AFolderThatCannotBeIsNoCache) {
  write_anew(top_ / "file", "");
  DiskCache cache({.folder = top_ / "file" / "programs"});
  cache.store("key", "", "payload");
  EXPECT_EQ(found(cache, "key"), std::nullopt);
  EXPECT_EQ(cache.size().status().code(), StatusCode::kNotFound);
}

// Ten thousand files that are not what was stored: each is a miss, or the right payload.
TEST_F(DiskCacheTest, NoChangedFileGivesAWrongPayload) {
  std::mt19937 random(20);
  DiskCache cache = this->cache();
  const auto payload_of = [](int key) { return std::string(100 + 37 * key, 'a' + key); };
  std::vector<fs::path> paths;
  std::vector<std::string> originals;
  for (int key = 0; key < 8; ++key) {
    cache.store(std::to_string(key), "about", payload_of(key));
    paths.push_back(file_of(std::to_string(key)));
    originals.push_back(contents_of(paths.back()));
  }
  const auto below = [&](size_t n) { return random() % n; };
  int right = 0;
  for (int i = 0; i < 10000; ++i) {
    const size_t key = below(8);
    const fs::path& path = paths[key];
    std::string bytes = originals[key];
    bool must_miss = true;
    switch (i % 10) {
      case 0: bytes.resize(below(bytes.size())); break;
      case 1: bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8)); break;
      case 2: {
        const size_t other = below(8);
        bytes = originals[other];
        must_miss = other != key;
        break;
      }
      case 3: bytes[14] = '1'; break;  // another version
      case 4:
        bytes.resize(below(1000));
        for (char& byte : bytes) byte = static_cast<char>(random());
        break;
      case 5: bytes.append(1 + below(20), '\0'); break;
      case 6: {  // two halves of two files
        const std::string& other = originals[(key + 1) % 8];
        bytes = bytes.substr(0, bytes.size() / 2) + other.substr(other.size() / 2);
        break;
      }
      case 7: {  // parts moved
        const size_t at = below(bytes.size() - 8);
        std::swap_ranges(bytes.begin() + at, bytes.begin() + at + 4, bytes.begin() + at + 4);
        must_miss = bytes != originals[key];
        break;
      }
      case 8: must_miss = false; break;
      default:  // no file at all
        fs::remove_all(path);
        if (i % 3 == 0) fs::create_directory(path);
        if (i % 3 == 1) fs::create_symlink(paths[(key + 1) % 8], path);
        if (i % 3 == 2) {
          ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
        }
        EXPECT_EQ(found(cache, std::to_string(key)), std::nullopt);
        fs::remove_all(path);
        continue;
    }
    write_anew(path, bytes);
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    const auto payload = found(cache, std::to_string(key));
    if (must_miss) {
      ASSERT_EQ(payload, std::nullopt) << i;
      ASSERT_FALSE(fs::exists(path)) << i;  // it goes
    } else {
      ASSERT_EQ(payload, payload_of(static_cast<int>(key))) << i;
      ++right;
    }
  }
  EXPECT_GT(right, 1000);
}

std::string payload_of(int key, int size) {
  return std::string(1000 + static_cast<size_t>(size), static_cast<char>('a' + key % 26));
}

// Stores, finds and prunes; returns how many payloads were wrong.
int work(DiskCache& cache, int times, uint32_t seed) {
  std::mt19937 random(seed);
  int wrong = 0;
  for (int i = 0; i < times; ++i) {
    const int key = static_cast<int>(random() % 12);
    if (random() % 2 == 0) cache.store(std::to_string(key), "", payload_of(key, random() % 50000));
    cache.find(std::to_string(key), [&](std::string_view payload) {
      wrong += payload.size() < 1000 ||
               payload.find_first_not_of(payload_of(key, 0)[0]) != std::string_view::npos;
      return true;
    });
    if (random() % 20 == 0) (void)cache.prune(200000);
  }
  return wrong;
}

TEST_F(DiskCacheTest, ProcessesMayUseAFolderAtOnce) {
  const Counters before = counters();
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < 3; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache = this->cache(400000);
      const int wrong = work(cache, 1500, i);
      _exit(wrong == 0 && counters().disk_refused == before.disk_refused ? 0 : 1);
    }
    children.push_back(child);
  }
  DiskCache cache = this->cache(400000);
  EXPECT_EQ(work(cache, 1500, 99), 0);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ((counters() - before).disk_refused, 0);  // nobody ever saw half a file
  EXPECT_GT((counters() - before).disk_hits, 100);
  const auto entries = cache.entries().value();
  for (const DiskCache::Entry& entry : entries) EXPECT_EQ(entry.problem, "");
}

TEST_F(DiskCacheTest, ThreadsMayShareOne) {
  DiskCache cache = this->cache(400000);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { wrong += work(cache, 500, i); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.size()->bytes, 450000);
}

TEST_F(DiskCacheTest, AProcessThatIsKilledLeavesWholeFiles) {
  constexpr int kTries = 200;
  std::mt19937 random(7);
  for (int i = 0; i < kTries; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache = this->cache();
      for (;;) work(cache, 1000, static_cast<uint32_t>(i));
    }
    usleep(static_cast<useconds_t>(random() % 20000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    DiskCache cache = this->cache();
    const auto entries = cache.entries();
    if (!entries.ok()) continue;  // killed before it made the folder
    for (const DiskCache::Entry& entry : *entries) ASSERT_EQ(entry.problem, "") << i;
    const Counters before = counters();
    ASSERT_EQ(work(cache, 20, static_cast<uint32_t>(i)), 0);
    ASSERT_EQ((counters() - before).disk_refused, 0);
  }
}

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DiskCacheOptionsTest, ComeFromTheEnvironment) {
  const Variable on("HEDDLE_CACHE", nullptr), dir("HEDDLE_CACHE_DIR", nullptr),
      bytes("HEDDLE_CACHE_BYTES", nullptr), home("HOME", "/somebody"),
      caches("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(disk_cache_options()->folder, "/somebody/.cache/heddle");
  EXPECT_EQ(disk_cache_options()->capacity_bytes, int64_t{1} << 30);
  {
    const Variable set("XDG_CACHE_HOME", "/caches");
    EXPECT_EQ(disk_cache_options()->folder, "/caches/heddle");
    const Variable own("HEDDLE_CACHE_DIR", "/own/programs/");
    EXPECT_EQ(disk_cache_options()->folder, "/own/programs");
    EXPECT_TRUE(disk_cache_options()->is_named);
  }
  {
    const Variable set("HEDDLE_CACHE_BYTES", "1000");
    EXPECT_EQ(disk_cache_options()->capacity_bytes, 1000);
  }
  {
    const Variable set("HEDDLE_CACHE_BYTES", "0");
    EXPECT_EQ(disk_cache_options().status().message(), "disk cache: off, by HEDDLE_CACHE_BYTES=0");
  }
  for (const char* no : {"0", "no", "off", "false"}) {
    const Variable set("HEDDLE_CACHE", no);
    EXPECT_EQ(disk_cache_options().status().message(), "disk cache: off, by HEDDLE_CACHE=0");
  }
  for (const char* wrong : {"1G", "-1", "", "99999999999999999999"}) {
    const Variable set("HEDDLE_CACHE_BYTES", wrong);
    EXPECT_EQ(disk_cache_options()->capacity_bytes, int64_t{1} << 30) << wrong;
  }
  {
    const Variable set("HEDDLE_CACHE", "0");
    EXPECT_EQ(disk_cache_options().status().message(), "disk cache: off, by HEDDLE_CACHE=0");
  }
  const Variable nowhere("HOME", nullptr);
  EXPECT_EQ(disk_cache_options().status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heddle::runtime
