// Derivatives and lanes of random programs of loops, branches and arrays, nested in each other, on
// the evaluator. HEDDLE_RANDOM_PROGRAMS=FIRST:LAST runs others.
#include "heddle/tests/laws/loop_programs.h"

#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/trip_count.h"

namespace heddle::laws {
namespace {

int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(LoopPrograms, HaveEveryFormAndFewAreLeftOut) {
  std::string all;
  int redrawn = 0, other_arguments = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const LoopProgram program = loop_program(seed);
    EXPECT_EQ(loop_program(seed).text, program.text) << seed;
    all += program.text;
    redrawn += program.redrawn;
    other_arguments += program.salt;
  }
  const std::string_view forms[] = {"is_reverse=true",
                                    "heddle.unroll",
                                    transform::kBlockLengths,
                                    transform::kParallelBackward,
                                    transform::kMaxSteps,
                                    transform::kCheckpointAttribute,
                                    hlo::kCustomJvp,
                                    hlo::kRoot,
                                    " while(",
                                    "branch_computations={",
                                    " dynamic-slice(",
                                    " dynamic-update-slice(",
                                    " scatter(",
                                    " sort(",
                                    " dot("};
  for (std::string_view form : forms) EXPECT_GE(count_of(all, form), 2) << form;
  // Those with a kink beside their arguments.
  EXPECT_LE(redrawn, 2);
  EXPECT_LE(other_arguments, 4);
}

class DerivativePrograms : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Eighth, DerivativePrograms, ::testing::Range(0, 8));

TEST_P(DerivativePrograms, AgreeWithDifferencesAndEachOther) {
  const auto [first, last] = seeds(1000);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(base::cat("program ", seed));
    const LoopProgram program = loop_program(seed);
    // A step of 1e-5 is too long for third derivatives of 1e6, which program 150 has.
    const DerivativeCheck check{.step = 1e-6,
                                .tolerance = 1e-5,
                                .order = 2,
                                .reverse = !program.has_while,
                                .seed = static_cast<uint64_t>(seed)};
    ASSERT_EQ(check_derivatives(program.module, program.arguments, check), "") << program.text;
  }
}

// Derivatives of the gradient: where loops go back, and are derived again.
TEST_P(DerivativePrograms, OfTheWayBackAgreeToo) {
  const auto [first, last] = seeds(1000);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(base::cat("program ", seed));
    const LoopProgram program = loop_program(seed);
    if (program.has_while) continue;
    const auto back = transform::vjp(program.module, {true, true, true}, {true, true});
    ASSERT_TRUE(back.ok()) << back.status();
    std::vector<Literal> x = program.arguments;
    const hlo::Computation& entry = back->entry_computation();
    for (size_t i = x.size(); i < entry.parameter_count(); ++i)
      x.push_back(loop_arguments(seed, 1)[entry.parameter_shape(i).rank() == 0 ? 0 : 1]);
    const DerivativeCheck check{
        .step = 1e-6, .tolerance = 1e-5, .order = 1, .seed = static_cast<uint64_t>(seed)};
    ASSERT_EQ(check_derivatives(*back, x, check), "") << program.text;
  }
}

// Three lanes where the program is smooth: arguments number i have lanes of their own where bit i
// of seed mod 7 + 1 is set.
InLanes lanes_of(const LoopProgram& program, int seed) {
  const unsigned which = 1 + static_cast<unsigned>(seed) % 7;
  InLanes mix{.batched = {}, .all = program.arguments, .lanes = {program.arguments}};
  for (size_t i = 0; i < mix.all.size(); ++i) mix.batched.push_back(((which >> i) & 1) != 0);
  for (int salt = program.salt + 1; mix.lanes.size() < static_cast<size_t>(kLanes); ++salt) {
    const std::vector<Literal> own = loop_arguments(seed, salt);
    std::vector<Literal> lane = mix.all;
    for (size_t i = 0; i < own.size(); ++i) {
      if (mix.batched[i]) lane[i] = own[i];
    }
    if (is_smooth_at(program.module, lane)) mix.lanes.push_back(lane);
  }
  for (size_t i = 0; i < mix.all.size(); ++i) {
    if (mix.batched[i]) mix.all[i] = stacked({mix.lanes[0][i], mix.lanes[1][i], mix.lanes[2][i]});
  }
  return mix;
}

std::string close(const Literal& have, const Literal& want) { return far_apart(have, want, 1e-11); }

TEST(BatchPrograms, EachLaneIsWhatOneGives) {
  const auto [first, last] = seeds(1000);
  for (int seed = first; seed < last; ++seed) {
    SCOPED_TRACE(base::cat("program ", seed));
    const LoopProgram program = loop_program(seed);
    const InLanes mix = lanes_of(program, seed);
    const auto batch = transform::batch(program.module, mix.batched, kLanes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_TRUE(hlo::verify(batch->module).ok()) << hlo::verify(batch->module);
    ASSERT_EQ(difference_by_lane(program.module, *batch, mix, close), "")
        << program.text << "\n"
        << hlo::print(batch->module);
  }
}

class BatchProgramsInParts : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Eighth, BatchProgramsInParts, ::testing::Range(0, 8));

// vmap of jvp and of vjp; and derivatives of vmap.
TEST_P(BatchProgramsInParts, GoWithDerivatives) {
  const auto [first, last] = seeds(1000);
  for (int seed = first + GetParam(); seed < last; seed += 8) {
    SCOPED_TRACE(base::cat("program ", seed));
    const LoopProgram program = loop_program(seed);
    const InLanes mix = lanes_of(program, seed);
    const auto batch = transform::batch(program.module, mix.batched, kLanes);
    ASSERT_TRUE(batch.ok()) << batch.status();
    const DerivativeCheck check{.step = 1e-6,
                                .tolerance = 1e-5,
                                .order = 1,
                                .reverse = !program.has_while,
                                .seed = static_cast<uint64_t>(seed)};
    ASSERT_EQ(check_derivatives(batch->module, mix.all, check), "") << program.text;

    const auto derived = program.has_while
                             ? transform::jvp(program.module, {true, true, true})
                             : transform::vjp(program.module, {true, true, true}, {true, true});
    ASSERT_TRUE(derived.ok()) << derived.status();
    // What the derivative takes beside the arguments has lanes too.
    InLanes wide = mix;
    const hlo::Computation& entry = derived->entry_computation();
    for (size_t i = wide.all.size(); i < entry.parameter_count(); ++i) {
      const Shape& shape = entry.parameter_shape(i);
      std::vector<Literal> own;
      for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
        own.push_back(loop_arguments(seed, lane + 7)[shape.rank() == 0 ? 0 : 1]);
        wide.lanes[static_cast<size_t>(lane)].push_back(own.back());
      }
      wide.all.push_back(stacked(own));
      wide.batched.push_back(true);
    }
    const auto lanes = transform::batch(*derived, wide.batched, kLanes);
    ASSERT_TRUE(lanes.ok()) << lanes.status();
    ASSERT_EQ(difference_by_lane(*derived, *lanes, wide, close), "") << program.text;
  }
}

}  // namespace
}  // namespace heddle::laws
