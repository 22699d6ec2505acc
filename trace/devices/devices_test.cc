#include "heddle/trace/devices/devices.h"

#include <cstdlib>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(Devices, OfABackendByItsName) {
  const std::vector<Device*> all = devices("interpreter");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0], find_device("interpreter:0").value());
}

TEST(Devices, OneThatIsNotThereIsAnErrorWithTheLine) {
  EXPECT_THAT(error_of([] { (void)devices("nowhere"); }),
              AllOf(HasSubstr("devices: backend \"nowhere\" is not known; there are: "),
                    HasSubstr("devices_test.cc:")));
  EXPECT_THAT(
      error_of([] { use_device("interpreter:7"); }),
      AllOf(HasSubstr("use_device: device \"interpreter:7\""), HasSubstr("devices_test.cc:")));
}

TEST(Devices, NamesThatAreNull) {
  const char* none = std::getenv("HEDDLE_IS_NOT_SET");
  EXPECT_THAT(error_of([&] { use_device(none); }),
              AllOf(HasSubstr("use_device: the name is null"), HasSubstr("devices_test.cc:")));
  EXPECT_THAT(error_of([] { (void)devices(0); }), HasSubstr("devices: the name is null"));
}

// The variable is read once in a process; ctest gives each test its own.
#define SKIP_UNLESS_ALONE()                                        \
  if (::testing::UnitTest::GetInstance()->test_to_run_count() > 1) \
  GTEST_SKIP() << "the environment is read once a process"

TEST(DeviceVariable, NamesTheDefaultDevice) {
  SKIP_UNLESS_ALONE();
  setenv("HEDDLE_DEVICE", "interpreter:0", 1);
  EXPECT_EQ(runtime::find_default_device().value(), find_device("interpreter:0").value());
  EXPECT_EQ(ones({2}).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(DeviceVariable, OneThatIsNotThereIsAnErrorOfWhatNeedsADevice) {
  SKIP_UNLESS_ALONE();
  setenv("HEDDLE_DEVICE", "interpreter:9", 1);
  const std::string text = "HEDDLE_DEVICE: device \"interpreter:9\": backend interpreter has 1";
  EXPECT_THAT(error_of([] { array(std::vector<float>{1}, {1}); }),
              AllOf(HasSubstr(text), HasSubstr("devices_test.cc:")));
  EXPECT_THAT(error_of([] { ones({2}); }), HasSubstr(text));
  use_device("interpreter");  // what the program says counts more
  EXPECT_EQ(ones({2}).to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace heddle
