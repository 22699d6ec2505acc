// Every fault of a plugin is an error that names plugin, version and call; and nothing leaks.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/spmd.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;

constexpr int kUnimplemented = 12;
constexpr char kLabel[] = "plugin mock (PJRT 0.114): ";

// Of a buffer that nobody waits for, nobody would know that it cannot be waited for.
StatusOr<BufferPtr> awaited(StatusOr<BufferPtr> buffer) {
  if (buffer.ok()) HEDDLE_RETURN_IF_ERROR((*buffer)->await());
  return buffer;
}

// All that a program does with a plugin, up to the first error.
Status whole_life() {
  HEDDLE_ASSIGN_OR_RETURN(auto backend, make_backend("mock", {.library = HEDDLE_PJRT_MOCK}));
  runtime::Device& device = *backend->devices()[0];
  HEDDLE_ASSIGN_OR_RETURN(auto add, backend->compile(add_module(), {}, device));
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, awaited(runtime::to_device(device, vector_of({1, 2}))));
  alignas(64) static const float values[2] = {10, 20};
  HEDDLE_ASSIGN_OR_RETURN(
      BufferPtr y, awaited(runtime::lend_to_device(device, values, Shape(f32, {2}), nullptr)));
  HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> sum, add->execute(std::vector{x, y}));
  HEDDLE_RETURN_IF_ERROR(sum[0]->await());
  HEDDLE_ASSIGN_OR_RETURN(sum, add->execute(std::vector{sum[0], y}, {.donate = {0}}));
  HEDDLE_RETURN_IF_ERROR(sum[0]->await());
  HEDDLE_ASSIGN_OR_RETURN(std::vector<float> got, floats_of(*sum[0]));
  EXPECT_EQ(got, (std::vector<float>{21, 42}));
  EXPECT_GT(add->cost().result_bytes, 0);
  return {};
}

// What only some plugins can: views, programs as bytes, and what they compile with.
Status further_life() {
  HEDDLE_ASSIGN_OR_RETURN(auto backend, make_backend("mock", {.library = HEDDLE_PJRT_MOCK}));
  runtime::Device& device = *backend->devices()[0];
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, awaited(runtime::to_device(device, vector_of({1, 2}))));
  HEDDLE_ASSIGN_OR_RETURN(const Literal view, runtime::view_on_host(*x));
  EXPECT_EQ(view, vector_of({1, 2}));
  HEDDLE_ASSIGN_OR_RETURN(auto add, backend->compile(add_module(), {}, device));
  HEDDLE_ASSIGN_OR_RETURN(const std::string bytes, serialize(*add));
  HEDDLE_ASSIGN_OR_RETURN(add, load(bytes, add_module(), {}, device));
  const runtime::CompileOptions options{{{"xla_backend_extra_options", "a=1"}}};
  HEDDLE_ASSIGN_OR_RETURN(add, backend->compile(add_module(), options, device));
  return {};
}

bool is_further(Slot slot) {
  constexpr Slot kFurther[] = {
      Slot::kBufferIncreaseExternalReferenceCount, Slot::kBufferDecreaseExternalReferenceCount,
      Slot::kBufferOpaqueDeviceMemoryDataPointer,  Slot::kExecutableSerialize,
      Slot::kExecutableDeserializeAndLoad,         Slot::kExecutableOptimizedProgram};
  return std::ranges::find(kFurther, slot) != std::end(kFurther);
}

// Calls that Heddle can do without.
bool is_optional(Slot slot) {
  constexpr Slot kOptional[] = {Slot::kPluginAttributes,
                                Slot::kDeviceDescriptionKind,
                                Slot::kBufferIsOnCpu,
                                Slot::kBufferUnsafePointer,
                                Slot::kExecutableOutputElementTypes,
                                Slot::kExecutableOutputDimensions,
                                Slot::kExecutableGetCompiledMemoryStats,
                                Slot::kExecutableGetCostAnalysis,
                                Slot::kDeviceMemoryStats,
                                Slot::kClientPlatformVersion,
                                Slot::kEventError};
  return std::ranges::find(kOptional, slot) != std::end(kOptional);
}

// Calls whose errors nobody could act on.
bool is_destroyer(Slot slot) {
  return name_of(slot).ends_with("Destroy") || slot == Slot::kBufferDecreaseExternalReferenceCount;
}

