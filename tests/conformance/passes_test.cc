// Law: a pass or pipeline keeps every bit of the result, and running it twice is running it once.
// Over the programs of the conformance corpus.
#include <gtest/gtest.h>

#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tools/conformance/pack.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/pass.h"

namespace heddle {
namespace {

using conformance::Case;
using transform::Pass;

constexpr char kPrograms[] = "tests/conformance/apps";

// The passes of a list, each result verified.
StatusOr<hlo::Module> run(const std::string& names, const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(std::vector<Pass> passes, transform::parse_pipeline(names));
  return transform::run_pipeline(module, passes, {.verify_each = true});
}

class PassLaws : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    auto cases = conformance::read_pack(std::get<0>(GetParam()));
    ASSERT_TRUE(cases.ok()) << cases.status();
    cases_ = *std::move(cases);
  }
  [[nodiscard]] const std::string& passes() const { return std::get<1>(GetParam()); }
  std::vector<Case> cases_;
};

TEST_P(PassLaws, KeepsEveryBit) {
  for (const Case& item : cases_) {
    auto module = hlo::from_proto(item.module);
    ASSERT_TRUE(module.ok()) << item.name << ": " << module.status();
    auto want = interpreter::evaluate(*module, item.arguments);
    if (!want.ok()) continue;  // tests/conformance counts what is not evaluated
    auto now = run(passes(), *module);
    ASSERT_TRUE(now.ok()) << item.name << ": " << now.status();
    auto got = interpreter::evaluate(*now, item.arguments);
    ASSERT_TRUE(got.ok()) << item.name << ": " << got.status();
    EXPECT_TRUE(*got == *want) << item.name << "\n" << hlo::print(*now);
  }
}

TEST_P(PassLaws, TwiceIsOnce) {
  for (const Case& item : cases_) {
    auto module = hlo::from_proto(item.module);
    ASSERT_TRUE(module.ok()) << item.name << ": " << module.status();
    auto once = run(passes(), *module);
    ASSERT_TRUE(once.ok()) << item.name << ": " << once.status();
    auto twice = run(passes(), *once);
    ASSERT_TRUE(twice.ok()) << item.name << ": " << twice.status();
    EXPECT_TRUE(hlo::equal(*once, *twice)) << item.name << "\n"
                                           << hlo::print(*once) << hlo::print(*twice);
  }
}

// No pass, and no pipeline of them.
class CanonicalForm : public PassLaws {};

TEST_P(CanonicalForm, KeepsEveryBitAndIsItsOwn) {
  for (const Case& item : cases_) {
    auto module = hlo::from_proto(item.module);
    ASSERT_TRUE(module.ok()) << item.name << ": " << module.status();
    hlo::Module canonical = transform::canonicalize(*module);
    EXPECT_TRUE(hlo::equal(canonical, transform::canonicalize(canonical))) << item.name;
    auto want = interpreter::evaluate(*module, item.arguments);
    if (!want.ok()) continue;
    auto got = interpreter::evaluate(canonical, item.arguments);
    ASSERT_TRUE(got.ok()) << item.name << ": " << got.status();
    EXPECT_TRUE(*got == *want) << item.name;
  }
}

std::vector<std::string> pass_lists() {
  std::vector<std::string> names = {"lower", "flatten"};
  for (const Pass& pass : transform::kPasses) names.emplace_back(pass.name);
  return names;
}

std::string name_of(const ::testing::TestParamInfo<PassLaws::ParamType>& info) {
  std::string pack = std::get<0>(info.param);
  pack = pack.substr(pack.rfind('/') + 1);
  std::string name = base::cat(pack.substr(0, pack.find('.')), "_", std::get<1>(info.param));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(
    Apps, PassLaws,
    ::testing::Combine(::testing::ValuesIn(*conformance::find_packs({kPrograms})),
                       ::testing::ValuesIn(pass_lists())),
    name_of);
INSTANTIATE_TEST_SUITE_P(
    Apps, CanonicalForm,
    ::testing::Combine(::testing::ValuesIn(*conformance::find_packs({kPrograms})),
                       ::testing::Values(std::string("canonical"))),
    name_of);

}  // namespace
}  // namespace heddle
