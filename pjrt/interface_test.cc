// The official behaviours of the interface, by its own calls: of clients, devices, programs' bytes
// and buffers. Of each plugin in interface_support_test.h.
#include "heddle/base/support_test.h"
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/interface_support_test.h"

namespace heddle::pjrt {
namespace {

TEST_P(Interface, PlatformProcessAndAttributes) {
  EXPECT_EQ(client_->platform(), is_mock() ? "mock" : "cpu");
  EXPECT_TRUE(client_->is_xla());
  abi::ClientProcessIndexArgs process{.client = client_->handle()};
  ASSERT_EQ(api_->call(process), Status());
  EXPECT_EQ(process.process_index, 0);
  abi::PluginAttributesArgs args;
  ASSERT_EQ(api_->call(args), Status());
  std::vector<std::string> names;
  for (size_t i = 0; i < args.attributes_count; ++i)
    names.emplace_back(args.attributes[i].name, args.attributes[i].name_size);
  EXPECT_THAT(names, Contains("xla_version"));
  EXPECT_THAT(names, Contains("stablehlo_current_version"));
  EXPECT_THAT(names, Contains("stablehlo_minimum_version"));
}

TEST_P(Interface, ExtensionsAreWalked) {
  EXPECT_THAT(api_->extensions(), Contains(abi::ExtensionType::kMemoryDescriptions));
  EXPECT_THAT(api_->extensions(), Contains(abi::ExtensionType::kLayouts));
}

TEST_P(Interface, DevicesAreFoundByNumberAndOthersAreNot) {
  for (const Client::Device& device : client_->devices()) {
    abi::ClientLookupDeviceArgs args{.client = client_->handle(), .id = device.id};
    ASSERT_EQ(api_->call(args), Status());
    EXPECT_EQ(args.device, device.handle);
    abi::DeviceLocalHardwareIdArgs number{.device = device.handle};
    ASSERT_EQ(api_->call(number), Status());
    abi::ClientLookupAddressableDeviceArgs local{.client = client_->handle(),
                                                 .local_hardware_id = number.local_hardware_id};
    ASSERT_EQ(api_->call(local), Status());
    EXPECT_EQ(local.addressable_device, device.handle);
  }
  for (int id : {-1, static_cast<int>(client_->devices().size())}) {
    abi::ClientLookupDeviceArgs args{.client = client_->handle(), .id = id};
    const Status status = api_->call(args);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(base::message_of(status),
                HasSubstr(base::cat(api_->label(), ": ClientLookupDevice: ")));
    EXPECT_THAT(base::message_of(status),
                HasSubstr(base::cat("No matching device found for device_id ", id)));
  }
}

TEST_P(Interface, ADeviceDescribesItself) {
  abi::DeviceGetDescriptionArgs described{.device = client_->devices()[0].handle};
  ASSERT_EQ(api_->call(described), Status());
  abi::DeviceDescriptionProcessIndexArgs process{.device_description =
                                                     described.device_description};
  abi::DeviceDescriptionDebugStringArgs text{.device_description = described.device_description};
  abi::DeviceIsAddressableArgs addressable{.device = described.device};
  ASSERT_EQ(api_->call(process), Status());
  ASSERT_EQ(api_->call(text), Status());
  ASSERT_EQ(api_->call(addressable), Status());
  EXPECT_EQ(process.process_index, 0);
  EXPECT_GT(text.debug_string_size, 0u);
  EXPECT_TRUE(addressable.is_addressable);
}

TEST_P(Interface, TheDefaultAssignmentNeedsRoom) {
  if (client_->devices().size() < 2) GTEST_SKIP() << "one device";
  std::vector<int> ids(2, -1);
  abi::ClientDefaultDeviceAssignmentArgs args{.client = client_->handle(),
                                              .replicas_count = 2,
                                              .partitions_count = 1,
                                              .default_assignment_size = ids.size(),
                                              .default_assignment = ids.data()};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_THAT(ids, ElementsAre(client_->devices()[0].id, client_->devices()[1].id));
  args.default_assignment_size = 1;
  EXPECT_EQ(api_->call(args).code(), StatusCode::kFailedPrecondition);
}

// Counts that are none, and a product of more than 32 bits, of which the lower ones are 65536.
TEST_P(Interface, AnAssignmentOfNoDevicesOrTooManyIsAnError) {
  std::vector<int> ids(4, -1);
  struct Counts {
    int replicas, partitions;
  };
  for (const Counts& counts : {Counts{0, 1}, Counts{1, 0}, Counts{-1, 2}, Counts{65536, 65537}}) {
    abi::ClientDefaultDeviceAssignmentArgs args{.client = client_->handle(),
                                                .replicas_count = counts.replicas,
                                                .partitions_count = counts.partitions,
                                                .default_assignment_size = ids.size(),
                                                .default_assignment = ids.data()};
    const bool is_none = counts.replicas == 0 || counts.partitions == 0;
    if (is_xla_cpu() && is_none) {  // this build of XLA ends the process
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      EXPECT_DEATH((void)api_->call(args), "");
      continue;
    }
    const Status status = api_->call(args);
    EXPECT_TRUE(status.code() == StatusCode::kInvalidArgument ||
                status.code() == StatusCode::kFailedPrecondition)
        << status;
    EXPECT_THAT(ids, ElementsAre(-1, -1, -1, -1));
  }
}

TEST_P(Interface, AnUploadIsDoneWithItsHostMemory) {
  for (auto semantics : {abi::HostSemantics::kDuringCall, abi::HostSemantics::kUntilTransferred}) {
    Event host_is_free;
    abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}), semantics, &host_is_free);
    EXPECT_EQ(host_is_free.await(), Status());
    destroy(buffer);
  }
}