std::vector<Slot> slots_of_the_mock(bool further) {
  mock_plugin().reset({});
  std::vector<Slot> slots;
  for (int i = 0; i < abi::kSlotCount; ++i) {
    const auto slot = static_cast<Slot>(i);
    if (mock_plugin().table()->rows[i] != nullptr && is_further(slot) == further)
      slots.push_back(slot);
  }
  return slots;
}

// Two devices run one program, and are given the memory of its argument.
Status life_on_two_devices(runtime::Backend& backend) {
  const auto& devices = backend.devices();
  const runtime::DeviceGrid both{
      .replicas = 2, .partitions = 1, .devices = {devices[0].get(), devices[1].get()}};
  HEDDLE_ASSIGN_OR_RETURN(
      const auto negate,
      runtime::compile_spmd(
          module_of("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"), {}, both));
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, awaited(runtime::to_device(*devices[0], vector_of({1, 2}))));
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr y, awaited(runtime::to_device(*devices[1], vector_of({3, 4}))));
  HEDDLE_ASSIGN_OR_RETURN(runtime::DeviceBuffers results, negate->execute({{x}, {y}}));
  for (const auto& row : results) HEDDLE_RETURN_IF_ERROR(row[0]->await());
  bool started = false;
  HEDDLE_ASSIGN_OR_RETURN(results, negate->launch(results, {.donate = {0}}, started));
  HEDDLE_RETURN_IF_ERROR(results[0][0]->await());
  HEDDLE_ASSIGN_OR_RETURN(const std::vector<float> got, floats_of(*results[1][0]));
  EXPECT_EQ(got, (std::vector<float>{3, 4}));
  return {};
}

// Uploads from strides and of another library's, runs into the same results, a download that is
// started.
Status life_of_arrays(runtime::Backend& backend) {
  runtime::Device& device = *backend.devices()[1];
  const float backwards[] = {2, 1};
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, awaited(runtime::to_device(
                                           device, runtime::StridedArray{.data = backwards + 1,
                                                                         .shape = Shape(f32, {2}),
                                                                         .byte_strides = {-4}})));
  HEDDLE_ASSIGN_OR_RETURN(runtime::dlpack::ManagedTensor* const tensor, runtime::to_dlpack(*x));
  StatusOr<BufferPtr> shared = runtime::from_dlpack(device, tensor);
  if (!shared.ok()) {
    tensor->deleter(tensor);
    return shared.status();
  }
  HEDDLE_RETURN_IF_ERROR((*shared)->await());
  HEDDLE_ASSIGN_OR_RETURN(const auto add, backend.compile(add_module(), {}, device));
  std::vector<BufferPtr> sums(1);
  for (int i = 0; i < 3; ++i) {
    HEDDLE_RETURN_IF_ERROR(add->execute_into(std::vector{x, *shared}, sums));
    HEDDLE_RETURN_IF_ERROR(sums[0]->await());
  }
  HEDDLE_ASSIGN_OR_RETURN(runtime::Download download, runtime::start_to_host(*sums[0]));
  HEDDLE_ASSIGN_OR_RETURN(const Literal got, download.await());
  EXPECT_EQ(got, vector_of({2, 4}));
  return {};
}

Status all_lives() {
  HEDDLE_RETURN_IF_ERROR(whole_life());
  HEDDLE_RETURN_IF_ERROR(further_life());
  HEDDLE_ASSIGN_OR_RETURN(auto backend, make_backend("mock", {.library = HEDDLE_PJRT_MOCK}));
  HEDDLE_RETURN_IF_ERROR(life_of_arrays(*backend));
  return life_on_two_devices(*backend);
}

