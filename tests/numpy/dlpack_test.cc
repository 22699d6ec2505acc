// Arrays that Heddle and other libraries hand to each other live as long as someone uses them: with
// numpy and PyTorch as python3 has them; skipped where it has not. What is asked is in dlpack.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::numpy_test {
namespace {

class Dlpack : public testing::TestWithParam<const char*> {};

TEST_P(Dlpack, ArraysLiveAsLongAsTheyAreUsed) {
  const std::string library = GetParam();
  // Not `import numpy`: here that finds the folder of that name.
  if (std::system(
          ("python3 -c 'from numpy import ndarray; import " + library + "' 2>/dev/null").c_str()) !=
      0)
    GTEST_SKIP() << "no python3 with " << library;
  const std::string plugin = "build/plugins/xla_cpu_pjrt.so";
  std::vector<std::string> devices = {"interpreter", "cpu"};
  if (std::filesystem::exists(plugin)) devices.push_back("pjrt:" + plugin);
  for (const std::string& device : devices) {
    const std::string command = "HEDDLE_DEVICE=" + device +
                                " python3 tests/numpy/dlpack.py " HEDDLE_NUMPY_BRIDGE " " + library;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, Dlpack, testing::Values("numpy", "torch"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle::numpy_test
