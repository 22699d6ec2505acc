// The corpora on real XLA, from our modules: read, prepared and written again. Twice: what the case
// expects, but for tests/conformance/known_differences_xla.tsv, and on new inputs what the
// evaluator gives, but for fresh_differences_xla.tsv.
//
// Of the corpora `jaxtests` and `stablehlo`, which are run where they lie beside the checkout, one
// case in 24, unless HEDDLE_CORPORA_ON_XLA=all: all take some ten minutes. Skipped where the plugin
// is not there: ./dev setup-plugin xla-cpu.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "heddle/base/settings.h"
#include "heddle/hlo/wire.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/registry.h"
#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/known.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

namespace fs = std::filesystem;
using Known = std::map<std::string, std::string>;

constexpr char kShared[] = "../shared/conformance";
constexpr char kTable[] = "tests/conformance/known_differences_xla.tsv";
constexpr char kFreshTable[] = "tests/conformance/fresh_differences_xla.tsv";
constexpr size_t kOneIn = 24;
// Causes of cases whose loops may not end on new inputs.
constexpr std::string_view kEndless = "may not end";

bool run_all() {
  return setting<Setting::kCorporaOnXla>() == "all";
}

std::vector<std::string> packs_in(const std::string& folder) {
  if (!fs::is_directory(folder)) return {};
  return find_packs({folder}).value_or(std::vector<std::string>());
}

std::vector<std::string> shared_packs() {
  std::vector<std::string> out = packs_in(base::cat(kShared, "/jaxtests"));
  for (std::string& pack : packs_in(base::cat(kShared, "/stablehlo")))
    out.push_back(std::move(pack));
  return out;
}

class CorpusOnXla : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    backend_ = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
    known_ = read_known(kTable).value();
    fresh_known_ = read_known(kFreshTable).value();
  }

  // Compiles once for both questions.
  void check(const Case& item) {
    const hlo::Module module = hlo::from_proto(item.module).value();
    const StatusOr<Compiled> xla = Compiled::make(*backend_->devices()[0], module);
    ASSERT_TRUE(xla.ok()) << item.name << ": " << xla.status();
    check_expected(item, *xla);
    const auto listed = fresh_known_.find(item.name);
    if (listed != fresh_known_.end() && listed->second.starts_with(kEndless)) return;
    check_fresh(item, module, *xla);
  }

  int sensitive_ = 0;
  int on_fresh_ = 0;

 private:
  void check_expected(const Case& item, const Compiled& xla) const {
    const auto run = [&](const hlo::Module&, const std::vector<Literal>& arguments) {
      return xla.run(arguments);
    };
    const auto listed = known_.find(item.name);
    const std::optional<double> bound =
        listed == known_.end() ? std::nullopt : bound_by_the_processor(listed->second);
    const Result result = run_case(bound.has_value() ? within(item, *bound) : item, run);
    if (bound.has_value()) {
      EXPECT_EQ(result.outcome, Outcome::kPassed) << item.name << ": " << result.message;
    } else if (listed != known_.end()) {
      EXPECT_EQ(result.outcome, Outcome::kFailed)
          << item.name << " passes; take it out of " << kTable;
    } else {
      EXPECT_EQ(result.outcome, Outcome::kPassed) << item.name << ": " << result.message;
    }
  }

  void check_fresh(const Case& item, const hlo::Module& module, const Compiled& xla) {
    const StatusOr<Compiled> ours =
        Compiled::make(*runtime::find_device("interpreter").value(), module);
    ASSERT_TRUE(ours.ok()) << item.name << ": " << ours.status();
    const Comparison found = compare_on_fresh(item, module, *ours, xla, {.seed = 1, .draws = 3});
    if (found.agreement == Agreement::kSkipped) return;
    ++on_fresh_;
    if (found.agreement == Agreement::kSensitive) ++sensitive_;
    EXPECT_TRUE(found.agreement != Agreement::kDiffers || fresh_known_.contains(item.name))
        << item.name << " on new inputs: " << found.message;
  }

  std::unique_ptr<runtime::Backend> backend_;
  Known known_, fresh_known_;
};

class SharedCorpusOnXla : public CorpusOnXla {};

TEST_P(CorpusOnXla, GivesTheExpectedResultsAndTheEvaluatorsOnNewInputs) {
  const std::vector<Case> cases = read_pack(GetParam()).value();
  for (const Case& item : cases) check(item);
  std::cout << on_fresh_ << " compared on new inputs, " << sensitive_ << " of them sensitive\n";
}

TEST_P(SharedCorpusOnXla, SampleGivesTheExpectedResultsAndTheEvaluatorsOnNewInputs) {
  const std::vector<Case> cases = read_pack(GetParam()).value();
  size_t checked = 0;
  for (size_t i = 0; i < cases.size(); i += run_all() ? 1 : kOneIn, ++checked) check(cases[i]);
  std::cout << checked << " of " << cases.size() << " cases run, " << on_fresh_
            << " compared on new inputs, " << sensitive_ << " of them sensitive\n";
}

TEST(SharedCorporaOnXla, AllOfThemAreRun) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  if (shared_packs().empty()) GTEST_SKIP() << "no " << kShared;
  if (!run_all())
    GTEST_SKIP() << "one case in " << kOneIn << "; HEDDLE_CORPORA_ON_XLA=all runs the others";
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  const fs::path path(info.param);
  const std::string pack = path.filename().string();
  return path.parent_path().filename().string() + "_" + pack.substr(0, pack.find('.'));
}
INSTANTIATE_TEST_SUITE_P(Packs, CorpusOnXla,
                         ::testing::ValuesIn(packs_in("tests/conformance/apps")), test_name);
INSTANTIATE_TEST_SUITE_P(Shared, SharedCorpusOnXla, ::testing::ValuesIn(shared_packs()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedCorpusOnXla);

}  // namespace
}  // namespace heddle::conformance
