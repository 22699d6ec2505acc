// All HLO that the golden files hold, of passes and of traces, and that the examples trace,
// compiles on real XLA and gives what the evaluator gives. Skipped where the plugin is not there:
// ./dev setup-plugin xla-cpu.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <numbers>
#include <random>
#include <sstream>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tests/plugins/differential.h"
#include "heddle/tests/plugins/examples.h"

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

// Do integers of the program mean places or counts? Such are small, that they reach what they name.
bool has_indices(const hlo::Module& module) {
  using hlo::Opcode;
  constexpr Opcode kIndexed[] = {Opcode::kWhile,       Opcode::kScan,
                                 Opcode::kConditional, Opcode::kDynamicSlice,
                                 Opcode::kGather,      Opcode::kDynamicUpdateSlice,
                                 Opcode::kScatter};
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& each : computation.instructions)
      if (std::ranges::find(kIndexed, each.opcode) != std::end(kIndexed)) return true;
  }
  return false;
}

double normal(std::mt19937& random) {
  const double u = (static_cast<double>(random()) + 0.5) * 0x1p-32;
  const double v = static_cast<double>(random()) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Small ones of either sign, or of all bits of the type, half of them each.
int64_t wide_integer(std::mt19937& random) {
  const int64_t bits = static_cast<int64_t>(uint64_t{random()} << 32 | random());
  return random() % 2 == 0 ? bits : bits % 9;
}

// What a program may be given.
struct Kinds {
  bool indices = false;   // integers are places or counts: 0 to 3, not of every size
  bool positive = false;  // a loop of it ends for positive floats alone
};

// A root that is looked for until it is found.
bool needs_positive(const fs::path& file) { return file.stem() == "while-loop-of-newton"; }

// What its floats may differ by, besides what their types allow, relative.
double may_differ_by(const fs::path& file) {
  // A mean is rounded to bf16 in the end. XLA keeps the bits of the products that bf16 would drop,
  // so that its mean may be the bf16 next to ours: a unit in the last place.
  return file.stem() == "mixed-types" ? 0x1p-7 : 0;
}

// Normal floats, both parts of complex ones, and integers.
Literal random_values(const Shape& shape, Kinds kinds, std::mt19937& random) {
  Literal literal(shape);
  const DType dtype = shape.dtype();
  const DType part = real_part(dtype);
  const int64_t width = storage_bytes(part);
  for (std::byte* to = literal.mutable_bytes(); to < literal.bytes() + literal.byte_size();
       to += width) {
    if (dtype == pred || is_integer(dtype)) {
      const int64_t number = kinds.indices || dtype == pred ? random() % (dtype == pred ? 2 : 4)
                                                            : wide_integer(random);
      store(part, &number, 1, to);
    } else {
      const double drawn = normal(random);
      const double number = kinds.positive ? std::abs(drawn) : drawn;
      store(part, &number, 1, to);
    }
  }
  return literal;
}

void append_leaves_of(const Shape& shape, Kinds kinds, std::mt19937& random,
                      runtime::Device& device, std::vector<BufferPtr>& out) {
  std::vector<Shape> leaves;
  runtime::append_leaves(shape, leaves);
  for (Shape& leaf : leaves) {
    leaf.clear_layout();
    out.push_back(runtime::to_device(device, random_values(leaf, kinds, random)).value());
  }
}

// Compiles and runs; what one of the two cannot do, or would take hours for, is counted.
Status run(const hlo::Module& module, runtime::Device& device, bool positive = false) {
  constexpr int64_t kMostBytes = 1 << 20;
  const hlo::Computation& main = module.entry_computation();
  int64_t bytes = main.result_shape().byte_size();
  for (size_t i = 0; i < main.parameter_count(); ++i) bytes += main.parameter_shape(i).byte_size();
  if (bytes > kMostBytes)
    return base::unimplemented("has ", bytes, " bytes of arguments and results");
  HEDDLE_ASSIGN_OR_RETURN(auto program, device.backend().compile(module, {}, device));
  const Kinds kinds{.indices = has_indices(module), .positive = positive};
  std::mt19937 random(7);
  for (int draw = 0; draw < 3; ++draw) {
    std::vector<BufferPtr> arguments;
    for (size_t i = 0; i < main.parameter_count(); ++i)
      append_leaves_of(main.parameter_shape(i), kinds, random, device, arguments);
    HEDDLE_RETURN_IF_ERROR(program->execute(arguments).status());
  }
  return {};
}

// `backend` names what those run on that do not take the default device; without one they are left
// out.
void run_examples(runtime::Device& device, std::string backend,
                  const std::function<void(int)>& check) {
  const runtime::DefaultDevice scope(device);
  std::string folder = ::testing::TempDir();
  for (const examples::Example& example : examples::kExamples) {
    if (example.takes_backend && backend.empty()) continue;
    SCOPED_TRACE(example.name);
    char* argument = example.takes_backend ? backend.data() : folder.data();
    char* arguments[] = {const_cast<char*>(example.name), argument, nullptr};
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
  return hlo::parse_text(is_whole ? text : base::cat("ENTRY main {\n", text, "}\n"));
}

// The modules of a file, which lines "// ----- what it is" part.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("// -----")) parts.emplace_back();
    base::append(parts.back(), line, "\n");
  }
  return parts;
}

