// Real XLA: the official behaviours of the interface, and ours on top of them. Skipped where the
// plugin is not there: ./dev setup-plugin xla-cpu fetches it.
#include <cmath>
#include <limits>
#include <thread>

#include "heddle/base/counters.h"
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/xla_cpu_support_test.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(XlaCpuCalls, PlatformProcessAndAttributes) {
  EXPECT_EQ(client_->platform(), "cpu");
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
}

TEST_F(XlaCpuCalls, ExtensionsAreWalked) {
  EXPECT_THAT(api_->extensions(), Contains(abi::ExtensionType::kFfi));
  EXPECT_THAT(api_->extensions(), Contains(abi::ExtensionType::kLayouts));
}

TEST_F(XlaCpuCalls, DevicesAreFoundByNumberAndOthersAreNot) {
  for (const Client::Device& device : client_->devices()) {
    abi::ClientLookupDeviceArgs args{.client = client_->handle(), .id = device.id};
    ASSERT_EQ(api_->call(args), Status());
    EXPECT_EQ(args.device, device.handle);
    abi::ClientLookupAddressableDeviceArgs local{.client = client_->handle(),
                                                 .local_hardware_id = device.id};
    ASSERT_EQ(api_->call(local), Status());
    EXPECT_EQ(local.addressable_device, device.handle);
  }
  for (int id : {-1, static_cast<int>(client_->devices().size())}) {
    abi::ClientLookupDeviceArgs args{.client = client_->handle(), .id = id};
    const Status status = api_->call(args);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(message_of(status), HasSubstr(cat(api_->label(), ": ClientLookupDevice: ")));
    EXPECT_THAT(message_of(status), HasSubstr(cat("No matching device found for device_id ", id)));
  }
}

TEST_F(XlaCpuCalls, ADeviceDescribesItself) {
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

TEST_F(XlaCpuCalls, TheDefaultAssignmentNeedsRoom) {
  std::vector<int> ids(4, -1);
  abi::ClientDefaultDeviceAssignmentArgs args{.client = client_->handle(),
                                              .replicas_count = 2,
                                              .partitions_count = 2,
                                              .default_assignment_size = ids.size(),
                                              .default_assignment = ids.data()};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3));
  args.default_assignment_size = 3;
  EXPECT_EQ(api_->call(args).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(XlaCpuCalls, AnUploadIsDoneWithItsHostMemory) {
  for (auto semantics : {abi::HostSemantics::kDuringCall, abi::HostSemantics::kUntilTransferred}) {
    Event host_is_free;
    abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}), semantics, &host_is_free);
    EXPECT_EQ(host_is_free.await(), Status());
    destroy(buffer);
  }
}

TEST_F(XlaCpuCalls, MemoryInPlaceIsHeldAsLongAsTheBuffer) {
  const Literal values = vector_of({1, 2, 3});
  Event host_is_free;
  abi::Buffer* buffer = uploaded(values, abi::HostSemantics::kZeroCopy, &host_is_free);
  EXPECT_FALSE(*host_is_free.is_ready());
  destroy(buffer);
  EXPECT_EQ(host_is_free.await(), Status());
}

TEST_F(XlaCpuCalls, ABufferTellsTypeSizeAndFate) {
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

TEST_F(XlaCpuCalls, TheReadyEventIsReadyAfterWaiting) {
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

TEST_F(XlaCpuCalls, TheReadyEventOfADeletedBufferFails) {
  abi::Buffer* buffer = uploaded(vector_of({1}));
  abi::BufferDeleteArgs remove{.buffer = buffer};
  ASSERT_EQ(api_->call(remove), Status());
  abi::BufferReadyEventArgs args{.buffer = buffer};
  const Status status = api_->call(args);
  EXPECT_FALSE(status.ok() && Event(api_, args.event).await().ok());
  destroy(buffer);
}

TEST_F(XlaCpuCalls, ExternalReferencesAreCounted) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferIncreaseExternalReferenceCountArgs increase{.buffer = buffer};
  abi::BufferDecreaseExternalReferenceCountArgs decrease{.buffer = buffer};
  abi::BufferOpaqueDeviceMemoryDataPointerArgs pointer{.buffer = buffer};
  ASSERT_EQ(api_->call(increase), Status());
  ASSERT_EQ(api_->call(pointer), Status());
  EXPECT_NE(pointer.device_memory_ptr, nullptr);
  ASSERT_EQ(api_->call(decrease), Status());
  const Status status = api_->call(decrease);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(status), HasSubstr("zero reference count"));
  destroy(buffer);
}

