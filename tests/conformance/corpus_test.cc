// The conformance corpora: every case keeps its module through text and proto, and evaluates to its
// expected result.
//
// The corpora `apps` and `spmd` are in this folder. Where ../shared/conformance is there, beside
// the checkout, its other corpora are run too.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>

#include "heddle/hlo/evaluate.h"
#include "heddle/hlo/evaluate_together.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwn = "tests/conformance/apps";
constexpr const char* kOwnSpmd = "tests/conformance/spmd";
constexpr const char* kShared = "../shared/conformance";
// Failures printed in full; the rest are counted.
constexpr int kShown = 20;

std::vector<std::string> packs_of(const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    const auto found = find_packs({folder});
    if (found.ok()) out.insert(out.end(), found->begin(), found->end());
  }
  return out;
}

std::vector<std::string> all_packs() {
  return packs_of(
      {kOwn, kOwnSpmd, base::cat(kShared, "/jaxtests"), base::cat(kShared, "/stablehlo")});
}

// apps_conds
std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  const fs::path path(info.param);
  const std::string pack = path.filename().string();
  return path.parent_path().filename().string() + "_" + pack.substr(0, pack.find('.'));
}

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
  return hlo::evaluate(module, std::move(arguments));
}

// All devices of a case, evaluated together.
StatusOr<std::vector<Literal>> evaluate_replicas(
    const hlo::Module& module, const std::vector<std::vector<Literal>>& arguments) {
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Evaluator evaluator, hlo::Evaluator::prepare(module));
  return hlo::evaluate_together(evaluator, {.replicas = static_cast<int64_t>(arguments.size())},
                                arguments);
}

// Cases whose expected value we do not give, with the cause: the rows "| `name` | cause |" of
// docs/conformance.md. One that passes after all must leave the table.
std::map<std::string, std::string> known_differences() {
  std::map<std::string, std::string> out;
  std::ifstream in("docs/conformance.md");
  const std::regex row(R"(\| `([^`]+)` \| (.+) \|)");
  std::string line;
  while (std::getline(in, line) && line != "## The failures") continue;
  for (std::smatch m; std::getline(in, line) && !line.starts_with("## ");)
    if (std::regex_match(line, m, row)) out.emplace(m.str(1), m.str(2));
  return out;
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
  if (!fs::is_directory(kShared))
    GTEST_SKIP() << "no " << kShared << ": " << packs_of({kOwn}).size() << " packs of apps only";
  EXPECT_GE(all_packs().size(), 60u);
}

}  // namespace
}  // namespace heddle::conformance