// Those of errors are no programs.
std::vector<fs::path> golden_files() {
  std::vector<fs::path> out;
  for (const auto& file : fs::recursive_directory_iterator("tests/golden")) {
    const bool of_errors = file.path().parent_path().filename() == "errors";
    if (file.path().extension() == ".hlo" && !of_errors) out.push_back(file.path());
  }
  std::ranges::sort(out);
  return out;
}

TEST_F(OnXla, GoldenFilesGiveWhatTheEvaluatorGives) {
  int skipped = 0, traces = 0;
  for (const fs::path& file : golden_files()) {
    for (const std::string& part : parts_of(text_of(file))) {
      const StatusOr<hlo::Module> module = parse(part);
      ASSERT_TRUE(module.ok()) << file << module.status();
      findings_.relative = may_differ_by(file);
      const Status status = run(*module, device(), needs_positive(file));
      if (status.code() == StatusCode::kUnimplemented) {
        std::cout << "skipped " << file.filename() << ": " << status.message() << "\n";
        ++skipped;
      } else {
        EXPECT_TRUE(status.ok()) << file << status;
        traces += file.parent_path().filename() == "trace" ? 1 : 0;
      }
    }
  }
  std::cout << findings_.programs << " programs agree, " << traces << " of traces; " << skipped
            << " skipped\n";
  EXPECT_GT(findings_.programs, 140);
  EXPECT_GT(traces, 30);
  expect_no_differences();
}

// Its example runs it on the evaluator.
TEST_F(OnXla, CustomCallOfTheExamplesGivesWhatTheEvaluatorGives) {
  const auto example = std::ranges::find(examples::kExamples, std::string_view("custom_call"),
                                         &examples::Example::name);
  ASSERT_EQ(example->run(0, nullptr), 0);
  const Status status = run(hlo::parse_text(examples::kCustomCallProgram).value(), device());
  EXPECT_TRUE(status.ok()) << status;
  expect_no_differences();
  interpreter::unregister_custom_call("airmass");  // another test's example registers it
}

// They check themselves, the transfers too.
TEST_F(OnXla, ExamplesSucceed) {
  run_examples(*xla_->devices()[0], "pjrt:" + xla_cpu_library(),
               [](int code) { EXPECT_EQ(code, 0); });
}

// Which reads every result back, so that those which count transfers are not content.
TEST_F(OnXla, ExamplesGiveWhatTheEvaluatorGives) {
  // The gradient where nile's likelihood is greatest, 99 terms of size 1 that cancel to 5e-8, and
  // the step that is computed from it.
  findings_.cancelling = {"value_slope_and_curvature", "newton_step"};
  findings_.left = 1e-13;
  run_examples(device(), "", [](int) {});
  std::cout << findings_.programs << " programs, " << findings_.results << " results compared\n";
  EXPECT_GT(findings_.programs, 10);
  expect_no_differences();
}

}  // namespace
}  // namespace heddle
