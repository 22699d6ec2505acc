// Functions of the program's own that a plugin calls, on the mock: what is said of a plugin that
// does not know the handler, and of calls that are not what they should be.
#include <stdexcept>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/mock/cuda/driver.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/mesh.h"

namespace heddle::pjrt::abi {

struct FfiError {
  std::string text;
};

}  // namespace heddle::pjrt::abi

namespace heddle::pjrt {
namespace {

constexpr char kTarget[] = "host_calls_test.twice";

// A call of the handler as XLA makes it: one f32[2], one result of the same, and the attribute.
struct Call {
  int64_t dims[1] = {2};
  float x[2] = {1, 2};
  float y[2] = {};
  abi::FfiBuffer argument{
      .type = static_cast<int32_t>(abi::BufferType::kF32), .data = x, .rank = 1, .dims = dims};
  abi::FfiBuffer result{.type = argument.type, .data = y, .rank = 1, .dims = dims};
  int32_t kind = abi::kFfiBuffer;
  void* argument_list = &argument;
  void* result_list = &result;
  abi::FfiText name{"heddle_call", 11};
  abi::FfiText* names = &name;
  int32_t attribute_type = abi::kFfiStringAttribute;
  abi::FfiText value;
  void* values = &value;
  abi::FfiApi api{.error_create = [](abi::FfiErrorCreateArgs* args) {
    return new abi::FfiError{base::cat(args->code, " ", args->message)};
  }};
  abi::FfiFrame frame;

  explicit Call(const std::string& attribute) : value{attribute.data(), attribute.size()} {
    frame.head.struct_size = sizeof(frame);
    frame.api = &api;
    frame.arguments = {.count = 1, .types = &kind, .buffers = &argument_list};
    frame.results = {.count = 1, .types = &kind, .buffers = &result_list};
    frame.attributes = {.count = 1, .types = &attribute_type, .names = &names, .values = &values};
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Empty: it went well.
  std::string make(abi::FfiHandler handler) {
    const std::unique_ptr<abi::FfiError> error(handler(&frame));
    return error == nullptr ? "" : error->text;
  }
};

class HostCalls : public MockTest {
 protected:
  HostCalls() {
    EXPECT_EQ(interpreter::register_custom_call(
                  kTarget, [this](interpreter::CustomCall& call) { return function_(call); }),
              Status());
  }
  ~HostCalls() override { interpreter::unregister_custom_call(kTarget); }

  // As XLA's CPU: programs with functions that were not registered are not compiled.
  void start_with(int handler_minor, const std::string& platform = "cpu") {
    start({.compile =
               [this](std::string_view code, std::string_view options) {
                 mock::Program program = evaluated(code, options);
                 const hlo::Module module = hlo::from_proto(code).value();
                 for (const auto& instruction : module.entry_computation().instructions) {
                   if (instruction.opcode != hlo::Opcode::kCustomCall) continue;
                   called_ = instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target;
                   config_ = instruction.extras->backend_config;
                   if (mock_plugin().handler(called_) == nullptr)
                     program.refused = {5, "No FFI handler registered for " + called_};
                 }
                 return program;
               },
           .handler_minor = handler_minor,
           .platform = platform});
  }
  // The handler of the last program, and the attribute that it asks for.
  abi::FfiHandler handler() const { return mock_plugin().handler(called_); }
  std::string attribute() const {
    const size_t first = config_.find('"') + 1;
    return config_.substr(first, config_.rfind('"') - first);
  }
  Status compile() {
    return backend_
        ->compile(module_of(base::cat("ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] "
                                      "custom-call(x), custom_call_target=\"",
                                      kTarget, "\" }")),
                  {}, device())
        .status();
  }

