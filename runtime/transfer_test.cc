#include "heddle/runtime/transfer.h"

#include <gtest/gtest.h>

#include "heddle/base/metrics/counters.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

class Transfer : public ::testing::Test {
 protected:
  std::unique_ptr<Backend> backend_ = interpreter::make_backend();
  Device& device_ = *backend_->devices()[0];
};

// Bytes on the host that start at a multiple of 64, or `offset` bytes after one; `alive` tells
// whether they are still held.
struct HostArray {
  explicit HostArray(std::initializer_list<float> values, size_t offset = 0) {
    auto bytes = std::shared_ptr<std::byte>(static_cast<std::byte*>(std::aligned_alloc(64, 1024)),
                                            std::free);
    data = reinterpret_cast<float*>(bytes.get() + offset);
    std::ranges::copy(values, data);
    alive = bytes;
    owner = std::move(bytes);
  }
  float* data;
  std::shared_ptr<const void> owner;
  std::weak_ptr<const void> alive;
};

TEST_F(Transfer, BytesComeBackAsTheyWent) {
  const Literal literal = vector_of({1.5f, -0.0f, 3.25f});
  const BufferPtr buffer = to_device(device_, literal).value();
  EXPECT_EQ(to_host(*buffer).value(), literal);
}

TEST_F(Transfer, UploadCountsOneCallAndItsBytes) {
  const Effects effects = effects_of([&] {
    (void)to_device(device_, vector_of({1, 2, 3})).value();
  });
  EXPECT_EQ(effects, (Counters{.uploads = 1, .upload_bytes = 12}));
}

TEST_F(Transfer, DownloadCountsOneCallAndItsBytes) {
  const BufferPtr buffer = on(device_, {1, 2, 3});
  const Effects effects = effects_of([&] { (void)to_host(*buffer).value(); });
  EXPECT_EQ(effects, (Counters{.downloads = 1, .download_bytes = 12}));
}

TEST_F(Transfer, AnEmptyArrayCountsACallOfZeroBytes) {
  const Effects effects = effects_of([&] {
    const BufferPtr empty = to_device(device_, Literal(f32({0, 4}))).value();
    EXPECT_EQ(to_host(*empty).value().shape(), f32({0, 4}));
  });
  EXPECT_EQ(effects, (Counters{.uploads = 1, .downloads = 1}));
}

TEST_F(Transfer, AnUploadIsACopy) {
  Literal literal = vector_of({1, 2});
  const BufferPtr buffer = to_device(device_, literal).value();
  literal.mutable_values<float>()[0] = 9;
  EXPECT_EQ(values_of(*buffer), (std::vector<float>{1, 2}));
}

TEST_F(Transfer, AnUploadFromBorrowedMemoryIsACopyToo) {
  float data[2] = {1, 2};
  const BufferPtr buffer = to_device(device_, Literal::borrowed(f32({2}), data, nullptr)).value();
  data[0] = 9;
  EXPECT_EQ(values_of(*buffer), (std::vector<float>{1, 2}));
}

TEST_F(Transfer, ATupleIsRefused) {
  const auto refused = to_device(device_, Literal::tuple({vector_of({1}), vector_of({2})}));
  EXPECT_EQ(refused.status(),
            base::invalid_argument(
                "upload: a value of type (f32[1], f32[1]); it must be an array; upload "
                "each of its leaves"));
}

TEST_F(Transfer, AnElidedLiteralIsRefusedAndNotCounted) {
  const Effects effects = effects_of([&] {
    EXPECT_EQ(
        to_device(device_, Literal::elided(f32({4}))).status(),
        base::failed_precondition(
            "upload: a literal of type f32[4] whose values were elided as {...}; print the module "
            "with its constants in full"));
  });
  EXPECT_EQ(effects, Counters{});
}

TEST_F(Transfer, ReadingAReleasedBufferNamesTypeAndRepair) {
  const BufferPtr buffer = on(device_, {1, 2});
  buffer->release();
  EXPECT_EQ(to_host(*buffer).status(), deleted_error("download", f32({2})));
}