TEST_P(Interface, MemoryInPlaceIsHeldAsLongAsTheBuffer) {
  const Literal values = vector_of({1, 2, 3});
  Event host_is_free;
  abi::Buffer* buffer = uploaded(values, abi::HostSemantics::kZeroCopy, &host_is_free);
  EXPECT_FALSE(*host_is_free.is_ready());
  destroy(buffer);
  EXPECT_EQ(host_is_free.await(), Status());
}

TEST_P(Interface, ABufferTellsTypeSizeAndFate) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferElementTypeArgs type{.buffer = buffer};
  abi::BufferDimensionsArgs dims{.buffer = buffer};
  abi::BufferOnDeviceSizeInBytesArgs size{.buffer = buffer};
  abi::BufferIsDeletedArgs deleted{.buffer = buffer};
  ASSERT_EQ(api_->call(type), Status());
  ASSERT_EQ(api_->call(dims), Status());
  ASSERT_EQ(api_->call(size), Status());
  ASSERT_EQ(api_->call(deleted), Status());
  EXPECT_EQ(type.type, abi::BufferType::kF32);
  EXPECT_EQ(dims.dims_count, 1u);
  EXPECT_EQ(dims.dims[0], 3);
  EXPECT_EQ(size.on_device_size_in_bytes, 12u);
  EXPECT_FALSE(deleted.is_deleted);
  abi::BufferDeleteArgs remove{.buffer = buffer};
  ASSERT_EQ(api_->call(remove), Status());
  ASSERT_EQ(api_->call(deleted), Status());
  EXPECT_TRUE(deleted.is_deleted);
  destroy(buffer);
}

TEST_P(Interface, TheReadyEventIsReadyAfterWaiting) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferReadyEventArgs args{.buffer = buffer};
  ASSERT_EQ(api_->call(args), Status());
  const Event ready(api_, args.event);
  EXPECT_EQ(ready.await(), Status());
  EXPECT_TRUE(*ready.is_ready());
  int called = 0;
  EXPECT_EQ(ready.on_ready([&](const Status& status) { called += status.ok() ? 1 : 100; }),
            Status());
  EXPECT_EQ(called, 1);  // at once, on this thread
  destroy(buffer);
}

TEST_P(Interface, TheReadyEventOfADeletedBufferFails) {
  abi::Buffer* buffer = uploaded(vector_of({1}));
  abi::BufferDeleteArgs remove{.buffer = buffer};
  ASSERT_EQ(api_->call(remove), Status());
  abi::BufferReadyEventArgs args{.buffer = buffer};
  const Status status = api_->call(args);
  EXPECT_FALSE(status.ok() && Event(api_, args.event).await().ok());
  destroy(buffer);
}

