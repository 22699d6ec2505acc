// Every fault of a plugin is an error that names plugin, version and call; and nothing leaks.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "heddle/hlo/custom_call.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kLabel[] = "plugin mock (PJRT 0.114): ";

// All that a program does with a plugin, up to the first error.
Status whole_life() {
  HEDDLE_ASSIGN_OR_RETURN(auto backend, make_backend("mock", {.library = HEDDLE_PJRT_MOCK}));
  runtime::Device& device = *backend->devices()[0];
  HEDDLE_ASSIGN_OR_RETURN(auto add, backend->compile(add_module(), {}, device));
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, runtime::to_device(device, vector_of({1, 2})));
  alignas(64) static const float values[2] = {10, 20};
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr y,
                          runtime::lend_to_device(device, values, Shape(f32, {2}), nullptr));
  HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> sum, add->execute(std::vector{x, y}));
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
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr x, runtime::to_device(device, vector_of({1, 2})));
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

class Faults : public MockTest {};

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
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(message_of(status), HasSubstr(cat(kLabel, name_of(GetParam()), ": broken")));
}

TEST_P(EachCall, ANullPointerIsAnErrorOrIsDoneWithout) {
  mock_plugin().reset({.compile = evaluated, .absent = {GetParam()}});
  const Status status = whole_life();
  if (status.ok()) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(status), StartsWith(cat(kLabel, "load: it has no ", name_of(GetParam()))));
}

TEST_P(EachCall, AnUnimplementedOneIsAnErrorOrIsDoneWithout) {
  mock_plugin().reset(
      {.compile = evaluated, .failing = {{GetParam(), {.code = 12, .message = "not here"}}}});
  const Status status = whole_life();
  if (status.ok()) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(message_of(status), HasSubstr(cat(kLabel, name_of(GetParam()), ": not here")));
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
    EXPECT_THAT(message_of(status), HasSubstr(kLabel));
    EXPECT_EQ(status.code(), GetParam() == Slot::kClientAddressableDevices
                                 ? absl::StatusCode::kFailedPrecondition
                                 : absl::StatusCode::kInternal)
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
  EXPECT_THAT(message_of(status), HasSubstr(cat(kLabel, name_of(GetParam()), ": broken")));
}

TEST_P(EachFurtherCall, SuccessThatGivesNothingIsAnErrorOrIsDoneWithout) {
  if (!gives_something(GetParam())) return;
  mock_plugin().reset({.compile = evaluated, .idle = {GetParam()}});
  const Status status = further_life();
  EXPECT_TRUE(status.ok() || message_of(status).find(kLabel) != std::string::npos) << status;
}

TEST_P(EachFurtherCall, OneThatIsNotThereIsToldByName) {
  mock_plugin().reset({.compile = evaluated, .absent = {GetParam()}});
  const Status status = further_life();
  if (is_destroyer(GetParam())) return;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(message_of(status),
              HasSubstr(cat(kLabel, name_of(GetParam()), ": the plugin has no such function")));
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
  const auto same = [](hlo::CustomCall& call) { return StatusOr<Literal>(call[0]); };
  ASSERT_EQ(hlo::register_custom_call("faults_test.same", same), Status());
  const hlo::Module module = module_of(
      "ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] custom-call(x), "
      "custom_call_target=\"faults_test.same\" }");
  mock::Settings settings = with_evaluator();
  settings.platform = "cpu";
  settings.handler_error = "no handlers today";
  start(std::move(settings));
  EXPECT_EQ(message_of(backend_->compile(module, {}, device()).status()),
            cat(kLabel, "FfiRegisterHandler: no handlers today"));
  hlo::unregister_custom_call("faults_test.same");
}

TEST_F(Faults, SuccessWithoutAHandleIsAnError) {
  const std::pair<Slot, std::string> kCases[] = {
      {Slot::kClientCreate, "succeeded without a client"},
      {Slot::kClientCompile, "succeeded without a program"},
      {Slot::kClientBufferFromHostBuffer, "succeeded without a buffer"},
      {Slot::kLoadedExecutableExecute, "gave no result 0"}};
  for (const auto& [slot, text] : kCases) {
    mock_plugin().reset({.compile = evaluated, .empty_handed = {slot}});
    EXPECT_THAT(message_of(whole_life()), HasSubstr(cat(kLabel, name_of(slot), ": ", text)));
    expect_all_gone();
  }
}

TEST_F(Faults, AWrongNumberOfResultsIsFoundBeforeTheFirstRun) {
  mock_plugin().reset({.compile = evaluated, .more_results = 2});
  EXPECT_EQ(
      message_of(whole_life()),
      "compile add: plugin mock (PJRT 0.114): ExecutableNumOutputs: the program has 1 results "
      "and the plugin gives 3; the plugin is at fault");
}

TEST_F(Faults, AResultOfAnotherTypeIsFoundBeforeTheFirstRun) {
  mock_plugin().reset({.compile = evaluated, .other_types = true});
  EXPECT_EQ(message_of(whole_life()),
            "compile add: plugin mock (PJRT 0.114): ExecutableOutputDimensions: result 0 is s8[2]; "
            "the program says f32[2]; the plugin is at fault");
}

TEST_F(Faults, AnArrayThatIsLongerThanItsTypeIsNotDownloaded) {
  mock_plugin().reset({.compile = evaluated, .more_bytes = 4});
  EXPECT_EQ(
      message_of(whole_life()),
      "plugin mock (PJRT 0.114): BufferToHostBuffer: has 12 bytes for f32[2], which has 8; the "
      "plugin is at fault");
}

TEST_F(Faults, AFailedUploadIsAnError) {
  mock_plugin().reset({.compile = evaluated, .host_error = "lost"});
  EXPECT_EQ(message_of(whole_life()), cat(kLabel, "EventAwait: lost"));
}

TEST_F(Faults, AFailedRunIsAnErrorOfItsResults) {
  mock_plugin().reset({.compile = evaluated, .run_error = "lost"});
  EXPECT_EQ(message_of(whole_life()), cat(kLabel, "EventAwait: lost"));
}

TEST_F(Faults, AClientWithoutDevicesIsRefused) {
  mock_plugin().reset({.devices = 0});
  EXPECT_EQ(message_of(whole_life()),
            cat(kLabel, "ClientAddressableDevices: the client has no device"));
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
