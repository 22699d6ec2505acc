#include "heddle/transform/pass.h"

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/support_test.h"

namespace heddle::transform {
namespace {

hlo::Module parsed(std::string_view text) { return *hlo::parse_text(text); }

std::vector<std::string> names_of(std::string_view list) {
  const std::vector<Pass> passes = *parse_pipeline(list);
  std::vector<std::string> names;
  for (const Pass& pass : passes) names.emplace_back(pass.name);
  return names;
}

TEST(ParsePipeline, GivesThePassesInOrder) {
  EXPECT_THAT(names_of("simplify,inline,simplify"), ElementsAre("simplify", "inline", "simplify"));
  EXPECT_THAT(names_of(""), ElementsAre());
}

TEST(ParsePipeline, LowerAndFlattenStandForPipelines) {
  EXPECT_EQ(names_of("lower").size(), std::size(kLowerPipeline));
  EXPECT_EQ(names_of("flatten").size(), std::size(kFlattenPipeline));
  EXPECT_EQ(names_of("inline,lower").size(), 1 + std::size(kLowerPipeline));
}

std::string error_of(std::string_view list) {
  auto passes = parse_pipeline(list);
  return passes.ok() ? "parsed" : base::message_of(passes.status());
}

TEST(ParsePipeline, NamesWhatThereIsWhereANameIsNone) {
  EXPECT_EQ(error_of("inline,fold"),
            "pass fold: there is none; there are lower, flatten, hoist-invariants, inline, "
            "lower-scan, merge-equal, remove-unused, simplify, sink-iotas, expand-lapack, "
            "to-shardy");
  EXPECT_EQ(parse_pipeline("fold").status().code(), StatusCode::kNotFound);
}

TEST(ParsePipeline, AnEmptyNameIsNoPass) {
  for (const char* names : {",", "inline,,simplify", "inline,", ",inline"}) {
    EXPECT_THAT(error_of(names),
                ::testing::StartsWith(base::cat("passes \"", names,
                                                "\": a name is missing beside a comma; there are "
                                                "lower, flatten, ")));
  }
  EXPECT_THAT(error_of("inline,\xff"), ::testing::StartsWith("pass \\xff: there is none"));
  EXPECT_THAT(error_of(" inline"), ::testing::HasSubstr("pass  inline: there is none"));
}

// Passes that go wrong, each in its own way.
StatusOr<hlo::Module> give_up(const hlo::Module&) {
  return base::unimplemented("this module is too hard");
}
StatusOr<hlo::Module> break_types(const hlo::Module& module) {
  hlo::Module broken = module;
  broken.computations.back().instructions.back().shape = Shape(f32, {9});
  return broken;
}
StatusOr<hlo::Module> keep(const hlo::Module& module) { return module; }

std::string error_of(std::vector<Pass> passes, const PipelineOptions& options) {
  auto module = run_pipeline(parsed("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] abs(x) }"),
                             passes, options);
  return module.ok() ? "no error" : base::message_of(module.status());
}

TEST(RunPipeline, AnErrorOfAPassBearsItsName) {
  EXPECT_EQ(error_of({{"keep", keep}, {"give-up", give_up}}, {}),
            "give-up: this module is too hard");
}

TEST(RunPipeline, WhatDoesNotVerifyAfterAPassIsThatPasssFault) {
  const std::vector<Pass> passes = {
      {"keep", keep}, {"break-types", break_types}, {"give-up", give_up}};
  auto module = run_pipeline(parsed("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] abs(x) }"),
                             passes, {.verify_each = true});
  EXPECT_EQ(module.status().code(), StatusCode::kInternal);
  EXPECT_EQ(base::message_of(module.status()),
            "bug in heddle: after break-types: module main, computation main: y: abs: result is "
            "declared as f32[9]; its operands give f32[]");
}

TEST(RunPipeline, WithoutVerificationOnlyThePassesSpeak) {
  EXPECT_EQ(error_of({{"break-types", break_types}, {"give-up", give_up}}, {.verify_each = false}),
            "give-up: this module is too hard");
}

TEST(RunPipeline, AModuleThatComesInWrongIsTheCallersFault) {
  hlo::Module module =
      *break_types(parsed("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] abs(x) }"));
  auto result = run_pipeline(module, std::vector<Pass>{{"keep", keep}}, {.verify_each = true});
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
}

TEST(RunPipeline, AStageThatWasReachedStays) {
  // lower-scan leaves no scan; the pipeline finds a later pass that brings one back.
  static const hlo::Module* const kTraced = new hlo::Module(parsed(kScan));
  const Pass bring_back{"bring-back",
                        [](const hlo::Module&) -> StatusOr<hlo::Module> { return *kTraced; }};
  const std::vector<Pass> passes = {{"lower-scan", lower_scan, hlo::Stage::kHlo}, bring_back};
  auto module = run_pipeline(*kTraced, passes, {.verify_each = true});
  EXPECT_THAT(base::message_of(module.status()), ::testing::HasSubstr("after bring-back: "));
  EXPECT_THAT(base::message_of(module.status()), ::testing::HasSubstr("scan: is not legal here"));
}

TEST(RunPipeline, DumpsTheInputAndEachResult) {
  std::vector<std::string> steps;
  PipelineOptions options;
  options.dump = [&](int step, std::string_view pass, const hlo::Module& module) {
    steps.push_back(
        base::cat(step, " ", pass, " ",
                  module.entry_computation().root_instruction().opcode == hlo::Opcode::kScan));
  };
  ASSERT_TRUE(run_pipeline(parsed(kScan), *parse_pipeline("simplify,lower-scan"), options).ok());
  EXPECT_THAT(steps, ElementsAre("0 input true", "1 simplify true", "2 lower-scan false"));
}

// The module without the instruction before its root, if it has an odd (even) number of more than
// two.
StatusOr<hlo::Module> shorten(const hlo::Module& module, bool odd) {
  hlo::Module shorter = module;
  auto& instructions = shorter.computations.back().instructions;
  if (instructions.size() <= 2 || (instructions.size() % 2 == 1) != odd) return shorter;
  instructions.erase(instructions.end() - 2);
  shorter.computations.back().root = hlo::InstructionId(instructions.size() - 1);
  return shorter;
}
StatusOr<hlo::Module> shorten_odd(const hlo::Module& module) { return shorten(module, true); }
StatusOr<hlo::Module> shorten_even(const hlo::Module& module) { return shorten(module, false); }

std::vector<std::string> steps_of(std::string_view text, const std::vector<Pass>& passes) {
  std::vector<std::string> steps;
  PipelineOptions options;
  options.dump = [&](int, std::string_view pass, const hlo::Module& now) {
    steps.push_back(base::cat(pass, " ", now.instruction_count()));
  };
  EXPECT_TRUE(run_pipeline(parsed(text), passes, options).ok());
  return steps;
}

constexpr Pass kOdd{.name = "odd", .run = shorten_odd, .settles = true};
constexpr Pass kEven{.name = "even", .run = shorten_even, .settles = true};

TEST(RunPipeline, PassesThatSettleRunUntilNoneHasAnythingToChange) {
  EXPECT_THAT(steps_of(R"(ENTRY main {
    x = f32[] parameter(0)
    a = f32[] abs(x)
    b = f32[] abs(x)
    c = f32[] abs(x)
    ROOT y = f32[] negate(x)
  })",
                       {{"keep", keep}, kOdd, kEven, {"keep", keep}}),
              ElementsAre("input 5", "keep 5", "odd 4", "even 3", "odd 2", "even 2", "keep 2"));
}

