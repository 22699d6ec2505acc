// The official behaviours of what Heddle itself does not call, by the calls of the interface. Of
// each plugin in interface_support_test.h; docs/plugin_behaviours.md has the table of all of them.
#include <atomic>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/interface_support_test.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;

class InterfaceOfBuffers : public Interface {
 protected:
  abi::Memory* memory() const {
    abi::DeviceDefaultMemoryArgs args{.device = first()};
    EXPECT_EQ(api_->call(args), Status());
    return args.memory;
  }
  std::vector<float> floats(abi::Buffer* buffer, size_t count) const {
    std::vector<float> got(count);
    abi::BufferToHostBufferArgs read{
        .src = buffer, .dst = got.data(), .dst_size = count * sizeof(float)};
    EXPECT_EQ(api_->call(read), Status());
    EXPECT_EQ(Event(api_, read.event).await(), Status());
    return got;
  }
  abi::LoadedExecutable* compiled() {
    return compile(hlo::to_proto(add_module()), "hlo", options()).value();
  }
  void destroy_program(abi::LoadedExecutable* program) {
    api_->destroy(abi::LoadedExecutableDestroyArgs{.executable = program});
  }
  // A buffer f32[4] that is filled piece by piece, and what fills it.
  struct Pieces {
    abi::AsyncHostToDeviceTransferManager* manager;
    abi::Buffer* buffer;
  };
  Pieces in_pieces() {
    const int64_t dims[] = {4};
    abi::ShapeSpec spec{.head = {sizeof(spec)},
                        .dims = dims,
                        .dims_count = 1,
                        .element_type = abi::BufferType::kF32};
    abi::ClientCreateBuffersForAsyncHostToDeviceArgs made{.client = client_->handle(),
                                                          .shape_specs = &spec,
                                                          .shape_specs_count = 1,
                                                          .memory = memory()};
    EXPECT_EQ(api_->call(made), Status());
    abi::AsyncHostToDeviceTransferManagerRetrieveBufferArgs got{.transfer_manager =
                                                                    made.transfer_manager};
    EXPECT_EQ(api_->call(got), Status());
    return {made.transfer_manager, got.buffer_out};
  }
  void destroy_pieces(const Pieces& pieces) {
    destroy(pieces.buffer);
    api_->destroy(
        abi::AsyncHostToDeviceTransferManagerDestroyArgs{.transfer_manager = pieces.manager});
  }
};

TEST_P(InterfaceOfBuffers, MemoriesAreDescribed) {
  const abi::Extension* found = api_->extension(abi::ExtensionType::kMemoryDescriptions);
  ASSERT_NE(found, nullptr);
  const auto& extension = *reinterpret_cast<const abi::MemoryDescriptionsExtension*>(found);
  abi::DeviceGetDescriptionArgs described{.device = first()};
  ASSERT_EQ(api_->call(described), Status());
  abi::DeviceDescriptionMemoryDescriptionsArgs args{
      .head = {sizeof(args)}, .device_description = described.device_description};
  ASSERT_EQ(api_->take(extension.memory_descriptions(&args), "memory descriptions"), Status());
  // XLA's builds describe none; their memories have kinds all the same.
  if (is_mock()) {
    EXPECT_LT(args.default_memory_index, args.memory_descriptions_count);
  }
  abi::MemoryKindArgs known{.memory = memory()};
  ASSERT_EQ(api_->call(known), Status());
  EXPECT_GT(known.kind_size, 0u);
  for (size_t i = 0; i < args.memory_descriptions_count; ++i) {
    abi::MemoryDescriptionKindArgs kind{.head = {sizeof(kind)},
                                        .memory_description = args.memory_descriptions[i]};
    ASSERT_EQ(api_->take(extension.kind(&kind), "memory kind"), Status());
    EXPECT_GT(kind.kind_size, 0u);
    EXPECT_NE(kind.kind_id, 0);
  }
}

TEST_P(InterfaceOfBuffers, NoProgramIsDestroyedWithoutHarm) { destroy_program(nullptr); }