TEST_F(Transfer, LendingAlignedMemoryCountsAliasedBytesOnly) {
  const HostArray host({1, 2, 3});
  const Effects effects =
      effects_of([&] { (void)lend_to_device(device_, host.data, f32({3}), host.owner).value(); });
  EXPECT_EQ(effects, (Counters{.aliased_bytes = 12}));
}

TEST_F(Transfer, LentMemoryIsReadWhereItIs) {
  const HostArray host({1, 2, 3});
  const BufferPtr lent = lend_to_device(device_, host.data, f32({3}), host.owner).value();
  EXPECT_EQ(values_of(*lent), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(device_.live_bytes(), 0);
}

TEST_F(Transfer, LendingUnalignedMemoryIsAnUpload) {
  const HostArray host({1, 2, 3}, /*offset=*/4);
  const Effects effects =
      effects_of([&] { (void)lend_to_device(device_, host.data, f32({3}), host.owner).value(); });
  EXPECT_EQ(effects, (Counters{.uploads = 1, .upload_bytes = 12}));
}

TEST(TransferToABackendThatCannotBorrow, LendingIsAnUpload) {
  HollowBackend backend;
  Device& device = *backend.devices()[0];
  const HostArray host({1, 2, 3});
  const Effects effects =
      effects_of([&] { (void)lend_to_device(device, host.data, f32({3}), host.owner).value(); });
  EXPECT_EQ(effects, (Counters{.uploads = 1, .upload_bytes = 12}));
}

TEST(TransferThatFails, IsNotCounted) {
  HollowBackend backend;
  const BufferPtr buffer = on(*backend.devices()[0], {1, 2});
  const Effects effects = effects_of([&] {
    EXPECT_EQ(to_host(*buffer).status(), base::unimplemented("download: a hollow buffer"));
  });
  EXPECT_EQ(effects, Counters{});
}

TEST(TransferThatFails, WithoutMemoryIsAnErrorThatNamesTheType) {
  HollowBackend backend;
  const Literal huge = Literal::borrowed(f32({1 << 28}), nullptr, nullptr);
  EXPECT_EQ(
      to_device(*backend.devices()[0], huge).status(),
      base::resource_exhausted("upload: f32[268435456] needs more host memory than there is"));
}

TEST_F(Transfer, TheLenderIsHeldAsLongAsTheBuffer) {
  HostArray host({1, 2, 3});
  BufferPtr lent = lend_to_device(device_, host.data, f32({3}), std::move(host.owner)).value();
  EXPECT_FALSE(host.alive.expired());
  lent.reset();
  EXPECT_TRUE(host.alive.expired());
}

TEST_F(Transfer, ReleasingALentBufferLetsTheLenderGo) {
  HostArray host({1, 2, 3});
  const BufferPtr lent =
      lend_to_device(device_, host.data, f32({3}), std::move(host.owner)).value();
  lent->release();
  EXPECT_TRUE(host.alive.expired());
}

TEST_F(Transfer, MemoryThatWasCopiedInsteadOfLentIsNotHeld) {
  HostArray host({1, 2, 3}, /*offset=*/4);
  const BufferPtr copy =
      lend_to_device(device_, host.data, f32({3}), std::move(host.owner)).value();
  EXPECT_TRUE(host.alive.expired());
  EXPECT_EQ(values_of(*copy), (std::vector<float>{1, 2, 3}));
}

TEST_F(Transfer, ARunThatIsGivenALentBufferDoesNotWriteToIt) {
  const HostArray host({1, 2});
  const BufferPtr lent = lend_to_device(device_, host.data, f32({2}), host.owner).value();
  const auto add = compiled(binary_module(hlo::Opcode::kAdd, 2), device_);
  const auto sum =
      add->execute(std::vector{lent, on(device_, {10, 20})}, {.donate = {0, 1}}).value();
  EXPECT_EQ(values_of(*sum[0]), (std::vector<float>{11, 22}));
  EXPECT_EQ(host.data[0], 1);
}

}  // namespace
}  // namespace heddle::runtime
