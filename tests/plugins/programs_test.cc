// All HLO that the examples trace compiles on real XLA, and gives what the evaluator gives. Skipped
// where the plugin is not there: ./dev setup-plugin xla-cpu.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>

#include "heddle/runtime/registry.h"
#include "heddle/tests/plugins/differential.h"
#include "heddle/tests/plugins/examples.h"
#include "heddle/tests/plugins/xla_cpu.h"

namespace heddle {
namespace {

class OnXla : public ::testing::Test {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    xla_ = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
    both_ = differential::make_backend(*runtime::find_device("interpreter").value(),
                                       *xla_->devices()[0], findings_);
  }
  void expect_no_differences() const {
    for (const std::string& difference : findings_.differences) ADD_FAILURE() << difference;
  }
  runtime::Device& device() { return *both_->devices()[0]; }

  std::unique_ptr<runtime::Backend> xla_;
  differential::Findings findings_;
  std::unique_ptr<runtime::Backend> both_;
};

void run_examples(runtime::Device& device, const std::function<void(int)>& check) {
  const runtime::DefaultDevice scope(device);
  std::string folder = ::testing::TempDir();
  for (const examples::Example& example : examples::kExamples) {
    SCOPED_TRACE(example.name);
    char* arguments[] = {const_cast<char*>(example.name), folder.data(), nullptr};
    check(example.run(2, arguments));
  }
}

// They check themselves, the transfers too.
TEST_F(OnXla, ExamplesSucceed) {
  run_examples(*xla_->devices()[0], [](int code) { EXPECT_EQ(code, 0); });
}

// Which reads every result back, so that those which count transfers are not content.
TEST_F(OnXla, ExamplesGiveWhatTheEvaluatorGives) {
  run_examples(device(), [](int) {});
  std::cout << findings_.programs << " programs, " << findings_.results << " results compared\n";
  EXPECT_GT(findings_.programs, 10);
  expect_no_differences();
}

}  // namespace
}  // namespace heddle