class Faults : public MockTest {
 protected:
  // Lives with the error in one call after the other, until one has fewer calls than that.
  static void fail_each(const mock::Settings& settings) {
    std::set<Slot> failed;
    std::set<Slot> again;  // not for the first time in a life
    std::map<Slot, int> done_without;
    for (int n = 1;; ++n) {
      mock_plugin().reset(settings);
      mock_plugin().seen().fail_at = n;
      const Status status = all_lives();
      const int number = mock_plugin().seen().failed_slot;
      const auto slot = number < 0 ? std::nullopt : std::optional(static_cast<Slot>(number));
      SCOPED_TRACE(base::cat("call ", n, ", ", slot.has_value() ? name_of(*slot) : "none", ": ",
                             to_string(status)));
      if (slot.has_value()) (failed.insert(*slot).second ? failed : again).insert(*slot);
      if (status.ok() && (slot == Slot::kClientBufferFromHostBuffer ||
                          slot == Slot::kLoadedExecutableGetExecutable)) {
        ++done_without[*slot];
      } else {
        expect_named(settings, slot, status);
      }
      if (settings.asynchronous) until_clients_are_gone();
      expect_all_gone();
      if (!slot.has_value() || HasFailure()) break;
    }
    // Two of the backends lend memory: by an upload that tells whether they can, and else they
    // copy.
    // An array with strides is made row-major for plugins that do not take them. One program is
    // asked what it costs.
    const int uploads = settings.fault_there.code == kUnimplemented ? 3 : 2;
    const std::map<Slot, int> expected = {{Slot::kClientBufferFromHostBuffer, uploads},
                                          {Slot::kLoadedExecutableGetExecutable, 1}};
    // The calls of another thread are now before a call, now after it.
    if (!settings.asynchronous) {
      EXPECT_EQ(done_without, expected);
    }
    // The ones whose second call does more than their first.
    for (Slot slot : {Slot::kClientBufferFromHostBuffer, Slot::kClientCompile,
                      Slot::kLoadedExecutableExecute, Slot::kBufferToHostBuffer})
      EXPECT_TRUE(again.contains(slot)) << name_of(slot);
  }

 private:
  static void expect_named(const mock::Settings& settings, std::optional<Slot> slot,
                           const Status& status) {
    if (!slot.has_value()) {
      EXPECT_EQ(status, Status());
      return;
    }
    if (!status.ok()) {
      EXPECT_EQ(static_cast<int>(status.code()), settings.fault_there.code);
      EXPECT_THAT(base::message_of(status),
                  HasSubstr(base::cat(kLabel, name_of(*slot), ": broken")));
      return;
    }
    // Where a plugin that is asynchronous takes no callback, it is waited for.
    const bool waits = settings.asynchronous && *slot == Slot::kEventOnReady;
    // Who cannot do one of these is asked for the other.
    const bool has_another = settings.fault_there.code == kUnimplemented &&
                             (*slot == Slot::kEventAwait || *slot == Slot::kEventOnReady);
    EXPECT_TRUE(is_optional(*slot) || is_destroyer(*slot) || *slot == Slot::kEventIsReady ||
                waits || has_another);
  }
};

TEST_F(Faults, TheErrorOfAnyOneCallNamesIt) {
  fail_each({.compile = evaluated, .fault_there = {.message = "broken"}});
}

TEST_F(Faults, AnyOneCallMayBeUnimplemented) {
  fail_each({.compile = evaluated, .fault_there = {.code = kUnimplemented, .message = "broken"}});
}

TEST_F(Faults, TheErrorOfAnyOneCallOfAnAsynchronousPluginNamesIt) {
  fail_each({.compile = evaluated, .fault_there = {.message = "broken"}, .asynchronous = true});
}

TEST_F(Faults, WithoutOneAllIsWell) { EXPECT_EQ(whole_life(), Status()); }

class EachCall : public MockTest, public ::testing::WithParamInterface<Slot> {};

TEST_P(EachCall, AnErrorNamesPluginVersionAndCall) {
  mock_plugin().reset({.compile = evaluated, .failing = {{GetParam(), {.message = "broken"}}}});
  const Status status = whole_life();
  const bool matters = !is_optional(GetParam()) && !is_destroyer(GetParam()) &&
                       GetParam() != Slot::kErrorGetCode && GetParam() != Slot::kErrorMessage &&
                       GetParam() != Slot::kEventIsReady;
  if (!matters) {
    EXPECT_EQ(status, Status());
    return;
  }
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(base::message_of(status),
              HasSubstr(base::cat(kLabel, name_of(GetParam()), ": broken")));
}

