#include "heddle/base/system/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "heddle/base/support_test.h"

namespace heddle::base {
namespace {

namespace fs = std::filesystem;

class UsersFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] static std::string read(const std::string& path) {
    StatusOr<MappedFile> file = MappedFile::open(path);
    return file.ok() ? std::string(file->bytes()) : message_of(file.status());
  }
  [[nodiscard]] static Status write(const std::string& path, std::string_view bytes) {
    HEDDLE_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path));
    HEDDLE_RETURN_IF_ERROR(file.write(bytes));
    return file.commit();
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  const std::string folder_ = testing::TempDir() + "heddle_users_files_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(UsersFiles, AreReadAsTheyWereWritten) {
  EXPECT_EQ(write(path("a"), "hello"), Status());
  EXPECT_EQ(read(path("a")), "hello");
  EXPECT_EQ(write(path("a"), ""), Status());
  EXPECT_EQ(read(path("a")), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(UsersFiles, StayAsTheyWereUntilANewOneIsWhole) {
  ASSERT_EQ(write(path("a"), "old"), Status());
  StatusOr<MappedFile> old = MappedFile::open(path("a"));
  {
    StatusOr<NewFile> file = NewFile::create(path("a"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ(file->write("half of the n"), Status());
    EXPECT_EQ(read(path("a")), "old");
    EXPECT_EQ(files(), 2u);
  }
  EXPECT_EQ(read(path("a")), "old");
  EXPECT_EQ(files(), 1u);
  ASSERT_EQ(write(path("a"), "new"), Status());
  EXPECT_EQ(read(path("a")), "new");
  EXPECT_EQ(old->bytes(), "old");
}

TEST_F(UsersFiles, KeepPermissionsAndLinks) {
  ASSERT_EQ(write(path("a"), "1"), Status());
  fs::permissions(path("a"), fs::perms(0640));
  fs::create_symlink("a", path("link"));
  ASSERT_EQ(write(path("link"), "2"), Status());
  EXPECT_EQ(read(path("a")), "2");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(UsersFiles, SayWhyTheyCannotBeReadOrWritten) {
  EXPECT_EQ(read(""), "the path is empty; give a file a name");
  EXPECT_EQ(read(std::string("a\0b", 3)),
            "the path has a zero byte, which would end it; leave it out");
  EXPECT_EQ(read("no_such"), "no_such: there is no such file");
  EXPECT_THAT(read(folder_), EndsWith(": is no regular file"));
  EXPECT_THAT(read(path("a/b")), EndsWith(": there is no such file"));
  EXPECT_EQ(message_of(write("", "x")), "the path is empty; give the file a name");
  EXPECT_THAT(message_of(write(folder_, "x")),
              EndsWith("cannot be written: it is no regular file"));
  EXPECT_THAT(message_of(write(path("no/x"), "x")),
              EndsWith("cannot be written: No such file or directory"));
  fs::create_symlink("nowhere", path("link"));
  EXPECT_THAT(message_of(write(path("link"), "x")),
              EndsWith("cannot be written: it is a link to a file that is not there"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(read(path("pipe")), EndsWith(": is no regular file"));  // and does not wait
  EXPECT_THAT(message_of(write(path("pipe"), "x")), EndsWith("it is no regular file"));
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace heddle::base