TEST_F(XlaCpuCalls, ABufferIsCopiedToAnotherDevice) {
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

TEST_F(XlaCpuCalls, ADownloadNeedsRoom) {
  abi::Buffer* buffer = uploaded(vector_of({1, 2, 3}));
  abi::BufferToHostBufferArgs asked{.src = buffer};
  ASSERT_EQ(api_->call(asked), Status());
  EXPECT_EQ(asked.dst_size, 12u);
  float got[1] = {};
  abi::BufferToHostBufferArgs read{.src = buffer, .dst = got, .dst_size = sizeof(got)};
  EXPECT_EQ(api_->call(read).code(), absl::StatusCode::kInvalidArgument);
  destroy(buffer);
}

TEST_F(XlaCpuCalls, AnUninitialisedBufferIsMade) {
  const int64_t dims[] = {2, 3};
  abi::ClientCreateUninitializedBufferArgs args{.client = client_->handle(),
                                                .shape_dims = dims,
                                                .shape_num_dims = 2,
                                                .shape_element_type = abi::BufferType::kF32,
                                                .device = client_->devices()[0].handle};
  ASSERT_EQ(api_->call(args), Status());
  destroy(args.buffer);
}

TEST_F(XlaCpuCalls, ProgramsAreReadAsHloAndAsStableHlo) {
  const std::string options = compile_options(0, {});
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

TEST_F(XlaCpuCalls, BadProgramsAndOptionsAreErrors) {
  const std::string options = compile_options(0, {});
  const std::string module = hlo::to_proto(add_module());
  EXPECT_THAT(message_of(compile(module, "hlo", "garbage").status()),
              HasSubstr("failed to deserialize CompileOptionsProto"));
  EXPECT_THAT(message_of(compile(module, "invalid", options).status()),
              HasSubstr("Unknown program format 'invalid'"));
  EXPECT_THAT(message_of(compile("garbage", "hlo", options).status()),
              HasSubstr("failed to deserialize HloModuleProto"));
  EXPECT_THAT(message_of(compile("garbage", "mlir", options).status()),
              HasSubstr(cat(api_->label(), ": ClientCompile: ")));
}

TEST_F(XlaCpuCalls, TheNumberOfDevicesIsAnOption) {
  const auto client = Client::create(api_, {{"cpu_device_count", int64_t{16}}});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->devices().size(), 16u);
}

TEST_F(XlaCpuCalls, TwoClientsLiveSideBySide) {
  const auto other = Client::create(api_, {}).value();
  EXPECT_NE(other->handle(), client_->handle());
}

TEST_F(XlaCpu, AProgramRunsOnEachDevice) {
  for (const auto& device : backend_->devices()) {
    const auto add = backend_->compile(add_module(), {}, *device);
    ASSERT_TRUE(add.ok()) << add.status();
    const BufferPtr x = runtime::to_device(*device, vector_of({1, 2})).value();
    const auto sum = (*add)->execute(std::vector{x, x});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(2, 4));
  }
}

TEST_F(XlaCpu, EveryTypeGoesThereAndBack) {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
  constexpr DType kTypes[] = {HEDDLE_DTYPES(HEDDLE_X)};
#undef HEDDLE_X
  for (DType dtype : kTypes) {
    Literal values(Shape(dtype, {2, 3}));
    for (int64_t i = 0; i < values.byte_size(); ++i) {
      const bool small = bit_width(dtype) < 8;
      values.mutable_bytes()[i] = static_cast<std::byte>(small ? i % 2 : i + 1);
    }
    const auto there = runtime::to_device(device(), values);
    if (dtype == s1 || dtype == u1) {
      EXPECT_EQ(there.status().code(), absl::StatusCode::kUnimplemented);
      continue;
    }
    ASSERT_TRUE(there.ok()) << to_string(dtype) << there.status();
    EXPECT_EQ(runtime::to_host(**there).value(), values) << to_string(dtype);
  }
}

TEST_F(XlaCpu, NegativeIntegersOfFourBitsComeBackNegative) {
  const Literal values = Literal::from<int8_t>(Shape(s4, {3}), {-8, -1, 7});
  EXPECT_EQ(runtime::to_host(*on_device(values)).value(), values);
}

TEST_F(XlaCpu, MaximumKeepsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto got = run(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT m = f32[2] maximum(x, y)
})",
                       {vector_of({nan, 1}), vector_of({1, nan})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(std::isnan(got->values<float>()[0]) && std::isnan(got->values<float>()[1]));
}

TEST_F(XlaCpu, AnUnknownOptionOfAProgramIsNamed) {
  const auto program =
      backend_->compile(add_module(), {.backend_options = {{"xla_no_such_option", "1"}}}, device());
  EXPECT_THAT(message_of(program.status()), HasSubstr("compile add: plugin xla-cpu (PJRT 0."));
  EXPECT_THAT(message_of(program.status()),
              HasSubstr("No such compile option: 'xla_no_such_option'"));
}

