// Loading: what is refused, and how plugins older and newer than Heddle are met.
#include "heddle/pjrt/internal/api.h"

#include <cstdio>
#include <fstream>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;

class Loading : public MockTest {
 protected:
  static StatusOr<std::shared_ptr<const Api>> load(mock::Settings settings) {
    mock_plugin().reset(std::move(settings));
    return Api::load("mock", HEDDLE_PJRT_MOCK);
  }
  static std::string refusal(mock::Settings settings) {
    const auto api = load(std::move(settings));
    EXPECT_EQ(api.status().code(), StatusCode::kFailedPrecondition);
    return base::message_of(api.status());
  }
};

TEST_F(Loading, GivesNameAndVersion) {
  const auto api = load({.minor = 81});
  ASSERT_TRUE(api.ok()) << api.status();
  EXPECT_EQ((*api)->label(), "plugin mock (PJRT 0.81)");
  EXPECT_EQ(mock_plugin().seen().calls[static_cast<size_t>(Slot::kPluginInitialize)], 1);
}

TEST_F(Loading, AMissingFileIsNamed) {
  const auto api = Api::load("gone", "/no/such/plugin.so");
  EXPECT_EQ(api.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(base::message_of(api.status()),
            "plugin gone: /no/such/plugin.so is no file; give the path of the library");
}

TEST_F(Loading, AFileThatIsNoLibraryIsRefused) {
  const std::string path = ::testing::TempDir() + "no_library.so";
  std::ofstream(path) << "text";
  EXPECT_THAT(base::message_of(Api::load("text", path).status()),
              HasSubstr("plugin text: cannot be loaded: " + path));
}

TEST_F(Loading, ALibraryThatIsNoPluginIsRefused) {
  Dl_info own;  // of the C library
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::fclose), &own), 0);
  const auto api = Api::load("libc", own.dli_fname);
  EXPECT_THAT(base::message_of(api.status()),
              HasSubstr("has no function GetPjrtApi; it is no PJRT plugin"));
}

TEST_F(Loading, AnotherMajorVersionIsRefused) {
  EXPECT_EQ(
      refusal({.major = 1}),
      "plugin mock (PJRT 1.114): load: the major version must be 0; use a build of the plugin "
      "for this interface");
}

TEST_F(Loading, VersionsBeforeTheStructuresWereStableAreRefused) {
  EXPECT_THAT(refusal({.minor = 28}), HasSubstr("plugin mock (PJRT 0.28): load: the minor version "
                                                "must be 29 or later"));
  EXPECT_THAT(refusal({.minor = 56}), HasSubstr("and not 56, which was never released"));
}

TEST_F(Loading, OldAndUnknownMinorVersionsAreTaken) {
  for (int minor : {29, 54, 81, 104, 114, 200}) EXPECT_TRUE(load({.minor = minor}).ok()) << minor;
}

TEST_F(Loading, ATableTooShortForAVersionIsRefused) {
  EXPECT_EQ(refusal({.table_size = 16}),
            "plugin mock: its function table has 16 bytes; it must have at least 40 to hold a "
            "version; the file is damaged or no PJRT plugin");
}

TEST_F(Loading, MissingFunctionsThatAreNeededAreListed) {
  EXPECT_EQ(refusal({.absent = {Slot::kClientCompile, Slot::kBufferReadyEvent}}),
            "plugin mock (PJRT 0.114): load: it has no ClientCompile, BufferReadyEvent; Heddle "
            "cannot run programs without");
}

TEST_F(Loading, OneWayToWaitIsEnoughAndNoneIsNot) {
  EXPECT_TRUE(load({.absent = {Slot::kEventAwait}}).ok());
  EXPECT_TRUE(load({.absent = {Slot::kEventOnReady}}).ok());
  EXPECT_THAT(refusal({.absent = {Slot::kEventAwait, Slot::kEventOnReady}}),
              HasSubstr("it has no EventAwait or EventOnReady"));
}

TEST_F(Loading, RowsBehindTheEndOfTheTableAreAbsentWhateverTheVersionSays) {
  // 0.54 had 100 rows. The pointers behind are there, and must not be read.
  const auto api = load({.minor = 114, .table_size = 840});
  ASSERT_TRUE(api.ok()) << api.status();
  EXPECT_TRUE((*api)->has(Slot::kExecutableOutputDimensions));
  EXPECT_FALSE((*api)->has(Slot::kBufferCopyRawToHost));
  EXPECT_THAT(refusal({.table_size = 480}), HasSubstr("it has no LoadedExecutableExecute"));
}

TEST_F(Loading, AFailingInitialiserIsReported) {
  const auto api =
      load({.failing = {{Slot::kPluginInitialize, {.code = 14, .message = "no driver"}}}});
  EXPECT_EQ(api.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(base::message_of(api.status()),
            "plugin mock (PJRT 0.114): PluginInitialize: no driver");
}

TEST_F(Loading, AnErrorWhoseCodeCannotBeToldIsUnknown) {
  const auto api = load({.failing = {{Slot::kPluginInitialize, {.message = "no driver"}},
                                     {Slot::kErrorGetCode, {.message = "nested"}}}});
  EXPECT_EQ(api.status().code(), StatusCode::kUnknown);
  EXPECT_THAT(base::message_of(api.status()), HasSubstr("no driver"));
}

TEST_F(Loading, AnErrorWithACodeThatIsNoneIsUnknown) {
  for (int code : {0, 17, -1}) {
    const auto api =
        load({.failing = {{Slot::kPluginInitialize, {.code = code, .message = "odd"}}}});
    EXPECT_EQ(api.status().code(), StatusCode::kUnknown) << code;
  }
}

TEST_F(Loading, APluginNewerThanHeddleGetsTheLongerStructuresThatItAsksFor) {
  EXPECT_TRUE(load({.minor = 120, .longer_by = 24}).ok());
}

TEST_F(Loading, APluginThatIsNotNewerMayNotAskForLongerStructures) {
  const auto api = load({.minor = 114, .longer_by = 24});
  EXPECT_THAT(base::message_of(api.status()),
              HasSubstr("plugin mock (PJRT 0.114): PluginInitialize: Unexpected size"));
}

// Their header had another form.
TEST_F(Loading, ExtensionsOfPluginsBefore45AreNotRead) {
  EXPECT_THAT((*load({.minor = 44, .endless_extensions = 3}))->extensions(), SizeIs(0));
  EXPECT_EQ((*load({.minor = 44, .endless_extensions = 3}))
                ->extension(static_cast<abi::ExtensionType>(99)),
            nullptr);
  EXPECT_THAT((*load({.minor = 45, .endless_extensions = 3}))->extensions(), SizeIs(256));
}

TEST_F(Loading, UnknownExtensionsAreListedAndARingOfThemEnds) {
  EXPECT_THAT((*load({}))->extensions(), SizeIs(0));
  EXPECT_THAT((*load({.endless_extensions = 3}))->extensions(), SizeIs(256));
}

}  // namespace
}  // namespace heddle::pjrt
