#include "heddle/runtime/host/host_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "heddle/interpreter/backend.h"

namespace heddle::runtime {
namespace {

// A machine of files, below a folder of the test's own.
class HostMemory : public ::testing::Test {
 protected:
  HostMemory()
      : root_(::testing::TempDir() + "host_memory_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
    write("/proc/meminfo", "MemTotal: 4000 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\n");
  }
  ~HostMemory() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::optional<int64_t> available() const { return available_host_memory(root_); }

  const std::string root_;
};

TEST_F(HostMemory, IsWhatLinuxSaysIsAvailable) { EXPECT_EQ(available(), 1024000); }

TEST_F(HostMemory, IsWhatTheGroupLeavesWhereThatIsLess) {
  write("/proc/self/cgroup", "0::/job/part\n");
  write("/sys/fs/cgroup/job/part/memory.max", "max\n");
  write("/sys/fs/cgroup/job/part/memory.current", "70000\n");
  EXPECT_EQ(available(), 1024000);
  write("/sys/fs/cgroup/job/memory.max", "100000\n");
  write("/sys/fs/cgroup/job/memory.current", "70000\n");
  EXPECT_EQ(available(), 30000);
  write("/sys/fs/cgroup/job/memory.stat", "active_file 9\ninactive_file 20000\n");
  EXPECT_EQ(available(), 50000);
  write("/sys/fs/cgroup/job/part/memory.max", "71000\n");
  EXPECT_EQ(available(), 1000);
  write("/sys/fs/cgroup/job/part/memory.max", "60000\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(HostMemory, IsReadOfGroupsOfVersion1Too) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/of/the/machine\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "100000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "40000\n");
  EXPECT_EQ(available(), 60000);
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(available(), 1024000);
}

TEST_F(HostMemory, IsUnknownWhereTheSystemDoesNotSay) {
  std::filesystem::remove_all(root_);
  EXPECT_EQ(available(), std::nullopt);
}

// Twice is not less than now by more than what other work takes meanwhile.
TEST_F(HostMemory, HalfOfItIsTheDefaultBudgetOfTheInterpretersDevicesTogether) {
  const std::optional<int64_t> now = available_host_memory();
  if (!now.has_value()) GTEST_SKIP() << "this system does not say what memory it has";
  for (const int devices : {1, 4}) {
    const auto backend = interpreter::make_backend({.devices = devices});
    for (const auto& device : backend->devices()) {
      EXPECT_NEAR(static_cast<double>(device->throttle().limits().bytes),
                  static_cast<double>(*now) / 2 / devices, static_cast<double>(*now) / 10);
      EXPECT_EQ(device->throttle().limits().launches, 32);
    }
  }
}

}  // namespace
}  // namespace heddle::runtime