TEST_P(InterfaceOfBuffers, AViewOfMemoryIsABuffer) {
  if (!is_on_host()) GTEST_SKIP() << "the memory is not the device's";
  alignas(64) float values[] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  std::atomic<int> deleted = 0;
  abi::ClientCreateViewOfDeviceBufferArgs args{
      .client = client_->handle(),
      .device_buffer_ptr = values,
      .dims = dims,
      .dims_count = 1,
      .element_type = abi::BufferType::kF32,
      .device = first(),
      .on_delete_callback = [](void*, void* count) { ++*static_cast<std::atomic<int>*>(count); },
      .on_delete_callback_arg = &deleted};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_THAT(floats(args.buffer, 4), ElementsAre(1, 2, 3, 4));
  abi::BufferUnsafePointerArgs pointer{.buffer = args.buffer};
  ASSERT_EQ(api_->call(pointer), Status());
  EXPECT_EQ(pointer.buffer_pointer, reinterpret_cast<uintptr_t>(values));
  EXPECT_EQ(deleted, 0);
  destroy(args.buffer);
  // The last use may end on another thread: the test ends when it has.
  while (deleted == 0) std::this_thread::yield();
  EXPECT_EQ(deleted, 1);
}

TEST_P(InterfaceOfBuffers, AViewOfUnalignedMemoryIsRefused) {
  alignas(64) float values[] = {1, 2, 3, 4};
  const int64_t dims[] = {2};
  abi::ClientCreateViewOfDeviceBufferArgs args{.client = client_->handle(),
                                               .device_buffer_ptr = values + 1,
                                               .dims = dims,
                                               .dims_count = 1,
                                               .element_type = abi::BufferType::kF32,
                                               .device = first()};
  EXPECT_THAT(base::message_of(api_->call(args)), HasSubstr("align"));
}

TEST_P(InterfaceOfBuffers, RawBytesAreCopiedFromAnOffset) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  float got[2] = {};
  abi::BufferCopyRawToHostArgs args{
      .buffer = buffer, .dst = got, .offset = 4, .transfer_size = sizeof(got)};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_EQ(Event(api_, args.event).await(), Status());
  EXPECT_THAT(got, ElementsAre(2, 3));
  // An offset out of range is an error: of the call, or of its event.
  args = {.buffer = buffer, .dst = got, .offset = 8, .transfer_size = sizeof(got)};
  const Status status = api_->call(args);
  EXPECT_FALSE(status.ok() && Event(api_, args.event).await().ok());
  destroy(buffer);
}

TEST_P(InterfaceOfBuffers, AProgramTellsWhereItRuns) {
  abi::LoadedExecutable* program = compiled();
  abi::LoadedExecutableGetDeviceAssignmentArgs args{.executable = program};
  ASSERT_EQ(api_->call(args), Status());
  // One replica, one partition, on the first device.
  EXPECT_EQ(std::string(args.serialized_bytes, args.serialized_bytes_size),
            std::string("\x08\x01\x10\x01\x1A\x03\x0A\x01", 8) +
                static_cast<char>(client_->devices()[0].id));
  args.deleter(args.serialized_device_assignment);
  destroy_program(program);
}

TEST_P(InterfaceOfBuffers, AContextOfARunIsMadeAndGoes) {
  abi::ExecuteContextCreateArgs args;
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_NE(args.context, nullptr);
  api_->destroy(abi::ExecuteContextDestroyArgs{.context = args.context});
}

TEST_P(InterfaceOfBuffers, ABufferIsFilledPieceByPiece) {
  const Pieces pieces = in_pieces();
  abi::BufferReadyEventArgs ready{.buffer = pieces.buffer};
  ASSERT_EQ(api_->call(ready), Status());
  const Event filled(api_, ready.event);
  const float values[] = {1, 2, 3, 4};
  for (int piece = 0; piece < 2; ++piece) {
    EXPECT_FALSE(*filled.is_ready());
    abi::AsyncHostToDeviceTransferManagerTransferDataArgs args{.transfer_manager = pieces.manager,
                                                               .data = values + 2 * piece,
                                                               .offset = 8 * piece,
                                                               .transfer_size = 8,
                                                               .is_last_transfer = piece == 1};
    ASSERT_EQ(api_->call(args), Status());
    EXPECT_EQ(Event(api_, args.done_with_h2d_transfer).await(), Status());
  }
  EXPECT_EQ(filled.await(), Status());
  EXPECT_THAT(floats(pieces.buffer, 4), ElementsAre(1, 2, 3, 4));
  destroy_pieces(pieces);
}

TEST_P(InterfaceOfBuffers, AnErrorOfAPieceIsTheBuffers) {
  const Pieces pieces = in_pieces();
  abi::AsyncHostToDeviceTransferManagerSetBufferErrorArgs args{
      .transfer_manager = pieces.manager,
      .error_code = abi::ErrorCode::kUnknown,
      .error_message = "mine",
      .error_message_size = 4};
  ASSERT_EQ(api_->call(args), Status());
  abi::BufferReadyEventArgs ready{.buffer = pieces.buffer};
  ASSERT_EQ(api_->call(ready), Status());
  EXPECT_THAT(base::message_of(Event(api_, ready.event).await()), HasSubstr("mine"));
  destroy_pieces(pieces);
}

