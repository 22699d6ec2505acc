// The official behaviours of programs and their runs, and structures of other sizes than the
// plugin's. Of each plugin in interface_support_test.h.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <shared_mutex>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/interface_support_test.h"

namespace heddle::pjrt {
namespace {

class InterfaceOfPrograms : public Interface {
 protected:
  abi::LoadedExecutable* compiled(const hlo::Module& module) {
    return compile(hlo::to_proto(module), "hlo", options()).value();
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

  // Long enough to be going on for a while; the mock's programs are over at once.
  static Shape slow_type() { return is_mock() ? Shape(f32, {16, 16}) : Shape(f32, {512, 512}); }
  static hlo::Module slow_module() {
    constexpr char kDims[] = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    return module_of(base::cat("HloModule slow\nENTRY e {\n  x = ", slow_type(),
                               " parameter(0)\n  y = ", slow_type(), " dot(x, x), ", kDims,
                               "\n  ROOT z = ", slow_type(), " dot(y, x), ", kDims, "\n}"));
  }

  bool is_deleted(abi::Buffer* buffer) {
    abi::BufferIsDeletedArgs args{.buffer = buffer};
    EXPECT_EQ(api_->call(args), Status());
    return args.is_deleted;
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

TEST_P(InterfaceOfPrograms, AttributesHaveDifferentNames) {
  abi::PluginAttributesArgs args;
  ASSERT_EQ(api_->call(args), Status());
  std::set<std::string> names;
  for (size_t i = 0; i < args.attributes_count; ++i)
    names.emplace(args.attributes[i].name, args.attributes[i].name_size);
  EXPECT_EQ(names.size(), args.attributes_count);
  EXPECT_EQ(names.count("stablehlo_minimum_version"), 1u);
}

TEST_P(InterfaceOfPrograms, DevicesHaveKindsTextsAndPlacesInTheMachine) {
  abi::ClientDevicesArgs all{.client = client_->handle()};
  ASSERT_EQ(api_->call(all), Status());
  EXPECT_EQ(all.devices_count, client_->devices().size());  // one process has them all
  for (const Client::Device& device : client_->devices()) {
    EXPECT_EQ(std::count(all.devices, all.devices + all.devices_count, device.handle), 1);
    EXPECT_FALSE(device.kind.empty());
    abi::DeviceLocalHardwareIdArgs local{.device = device.handle};
    ASSERT_EQ(api_->call(local), Status());
    EXPECT_GE(local.local_hardware_id, 0);
    abi::DeviceGetDescriptionArgs described{.device = device.handle};
    ASSERT_EQ(api_->call(described), Status());
    abi::DeviceDescriptionToStringArgs text{.device_description = described.device_description};
    ASSERT_EQ(api_->call(text), Status());
    EXPECT_THAT(std::string(text.to_string, text.to_string_size), HasSubstr(base::cat(device.id)));
  }
}

TEST_P(InterfaceOfPrograms, MemoriesHaveDifferentNumbers) {
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

TEST_P(InterfaceOfPrograms, ProgramsHaveTheNamesOfTheirModulesAndDevices) {
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

TEST_P(InterfaceOfPrograms, AnOptionOfTheWrongTypeIsAnError) {
  const abi::NamedValue option{.head = {sizeof(option)},
                               .name = "cpu_device_count",
                               .name_size = 16,
                               .type = abi::NamedValueType::kString,
                               .value = {.text = "2"},
                               .value_size = 1};
  abi::ClientCreateArgs args{.create_options = &option, .options_count = 1};
  if (is_xla_cpu()) {  // this build of XLA throws, which ends a process of C
    EXPECT_ANY_THROW((void)api_->call(args));
    return;
  }
  const Status status = api_->call(args);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(base::message_of(status), HasSubstr("cpu_device_count"));
}

TEST_P(InterfaceOfPrograms, TheClientTakesOptionsThatItDoesNotUse) {
  for (const bool asynchronous : {true, false}) {
    const auto client = Client::create(api_, {{"asynchronous", asynchronous}});
    EXPECT_TRUE(client.ok()) << client.status();
  }
  // Builds of before June 2026 ignore names that they do not know, later ones refuse them.
  const Status unknown = Client::create(api_, {{"no_such_option", int64_t{1}}}).status();
  if (!unknown.ok()) {
    EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(base::message_of(unknown), HasSubstr("no_such_option"));
  }
}

TEST_P(InterfaceOfPrograms, StructuresThatAreTooShortAreRefusedAndLongerOnesTaken) {
  struct {
    abi::ClientPlatformNameArgs args;
    uint64_t more[8] = {};
  } longer{{.client = client_->handle()}};
  EXPECT_EQ(call_sized(longer.args, sizeof(longer)), Status());
  EXPECT_EQ(std::string(longer.args.platform_name, longer.args.platform_name_size),
            client_->platform());
  const Status shorter = call_sized(longer.args, sizeof(longer.args) - 8);
  EXPECT_EQ(shorter.code(), StatusCode::kInvalidArgument);
  // The words by which Heddle knows that a newer plugin wants more.
  EXPECT_THAT(base::message_of(shorter), HasSubstr("size: expected"));
}

TEST_P(InterfaceOfPrograms, NestedOptionsThatAreTooShortAreRefusedAndLongerOnesTaken) {
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
  EXPECT_EQ(shorter.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(base::message_of(shorter), HasSubstr("size: expected"));
  destroy(x);
  destroy_program(program);
}

TEST_P(InterfaceOfPrograms, UnknownExtensionsOfArgumentsArePassedOver) {
  abi::Extension last{.struct_size = sizeof(last), .type = static_cast<abi::ExtensionType>(999)};
  abi::Extension first = last;
  first.next = &last;
  abi::ClientPlatformNameArgs args{.head = {.extensions = &first}, .client = client_->handle()};
  EXPECT_EQ(api_->call(args), Status());
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), client_->platform());
}

// Each asks for an event of its own, while the run is going on.
TEST_P(InterfaceOfPrograms, ManyThreadsWaitForOneResult) {
  abi::LoadedExecutable* program = compiled(slow_module());
  abi::Buffer* const x = uploaded(Literal(slow_type()));
  abi::Buffer* const result = run(program, {x}).value();
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

TEST_P(InterfaceOfPrograms, AWrongNumberOfArgumentsIsAnError) {
  abi::LoadedExecutable* program = compiled(add_module());
  abi::Buffer* const x = uploaded(vector_of({1, 2}));
  for (const std::vector<abi::Buffer*>& arguments : {std::vector<abi::Buffer*>{}, {x}, {x, x, x}}) {
    EXPECT_EQ(run(program, arguments).status().code(), StatusCode::kInvalidArgument);
  }
  destroy(x);
  destroy_program(program);
}

// A result is the memory of the first argument, unless the run may not take it.
TEST_P(InterfaceOfPrograms, AnArgumentIsDonatedUnlessTheRunMayNotTakeIt) {
  abi::LoadedExecutable* program = compiled(prepare(add_module(), api_->minor(), {0}).value());
  abi::Buffer* const y = uploaded(vector_of({10, 20}));
  abi::Buffer* const given = uploaded(vector_of({1, 2}));
  destroy(run(program, {given, y}).value());
  EXPECT_TRUE(is_deleted(given));
  EXPECT_FALSE(is_deleted(y));
  EXPECT_FALSE(run(program, {given, y}).ok());
  destroy(given);

  abi::Buffer* const kept = uploaded(vector_of({1, 2}));
  destroy(run(program, {kept, y}, {0}).value());
  EXPECT_FALSE(is_deleted(kept));
  EXPECT_EQ(run(program, {kept, kept}).status().code(), StatusCode::kInvalidArgument);
  // Somebody reads the memory: a plugin for CPUs writes elsewhere.
  abi::BufferIncreaseExternalReferenceCountArgs increase{.buffer = kept};
  ASSERT_EQ(api_->call(increase), Status());
  destroy(run(program, {kept, y}).value());
  EXPECT_FALSE(is_deleted(kept));
  api_->destroy(abi::BufferDecreaseExternalReferenceCountArgs{.buffer = kept});
  destroy(kept);
  destroy(y);
  destroy_program(program);
}

// All of them read x until one of them is given it; then nobody has it. A launch that donates has x
// alone, as LaunchPins sees to: XLA's CPU plugin can lock up otherwise.
TEST_P(InterfaceOfPrograms, SixteenThreadsUseOneBufferUntilItIsDonated) {
  abi::LoadedExecutable* program = compiled(prepare(add_module(), api_->minor(), {0}).value());
  abi::Buffer* const x = uploaded(vector_of({1, 2}));
  abi::Buffer* const y = uploaded(vector_of({10, 20}));
  std::atomic<int> sums = 0, refused = 0;
  std::shared_mutex launching;
  const auto launch = [&](bool donates) {
    std::shared_lock shared(launching, std::defer_lock);
    std::unique_lock alone(launching, std::defer_lock);
    donates ? alone.lock() : shared.lock();
    return run(program, {x, y}, donates ? std::vector<int64_t>() : std::vector<int64_t>{0});
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const auto sum = launch(/*donates=*/t == 7 && i == 20);
        if (!sum.ok()) {
          EXPECT_TRUE(is_deleted(x)) << sum.status();
          ++refused;
          continue;
        }
        float got[2] = {};
        abi::BufferToHostBufferArgs read{.src = *sum, .dst = got, .dst_size = sizeof(got)};
        ASSERT_EQ(api_->call(read), Status());
        EXPECT_EQ(Event(api_, read.event).await(), Status());
        EXPECT_EQ(got[0] + got[1], 33);
        destroy(*sum);
        ++sums;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_deleted(x));
  EXPECT_GE(sums, 21);
  EXPECT_EQ(sums + refused, 16 * 40);
  destroy(x);
  destroy(y);
  destroy_program(program);
}

// The memory is the host's again when the last run that reads it is over, and not before.
TEST_P(InterfaceOfPrograms, MemoryInPlaceIsHeldUntilTheRunsThatReadItAreOver) {
  abi::LoadedExecutable* program = compiled(slow_module());
  Literal values(slow_type());
  for (float& value : values.mutable_values<float>()) value = 1;
  Event host_is_free;
  abi::Buffer* const x = uploaded(values, abi::HostSemantics::kZeroCopy, &host_is_free);
  abi::Buffer* const result = run(program, {x}).value();
  destroy(x);
  EXPECT_EQ(host_is_free.await(), Status());
  for (float& value : values.mutable_values<float>()) value = 7;
  std::vector<float> got(static_cast<size_t>(values.shape().element_count()));
  abi::BufferToHostBufferArgs read{
      .src = result, .dst = got.data(), .dst_size = got.size() * sizeof(float)};
  ASSERT_EQ(api_->call(read), Status());
  EXPECT_EQ(Event(api_, read.event).await(), Status());
  const auto side = static_cast<float>(values.shape().dimensions()[0]);
  EXPECT_THAT(got, Each(side * side));
  destroy(result);
  destroy_program(program);
}

TEST_P(InterfaceOfPrograms, AnArrayTellsThatItHasNoDynamicDimensions) {
  abi::Buffer* const x = uploaded(vector_of({1, 2}));
  abi::BufferDynamicDimensionIndicesArgs args{.buffer = x};
  ASSERT_EQ(api_->call(args), Status());
  EXPECT_EQ(args.dynamic_dim_indices_count, 0u);
  destroy(x);
}

INSTANTIATE_TEST_SUITE_P(Plugins, InterfaceOfPrograms, ::testing::ValuesIn(kPlugins),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle::pjrt
