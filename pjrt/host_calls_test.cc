// Functions of the program's own that a plugin calls, on the mock: what is said of a plugin that
// does not know the handler, and of calls that are not what they should be.
#include <stdexcept>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
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
  void start_with(int handler_minor) {
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
           .platform = "cpu"});
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
  const abi::FfiHandler handler = mock_plugin().handler(called_);
  ASSERT_NE(handler, nullptr);
  const size_t first = config_.find('"') + 1;
  const std::string attribute = config_.substr(first, config_.rfind('"') - first);

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
  EXPECT_THAT(Call(attribute).make(handler),
              StartsWith("13 the function threw what is no std::exception"));
  function_ = [](interpreter::CustomCall& call) -> StatusOr<Literal> {
    return call.error("is not so");
  };
  EXPECT_THAT(Call(attribute).make(handler), HasSubstr("is not so"));
}

}  // namespace
}  // namespace heddle::pjrt
