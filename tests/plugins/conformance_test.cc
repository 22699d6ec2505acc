// The corpus `apps` on real XLA, from our modules: read, prepared and written again. Skipped where
// the plugin is not there: ./dev setup-plugin xla-cpu. docs/conformance.md has the other corpora.
#include <gtest/gtest.h>

#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

class CorpusOnXla : public ::testing::TestWithParam<std::string> {};

TEST_P(CorpusOnXla, GivesTheExpectedResults) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  const auto backend = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  const RunModule run = on_device(*backend->devices()[0]);
  const std::vector<Case> cases = read_pack(GetParam()).value();
  for (const Case& item : cases) {
    const Result result = run_case(item, run);
    EXPECT_EQ(result.outcome, Outcome::kPassed) << item.name << ": " << result.message;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  const std::string pack = info.param.substr(info.param.rfind('/') + 1);
  return pack.substr(0, pack.find('.'));
}
INSTANTIATE_TEST_SUITE_P(Apps, CorpusOnXla,
                         ::testing::ValuesIn(find_packs({"tests/conformance/apps"}).value()),
                         test_name);

}  // namespace
}  // namespace heddle::conformance
