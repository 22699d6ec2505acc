// All HLO that the golden files of passes hold and the examples trace compiles on real XLA, and
// gives what the evaluator gives. Skipped where the plugin is not there: ./dev setup-plugin
// xla-cpu.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>

#include "heddle/hlo/text.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tests/plugins/differential.h"
#include "heddle/tests/plugins/examples.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using runtime::BufferPtr;

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

// Small numbers of either sign; integers that may be indices.
Literal random_values(const Shape& shape, std::mt19937& random) {
  Literal literal(shape);
  const int64_t width = storage_bytes(shape.dtype());
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    const int number = static_cast<int>(random() % 17) - 8;
    const Literal scalar = is_integer(shape.dtype()) || shape.dtype() == pred
                               ? Literal::scalar(shape.dtype(), int64_t{std::abs(number) % 2})
                               : Literal::scalar(shape.dtype(), number / 4.0);
    std::copy_n(scalar.bytes(), width, literal.mutable_bytes() + i * width);
  }
  return literal;
}

void append_leaves_of(const Shape& shape, std::mt19937& random, runtime::Device& device,
                      std::vector<BufferPtr>& out) {
  std::vector<Shape> leaves;
  runtime::append_leaves(shape, leaves);
  for (Shape& leaf : leaves) {
    leaf.clear_layout();
    out.push_back(runtime::to_device(device, random_values(leaf, random)).value());
  }
}

// Compiles and runs; what one of the two cannot do, or would take hours for, is counted.
Status run(const hlo::Module& module, runtime::Device& device) {
  constexpr int64_t kMostBytes = 1 << 20;
  const hlo::Computation& main = module.entry_computation();
  int64_t bytes = main.result_shape().byte_size();
  for (size_t i = 0; i < main.parameter_count(); ++i) bytes += main.parameter_shape(i).byte_size();
  if (bytes > kMostBytes) return unimplemented("has ", bytes, " bytes of arguments and results");
  HEDDLE_ASSIGN_OR_RETURN(auto program, device.backend().compile(module, {}, device));
  std::mt19937 random(7);
  std::vector<BufferPtr> arguments;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    append_leaves_of(entry.parameter_shape(i), random, device, arguments);
  return program->execute(arguments).status();
}

void run_examples(runtime::Device& device, const std::function<void(int)>& check) {
  const runtime::DefaultDevice scope(device);
  std::string folder = ::testing::TempDir();
  for (const examples::Example& example : examples::kExamples) {
    SCOPED_TRACE(example.name);
    char* arguments[] = {const_cast<char*>(example.name), folder.data(), nullptr};
    check(example.run(2, arguments));
  }
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Golden files may hold the lines of an entry alone.
StatusOr<hlo::Module> parse(const std::string& text) {
  const bool is_whole = text.find("ENTRY") != std::string::npos;
  return hlo::parse_text(is_whole ? text : cat("ENTRY main {\n", text, "}\n"));
}

TEST_F(OnXla, GoldenFilesGiveWhatTheEvaluatorGives) {
  constexpr std::string_view kBecomes = "// ----- becomes";
  int skipped = 0;
  for (const auto& file : fs::recursive_directory_iterator("tests/golden")) {
    if (file.path().extension() != ".hlo") continue;
    const std::string text = text_of(file.path());
    const size_t middle = text.find(kBecomes);
    if (middle == std::string::npos) continue;  // of errors and traces
    for (const std::string& part : {text.substr(0, middle), text.substr(middle)}) {
      const StatusOr<hlo::Module> module = parse(part);
      ASSERT_TRUE(module.ok()) << file.path() << module.status();
      const Status status = run(*module, device());
      if (absl::IsUnimplemented(status)) {
        std::cout << "skipped " << file.path().filename() << ": " << status.message() << "\n";
        ++skipped;
      } else {
        EXPECT_TRUE(status.ok()) << file.path() << status;
      }
    }
  }
  std::cout << findings_.programs << " programs agree, " << skipped << " skipped\n";
  EXPECT_GT(findings_.programs, 100);
  expect_no_differences();
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
