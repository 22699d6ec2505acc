// Lanes of random programs, and lanes and derivatives of one sample of each op, on real XLA: what
// the evaluator gives. XLA compiles slowly, so these are few: HEDDLE_RANDOM_PROGRAMS=0:1000 runs as
// many programs as the other backends have. What XLA refuses is counted, and its reason printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <span>

#include "heddle/base/system/subnormals.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/tests/laws/loop_programs.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/lower.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

// Programs of one test on XLA, beside the evaluator.
class OnXla {
 public:
  [[nodiscard]] bool has_plugin() {
    if (xla_cpu_library().empty()) return false;
    xla_ = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
    return true;
  }

  // Empty, or where a result is further off than that share of its largest number. Programs
  // that the evaluator or XLA refuses count apart.
  std::string difference(const hlo::Module& module, const std::vector<Literal>& arguments,
                         double share) {
    const FlushSubnormals as_xla_does;
    const auto want = interpreter::evaluate(module, arguments);
    if (!want.ok()) return note(unevaluated_, want.status());
    const auto lowered = transform::lower(module);
    if (!lowered.ok()) return note(refused_, lowered.status());
    const auto have = conformance::run_on_device(*xla_->devices()[0], *lowered, arguments);
    if (!have.ok()) return note(refused_, have.status());
    ++compared_;
    const std::vector<Literal> ours = leaves_of({*want}), theirs = leaves_of({*have});
    for (size_t i = 0; i < ours.size(); ++i) {
      const std::string found = far_apart(theirs[i], ours[i], share);
      if (!found.empty()) return base::cat("result ", i, ": ", found);
    }
    return "";
  }

  [[nodiscard]] size_t compared() const { return compared_; }
  [[nodiscard]] size_t refused() const { return refused_.size(); }

  void print_counts() const {
    std::cout << compared_ << " compared, " << refused_.size() << " refused by XLA, "
              << unevaluated_.size() << " by the evaluator\n";
    for (const std::string& each : refused_) std::cout << "  XLA: " << each << "\n";
    for (const std::string& each : unevaluated_) std::cout << "  the evaluator: " << each << "\n";
  }

 private:
  static std::string note(std::vector<std::string>& to, const Status& status) {
    const std::string message(base::message_of(status));
    to.push_back(message.substr(0, message.find('\n')));
    return "";
  }

  std::unique_ptr<runtime::Backend> xla_;
  std::vector<std::string> refused_, unevaluated_;
  size_t compared_ = 0;
};

// Lanes of random programs
// --------------------------------------------------------------------------------

class XlaBatchPrograms : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Eighth, XlaBatchPrograms, ::testing::Range(0, 8));

TEST_P(XlaBatchPrograms, GiveTheEvaluatorsValue) {
  OnXla xla;
  if (!xla.has_plugin()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  const auto [first, last] = seeds(96);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(seed);
    const LoopProgram program = loop_program(seed);
    const unsigned which = 1 + static_cast<unsigned>(seed) % 7;
    std::vector<Literal> arguments = loop_arguments(seed, 0);
    std::vector<bool> batched;
    for (size_t i = 0; i < arguments.size(); ++i) {
      batched.push_back(((which >> i) & 1) != 0);
      if (batched[i])
        arguments[i] =
            stacked({arguments[i], loop_arguments(seed, 1)[i], loop_arguments(seed, 2)[i]});
    }
    const auto batch = transform::batch(program.module, batched, kLanes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(xla.difference(batch->module, arguments, 1e-9), "") << program.text;
  }
  EXPECT_EQ(xla.refused(), 0u);
  xla.print_counts();
}

// One sample of each op
// --------------------------------------------------------------------------------

double share_of(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return 1e-12;
    case f32: return 1e-5;
    default: return 1e-2;
  }
}

// Of the samples of f32, or of what the op takes, the one with most elements below 300.
const Sample* one_sample_of(Opcode opcode) {
  const Sample* best = nullptr;
  int64_t most = -1;
  for (const Sample& each : samples_of(opcode)) {
    const bool has_types = each.row->line.find("$t") != std::string_view::npos;
    if (has_types && each.type != f32 && best != nullptr) continue;
    int64_t elements = 0;
    bool has_arrays = !each.arguments.empty();
    for (const Literal& argument : each.arguments) {
      has_arrays &= is_made_of_arrays(argument.shape());
      if (argument.shape().is_array()) elements += argument.element_count();
    }
    const bool is_better = elements > most || (has_types && best->type != f32 && each.type == f32);
    if (!has_arrays || elements >= 300 || !is_better) continue;
    best = &each;
    most = elements;
  }
  return best;
}