  std::function<StatusOr<Literal>(interpreter::CustomCall&)> function_ =
      [](interpreter::CustomCall& call) {
        Literal out = call[0];
        for (float& value : out.mutable_values<float>()) value *= 2;
        return StatusOr<Literal>(std::move(out));
      };
  std::string called_, config_;  // of the last program
};

// The handler is remembered for the plugin that took it.
TEST_F(HostCalls, AreAskedOfEachPluginAnew) {
  start_with(0);
  ASSERT_EQ(compile(), Status());
  start_with(-1);
  EXPECT_THAT(base::message_of(compile()), HasSubstr("does not know it afterwards"));
  start_with(0);
  EXPECT_EQ(compile(), Status());
}

TEST_F(HostCalls, OfDebuggingAreRefusedWhereThePluginCannotMakeThem) {
  const auto compiled = [&](const std::string& target) {
    return backend_
        ->compile(module_of(base::cat("ENTRY main { x = f32[2] parameter(0) d = u32[] "
                                      "custom-call(x), custom_call_target=\"",
                                      target,
                                      "\", custom_call_has_side_effect=true, "
                                      "backend_config={text = \"{}\"} ROOT y = f32[2] copy(x) }")),
                  {}, device())
        .status();
  };
  start({});
  const Status status = compiled("heddle.print");
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(status),
              AllOf(HasSubstr(": debug_print: platform mock cannot call functions of this process"),
                    HasSubstr("; run the program on cpu, or leave it out on this device")));
  EXPECT_THAT(base::message_of(compiled("heddle.report")),
              HasSubstr(": debug_check or check_nans"));
  EXPECT_THAT(base::message_of(compiled("heddle.progress")), HasSubstr(": progress: "));
  start_with(0);
  EXPECT_EQ(compiled("heddle.print"), Status());
  EXPECT_THAT(called_, StartsWith("heddle_host_call_"));
  runtime::Device& mesh = *runtime::mesh_device(std::vector{&device(0), &device(1)}).value();
  const auto program = mesh.backend().compile(
      module_of("ENTRY main { x = f32[2] parameter(0), sharding={replicated} d = u32[] "
                "custom-call(x), custom_call_target=\"heddle.print\", "
                "custom_call_has_side_effect=true ROOT y = f32[2] copy(x) }"),
      {}, mesh);
  EXPECT_THAT(base::message_of(program.status()), HasSubstr("are for one device"));
}

// As on one device: programs of several have the handler's call, and not the function's own, which
// no plugin knows.
TEST_F(HostCalls, AreMadeByProgramsOfSeveralDevices) {
  start_with(0);
  runtime::Device& mesh = *runtime::mesh_device(std::vector{&device(0), &device(1)}).value();
  const auto program = mesh.backend().compile(
      module_of(base::cat("ENTRY main { x = f32[2] parameter(0), "
                          "sharding={replicated} ROOT y = f32[2] custom-call(x), "
                          "custom_call_target=\"",
                          kTarget, "\" }")),
      {}, mesh);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(called_, StartsWith("heddle_host_call_"));
  EXPECT_NE(mock_plugin().handler(called_), nullptr);
}

TEST_F(HostCalls, AreMadeByAHandlerThatThePluginTakesAndCheckWhatItIsGiven) {
  start_with(-1);
  EXPECT_EQ(base::message_of(compile()),
            "plugin mock (PJRT 0.114): FfiRegisterHandler: it took a handler of each version from "
            "0.0 to 0.3 and does not know it afterwards; the program's custom-call functions "
            "cannot be called from it");

  start_with(0);
  ASSERT_EQ(compile(), Status());
  const abi::FfiHandler handler = this->handler();
  ASSERT_NE(handler, nullptr);
  const std::string attribute = this->attribute();

  Call right(attribute);
  EXPECT_EQ(right.make(handler), "");
  EXPECT_EQ(right.y[1], 4);

  Call few(attribute);
  few.frame.arguments.count = 0;
  EXPECT_EQ(few.make(handler), "13 the plugin passes 0 arguments for 1");
  Call many(attribute);
  many.frame.results.count = 2;
  EXPECT_EQ(many.make(handler), "13 the plugin passes 2 results for 1");
  Call large(attribute);
  large.dims[0] = 3;
  EXPECT_EQ(large.make(handler), "13 the plugin passes array 0 with other dimensions than f32[2]");
  Call nameless(attribute);
  nameless.frame.attributes.count = 0;
  EXPECT_EQ(nameless.make(handler), "13 the call has no attribute heddle_call");
  EXPECT_NE(Call("00").make(handler), "");
  Call early(attribute);  // XLA calls it at other stages too, which is nothing
  early.frame.stage = abi::FfiStage::kPrepare;
  EXPECT_EQ(early.make(handler), "");
  EXPECT_EQ(early.y[1], 0);

  function_ = [](interpreter::CustomCall&) -> StatusOr<Literal> {
    throw std::runtime_error("no luck");
  };
  EXPECT_THAT(Call(attribute).make(handler), HasSubstr("no luck"));
  function_ = [](interpreter::CustomCall&) -> StatusOr<Literal> { throw 7; };
  EXPECT_THAT(Call(attribute).make(handler), HasSubstr(": threw what is no std::exception"));
  function_ = [](interpreter::CustomCall& call) -> StatusOr<Literal> {
    return call.error("is not so");
  };
  EXPECT_THAT(Call(attribute).make(handler), HasSubstr("is not so"));
}

// ---- On CUDA: arrays are copied in the order of the call's stream.

void* on_device(void* host) { return reinterpret_cast<void*>(~reinterpret_cast<uintptr_t>(host)); }

// A call whose arrays are on the device, and its stream.
struct CudaCall : Call {
  mock::Stream stream;

