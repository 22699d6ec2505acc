#include "heddle/runtime/registry.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "heddle/interpreter/backend.h"

namespace heddle::runtime {
namespace {

TEST(Registry, FindsTheInterpreterAndAlwaysTheSame) {
  Backend* backend = find_backend("interpreter").value();
  EXPECT_EQ(backend->name(), "interpreter");
  EXPECT_EQ(find_backend("interpreter").value(), backend);
}

TEST(Registry, AnUnknownNameListsWhatThereIs) {
  ASSERT_TRUE(
      register_backend("loom", [](std::string_view) { return interpreter::make_backend(); }).ok());
  EXPECT_EQ(find_backend("tpu").status(),
            base::not_found("backend \"tpu\" is not known; there are: ",
                            base::join(backend_names(), ", ")));
  EXPECT_EQ(base::message_of(find_backend("pjrt:cuda").status()),
            base::cat("backend \"pjrt:cuda\" is not known; there are: ",
                      base::join(backend_names(), ", "),
                      "; a program knows plugins where it includes heddle/heddle.h"));
  EXPECT_EQ(std::ranges::count(backend_names(), "loom"), 1);
  EXPECT_EQ(std::ranges::count(backend_names(), "interpreter"), 1);
}

TEST(Registry, MakesABackendAtFirstUseAndOncePerArgument) {
  static std::vector<std::string> made;
  ASSERT_TRUE(register_backend("plugin", [](std::string_view argument) {
                made.emplace_back(argument);
                return interpreter::make_backend();
              }).ok());
  EXPECT_TRUE(made.empty());
  Backend* a = find_backend("plugin:/lib/a.so").value();
  EXPECT_EQ(find_backend("plugin:/lib/a.so").value(), a);
  EXPECT_NE(find_backend("plugin:/lib/b.so").value(), a);
  EXPECT_EQ(made, (std::vector<std::string>{"/lib/a.so", "/lib/b.so"}));
}

TEST(Registry, AFactorysErrorComesBackAndIsTriedAgain) {
  static int tries = 0;
  ASSERT_TRUE(register_backend("flaky", [](std::string_view) -> StatusOr<std::unique_ptr<Backend>> {
                if (++tries == 1) return base::not_found("plugin flaky: no such file");
                return interpreter::make_backend();
              }).ok());
  EXPECT_EQ(find_backend("flaky").status(), base::not_found("plugin flaky: no such file"));
  EXPECT_TRUE(find_backend("flaky").ok());
}

TEST(Registry, ATakenNameIsRefused) {
  EXPECT_EQ(
      register_backend("interpreter", [](std::string_view) { return interpreter::make_backend(); }),
      base::invalid_argument("register_backend: name \"interpreter\" is taken; choose another"));
}

TEST(Registry, ANameWithAColonIsRefused) {
  EXPECT_EQ(
      register_backend("a:b", [](std::string_view) { return interpreter::make_backend(); }),
      base::invalid_argument("register_backend: name \"a:b\"; it must be a word without a colon"));
}

// Two clients of one process that wait for each other while they are made.
TEST(Registry, ABackendThatIsBeingMadeHoldsUpNoOther) {
  static std::latch both(2);
  ASSERT_TRUE(register_backend("meeting", [](std::string_view argument) {
                EXPECT_TRUE(find_device("interpreter").ok());
                if (argument != "third") both.arrive_and_wait();
                return interpreter::make_backend();
              }).ok());
  std::thread other([] { EXPECT_TRUE(find_backend("meeting:second").ok()); });
  EXPECT_TRUE(find_backend("meeting:first").ok());
  other.join();
  EXPECT_TRUE(find_backend("meeting:third").ok());
}

TEST(Registry, TwoThreadsFindOneBackend) {
  ASSERT_TRUE(register_backend("shared", [](std::string_view) {
                return interpreter::make_backend();
              }).ok());
  Backend* found[2] = {};
  std::thread other([&] { found[0] = find_backend("shared").value(); });
  found[1] = find_backend("shared").value();
  other.join();
  EXPECT_EQ(found[0], found[1]);
}

TEST(FindDevice, TakesABackendOrABackendAndANumber) {
  Device* device = find_device("interpreter:0").value();
  EXPECT_EQ(device->name(), "interpreter:0");
  EXPECT_EQ(find_device("interpreter").value(), device);
}

TEST(FindDevice, ANumberThatIsNotThereSaysHowManyAre) {
  EXPECT_EQ(find_device("interpreter:7").status(),
            base::not_found(
                "device \"interpreter:7\": backend interpreter has 1 device(s), numbered from 0"));
}

TEST(FindDevice, AnArgumentToTheInterpreterIsRefused) {
  EXPECT_EQ(find_device("interpreter:fast").status(),
            base::not_found("backend interpreter: takes no argument, got \"fast\""));
}

TEST(DefaultDevice, IsTheInterpreterAtFirst) {
  EXPECT_EQ(default_device().backend().name(), "interpreter");
}

TEST(DefaultDevice, IsSetForTheProcess) {
  ASSERT_TRUE(register_backend("everywhere", [](std::string_view) {
                return interpreter::make_backend();
              }).ok());
  ASSERT_TRUE(set_default_device("everywhere:0").ok());
  Device* elsewhere = nullptr;
  std::thread([&] { elsewhere = &default_device(); }).join();
  EXPECT_EQ(elsewhere, find_device("everywhere").value());
  ASSERT_TRUE(set_default_device("interpreter").ok());
}

TEST(DefaultDevice, AnUnknownNameLeavesItAsItWas) {
  Device& before = default_device();
  EXPECT_EQ(set_default_device("tpu:0").code(), StatusCode::kNotFound);
  EXPECT_EQ(&default_device(), &before);
}

TEST(DefaultDevice, ScopesNestAndEnd) {
  const auto backend = interpreter::make_backend({.devices = 2});
  Device& process_wide = default_device();
  {
    DefaultDevice outer(*backend->devices()[0]);
    {
      DefaultDevice inner(*backend->devices()[1]);
      EXPECT_EQ(&default_device(), backend->devices()[1].get());
    }
    EXPECT_EQ(&default_device(), backend->devices()[0].get());
  }
  EXPECT_EQ(&default_device(), &process_wide);
}

TEST(DefaultDevice, AScopeHoldsForItsOwnThread) {
  const auto backend = interpreter::make_backend();
  DefaultDevice scope(*backend->devices()[0]);
  Device* elsewhere = nullptr;
  std::thread([&] { elsewhere = &default_device(); }).join();
  EXPECT_EQ(elsewhere, find_device("interpreter").value());
}

}  // namespace
}  // namespace heddle::runtime