TEST_P(Interface, ExternalReferencesAreCounted) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferIncreaseExternalReferenceCountArgs increase{.buffer = buffer};
  abi::BufferDecreaseExternalReferenceCountArgs decrease{.buffer = buffer};
  abi::BufferOpaqueDeviceMemoryDataPointerArgs pointer{.buffer = buffer};
  ASSERT_EQ(api_->call(increase), Status());
  ASSERT_EQ(api_->call(pointer), Status());
  EXPECT_NE(pointer.device_memory_ptr, nullptr);
  ASSERT_EQ(api_->call(decrease), Status());
  const Status status = api_->call(decrease);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(base::message_of(status), HasSubstr("zero reference count"));
  destroy(buffer);
}

TEST_P(Interface, ABufferIsCopiedToAnotherDevice) {
  if (client_->devices().size() < 2) GTEST_SKIP() << "one device";
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferCopyToDeviceArgs args{.buffer = buffer, .dst_device = client_->devices()[1].handle};
  ASSERT_EQ(api_->call(args), Status());
  float got[3] = {};
  abi::BufferToHostBufferArgs read{.src = args.dst_buffer, .dst = got, .dst_size = sizeof(got)};
  ASSERT_EQ(api_->call(read), Status());
  EXPECT_EQ(Event(api_, read.event).await(), Status());
  EXPECT_THAT(got, ElementsAre(1, 2, 3));
  destroy(buffer);
  destroy(args.dst_buffer);
}

TEST_P(Interface, ADownloadNeedsRoom) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferToHostBufferArgs asked{.src = buffer};
  ASSERT_EQ(api_->call(asked), Status());
  EXPECT_EQ(asked.dst_size, 12u);
  float got[1] = {};
  abi::BufferToHostBufferArgs read{.src = buffer, .dst = got, .dst_size = sizeof(got)};
  EXPECT_EQ(api_->call(read).code(), StatusCode::kInvalidArgument);
  destroy(buffer);
}

TEST_P(Interface, AnUninitialisedBufferIsMade) {
  const int64_t dims[] = {2, 3};
  abi::ClientCreateUninitializedBufferArgs args{.client = client_->handle(),
                                                .shape_dims = dims,
                                                .shape_num_dims = 2,
                                                .shape_element_type = abi::BufferType::kF32,
                                                .device = client_->devices()[0].handle};
  ASSERT_EQ(api_->call(args), Status());
  destroy(args.buffer);
}

TEST_P(Interface, ProgramsAreReadAsHloAndAsStableHlo) {
  const std::string options = this->options();
  const auto hlo = compile(hlo::to_proto(add_module()), "hlo", options);
  ASSERT_TRUE(hlo.ok()) << hlo.status();
  const auto mlir = compile(R"(module @m {
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    %y = stablehlo.add %x, %x : tensor<f32>
    return %y : tensor<f32>
  }
})",
                            "mlir", options);
  ASSERT_TRUE(mlir.ok()) << mlir.status();
  for (abi::LoadedExecutable* program : {*hlo, *mlir})
    api_->destroy(abi::LoadedExecutableDestroyArgs{.executable = program});
}

TEST_P(Interface, BadProgramsAndOptionsAreErrors) {
  const std::string options = this->options();
  const std::string module = hlo::to_proto(add_module());
  EXPECT_THAT(base::message_of(compile(module, "hlo", "garbage").status()),
              HasSubstr("failed to deserialize CompileOptionsProto"));
  EXPECT_THAT(base::message_of(compile(module, "invalid", options).status()),
              HasSubstr("Unknown program format 'invalid'"));
  EXPECT_THAT(base::message_of(compile("garbage", "hlo", options).status()),
              HasSubstr("failed to deserialize HloModuleProto"));
  EXPECT_THAT(base::message_of(compile("garbage", "mlir", options).status()),
              HasSubstr(base::cat(api_->label(), ": ClientCompile: ")));
}

TEST_P(Interface, TheNumberOfDevicesIsAnOption) {
  const auto client = Client::create(api_, {{"cpu_device_count", int64_t{16}}});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->devices().size(), 16u);
}

TEST_P(Interface, TwoClientsLiveSideBySide) {
  const auto other = Client::create(api_, {}).value();
  EXPECT_NE(other->handle(), client_->handle());
}

INSTANTIATE_TEST_SUITE_P(Plugins, Interface, ::testing::ValuesIn(kPlugins),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle::pjrt