TEST_P(InterfaceOfBuffers, ABufferIsCopiedToAnotherMemory) {
  if (client_->devices().size() < 2) GTEST_SKIP() << "one device";
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::DeviceDefaultMemoryArgs there{.device = client_->devices()[1].handle};
  ASSERT_EQ(api_->call(there), Status());
  abi::BufferCopyToMemoryArgs args{.buffer = buffer, .dst_memory = there.memory};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_THAT(floats(args.dst_buffer, 3), ElementsAre(1, 2, 3));
  destroy(buffer);
  destroy(args.dst_buffer);
}

TEST_P(InterfaceOfBuffers, AnAliasStandsForABufferThatComesLater) {
  const int64_t dims[] = {3};
  abi::ClientCreateAliasBufferArgs made{.client = client_->handle(),
                                        .memory = memory(),
                                        .shape_dims = dims,
                                        .shape_num_dims = 1,
                                        .shape_element_type = abi::BufferType::kF32};
  ASSERT_EQ(api_->call(made), Status());
  abi::BufferReadyEventArgs ready{.buffer = made.alias_buffer};
  ASSERT_EQ(api_->call(ready), Status());
  const Event filled(api_, ready.event);
  EXPECT_FALSE(*filled.is_ready());
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::ClientFulfillAliasBufferArgs args{.client = client_->handle(),
                                         .buffer = buffer,
                                         .fulfill_alias_buffer_cb = made.fulfill_alias_buffer_cb};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_EQ(filled.await(), Status());
  EXPECT_THAT(floats(made.alias_buffer, 3), ElementsAre(1, 2, 3));
  destroy(buffer);
  destroy(made.alias_buffer);
}

TEST_P(InterfaceOfBuffers, AProgramIsLoadedTwiceFromItsBytes) {
  abi::LoadedExecutable* program = compiled();
  abi::LoadedExecutableGetExecutableArgs got{.loaded_executable = program};
  ASSERT_EQ(api_->call(got), Status());
  abi::ExecutableFingerprintArgs print{.executable = got.executable};
  ASSERT_EQ(api_->call(print), Status());
  EXPECT_GT(print.executable_fingerprint_size, 0u);
  abi::ExecutableSerializeArgs saved{.executable = got.executable};
  ASSERT_EQ(api_->call(saved), Status());
  for (int i = 0; i < 2; ++i) {
    abi::ExecutableDeserializeAndLoadArgs args{
        .client = client_->handle(),
        .serialized_executable = saved.serialized_bytes,
        .serialized_executable_size = saved.serialized_bytes_size};
    ASSERT_EQ(api_->call(args), Status());
    destroy_program(args.loaded_executable);
  }
  saved.serialized_executable_deleter(saved.serialized_executable);
  api_->destroy(abi::ExecutableDestroyArgs{.executable = got.executable});
  destroy_program(program);
}

TEST_P(InterfaceOfBuffers, ABufferTellsItsLayout) {
  const abi::Extension* found = api_->extension(abi::ExtensionType::kLayouts);
  ASSERT_NE(found, nullptr);
  const auto& extension = *reinterpret_cast<const abi::LayoutsExtension*>(found);
  abi::Buffer* buffer = uploaded(Literal(Shape(f32, {2, 3})));
  abi::LayoutsBufferMemoryLayoutArgs args{.head = {sizeof(args)}, .buffer = buffer};
  ASSERT_EQ(api_->take(extension.buffer_memory_layout(&args), "layout"), Status());
  abi::LayoutsMemoryLayoutSerializeArgs text{.head = {sizeof(text)}, .layout = args.layout};
  ASSERT_EQ(api_->take(extension.serialize(&text), "layout"), Status());
  EXPECT_EQ(std::string(text.serialized_bytes, text.serialized_bytes_size), "{1,0}");
  text.deleter(text.serialized_layout);
  abi::LayoutsMemoryLayoutDestroyArgs gone{.head = {sizeof(gone)}, .layout = args.layout};
  EXPECT_EQ(api_->take(extension.destroy(&gone), "layout"), Status());
  destroy(buffer);
}

