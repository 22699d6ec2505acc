// What the tests on real XLA share. They are skipped where the plugin is not there: ./dev
// setup-plugin xla-cpu fetches it.
#pragma once

#include "heddle/pjrt/interface_support_test.h"

namespace heddle::pjrt {

// The interface itself.
class XlaCpuCalls : public InterfaceCalls<::testing::Test> {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    api_ = Api::load("xla-cpu", xla_cpu_library()).value();
    client_ = Client::create(api_, {}).value();
  }
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
