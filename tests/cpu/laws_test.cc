// For every op: the programs of its samples give natively what the evaluator gives, alone and in a
// loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "heddle/cpu/backend.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/samples.h"

namespace heddle::laws {
namespace {

using cpu::Allowed;
using hlo::Opcode;

// Functions whose last bits are free: the evaluator's are those of the C library in f64.
bool is_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kTan:
    case Opcode::kAsin:
    case Opcode::kAcos:
    case Opcode::kAtan:
    case Opcode::kSinh:
    case Opcode::kCosh:
    case Opcode::kTanh:
    case Opcode::kAsinh:
    case Opcode::kAcosh:
    case Opcode::kAtanh:
    case Opcode::kErf:
    case Opcode::kCbrt:
    case Opcode::kRsqrt:
    case Opcode::kPower:
    case Opcode::kAtan2: return true;
    default: return false;
  }
}

// Sums are grouped otherwise and joined with products, which leaves the sign of a zero open.
bool is_sum(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kFft:
    case Opcode::kReduce:
    case Opcode::kReduceWindow: return true;
    default: return false;
  }
}

double epsilon_of(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return 2.3e-16;
    case bf16: return 0x1p-8 / 32;  // rounded once, from f32
    case f16: return 0x1p-11 / 32;
    default: return 1.2e-7;
  }
}

Allowed allowed(const Sample& sample) {
  const Opcode opcode = sample.module.entry_computation().root_instruction().opcode;
  const bool is_size = opcode == Opcode::kAbs && sample.type == c64;
  if (is_function(opcode) || is_size) return {.ulp = 2};
  // Products of complex numbers are rounded as the real ones that they are made of.
  if (opcode == Opcode::kMultiply && is_complex(sample.type))
    return {.share = 2 * epsilon_of(sample.type)};
  if (is_sum(opcode)) return {.share = 32 * epsilon_of(sample.type), .any_zero = true};
  return {};
}

class CpuLaws : public ::testing::TestWithParam<Opcode> {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

// A token is no argument of a device.
bool takes_arrays(const hlo::Module& module) {
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    if (!is_made_of_arrays(entry.parameter_shape(i))) return false;
  }
  return is_made_of_arrays(entry.result_shape());
}

// What the evaluator refuses, and what draws numbers, is left out.
void expect_as_evaluated(const Sample& sample, const hlo::Module& module) {
  const auto want = interpreter::evaluate(module, sample.arguments);
  if (!want.ok() || !takes_arrays(module)) return;
  const cpu::OnCpu native(module);
  for (const bool donated : {false, true}) {
    const Literal got = native.run(sample.arguments, donated);
    EXPECT_EQ(cpu::difference(got, *want, allowed(sample)), "")
        << (donated ? "donated" : "not donated") << "\n"
        << hlo::print(module);
  }
}

TEST_P(CpuLaws, SamplesGiveTheEvaluatorsValue) {
  if (is_random(GetParam())) GTEST_SKIP() << "each run draws other numbers";
  for (const Sample& sample : samples_of(GetParam())) {
    SCOPED_TRACE(sample.line);
    expect_as_evaluated(sample, sample.module);
    if (HasFailure()) return;
  }
}

TEST_P(CpuLaws, LoopsGiveTheEvaluatorsValue) {
  if (is_random(GetParam())) GTEST_SKIP() << "each run draws other numbers";
  for (const Sample& sample : samples_of(GetParam())) {
    SCOPED_TRACE(sample.line);
    if (!is_made_of_arrays(sample.module.entry_computation().result_shape())) continue;
    expect_as_evaluated(sample, looped(sample));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, CpuLaws, ::testing::ValuesIn(every_opcode()), OpName());

}  // namespace
}  // namespace heddle::laws