TEST_P(InterfaceOfBuffers, IntegersOfFourBitsArePackedAndSayWhatTheyAre) {
  abi::Buffer* buffer = uploaded(Literal(Shape(s4, {4})));
  abi::BufferElementTypeArgs type{.buffer = buffer};
  abi::BufferOnDeviceSizeInBytesArgs size{.buffer = buffer};
  ASSERT_EQ(api_->call(type), Status());
  ASSERT_EQ(api_->call(size), Status());
  EXPECT_EQ(type.type, abi::BufferType::kS4);
  EXPECT_EQ(size.on_device_size_in_bytes, 2u);
  destroy(buffer);
}

// Of a function that came after the wheel: a plugin has it from that version on.
TEST_P(InterfaceOfBuffers, ABufferOfAnErrorIsTheErrorOfRunsToo) {
  ASSERT_EQ(api_->has(Slot::kClientCreateErrorBuffer), api_->minor() >= 82);
  if (!api_->has(Slot::kClientCreateErrorBuffer)) GTEST_SKIP() << "before PJRT 0.82";
  const int64_t dims[] = {2};
  abi::ClientCreateErrorBufferArgs args{.client = client_->handle(),
                                        .error_code = abi::ErrorCode::kUnknown,
                                        .error_message = "mine",
                                        .error_message_size = 4,
                                        .shape_dims = dims,
                                        .shape_num_dims = 1,
                                        .shape_element_type = abi::BufferType::kF32,
                                        .memory = memory()};
  ASSERT_EQ(api_->call(args), Status());
  abi::LoadedExecutable* program = compiled();
  abi::Buffer* const sum = run(program, {args.buffer, args.buffer}).value();
  for (abi::Buffer* buffer : {args.buffer, sum}) {
    abi::BufferReadyEventArgs ready{.buffer = buffer};
    ASSERT_EQ(api_->call(ready), Status());
    EXPECT_THAT(base::message_of(Event(api_, ready.event).await()), HasSubstr("mine"));
    destroy(buffer);
  }
  destroy_program(program);
}

TEST_P(InterfaceOfBuffers, AnEventOfTheHostHappensWhenItSaysSo) {
  ASSERT_EQ(api_->has(Slot::kEventSet), api_->minor() >= 89);
  if (!api_->has(Slot::kEventSet)) GTEST_SKIP() << "before PJRT 0.89";
  for (const abi::ErrorCode code : {abi::ErrorCode::kOk, abi::ErrorCode::kUnknown}) {
    abi::EventCreateArgs made;
    ASSERT_EQ(api_->call(made), Status());
    const Event event(api_, made.event);
    EXPECT_FALSE(*event.is_ready());
    abi::EventSetArgs set{
        .event = made.event, .error_code = code, .error_message = "mine", .error_message_size = 4};
    ASSERT_EQ(api_->call(set), Status());
    EXPECT_TRUE(*event.is_ready());
    EXPECT_EQ(event.await().ok(), code == abi::ErrorCode::kOk);
  }
}

TEST_P(InterfaceOfBuffers, BytesAreSeenAsAnotherType) {
  ASSERT_EQ(api_->has(Slot::kBufferBitcast), api_->minor() >= 98);
  if (!api_->has(Slot::kBufferBitcast)) GTEST_SKIP() << "before PJRT 0.98";
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3, 4}));
  const int64_t dims[] = {2, 2};
  abi::BufferBitcastArgs args{
      .buffer = buffer, .element_type = abi::BufferType::kF32, .dims = dims, .dims_count = 2};
  ASSERT_EQ(api_->call(args), Status());
  destroy(buffer);
  abi::BufferDimensionsArgs told{.buffer = args.out_buffer};
  ASSERT_EQ(api_->call(told), Status());
  EXPECT_EQ(told.dims_count, 2u);
  EXPECT_THAT(floats(args.out_buffer, 4), ElementsAre(1, 2, 3, 4));
  destroy(args.out_buffer);
}

// For transfers without a copy in between.
TEST_P(InterfaceOfBuffers, MemoryIsMappedForTransfers) {
  alignas(64) static float values[16] = {};
  abi::ClientDmaMapArgs map{.client = client_->handle(), .data = values, .size = sizeof(values)};
  const Status status = api_->call(map);
  if (is_xla_cpu()) {  // it has no use for it
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    return;
  }
  ASSERT_EQ(status, Status());
  abi::ClientDmaUnmapArgs unmap{.client = client_->handle(), .data = values};
  EXPECT_EQ(api_->call(unmap), Status());
}

INSTANTIATE_TEST_SUITE_P(Plugins, InterfaceOfBuffers, ::testing::ValuesIn(kPlugins),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle::pjrt
