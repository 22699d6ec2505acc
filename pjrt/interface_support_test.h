// What the tests of the interface itself share: they make its calls, of each of these plugins.
//
//   mock      the one of pjrt/mock, with all functions of the interface that are asked for here
//   xla_cpu   real XLA. Where it does otherwise than the official tests say, the test says so.
//   named     the library that HEDDLE_TEST_PLUGIN names: a plugin that somebody writes
//
// The tests of one that is not there are skipped.
#pragma once

#include <cstdlib>

#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle::pjrt {

// Calls of the interface, for a fixture that has set api_ and client_.
template <class Test>
class InterfaceCalls : public Test {
 protected:
  abi::Buffer* uploaded(const Literal& literal, abi::HostSemantics semantics,
                        Event* host_is_free) const {
    const Shape& shape = literal.shape();
    abi::ClientBufferFromHostBufferArgs args{.client = client_->handle(),
                                             .data = literal.bytes(),
                                             .type = element_type(shape.dtype()),
                                             .dims = shape.dimensions().data(),
                                             .dims_count = shape.dimensions().size(),
                                             .host_buffer_semantics = semantics,
                                             .device = client_->devices()[0].handle};
    EXPECT_EQ(api_->call(args), Status());
    *host_is_free = Event(api_, args.done_with_host_buffer);
    return args.buffer;
  }
  abi::Buffer* uploaded(const Literal& literal) {
    Event event;
    return uploaded(literal, abi::HostSemantics::kDuringCall, &event);
  }
  void destroy(abi::Buffer* buffer) { api_->destroy(abi::BufferDestroyArgs{.buffer = buffer}); }

  StatusOr<abi::LoadedExecutable*> compile(std::string code, std::string_view format,
                                           const std::string& options) {
    return pjrt::compile(*client_, std::move(code), format, options);
  }

  // Of a program with one result.
  StatusOr<abi::Buffer*> run(abi::LoadedExecutable* program,
                             const std::vector<abi::Buffer*>& arguments,
                             const std::vector<int64_t>& kept = {}, abi::Device* device = nullptr) {
    abi::Buffer* const* const list = arguments.data();
    abi::Buffer* result = nullptr;
    abi::Buffer** const results = &result;
    abi::ExecuteOptions how{.head = {sizeof(how)},
                            .non_donatable_input_indices = kept.data(),
                            .non_donatable_input_indices_count = kept.size()};
    abi::LoadedExecutableExecuteArgs args{.executable = program,
                                          .options = &how,
                                          .argument_lists = &list,
                                          .devices_count = 1,
                                          .args_count = arguments.size(),
                                          .output_lists = &results,
                                          .execute_device = device};
    HEDDLE_RETURN_IF_ERROR(api_->call(args));
    return result;
  }

  std::shared_ptr<const Api> api_;
  std::shared_ptr<const Client> client_;
};

inline constexpr const char* kPlugins[] = {"mock", "xla_cpu", "named"};

// What compiles the programs of these tests on the mock, which has no compiler: HLO by the
// evaluator, and of StableHLO the one program that they have.
inline mock::Program read_hlo(std::string_view code, std::string_view options) {
  const auto module = hlo::from_proto(code);
  if (!module.ok()) return {.refused = mock::Fault{3, "failed to deserialize HloModuleProto"}};
  mock::Program program = evaluated(code, options);
  program.parameters = module->entry_computation().parameter_count();
  for (const hlo::InputOutputAlias& alias : module->extras->input_output_alias)
    program.aliased.push_back(static_cast<size_t>(alias.parameter));
  return program;
}

inline mock::Program read_stable_hlo(std::string_view text) {
  if (text.find("%y = stablehlo.add %x, %x : tensor<f32>") == std::string_view::npos)
    return {.refused = mock::Fault{3, "failed to parse the module"}};
  return evaluated(
      hlo::to_proto(module_of("HloModule m\nENTRY main { x = f32[] parameter(0) ROOT y = "
                              "f32[] add(x, x) }")),
      "");
}

class Interface : public InterfaceCalls<::testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    if (is_mock()) {
      mock_plugin().reset(
          {.compile = read_hlo, .compile_text = read_stable_hlo, .complete = true, .is_xla = true});
    }
    const std::string library = this->library();
    if (library.empty()) GTEST_SKIP() << "no such plugin";
    api_ = Api::load(GetParam(), library).value();
    client_ = Client::create(api_, {}).value();
  }

  void TearDown() override {
    client_.reset();
    if (is_mock()) {
      const mock::Seen& seen = mock_plugin().seen();
      EXPECT_EQ(seen.clients + seen.programs + seen.buffers + seen.events + seen.errors, 0);
    }
  }

  static bool is_mock() { return GetParam() == std::string_view("mock"); }
  static bool is_xla_cpu() { return GetParam() == std::string_view("xla_cpu"); }

  // Whether arrays are in host memory, as the mock's and those of XLA's CPU.
  [[nodiscard]] bool is_on_host() const { return is_mock() || client_->platform() == "cpu"; }

  static std::string library() {
    if (is_mock()) return HEDDLE_PJRT_MOCK;
    if (is_xla_cpu()) return xla_cpu_library();
    const char* named = std::getenv("HEDDLE_TEST_PLUGIN");
    return named == nullptr ? "" : named;
  }

  [[nodiscard]] abi::Device* first() const { return client_->devices()[0].handle; }
  [[nodiscard]] std::string options() const {
    return compile_options(client_->devices()[0].id, {});
  }
};

}  // namespace heddle::pjrt
