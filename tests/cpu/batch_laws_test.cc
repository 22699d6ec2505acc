// Batched forms of every op on the native backend: what the evaluator gives, whose lanes are held
// against one lane each in tests/laws.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/loop_programs.h"

namespace heddle::laws {
namespace {

using cpu::Allowed;
using hlo::Opcode;

double share_of(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return 1e-14;
    case f32: return 1e-5;
    default: return 1e-2;
  }
}

class CpuBatchLaws : public ::testing::TestWithParam<Opcode> {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

// Products of complex numbers beyond the range are infinite or NaN as they are grouped.
bool is_product(Opcode opcode) {
  return opcode == Opcode::kMultiply || opcode == Opcode::kDot || opcode == Opcode::kConvolution;
}

// Of element types some: what is done with types is shown where there are no lanes.
bool is_chosen(const Sample& sample, Opcode opcode) {
  for (const Literal& each : sample.arguments) {
    if (!is_made_of_arrays(each.shape())) return false;
  }
  if (sample.row->line.find("$t") == std::string_view::npos) return true;
  if (sample.type == c64) return !is_product(opcode);
  return sample.type == f32 || sample.type == s32 || sample.type == pred;
}

TEST_P(CpuBatchLaws, LanesGiveTheEvaluatorsValue) {
  if (is_random(GetParam())) GTEST_SKIP() << "each run draws other numbers";
  for (const Sample& sample : samples_of(GetParam())) {
    if (!is_chosen(sample, GetParam())) continue;
    for (const InLanes& mix : mixes_of(sample.arguments)) {
      SCOPED_TRACE(sample.line + " lanes of " + testing::PrintToString(mix.batched));
      const auto batch = transform::batch(sample.module, mix.batched, kLanes);
      if (!batch.ok()) continue;  // tests/laws has them
      const auto want = interpreter::evaluate(batch->module, mix.all);
      if (!want.ok() || !is_made_of_arrays(want->shape())) continue;
      const Allowed allowed{.ulp = 2, .share = share_of(sample.type), .any_zero = true};
      EXPECT_EQ(cpu::difference(cpu::OnCpu(batch->module).run(mix.all), *want, allowed), "")
          << hlo::print(batch->module);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, CpuBatchLaws, ::testing::ValuesIn(every_opcode()), OpName());

class CpuBatchPrograms : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Eighth, CpuBatchPrograms, ::testing::Range(0, 8));

TEST_P(CpuBatchPrograms, GiveTheEvaluatorsValue) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto [first, last] = seeds(1000);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(seed);
    const LoopProgram program = loop_program(seed);
    const auto batch = transform::batch(program.module, {true, seed % 2 == 0, seed % 3 == 0}, 3);
    ASSERT_TRUE(batch.ok()) << batch.status();
    std::vector<Literal> arguments = loop_arguments(seed, 0);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i == 1 && seed % 2 != 0) continue;
      if (i == 2 && seed % 3 != 0) continue;
      arguments[i] =
          stacked({arguments[i], loop_arguments(seed, 1)[i], loop_arguments(seed, 2)[i]});
    }
    const auto want = interpreter::evaluate(batch->module, arguments);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_EQ(cpu::difference(cpu::OnCpu(batch->module).run(arguments), *want, {.share = 1e-9}), "")
        << program.text;
  }
}

}  // namespace
}  // namespace heddle::laws
