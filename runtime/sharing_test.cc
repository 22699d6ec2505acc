// Strided uploads, downloads on their way, views and DLPack, on the interpreter. What plugins do is
// tested in pjrt/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>

#include "heddle/interpreter/backend.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/support_test.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using dlpack::ManagedTensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Sharing : public ::testing::Test {
 protected:
  Device& device() { return *backend_->devices()[0]; }
  const std::unique_ptr<Backend> backend_ = interpreter::make_backend();
};

TEST_F(Sharing, StridedMemoryArrivesRowMajor) {
  const std::vector<float> m = {1, 2, 3, 4, 5, 6};  // 2 rows of 3
  const auto upload = [&](const float* data, std::vector<int64_t> sizes,
                          std::vector<int64_t> strides) {
    BufferPtr buffer;
    const Effects effects = effects_of([&] {
      buffer = to_device(device(), StridedArray{.data = data,
                                                .shape = f32(std::move(sizes)),
                                                .byte_strides = std::move(strides)})
                   .value();
    });
    EXPECT_EQ(effects.uploads, 1);
    EXPECT_EQ(effects.upload_bytes, buffer->size_bytes());
    return values_of(*buffer);
  };
  EXPECT_THAT(upload(m.data(), {2, 3}, {12, 4}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(upload(m.data(), {3, 2}, {4, 12}), ElementsAre(1, 4, 2, 5, 3, 6));  // transposed
  EXPECT_THAT(upload(m.data() + 5, {6}, {-4}), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(upload(m.data(), {2, 3}, {0, 4}), ElementsAre(1, 2, 3, 1, 2, 3));  // broadcast
  EXPECT_THAT(upload(m.data(), {3}, {8}), ElementsAre(1, 3, 5));
  EXPECT_THAT(upload(m.data() + 1, {}, {}), ElementsAre(2));
  EXPECT_THAT(upload(nullptr, {0, 3}, {12, 4}), ElementsAre());
}

TEST_F(Sharing, StridesOfAnotherRankAreRefused) {
  const float x = 1;
  EXPECT_EQ(
      base::message_of(
          to_device(device(), StridedArray{.data = &x, .shape = f32({1, 1}), .byte_strides = {4}})
              .status()),
      "upload: f32[1,1] has 1 strides; it must have one a dimension");
}

TEST_F(Sharing, MemoryThatIsNoneIsRefused) {
  const std::string refusal =
      "upload: the data of f32[2] is a null pointer; it must point at 8 bytes";
  EXPECT_EQ(base::message_of(lend_to_device(device(), nullptr, f32({2}), nullptr).status()),
            refusal);
  EXPECT_EQ(base::message_of(
                to_device(device(), StridedArray{.shape = f32({2}), .byte_strides = {4}}).status()),
            refusal);
  int64_t sizes[] = {2};
  ManagedTensor tensor{.tensor = {.data = nullptr,
                                  .device = {},
                                  .rank = 1,
                                  .dtype = {.code = dlpack::TypeCode::kFloat, .bits = 32},
                                  .shape = sizes,
                                  .byte_offset = 64}};
  EXPECT_EQ(base::message_of(from_dlpack(device(), &tensor).status()), refusal);
  EXPECT_TRUE(lend_to_device(device(), nullptr, f32({0}), nullptr).ok());
}

TEST_F(Sharing, ADownloadIsCountedWhenItIsDone) {
  const BufferPtr x = on(device(), {1, 2});
  const Effects effects = effects_of([&] {
    Download download = start_to_host(*x).value();
    EXPECT_EQ(download.await().value(), vector_of({1, 2}));
    EXPECT_EQ(base::message_of(download.await().status()), "download: it was waited for before");
  });
  EXPECT_EQ(effects.downloads, 1);
  EXPECT_EQ(effects.download_bytes, 8);
}

TEST_F(Sharing, ADroppedDownloadIsWaitedFor) {
  const BufferPtr x = on(device(), {1, 2});
  const Effects effects = effects_of([&] { (void)start_to_host(*x).value(); });
  EXPECT_EQ(effects.downloads, 1);
}

TEST_F(Sharing, ADownloadOfAPendingValueReturnsAtOnceAndOutlivesTheBuffer) {
  std::mutex held;
  held.lock();
  const auto late = interpreter::make_backend({.asynchronous = true, .before_run = [&] {
                                                 std::scoped_lock wait(held);
                                                 return Status();
                                               }});
  Device& there = *late->devices()[0];
  const auto add = compiled(binary_module(hlo::Opcode::kAdd, 2), there);
  const BufferPtr x = on(there, {1, 2});
  BufferPtr sum = add->execute(std::vector{x, x}).value()[0];
  Download download = start_to_host(*sum).value();
  sum->release();
  sum.reset();
  held.unlock();
  EXPECT_EQ(download.await().value(), vector_of({2, 4}));
}

TEST_F(Sharing, AViewSharesTheDevicesMemory) {
  const BufferPtr x = on(device(), {1, 2});
  Literal view;
  const Effects effects = effects_of([&] { view = view_on_host(*x).value(); });
  EXPECT_EQ(effects.aliased_bytes, 8);
  EXPECT_EQ(effects.downloads, 0);
  EXPECT_EQ(view.bytes(), view_on_host(*x).value().bytes());
  x->release();
  EXPECT_EQ(view, vector_of({1, 2}));
}

TEST_F(Sharing, ARunThatIsGivenAViewedBufferWritesElsewhere) {
  const auto add = compiled(binary_module(hlo::Opcode::kAdd, 2), device());
  const BufferPtr x = on(device(), {1, 2}), y = on(device(), {10, 20});
  const Literal view = view_on_host(*x).value();
  const BufferPtr sum = add->execute(std::vector{x, y}, {.donate = {0}}).value()[0];
  EXPECT_THAT(values_of(*sum), ElementsAre(11, 22));
  EXPECT_EQ(view, vector_of({1, 2}));
}

TEST_F(Sharing, TheGuardForbidsViewsAndDownloads) {
  const BufferPtr x = on(device(), {1, 2});
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  EXPECT_EQ(view_on_host(*x).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(start_to_host(*x).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(to_dlpack(*x).status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Sharing, BackendsThatCannotShareSaySo) {
  HollowBackend hollow;
  const BufferPtr x = on(*hollow.devices()[0], {1, 2});
  EXPECT_EQ(base::message_of(view_on_host(*x).status()),
            "backend hollow has no memory that the host can read; copy instead");
}

TEST_F(Sharing, ExecuteIntoFillsTheCallersBuffers) {
  const auto add = compiled(binary_module(hlo::Opcode::kAdd, 2), device());
  std::vector<BufferPtr> state = {on(device(), {1, 2})};
  const BufferPtr one = on(device(), {1, 1});
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(add->execute_into(std::vector{state[0], one}, state), Status());
  EXPECT_THAT(values_of(*state[0]), ElementsAre(4, 5));
  std::vector<BufferPtr> two(2);
  EXPECT_EQ(base::message_of(add->execute_into(std::vector{one, one}, two)),
            "run main: got room for 2 results; it has 1");
}

// ---- DLPack.

TEST_F(Sharing, AHandedOutTensorDescribesTheBuffersMemory) {
  BufferPtr x = to_device(device(), Literal(f32({2, 3}))).value();
  const Literal view = view_on_host(*x).value();
  ManagedTensor* out = to_dlpack(*x).value();
  x.reset();
  const dlpack::Tensor& tensor = out->tensor;
  EXPECT_EQ(tensor.data, view.bytes());
  EXPECT_EQ(tensor.device.type, dlpack::DeviceType::kCpu);
  EXPECT_EQ(tensor.dtype.code, dlpack::TypeCode::kFloat);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  ASSERT_EQ(tensor.rank, 2);
  EXPECT_THAT(std::vector<int64_t>(tensor.shape, tensor.shape + 2), ElementsAre(2, 3));
  EXPECT_THAT(std::vector<int64_t>(tensor.strides, tensor.strides + 2), ElementsAre(3, 1));
  out->deleter(out);
}

// A tensor of somebody else's, that counts its deletions.
struct Theirs {
  alignas(64) float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  ManagedTensor tensor{
      .tensor = {.data = values,
                 .device = {},
                 .rank = 2,
                 .dtype = {.code = dlpack::TypeCode::kFloat, .bits = 32},
                 .shape = shape,
                 .strides = nullptr,
                 .byte_offset = 0},
      .context = this,
      .deleter = [](ManagedTensor* self) { ++static_cast<Theirs*>(self->context)->deleted; }};
};

TEST_F(Sharing, ATakenTensorIsLentAndDeletedWhenTheBufferGoes) {
  Theirs theirs;
  BufferPtr x;
  const Effects effects = effects_of([&] { x = from_dlpack(device(), &theirs.tensor).value(); });
  EXPECT_EQ(effects.aliased_bytes, 24);
  EXPECT_EQ(effects.uploads, 0);
  EXPECT_THAT(values_of(*x), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(theirs.deleted, 0);
  x.reset();
  EXPECT_EQ(theirs.deleted, 1);
}

TEST_F(Sharing, ATensorWithStridesOrAnOffsetIsCopiedAndDeletedAtOnce) {
  Theirs theirs;
  theirs.tensor.tensor.strides = theirs.strides;
  theirs.shape[0] = 3, theirs.shape[1] = 2;
  theirs.strides[0] = 1, theirs.strides[1] = 3;
  const BufferPtr transposed = from_dlpack(device(), &theirs.tensor).value();
  EXPECT_THAT(values_of(*transposed), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(theirs.deleted, 1);
  theirs.tensor.tensor.rank = 1;
  theirs.tensor.tensor.byte_offset = 4;  // not aligned
  const BufferPtr tail = from_dlpack(device(), &theirs.tensor).value();
  EXPECT_THAT(values_of(*tail), ElementsAre(2, 3, 4));
  EXPECT_EQ(theirs.deleted, 2);
}

TEST_F(Sharing, ATensorThatIsRefusedIsLeftToItsOwner) {
  const auto refusal = [&](const std::function<void(dlpack::Tensor&)>& change) {
    Theirs theirs;
    change(theirs.tensor.tensor);
    const Status status = from_dlpack(device(), &theirs.tensor).status();
    EXPECT_EQ(theirs.deleted, 0);
    return base::message_of(status);
  };
  EXPECT_THAT(refusal([](auto& t) { t.device.type = static_cast<dlpack::DeviceType>(2); }),
              HasSubstr("memory of device type 2, which the host cannot read"));
  EXPECT_THAT(refusal([](auto& t) { t.dtype.lanes = 4; }), HasSubstr("4 lanes"));
  EXPECT_THAT(refusal([](auto& t) { t.dtype.bits = 7; }), HasSubstr("7 bits"));
  EXPECT_THAT(refusal([](auto& t) { t.rank = -1; }), HasSubstr("the tensor has rank -1"));
  EXPECT_THAT(refusal([](auto& t) { t.rank = 65; }), HasSubstr("the tensor has rank 65"));
  EXPECT_THAT(refusal([](auto& t) { t.shape = nullptr; }), HasSubstr("and no shape"));
  EXPECT_THAT(refusal([](auto& t) { t.shape[0] = -2; }), HasSubstr("from_dlpack: "));
  EXPECT_THAT(refusal([](auto& t) { t.shape[0] = t.shape[1] = int64_t{1} << 40; }),
              HasSubstr("from_dlpack: "));
  int64_t far[2] = {INT64_MAX / 2, 1};
  EXPECT_THAT(refusal([&](auto& t) { t.strides = far; }),
              HasSubstr("stride 0 of the tensor is 4611686018427387903 elements; it must"));
  EXPECT_EQ(base::message_of(from_dlpack(device(), nullptr).status()),
            "from_dlpack: there is no tensor");
}

TEST_F(Sharing, ATypeThatNoMemoryCanHoldIsRefused) {
  const float value = 0;
  const auto refusal = [&](const Shape& shape) {
    const Status lent = lend_to_device(device(), &value, shape, nullptr).status();
    const StridedArray strided{&value, shape, std::vector<int64_t>(shape.dimensions().size())};
    EXPECT_EQ(to_device(device(), strided).status(), lent);
    return base::message_of(lent);
  };
  EXPECT_THAT(refusal(f32({2, -1})), HasSubstr("upload: shape: "));
  EXPECT_THAT(refusal(f32({int64_t{1} << 40, int64_t{1} << 40})), HasSubstr("upload: shape: "));
  EXPECT_THAT(refusal(f32(std::vector<int64_t>(65, 1))), HasSubstr("upload: shape: "));
}

TEST_F(Sharing, EveryTypeThatDlpackHasGoesThereAndBack) {
  for (DType dtype :
       {pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, heddle::f32, f64, bf16, c64, c128}) {
    Literal values(Shape(dtype, {3, 2}));
    std::vector<std::byte> pattern(static_cast<size_t>(values.byte_size()), std::byte{1});
    std::copy(pattern.begin(), pattern.end(), values.mutable_bytes());
    const BufferPtr x = to_device(device(), values).value();
    const BufferPtr y = from_dlpack(device(), to_dlpack(*x).value()).value();
    EXPECT_EQ(to_host(*y).value(), values);
  }
  const BufferPtr x = to_device(device(), Literal(Shape(f8e5m2, {1}))).value();
  EXPECT_EQ(base::message_of(to_dlpack(*x).status()),
            "to_dlpack: DLPack has no elements of f8e5m2; convert to another type first");
}

}  // namespace
}  // namespace heddle::runtime
