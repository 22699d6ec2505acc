#include "heddle/tools/conformance/run.h"

#include "heddle/base/support_test.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/wire.h"
#include "heddle/runtime/registry.h"
#include "heddle/tools/conformance/backend.h"

namespace heddle::conformance {
namespace {

// x, (x, -x): both parts of a nested result.
hlo::Module sample_module() {
  hlo::Module module;
  hlo::ComputationBuilder builder(module, "main");
  auto x = builder.parameter(Shape(f32, {2}), "x");
  auto minus = *builder.add(hlo::Opcode::kNegate, {x});
  auto inner = *builder.add(hlo::Opcode::kTuple, {x, minus});
  module.entry =
      module.add(std::move(builder).finish(*builder.add(hlo::Opcode::kTuple, {x, inner})));
  return module;
}

Literal pair(float a, float b) { return Literal::from<float>(Shape(f32, {2}), {a, b}); }

Case sample_case() {
  Case item;
  item.module = hlo::to_proto(sample_module());
  item.arguments = {pair(1, 2)};
  item.expected = Literal::tuple({pair(1, 2), Literal::tuple({pair(1, 2), pair(-1, -2)})});
  item.tolerances = {{.exact = true}};
  return item;
}

RunModule returns(StatusOr<Literal> value) {
  return [value](const hlo::Module&, std::vector<Literal>) { return value; };
}

RunModule on_interpreter() { return on_device(**runtime::find_device("interpreter")); }

TEST(RunCase, RightResultPasses) {
  const Result result = run_case(sample_case(), on_interpreter());
  EXPECT_EQ(result.outcome, Outcome::kPassed) << result.message;
}

TEST(RunCase, WrongResultFailsAndSaysWhere) {
  Case item = sample_case();
  item.expected = Literal::tuple({pair(1, 2), Literal::tuple({pair(1, 2), pair(-1, -3)})});
  const Result result = run_case(item, on_interpreter());
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_THAT(
      result.message,
      HasSubstr("output {1,1}: f32[2]: 1 of 2 elements differ; first at [1]: got -2, want -3"));
}

TEST(RunCase, WithinABoundPassesUpToIt) {
  Case item = sample_case();
  item.expected = Literal::tuple({pair(1, 2), Literal::tuple({pair(1, 2), pair(-1, -2.25)})});
  for (const bool has_tolerances : {true, false}) {
    if (!has_tolerances) item.tolerances.clear();
    EXPECT_EQ(run_case(item, on_interpreter()).outcome, Outcome::kFailed);
    EXPECT_EQ(run_case(within(item, 0.25), on_interpreter()).outcome, Outcome::kPassed);
    EXPECT_EQ(run_case(within(item, 0.24), on_interpreter()).outcome, Outcome::kFailed);
  }
}

TEST(RunCase, WhatIsNotOfferedIsSkippedWithItsReason) {
  const Result result = run_case(sample_case(), returns(base::unimplemented("negate: not yet")));
  EXPECT_EQ(result.outcome, Outcome::kSkipped);
  EXPECT_EQ(result.message, "negate: not yet");
}

TEST(RunCase, OtherErrorsFail) {
  EXPECT_EQ(run_case(sample_case(), returns(base::invalid_argument("no"))).outcome,
            Outcome::kFailed);
}

TEST(RunCase, ModuleThatCannotBeReadFails) {
  Case item = sample_case();
  item.module.resize(item.module.size() / 2);
  EXPECT_EQ(run_case(item, on_interpreter()).outcome, Outcome::kFailed);
}

TEST(RunCase, SeveralDevicesAreSkipped) {
  Case item = sample_case();
  item.replicas.resize(4);
  EXPECT_EQ(run_case(item, on_interpreter()).message, "needs 4 devices");
}

TEST(RunCase, XlasValueCountsOnlyWhereXlaDisagreesWithTheInterpreter) {
  Case item = sample_case();
  item.xla_cpu_expected = item.expected;
  item.expected = Literal::tuple({pair(0, 0), Literal::tuple({pair(0, 0), pair(0, 0)})});
  EXPECT_EQ(run_case(item, on_interpreter()).outcome, Outcome::kFailed);
  item.flags = {"xla-cpu:disagrees"};
  const Result result = run_case(item, on_interpreter());
  EXPECT_EQ(result.outcome, Outcome::kPassed);
  EXPECT_TRUE(result.on_xla_value);
}

TEST(RunCase, SensitiveCasesSayThatTheyAre) {
  Case item = sample_case();
  item.flags = {"ill-conditioned"};
  EXPECT_THAT(run_case(item, returns(pair(0, 0))).message,
              HasSubstr("(the case is flagged ill-conditioned)"));
}

TEST(RoundTrips, ModuleIsTheSameThroughProto) {
  const Status status = check_proto_round_trip(sample_module());
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace heddle::conformance