// Floats of moderate size: the corpora show what ops make of infinities and NaN.
template <class T>
void fill_moderately(Literal& out) {
  const auto count = static_cast<size_t>(out.byte_size()) / sizeof(T);
  double next = 0.25;
  for (T& each : std::span(reinterpret_cast<T*>(out.mutable_bytes()), count)) {
    each = static_cast<T>(next);
    next = next > 0.8 ? next - 0.6 : next + 0.13;
  }
}

Literal moderate(const Literal& x) {
  if (!x.shape().is_array()) return x;
  const DType part = real_part(x.shape().dtype());
  if (part != f32 && part != f64) return x;
  Literal out(x.shape());
  if (part == f32) {
    fill_moderately<float>(out);
  } else {
    fill_moderately<double>(out);
  }
  return out;
}

std::vector<Literal> moderate(const std::vector<Literal>& arguments) {
  std::vector<Literal> out;
  for (const Literal& each : arguments) out.push_back(moderate(each));
  return out;
}

// An eighth of the ops each.
class XlaLaws : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!xla_.has_plugin()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  }
  void TearDown() override {
    if (IsSkipped()) return;
    xla_.print_counts();
    EXPECT_GT(xla_.compared(), 0u);
  }
  // With `run` for each op of this part that has a sample.
  void for_each_op(base::FunctionRef<void(Opcode, const Sample&)> run) {
    const std::vector<Opcode> opcodes = every_opcode();
    for (size_t i = GetParam(); i < opcodes.size(); i += 8) {
      if (is_random(opcodes[i])) continue;  // each run draws other numbers
      const Sample* sample = one_sample_of(opcodes[i]);
      if (sample == nullptr) continue;  // tests/laws says which have none
      SCOPED_TRACE(sample->line);
      run(opcodes[i], *sample);
    }
  }

  OnXla xla_;
};
INSTANTIATE_TEST_SUITE_P(Eighth, XlaLaws, ::testing::Range(size_t{0}, size_t{8}));

TEST_P(XlaLaws, LanesGiveTheEvaluatorsValue) {
  for_each_op([&](Opcode, const Sample& sample) {
    const std::vector<InLanes> mixes = mixes_of(moderate(sample.arguments));
    if (mixes.empty()) return;  // no array
    const InLanes& mix = mixes.back();
    const auto batch = transform::batch(sample.module, mix.batched, kLanes);
    if (!batch.ok()) return;  // tests/laws has them
    EXPECT_EQ(xla_.difference(batch->module, mix.all, share_of(sample.type)), "")
        << hlo::print(batch->module);
  });
}

std::vector<bool> with_tangents(const std::vector<Literal>& leaves) {
  std::vector<bool> out;
  for (const Literal& each : leaves)
    out.push_back(is_floating(each.shape().dtype()) || is_complex(each.shape().dtype()));
  return out;
}

// (x.., cotangents..) of a sample, where it has a reverse derivative; else (x.., tangents..).
StatusOr<hlo::Module> derived(const Sample& sample, const std::vector<Literal>& leaves) {
  HEDDLE_ASSIGN_OR_RETURN(const Literal value, interpreter::evaluate(sample.module, leaves));
  const std::vector<bool> of = with_tangents(leaves);
  auto reverse = transform::vjp(sample.module, of, with_tangents(leaves_of({value})));
  return reverse.ok() ? reverse : transform::jvp(sample.module, of);
}

TEST_P(XlaLaws, DerivativesGiveTheEvaluatorsValue) {
  for_each_op([&](Opcode, const Sample& sample) {
    const auto is_array = [](const Literal& each) { return each.shape().is_array(); };
    if (!std::ranges::all_of(sample.arguments, is_array)) return;  // tests/laws has them
    std::vector<Literal> arguments = moderate(sample.arguments);
    const auto made = derived(sample, arguments);
    if (!made.ok()) return;  // has no derivative
    const hlo::Computation& entry = made->entry_computation();
    for (size_t i = arguments.size(); i < entry.parameter_count(); ++i)
      arguments.push_back(moderate(Literal(entry.parameter_shape(i))));
    EXPECT_EQ(xla_.difference(*made, arguments, share_of(sample.type)), "") << hlo::print(*made);
  });
}

}  // namespace
}  // namespace heddle::laws
