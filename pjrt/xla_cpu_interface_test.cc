// Real XLA: what it tells of devices and programs, and structures of other sizes than its own.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/xla_cpu_support_test.h"

namespace heddle::pjrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class XlaCpuInterface : public XlaCpuCalls {
 protected:
  abi::LoadedExecutable* compiled(const hlo::Module& module) {
    return compile(hlo::to_proto(module), "hlo", compile_options(0, {})).value();
  }
  void destroy_program(abi::LoadedExecutable* program) {
    api_->destroy(abi::LoadedExecutableDestroyArgs{.executable = program});
  }
  abi::Executable* description(abi::LoadedExecutable* program) {
    abi::LoadedExecutableGetExecutableArgs args{.loaded_executable = program};
    EXPECT_EQ(api_->call(args), Status());
    return args.executable;
  }
  void destroy_description(abi::Executable* program) {
    api_->destroy(abi::ExecutableDestroyArgs{.executable = program});
  }

  // A call with the size that the test says.
  template <class Args>
  Status call_sized(Args& args, size_t size) {
    args.head.struct_size = size;
    const auto called = reinterpret_cast<abi::Error* (*)(Args*)>(
        api_->table()->rows[static_cast<size_t>(Args::kSlot)]);
    return api_->take(called(&args), name_of(Args::kSlot));
  }
};

TEST_F(XlaCpuInterface, AttributesHaveDifferentNames) {
  abi::PluginAttributesArgs args;
  ASSERT_EQ(api_->call(args), Status());
  std::set<std::string> names;
  for (size_t i = 0; i < args.attributes_count; ++i)
    names.emplace(args.attributes[i].name, args.attributes[i].name_size);
  EXPECT_EQ(names.size(), args.attributes_count);
  EXPECT_EQ(names.count("stablehlo_minimum_version"), 1u);
}

TEST_F(XlaCpuInterface, DevicesHaveKindsTextsAndPlacesInTheMachine) {
  abi::ClientDevicesArgs all{.client = client_->handle()};
  ASSERT_EQ(api_->call(all), Status());
  EXPECT_EQ(all.devices_count, client_->devices().size());  // one process has them all
  for (const Client::Device& device : client_->devices()) {
    EXPECT_EQ(std::count(all.devices, all.devices + all.devices_count, device.handle), 1);
    EXPECT_EQ(device.kind, "cpu");
    abi::DeviceLocalHardwareIdArgs local{.device = device.handle};
    ASSERT_EQ(api_->call(local), Status());
    EXPECT_EQ(local.local_hardware_id, device.id);
    abi::DeviceGetDescriptionArgs described{.device = device.handle};
    ASSERT_EQ(api_->call(described), Status());
    abi::DeviceDescriptionToStringArgs text{.device_description = described.device_description};
    ASSERT_EQ(api_->call(text), Status());
    EXPECT_THAT(std::string(text.to_string, text.to_string_size), HasSubstr(cat(device.id)));
  }
}

TEST_F(XlaCpuInterface, MemoriesHaveDifferentNumbers) {
  abi::ClientAddressableMemoriesArgs all{.client = client_->handle()};
  ASSERT_EQ(api_->call(all), Status());
  std::set<int> ids;
  for (size_t i = 0; i < all.addressable_memories_count; ++i) {
    abi::MemoryIdArgs id{.memory = all.addressable_memories[i]};
    ASSERT_EQ(api_->call(id), Status());
    ids.insert(id.id);
  }
  EXPECT_GE(ids.size(), client_->devices().size());
  EXPECT_EQ(ids.size(), all.addressable_memories_count);
}

TEST_F(XlaCpuInterface, ProgramsHaveTheNamesOfTheirModulesAndDevices) {
  for (const char* name : {"first", "second"}) {
    hlo::Module module = add_module();
    module.name = name;
    abi::LoadedExecutable* program = compiled(module);
    abi::Executable* described = description(program);
    abi::ExecutableNameArgs told{.executable = described};
    ASSERT_EQ(api_->call(told), Status());
    EXPECT_EQ(std::string(told.executable_name, told.executable_name_size), name);
    abi::ExecutableSizeOfGeneratedCodeInBytesArgs code{.executable = described};
    ASSERT_EQ(api_->call(code), Status());
    EXPECT_GE(code.size_in_bytes, 0);
    abi::LoadedExecutableAddressableDevicesArgs where{.executable = program};
    ASSERT_EQ(api_->call(where), Status());
    ASSERT_EQ(where.addressable_devices_count, 1u);
    EXPECT_EQ(where.addressable_devices[0], client_->devices()[0].handle);
    destroy_description(described);
    destroy_program(program);
  }
}

TEST_F(XlaCpuInterface, TheClientTakesOptionsThatItDoesNotUse) {
  for (const bool asynchronous : {true, false}) {
    const auto client = Client::create(api_, {{"asynchronous", asynchronous}});
    EXPECT_TRUE(client.ok()) << client.status();
  }
  // Builds of before June 2026 ignore names that they do not know, later ones refuse them.
  const Status unknown = Client::create(api_, {{"no_such_option", int64_t{1}}}).status();
  if (!unknown.ok()) {
    EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(message_of(unknown), HasSubstr("no_such_option"));
  }
}

