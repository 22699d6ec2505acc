// The conformance corpora: every case keeps its module through text and proto, and evaluates to its
// expected result.
//
// The corpora `apps` and `spmd` are in this folder. Where ../shared/conformance is there, beside
// the checkout, its other corpora are run too.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/evaluate_together.h"
#include "heddle/tests/conformance/corpora.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

// Failures printed in full; the rest are counted.
constexpr int kShown = 20;

class Corpus : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto cases = read_pack(GetParam());
    ASSERT_TRUE(cases.ok()) << cases.status();
    ASSERT_FALSE(cases->empty());
    cases_ = *std::move(cases);
  }

  void fail(const Case& item, const std::string& message) {
    if (++failures_ <= kShown) ADD_FAILURE() << item.name << ": " << message;
  }

  void TearDown() override {
    if (failures_ > kShown)
      ADD_FAILURE() << failures_ << " failures in all, of " << cases_.size() << " cases";
  }

  std::vector<Case> cases_;
  int failures_ = 0;
};

TEST_P(Corpus, KeepsItsModulesThroughTextAndProto) {
  for (const Case& item : cases_) {
    const Status status = check_round_trips(item);
    if (!status.ok()) fail(item, base::message_of(status));
  }
}

StatusOr<Literal> evaluate(const hlo::Module& module, std::vector<Literal> arguments) {
  return interpreter::evaluate(module, std::move(arguments));
}

// All devices of a case, evaluated together.
StatusOr<std::vector<Literal>> evaluate_replicas(
    const hlo::Module& module, const std::vector<std::vector<Literal>>& arguments) {
  HEDDLE_ASSIGN_OR_RETURN(const interpreter::Evaluator evaluator,
                          interpreter::Evaluator::prepare(module));
  return interpreter::evaluate_together(
      evaluator, {.replicas = static_cast<int64_t>(arguments.size())}, arguments);
}

// Ops that are waiting for their evaluation, and the cases they hold up.
TEST_P(Corpus, EvaluatesToItsExpectedResults) {
  const std::map<std::string, std::string> known = known_differences();
  std::map<std::string, int> skips;
  size_t passed = 0;
  for (const Case& item : cases_) {
    Result result = run_case(item, evaluate, evaluate_replicas);
    if (auto listed = known.find(item.name); listed != known.end()) {
      EXPECT_EQ(result.outcome, Outcome::kFailed)
          << item.name << " is in docs/conformance.md, and passes: take it out";
      result = {Outcome::kSkipped, base::cat("known difference: ", listed->second)};
    }
    if (result.outcome == Outcome::kFailed) fail(item, result.message);
    if (result.outcome == Outcome::kSkipped) ++skips[result.message];
    if (result.outcome == Outcome::kPassed) ++passed;
  }
  for (const auto& [reason, count] : skips)
    std::cout << "skipped " << count << ": " << reason << "\n";
  std::cout << passed << " passed, " << failures_ << " failed, "
            << cases_.size() - passed - static_cast<size_t>(failures_) << " skipped\n";
}

INSTANTIATE_TEST_SUITE_P(Packs, Corpus, ::testing::ValuesIn(all_packs()), test_name);

TEST(Corpora, AppsAreInTheRepository) { EXPECT_GE(packs_of({kOwn}).size(), 21u); }

TEST(Corpora, SharedOnesAreThere) {
  if (!std::filesystem::is_directory(kShared))
    GTEST_SKIP() << "no " << kShared << ": " << packs_of({kOwn}).size() << " packs of apps only";
  EXPECT_GE(all_packs().size(), 60u);
}

}  // namespace
}  // namespace heddle::conformance
