#include "heddle/testing.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "heddle/interpreter/backend.h"
#include "heddle/runtime/support_test.h"

namespace heddle::runtime {
namespace {

// EXPECT_NONFATAL_FAILURE runs its block in a class of its own, which sees statics only.
Device& device() {
  static const std::unique_ptr<Backend> backend = interpreter::make_backend();
  return *backend->devices()[0];
}

void upload() { (void)on(device(), {1, 2}); }
void download() { (void)to_host(*on(device(), {1, 2})); }
void lend() {
  alignas(64) static const float data[2] = {1, 2};
  (void)lend_to_device(device(), data, f32({2}), nullptr).value();
}
void compile() { (void)compiled(identity_module(2), device()); }

TEST(EffectsOf, AreWhatTheBlockDid) {
  upload();
  EXPECT_EQ(effects_of([] { download(); }),
            (Counters{.uploads = 1, .upload_bytes = 8, .downloads = 1, .download_bytes = 8}));
}

TEST(ExpectZero, HoldsForABlockThatDoesNothing) {
  EXPECT_TRUE(expect_zero_bytes_up([] {}));
  EXPECT_TRUE(expect_zero_bytes_down([] {}));
  EXPECT_TRUE(expect_zero_traces([] {}));
  EXPECT_TRUE(expect_zero_compiles([] {}));
  EXPECT_TRUE(expect_nothing_behind_my_back([] {}));
}

TEST(ExpectZero, RunsItsBlockOnce) {
  int runs = 0;
  expect_nothing_behind_my_back([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(ExpectZeroBytesUp, FailsOnAnUploadAndNamesTheCounters) {
  EXPECT_NONFATAL_FAILURE(
      expect_zero_bytes_up([] { upload(); }),
      "expected zero bytes from host to device; the block moved uploads +1, upload_bytes +8");
}

TEST(ExpectZeroBytesUp, FailsOnLentMemory) {
  EXPECT_NONFATAL_FAILURE(expect_zero_bytes_up([] { lend(); }), "aliased_bytes +8");
}

TEST(ExpectZeroBytesUp, HoldsForADownload) {
  static const BufferPtr buffer = on(device(), {1, 2});
  EXPECT_TRUE(expect_zero_bytes_up([] { (void)to_host(*buffer); }));
}

TEST(ExpectZeroBytesDown, FailsOnADownloadAndNamesTheCounters) {
  EXPECT_NONFATAL_FAILURE(
      expect_zero_bytes_down([] { download(); }),
      "expected zero bytes from device to host; the block moved downloads +1, download_bytes +8");
}

TEST(ExpectZeroTraces, FailsOnATrace) {
  EXPECT_NONFATAL_FAILURE(expect_zero_traces([] { count(&Counters::traces); }),
                          "expected zero traces; the block moved traces +1");
}

TEST(ExpectZeroCompiles, FailsOnACompile) {
  EXPECT_NONFATAL_FAILURE(expect_zero_compiles([] { compile(); }),
                          "expected zero compiles; the block moved compiles +1");
}

TEST(ExpectNothingBehindMyBack, FailsOnEachKind) {
  EXPECT_NONFATAL_FAILURE(expect_nothing_behind_my_back([] { upload(); }), "uploads +1");
  EXPECT_NONFATAL_FAILURE(expect_nothing_behind_my_back([] { download(); }), "downloads +1");
  EXPECT_NONFATAL_FAILURE(expect_nothing_behind_my_back([] { lend(); }), "aliased_bytes +8");
  EXPECT_NONFATAL_FAILURE(expect_nothing_behind_my_back([] { compile(); }), "compiles +1");
  EXPECT_NONFATAL_FAILURE(expect_nothing_behind_my_back([] { count(&Counters::lowerings); }),
                          "lowerings +1");
}

TEST(ExpectNothingBehindMyBack, LetsRunsAndCacheHitsPass) {
  EXPECT_TRUE(expect_nothing_behind_my_back([] {
    count(&Counters::executions);
    count(&Counters::combine_hits);
  }));
}

TEST(ExpectZero, FailsAtTheCallersLine) {
  ::testing::TestPartResultArray failures;
  uint32_t line = 0;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    line = __LINE__ + 1;
    expect_zero_bytes_up([] { upload(); });
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_EQ(failures.GetTestPartResult(0).line_number(), static_cast<int>(line));
}

}  // namespace
}  // namespace heddle::runtime