TEST_F(XlaCpu, AScanIsLoweredForIt) {
  const auto got = run(R"(HloModule m
f {
  x = f32[] parameter(0)
  h = f32[] parameter(1)
  n = f32[] add(h, x)
  ROOT t = (f32[], f32[]) tuple(n, n)
}

ENTRY main {
  xs = f32[3] parameter(0)
  h = f32[] parameter(1)
  s = (f32[3], f32[]) scan(xs, h), dimensions={0}, num_carries=1, to_apply=f
  ROOT ys = f32[3] get-tuple-element(s), index=0
})",
                       {vector_of({1, 2, 3}), Literal::scalar(f32, 10.0)});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, vector_of({11, 13, 16}));
}

TEST_F(XlaCpu, MulhiIsExpandedForIt) {
  struct Case {
    DType dtype;
    int64_t x, y;
  };
  const Case kCases[] = {{s8, -128, 127},
                         {u8, 255, 255},
                         {s16, -32768, -32768},
                         {u16, 65535, 3},
                         {s32, INT32_MIN, INT32_MAX},
                         {u32, -1, -1},
                         {s64, INT64_MIN, INT64_MAX},
                         {s64, -1, 1},
                         {s64, INT64_MIN, INT64_MIN},
                         {u64, -1, -1},
                         {u64, 0x123456789abcdef0, -5},
                         {s64, 0x123456789abcdef0, -5}};
  for (const Case& c : kCases) {
    const std::string text =
        cat("HloModule m\nENTRY e {\n x = ", c.dtype, "[] parameter(0)\n y = ", c.dtype,
            "[] parameter(1)\n ROOT m = ", c.dtype, "[] mulhi(x, y)\n}");
    const std::vector<Literal> arguments = {Literal::scalar(c.dtype, c.x),
                                            Literal::scalar(c.dtype, c.y)};
    const auto got = run(text, arguments);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, hlo::evaluate(module_of(text), arguments).value()) << text << c.x << " " << c.y;
  }
}

TEST_F(XlaCpu, LentMemoryIsNotCopied) {
  const Literal values = vector_of({1, 2, 3, 4});
  const Effects effects = effects_of([&] {
    const BufferPtr x =
        runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
    EXPECT_THAT(*floats_of(*x), ElementsAre(1, 2, 3, 4));
  });
  EXPECT_EQ(effects.aliased_bytes, 16);
  EXPECT_EQ(effects.upload_bytes, 0);
}

TEST_F(XlaCpu, ADonatedArgumentsMemoryIsTheResults) {
  const auto add = compiled(add_module());
  const BufferPtr x = on_device(vector_of({1, 2})), y = on_device(vector_of({10, 20}));
  const auto sum = add->execute(std::vector{x, y}, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
  EXPECT_TRUE(x->is_deleted());
  EXPECT_THAT(*floats_of(*y), ElementsAre(10, 20));
}

TEST_F(XlaCpu, ADonatedLoanIsCopiedAndTheHostsMemoryUntouched) {
  const auto add = compiled(add_module());
  const Literal values = vector_of({1, 2});
  const BufferPtr x =
      runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
  const auto sum = add->execute(std::vector{x, on_device(vector_of({10, 20}))}, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
  EXPECT_EQ(values, vector_of({1, 2}));
}

TEST_F(XlaCpu, ManyThreadsUseAndDonate) {
  const auto add = compiled(add_module());
  const BufferPtr one = on_device(vector_of({1, 1}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      BufferPtr y = on_device(vector_of({0, 0}));
      for (int i = 0; i < 50; ++i) {
        runtime::ExecuteOptions options;
        if (t % 2 == 0) options.donate = {0};
        y = add->execute(std::vector{y, one}, options).value()[0];
      }
      EXPECT_THAT(*floats_of(*y), ElementsAre(50, 50));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(XlaCpu, BuffersOutliveTheirProgramsAndRunsTheirArguments) {
  std::vector<BufferPtr> results;
  {
    const auto add = compiled(add_module());
    const BufferPtr x = on_device(vector_of({1, 2}));
    for (int i = 0; i < 100; ++i) results.push_back(add->execute(std::vector{x, x}).value()[0]);
  }
  for (const BufferPtr& result : results) EXPECT_THAT(*floats_of(*result), ElementsAre(2, 4));
}

TEST_F(XlaCpu, ThousandQueuedRunsEnd) {
  const auto add = compiled(add_module());
  BufferPtr y = on_device(vector_of({1, 1}));
  const BufferPtr zero = on_device(vector_of({0, 0}));
  for (int i = 0; i < 1000; ++i) y = add->execute(std::vector{y, zero}).value()[0];
  EXPECT_THAT(*floats_of(*y), ElementsAre(1, 1));
}

TEST_F(XlaCpu, AProgramTellsItsCost) {
  const runtime::ProgramCost cost = compiled(add_module())->cost();
  EXPECT_EQ(cost.argument_bytes, 16);
  EXPECT_TRUE(cost.scratch_bytes.has_value());
}

}  // namespace
}  // namespace heddle::pjrt
