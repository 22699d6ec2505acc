// Derivatives of every op on the native backend: what the evaluator gives, whose derivatives are
// held against differences in tests/laws.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/tests/laws/samples.h"
#include "heddle/transform/derivatives.h"

namespace heddle::laws {
namespace {

using cpu::Allowed;
using hlo::Opcode;

std::vector<bool> with_tangents(const std::vector<Literal>& leaves) {
  std::vector<bool> out;
  for (const Literal& each : leaves) {
    const DType dtype = each.shape().dtype();
    out.push_back(is_floating(dtype) || is_complex(dtype));
  }
  return out;
}

// (x.., cotangents..) of a sample, where it has a reverse derivative; else (x.., tangents..).
StatusOr<hlo::Module> derived(const Sample& sample, const std::vector<bool>& of,
                              const std::vector<bool>& from) {
  auto reverse = transform::vjp(sample.module, of, from);
  return reverse.ok() ? reverse : transform::jvp(sample.module, of);
}

class CpuDerivativeLaws : public ::testing::TestWithParam<Opcode> {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

TEST_P(CpuDerivativeLaws, GiveTheEvaluatorsValue) {
  if (is_random(GetParam())) GTEST_SKIP() << "each run draws other numbers";
  int compared = 0;
  for (const Sample& sample : samples_of(GetParam())) {
    const bool has_types = sample.row->line.find("$t") != std::string_view::npos;
    if (has_types && sample.type != f32 && sample.type != f64) continue;
    SCOPED_TRACE(sample.line);
    const std::vector<Literal> leaves = leaves_of(sample.arguments);
    const auto is_array = [](const Literal& each) { return each.shape().is_array(); };
    if (!std::ranges::all_of(sample.arguments, is_array)) continue;  // tests/laws has them
    const auto value = interpreter::evaluate(sample.module, sample.arguments);
    if (!value.ok() || !is_made_of_arrays(value->shape())) continue;
    const auto made = derived(sample, with_tangents(leaves), with_tangents(leaves_of({*value})));
    if (!made.ok()) continue;
    std::vector<Literal> arguments = cpu::arguments_of(*made);
    std::copy(leaves.begin(), leaves.end(), arguments.begin());
    const auto want = interpreter::evaluate(*made, arguments);
    if (!want.ok()) continue;
    const bool is_double = sample.line.find("f32") == std::string::npos;
    const Allowed allowed{.ulp = 4, .share = is_double ? 1e-13 : 1e-5, .any_zero = true};
    EXPECT_EQ(cpu::difference(cpu::OnCpu(*made).run(arguments), *want, allowed), "")
        << hlo::print(*made);
    if (HasFailure()) return;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "has no derivative";
}

INSTANTIATE_TEST_SUITE_P(EveryOp, CpuDerivativeLaws, ::testing::ValuesIn(every_opcode()), OpName());

}  // namespace
}  // namespace heddle::laws
