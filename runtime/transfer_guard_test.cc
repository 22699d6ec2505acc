#include "heddle/runtime/transfer_guard.h"

#include <gtest/gtest.h>

#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using Policy = TransferGuard::Policy;
using Direction = TransferGuard::Direction;

class Guard : public ::testing::Test {
 protected:
  Status upload() { return to_device(device_, vector_of({1, 2})).status(); }
  Status download() { return to_host(*buffer_).status(); }

  std::unique_ptr<Backend> backend_ = interpreter::make_backend();
  Device& device_ = *backend_->devices()[0];
  BufferPtr buffer_ = on(device_, {1, 2});
};

TEST_F(Guard, ForbiddenUploadNamesDirectionTypeAskerRepairAndLine) {
  TransferGuard guard(Policy::kForbid, Direction::kBoth, {"app/train.cc", 41});
  const Status error = to_device(device_, vector_of({1, 2}), "array").status();
  EXPECT_EQ(error, base::failed_precondition(
                       "upload: f32[2] goes from host to device, asked for by array, and "
                       "a TransferGuard at train.cc:41 forbids "
                       "it; move it out of the guarded block, or allow it with an inner "
                       "TransferGuard(Policy::kAllow)"));
}

TEST_F(Guard, ForbiddenDownloadNamesDirectionAndType) {
  TransferGuard guard(Policy::kForbid, Direction::kBoth, {"app/train.cc", 41});
  EXPECT_EQ(
      download(),
      base::failed_precondition(
          "download: f32[2] goes from device to host, and a TransferGuard at train.cc:41 forbids "
          "it; move it out of the guarded block, or allow it with an inner "
          "TransferGuard(Policy::kAllow)"));
}

TEST_F(Guard, AForbiddenTransferIsNotCounted) {
  TransferGuard guard(Policy::kForbid);
  EXPECT_EQ(effects_of([&] {
              EXPECT_FALSE(upload().ok());
              EXPECT_FALSE(download().ok());
            }),
            Counters{});
}

TEST_F(Guard, ForbidsLendingToo) {
  alignas(64) float data[2] = {1, 2};
  TransferGuard guard(Policy::kForbid);
  EXPECT_EQ(lend_to_device(device_, data, f32({2}), nullptr).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(Guard, OfOneDirectionLeavesTheOtherAlone) {
  TransferGuard guard(Policy::kForbid, Direction::kHostToDevice);
  EXPECT_FALSE(upload().ok());
  EXPECT_TRUE(download().ok());
}

TEST_F(Guard, AnInnerGuardAllowsAndThenTheOuterHoldsAgain) {
  TransferGuard outer(Policy::kForbid);
  {
    TransferGuard inner(Policy::kAllow);
    EXPECT_TRUE(upload().ok());
  }
  EXPECT_FALSE(upload().ok());
}

TEST_F(Guard, AnInnerGuardOfOneDirectionLeavesTheOuterInForceForTheOther) {
  TransferGuard outer(Policy::kForbid);
  TransferGuard inner(Policy::kAllow, Direction::kDeviceToHost);
  EXPECT_FALSE(upload().ok());
  EXPECT_TRUE(download().ok());
}

TEST_F(Guard, EndsWithItsBlock) {
  { TransferGuard guard(Policy::kForbid); }
  EXPECT_TRUE(upload().ok());
}

TEST_F(Guard, HoldsForItsOwnThread) {
  TransferGuard guard(Policy::kForbid);
  Status elsewhere = base::internal_error("the thread did not run");
  std::thread([&] { elsewhere = upload(); }).join();
  EXPECT_TRUE(elsewhere.ok());
}

TEST_F(Guard, LogsOneLineATransferAndLetsItPass) {
  std::vector<std::string> log;
  TransferGuard guard(log);
  EXPECT_TRUE(to_device(device_, vector_of({1, 2}), "array").ok());
  EXPECT_TRUE(download().ok());
  EXPECT_EQ(log,
            (std::vector<std::string>{"upload: f32[2] goes from host to device, asked for by array",
                                      "download: f32[2] goes from device to host"}));
}

TEST_F(Guard, LogsToStandardErrorWithTheGuardsLine) {
  ::testing::internal::CaptureStderr();
  {
    TransferGuard guard(Policy::kLog, Direction::kBoth, {"app/train.cc", 41});
    EXPECT_TRUE(upload().ok());
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "heddle: upload: f32[2] goes from host to device [train.cc:41]\n");
}

TEST_F(Guard, ForbidsBeforeAnyWait) {
  buffer_->release();
  TransferGuard guard(Policy::kForbid);
  EXPECT_NE(base::message_of(download()).find(" forbids it"), std::string::npos);
}

TEST_F(Guard, ARunMovesNothing) {
  const auto add = compiled(binary_module(hlo::Opcode::kAdd, 2), device_);
  TransferGuard guard(Policy::kForbid);
  EXPECT_TRUE(add->execute(std::vector{buffer_, buffer_}).ok());
}

}  // namespace
}  // namespace heddle::runtime
