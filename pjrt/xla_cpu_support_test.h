// What the tests on real XLA share. They are skipped where the plugin is not there: ./dev
// setup-plugin xla-cpu fetches it.
#pragma once

#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle::pjrt {

// The interface itself.
class XlaCpuCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    api_ = Api::load("xla-cpu", xla_cpu_library()).value();
    client_ = Client::create(api_, {}).value();
  }

  abi::Buffer* uploaded(const Literal& literal, abi::HostSemantics semantics, Event* host_is_free) {
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
    abi::Program program{.head = {sizeof(program)},
                         .code = code.data(),
                         .code_size = code.size(),
                         .format = format.data(),
                         .format_size = format.size()};
    abi::ClientCompileArgs args{.client = client_->handle(),
                                .program = &program,
                                .compile_options = options.data(),
                                .compile_options_size = options.size()};
    HEDDLE_RETURN_IF_ERROR(api_->call(args));
    return args.executable;
  }

  std::shared_ptr<const Api> api_;
  std::shared_ptr<const Client> client_;
};

// The plugin as a backend.
class XlaCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    backend_ = make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  }

  runtime::Device& device(size_t number = 0) { return *backend_->devices()[number]; }
  BufferPtr on_device(const Literal& literal) {
    return runtime::to_device(device(), literal).value();
  }
  std::shared_ptr<Executable> compiled(const hlo::Module& module) {
    auto program = backend_->compile(module, {}, device());
    EXPECT_TRUE(program.ok()) << program.status();
    return *program;
  }
  // Of a program with one result.
  StatusOr<Literal> run(const std::string& text, const std::vector<Literal>& arguments) {
    HEDDLE_ASSIGN_OR_RETURN(auto program, backend_->compile(module_of(text), {}, device()));
    std::vector<BufferPtr> inputs;
    for (const Literal& argument : arguments) inputs.push_back(on_device(argument));
    HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> outputs, program->execute(inputs));
    return runtime::to_host(*outputs[0]);
  }

  std::unique_ptr<runtime::Backend> backend_;
};

}  // namespace heddle::pjrt