TEST_P(EachCall, ANullPointerIsAnErrorOrIsDoneWithout) {
  mock_plugin().reset({.compile = evaluated, .absent = {GetParam()}});
  const Status status = whole_life();
  if (status.ok()) return;
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::message_of(status),
              StartsWith(base::cat(kLabel, "load: it has no ", name_of(GetParam()))));
}

TEST_P(EachCall, AnUnimplementedOneIsAnErrorOrIsDoneWithout) {
  mock_plugin().reset(
      {.compile = evaluated, .failing = {{GetParam(), {.code = 12, .message = "not here"}}}});
  const Status status = whole_life();
  if (status.ok()) return;
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(status),
              HasSubstr(base::cat(kLabel, name_of(GetParam()), ": not here")));
}

// Not those that free, wait or call back.
bool gives_something(Slot slot) {
  return !is_destroyer(slot) && slot != Slot::kEventOnReady && slot != Slot::kEventAwait &&
         slot != Slot::kErrorGetCode && slot != Slot::kErrorMessage;
}

TEST_P(EachCall, SuccessThatGivesNothingIsAnErrorOrIsDoneWithout) {
  if (!gives_something(GetParam())) return;
  mock_plugin().reset({.compile = evaluated, .idle = {GetParam()}});
  const Status status = whole_life();
  if (!status.ok()) {
    EXPECT_THAT(base::message_of(status), HasSubstr(kLabel));
    EXPECT_EQ(status.code(), GetParam() == Slot::kClientAddressableDevices
                                 ? StatusCode::kFailedPrecondition
                                 : StatusCode::kInternal)
        << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Mock, EachCall, ::testing::ValuesIn(slots_of_the_mock(false)),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class EachFurtherCall : public MockTest, public ::testing::WithParamInterface<Slot> {};

TEST_P(EachFurtherCall, AnErrorNamesPluginVersionAndCall) {
  mock_plugin().reset({.compile = evaluated});
  EXPECT_EQ(further_life(), Status());
  mock_plugin().reset({.compile = evaluated, .failing = {{GetParam(), {.message = "broken"}}}});
  const Status status = further_life();
  if (is_destroyer(GetParam())) {
    EXPECT_EQ(status, Status());
    return;
  }
  EXPECT_THAT(base::message_of(status),
              HasSubstr(base::cat(kLabel, name_of(GetParam()), ": broken")));
}

TEST_P(EachFurtherCall, SuccessThatGivesNothingIsAnErrorOrIsDoneWithout) {
  if (!gives_something(GetParam())) return;
  mock_plugin().reset({.compile = evaluated, .idle = {GetParam()}});
  const Status status = further_life();
  EXPECT_TRUE(status.ok() || base::message_of(status).find(kLabel) != std::string::npos) << status;
}

TEST_P(EachFurtherCall, OneThatIsNotThereIsToldByName) {
  mock_plugin().reset({.compile = evaluated, .absent = {GetParam()}});
  const Status status = further_life();
  if (is_destroyer(GetParam())) return;
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(status), HasSubstr(base::cat(kLabel, name_of(GetParam()),
                                                            ": the plugin has no such function")));
}

INSTANTIATE_TEST_SUITE_P(Mock, EachFurtherCall, ::testing::ValuesIn(slots_of_the_mock(true)),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// The functions whose arguments stand in the sources: EachCall and EachFurtherCall have them all.
TEST_F(Faults, EveryFunctionThatHeddleCallsIsOneOfTheMocks) {
  std::set<std::string> called;
  for (const char* folder : {"pjrt", "pjrt/internal"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      const std::string path = file.path().string();
      if (!file.is_regular_file() || path.ends_with("_test.cc") || path.ends_with("_test.h"))
        continue;
      std::ifstream in(path);
      const std::string text(std::istreambuf_iterator<char>(in), {});
      const std::regex arguments("abi::(\\w+)Args\\b");
      for (std::sregex_iterator at(text.begin(), text.end(), arguments), end; at != end; ++at)
        called.insert((*at)[1]);
    }
  }
  EXPECT_GT(called.size(), 30u);
  mock_plugin().reset({});
  for (int i = 0; i < abi::kSlotCount; ++i) {
    const std::string name(name_of(static_cast<Slot>(i)));
    if (name == "EventError") continue;  // the mock has it to see that it is never called
    EXPECT_EQ(called.contains(name), mock_plugin().table()->rows[i] != nullptr) << name;
  }
}

// The one function that is not in the table: it stands in an extension.
TEST_F(Faults, AHandlerThatThePluginRefusesNamesTheCall) {
  const auto same = [](interpreter::CustomCall& call) { return StatusOr<Literal>(call[0]); };
  ASSERT_EQ(interpreter::register_custom_call("faults_test.same", same), Status());
  const hlo::Module module = module_of(
      "ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] custom-call(x), "
      "custom_call_target=\"faults_test.same\" }");
  mock::Settings settings = with_evaluator();
  settings.platform = "cpu";
  settings.handler_error = "no handlers today";
  start(std::move(settings));
  EXPECT_EQ(base::message_of(backend_->compile(module, {}, device()).status()),
            base::cat(kLabel, "FfiRegisterHandler: no handlers today"));
  interpreter::unregister_custom_call("faults_test.same");
}

TEST_F(Faults, SuccessWithoutAHandleIsAnError) {
  const std::pair<Slot, std::string> kCases[] = {
      {Slot::kClientCreate, "succeeded without a client"},
      {Slot::kClientCompile, "succeeded without a program"},
      {Slot::kClientBufferFromHostBuffer, "succeeded without a buffer"},
      {Slot::kLoadedExecutableExecute, "gave no result 0"}};
  for (const auto& [slot, text] : kCases) {
    mock_plugin().reset({.compile = evaluated, .empty_handed = {slot}});
    EXPECT_THAT(base::message_of(whole_life()),
                HasSubstr(base::cat(kLabel, name_of(slot), ": ", text)));
    expect_all_gone();
  }
}

TEST_F(Faults, AWrongNumberOfResultsIsFoundBeforeTheFirstRun) {
  mock_plugin().reset({.compile = evaluated, .more_results = 2});
  EXPECT_EQ(
      base::message_of(whole_life()),
      "compile add: plugin mock (PJRT 0.114): ExecutableNumOutputs: the program has 1 results "
      "and the plugin gives 3; the plugin is at fault");
}

TEST_F(Faults, AResultOfAnotherTypeIsFoundBeforeTheFirstRun) {
  mock_plugin().reset({.compile = evaluated, .other_types = true});
  EXPECT_EQ(base::message_of(whole_life()),
            "compile add: plugin mock (PJRT 0.114): ExecutableOutputDimensions: result 0 is s8[2]; "
            "the program says f32[2]; the plugin is at fault");
}

TEST_F(Faults, AnArrayThatIsLongerThanItsTypeIsNotDownloaded) {
  mock_plugin().reset({.compile = evaluated, .more_bytes = 4});
  EXPECT_EQ(
      base::message_of(whole_life()),
      "plugin mock (PJRT 0.114): BufferToHostBuffer: has 12 bytes for f32[2], which has 8; the "
      "plugin is at fault");
}

TEST_F(Faults, AFailedUploadIsAnError) {
  mock_plugin().reset({.compile = evaluated, .host_error = "lost"});
  EXPECT_EQ(base::message_of(whole_life()), base::cat(kLabel, "EventAwait: lost"));
}

TEST_F(Faults, AFailedRunIsAnErrorOfItsResults) {
  mock_plugin().reset({.compile = evaluated, .run_error = "lost"});
  EXPECT_EQ(base::message_of(whole_life()), base::cat(kLabel, "EventAwait: lost"));
}

TEST_F(Faults, AClientWithoutDevicesIsRefused) {
  mock_plugin().reset({.devices = 0});
  EXPECT_EQ(base::message_of(whole_life()),
            base::cat(kLabel, "ClientAddressableDevices: the client has no device"));
}

TEST_F(Faults, OldPluginsServe) {
  for (int minor : {29, 54, 68, 81, 104}) {
    mock_plugin().reset({.compile = evaluated, .minor = minor, .table_size = 840});
    EXPECT_EQ(whole_life(), Status()) << minor;
  }
}

TEST_F(Faults, NewPluginsServe) {
  mock_plugin().reset({.compile = evaluated, .minor = 130, .longer_by = 64});
  EXPECT_EQ(whole_life(), Status());
}

}  // namespace
}  // namespace heddle::pjrt
