// The conformance corpora on the native backend: every case gives its expected result, but for
// those of docs/conformance.md that neither we nor the evaluator pass, and those of a table of our
// own.
#include <gtest/gtest.h>

#include <iostream>

#include "heddle/cpu/backend.h"
#include "heddle/tests/conformance/corpora.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/known.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

constexpr char kTable[] = "tests/cpu/known_differences.tsv";
// Failures printed in full; the rest are counted.
constexpr int kShown = 20;
// Of 100 programs, how many are native at the least.
constexpr int64_t kNative = 95;

const std::map<std::string, std::string>& ours() {
  static const auto table = read_known(kTable).value();
  return table;
}

// Differs natively for certain, or may: by the processor, or since the evaluator does.
bool must_fail(const std::string& name) {
  const auto listed = ours().find(name);
  return listed != ours().end() && !bound_by_the_processor(listed->second);
}
bool may_fail(const std::string& name) {
  static const auto table = known_differences();
  return table.contains(name);
}

class CpuCorpus : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

TEST_P(CpuCorpus, RunsNativelyToItsExpectedResults) {
  const auto cases = read_pack(GetParam());
  ASSERT_TRUE(cases.ok()) << cases.status();
  const RunModule on_cpu = on_device(cpu::cpu_device());
  const RunReplicas on_replicas_of_cpu = on_replicas(cpu::cpu_device().backend());
  int passed = 0, known = 0, failed = 0;
  for (const Case& item : *cases) {
    const Result result = run_case(item, on_cpu, on_replicas_of_cpu);
    EXPECT_NE(result.outcome, Outcome::kSkipped) << item.name << ": " << result.message;
    const bool fails = result.outcome == Outcome::kFailed;
    EXPECT_TRUE(fails || !must_fail(item.name))
        << item.name << " is in " << kTable << ", and passes: take it out";
    EXPECT_FALSE(must_fail(item.name) && may_fail(item.name))
        << item.name << " is in docs/conformance.md too: take it out of " << kTable;
    passed += fails ? 0 : 1;
    if (!fails) continue;
    const auto listed = ours().find(item.name);
    const auto bound =
        listed == ours().end() ? std::nullopt : bound_by_the_processor(listed->second);
    const bool is_within =
        bound && run_case(within(item, *bound), on_cpu).outcome == Outcome::kPassed;
    if (must_fail(item.name) || may_fail(item.name) || is_within) {
      ++known;
    } else if (++failed <= kShown) {
      ADD_FAILURE() << item.name << ": " << result.message;
    }
  }
  if (failed > kShown) ADD_FAILURE() << failed << " failures in all, of " << cases->size();
  std::cout << passed << " passed, " << failed << " failed, " << known << " known to differ\n";
}

std::vector<std::string> packs() {
  return packs_of(
      {kOwn, kOwnSpmd, base::cat(kShared, "/jaxtests"), base::cat(kShared, "/stablehlo")});
}

INSTANTIATE_TEST_SUITE_P(Packs, CpuCorpus, ::testing::ValuesIn(packs()), test_name);

// That nothing falls back to the evaluator unseen.
TEST(CpuCorpora, ProgramsAreNative) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const cpu::Statistics before = cpu::statistics();
  for (const std::string& pack : packs_of({kOwn})) {
    const std::vector<Case> cases = read_pack(pack).value();
    for (const Case& item : cases) {
      EXPECT_NE(run_case(item, on_device(cpu::cpu_device())).outcome, Outcome::kSkipped);
    }
  }
  const cpu::Statistics now = cpu::statistics();
  const int64_t native = now.native - before.native, evaluated = now.evaluated - before.evaluated;
  std::cout << "of " << native + evaluated << " programs of apps, " << native << " are native\n";
  EXPECT_GE(native + evaluated, 500);
  EXPECT_GE(100 * native, kNative * (native + evaluated));
}

TEST(CpuCorpora, ListedCasesExist) {
  if (packs_of({std::string(kShared) + "/jaxtests"}).empty())
    GTEST_SKIP() << "no " << kShared << ": its cases cannot be looked up";
  std::map<std::string, std::string> left = ours();
  for (const std::string& pack : packs()) {
    const std::vector<Case> cases = read_pack(pack).value();
    for (const Case& item : cases) left.erase(item.name);
  }
  for (const auto& [name, cause] : left) ADD_FAILURE() << name << " is no case: " << cause;
}

}  // namespace
}  // namespace heddle::conformance