TEST_F(XlaCpuInterface, StructuresThatAreTooShortAreRefusedAndLongerOnesTaken) {
  struct {
    abi::ClientPlatformNameArgs args;
    uint64_t more[8] = {};
  } longer{{.client = client_->handle()}};
  EXPECT_EQ(call_sized(longer.args, sizeof(longer)), Status());
  EXPECT_EQ(std::string(longer.args.platform_name, longer.args.platform_name_size), "cpu");
  const Status shorter = call_sized(longer.args, sizeof(longer.args) - 8);
  EXPECT_EQ(shorter.code(), absl::StatusCode::kInvalidArgument);
  // The words by which Heddle knows that a newer plugin wants more.
  EXPECT_THAT(message_of(shorter), HasSubstr("size: expected"));
}

TEST_F(XlaCpuInterface, NestedOptionsThatAreTooShortAreRefusedAndLongerOnesTaken) {
  abi::LoadedExecutable* program = compiled(add_module());
  abi::Buffer* const x = uploaded(vector_of({1, 2}));
  abi::Buffer* const arguments[] = {x, x};
  const auto run = [&](size_t size) {
    struct {
      abi::ExecuteOptions options;
      uint64_t more[8] = {};
    } how{};
    how.options.head.struct_size = size;
    abi::Buffer* const* const list = arguments;
    abi::Buffer* result = nullptr;
    abi::Buffer** const results = &result;
    abi::LoadedExecutableExecuteArgs args{.executable = program,
                                          .options = &how.options,
                                          .argument_lists = &list,
                                          .devices_count = 1,
                                          .args_count = 2,
                                          .output_lists = &results};
    const Status status = api_->call(args);
    if (status.ok()) destroy(result);
    return status;
  };
  EXPECT_EQ(run(sizeof(abi::ExecuteOptions) + 64), Status());
  const Status shorter = run(56);
  EXPECT_EQ(shorter.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message_of(shorter), HasSubstr("size: expected"));
  destroy(x);
  destroy_program(program);
}

TEST_F(XlaCpuInterface, UnknownExtensionsOfArgumentsArePassedOver) {
  abi::Extension last{.struct_size = sizeof(last), .type = static_cast<abi::ExtensionType>(999)};
  abi::Extension first = last;
  first.next = &last;
  abi::ClientPlatformNameArgs args{.head = {.extensions = &first}, .client = client_->handle()};
  EXPECT_EQ(api_->call(args), Status());
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), "cpu");
}

// Each asks for an event of its own, while the run is going on.
TEST_F(XlaCpuInterface, ManyThreadsWaitForOneResult) {
  abi::LoadedExecutable* program = compiled(module_of(R"(HloModule slow
ENTRY e {
  x = f32[512,512] parameter(0)
  y = f32[512,512] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[512,512] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"));
  abi::Buffer* const x = uploaded(Literal(Shape(f32, {512, 512})));
  abi::Buffer* const* const list = &x;
  abi::Buffer* result = nullptr;
  abi::Buffer** const results = &result;
  abi::ExecuteOptions options{.head = {sizeof(options)}};
  abi::LoadedExecutableExecuteArgs args{.executable = program,
                                        .options = &options,
                                        .argument_lists = &list,
                                        .devices_count = 1,
                                        .args_count = 1,
                                        .output_lists = &results};
  ASSERT_EQ(api_->call(args), Status());
  std::atomic<int> called = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      abi::BufferReadyEventArgs ready{.buffer = result};
      ASSERT_EQ(api_->call(ready), Status());
      const Event event(api_, ready.event);
      EXPECT_EQ(event.on_ready([&](const Status& status) { called += status.ok(); }), Status());
      EXPECT_EQ(event.await(), Status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (called < 8) std::this_thread::yield();
  destroy(result);
  destroy(x);
  destroy_program(program);
}

TEST_F(XlaCpuInterface, AnArrayTellsThatItHasNoDynamicDimensions) {
  abi::Buffer* const x = uploaded(vector_of({1, 2}));
  abi::BufferDynamicDimensionIndicesArgs args{.buffer = x};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_EQ(args.dynamic_dim_indices_count, 0u);
  destroy(x);
}

TEST_F(XlaCpu, ThreeParametersGoIntoATuple) {
  const auto program = compiled(module_of(R"(HloModule three
ENTRY e {
  a = f32[] parameter(0)
  b = f32[2] parameter(1)
  c = s32[] parameter(2)
  ROOT all = (f32[], f32[2], s32[]) tuple(a, b, c)
})"));
  const std::vector<Literal> values = {Literal::scalar(f32, 1.5), vector_of({2, 3}),
                                       Literal::scalar(s32, int64_t{4})};
  std::vector<BufferPtr> arguments;
  for (const Literal& value : values) arguments.push_back(on_device(value));
  const auto results = program->execute(arguments);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(runtime::to_host(*(*results)[i]).value(), values[i]);
}

}  // namespace
}  // namespace heddle::pjrt