  explicit CudaCall(const std::string& attribute) : Call(attribute) {
    argument.data = on_device(x);
    result.data = on_device(y);
    frame.context = &stream;
    api.head.struct_size = sizeof(api);
    api.stream_get = [](abi::FfiStreamGetArgs* args) -> abi::FfiError* {
      args->stream = args->context;
      return nullptr;
    };
    api.error_destroy = [](abi::FfiErrorDestroyArgs* args) { delete args->error; };
  }
};

class HostCallsOnCuda : public HostCalls {
 protected:
  HostCallsOnCuda() { EXPECT_NE(dlopen(HEDDLE_CUDA_MOCK, RTLD_NOW | RTLD_LOCAL), nullptr); }
};

TEST_F(HostCallsOnCuda, CopyTheirArraysInTheOrderOfTheStream) {
  start_with(0, "cuda");
  ASSERT_EQ(compile(), Status());
  const std::string attribute = this->attribute();
  CudaCall call(attribute);
  EXPECT_EQ(call.make(handler()), "");
  EXPECT_EQ(call.y[0], 2);
  EXPECT_EQ(call.y[1], 4);
  EXPECT_TRUE(call.stream.copies.empty()) << "the result is there when the call returns";
}

TEST_F(HostCallsOnCuda, OfDebuggingAreMade) {
  start_with(0, "cuda");
  const auto program = backend_->compile(
      module_of("ENTRY main { x = f32[2] parameter(0) d = u32[] custom-call(x), "
                "custom_call_target=\"heddle.print\", custom_call_has_side_effect=true, "
                "backend_config={text = \"{}\"} ROOT y = f32[2] copy(x) }"),
      {}, device());
  EXPECT_EQ(program.status(), Status());
  EXPECT_THAT(called_, StartsWith("heddle_host_call_"));
}

TEST_F(HostCallsOnCuda, TellWhatTheDriverAndThePluginAnswer) {
  start_with(0, "cuda");
  ASSERT_EQ(compile(), Status());
  const std::string attribute = this->attribute();
  CudaCall broken(attribute);
  broken.stream.error = 700;
  EXPECT_EQ(broken.make(handler()),
            "13 cuMemcpyDtoHAsync answers with error 700 of the CUDA driver");
  CudaCall late(attribute);  // the copies of what is there are waited for all the same
  late.frame.results.count = 2;
  EXPECT_EQ(late.make(handler()), "13 the plugin passes 2 results for 1");
  EXPECT_TRUE(late.stream.copies.empty());
  CudaCall old(attribute);
  old.api.head.struct_size = offsetof(abi::FfiApi, stream_get);
  EXPECT_EQ(old.make(handler()), "9 a host call on a CUDA device: the plugin tells no stream");
  CudaCall refused(attribute);
  refused.api.stream_get = [](abi::FfiStreamGetArgs*) { return new abi::FfiError{"no"}; };
  EXPECT_EQ(refused.make(handler()),
            "9 a host call on a CUDA device: the plugin has no stream for it");
}

}  // namespace
}  // namespace heddle::pjrt