TEST(RunPipeline, PassesThatSettleRunOnceWhereTheyChangeNothing) {
  EXPECT_THAT(
      steps_of("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] abs(x) }", {kOdd, kEven}),
      ElementsAre("input 2", "odd 2", "even 2"));
}

StatusOr<hlo::Module> with_root(const hlo::Module& module, hlo::Opcode opcode) {
  hlo::Module other = module;
  other.computations.back().instructions.back().opcode = opcode;
  return other;
}
StatusOr<hlo::Module> to_abs(const hlo::Module& m) { return with_root(m, hlo::Opcode::kAbs); }
StatusOr<hlo::Module> to_negate(const hlo::Module& m) { return with_root(m, hlo::Opcode::kNegate); }

TEST(RunPipeline, PassesThatNeverSettleEnd) {
  const auto steps = steps_of("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] abs(x) }",
                              {{.name = "negate", .run = to_negate, .settles = true},
                               {.name = "abs", .run = to_abs, .settles = true}});
  EXPECT_EQ(steps.size(), 1 + 2 * kMaxRounds);
}

TEST(RunPipeline, NoPassesGiveTheModule) {
  const hlo::Module module = parsed(kScan);
  EXPECT_TRUE(hlo::equal(*run_pipeline(module, {}), module));
}

}  // namespace
}  // namespace heddle::transform
