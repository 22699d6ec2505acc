#include "heddle/transform/dump.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/lower.h"
#include "heddle/transform/support_test.h"

namespace heddle::transform {
namespace {

namespace fs = std::filesystem;

// With HEDDLE_DUMP as a folder of the test's own.
class Dumps : public ::testing::Test {
 protected:
  Dumps() : folder_(fs::path(::testing::TempDir()) / base::cat("heddle_dumps", getpid())) {
    fs::remove_all(folder_);
    setenv("HEDDLE_DUMP", folder_.c_str(), 1);
  }
  ~Dumps() override {
    unsetenv("HEDDLE_DUMP");
    fs::remove_all(folder_);
  }
  // Texts by name without the number, which depends on the process.
  [[nodiscard]] std::map<std::string, std::string> texts() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream in(entry.path());
      all[entry.path().filename().string().substr(5)] = {std::istreambuf_iterator<char>(in), {}};
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, text] : texts()) all.push_back(name);
    return all;
  }

  fs::path folder_;
};

TEST_F(Dumps, HaveEachPassThatChangedTheModule) {
  ASSERT_TRUE(lower(*hlo::parse_text(kScan)).ok());
  const auto all = texts();
  // simplify, which comes first, changed nothing.
  EXPECT_THAT(names(), ElementsAre("sums.passes.00-input.hlo", "sums.passes.02-lower-scan.hlo"));
  EXPECT_THAT(all.at("sums.passes.00-input.hlo"), HasSubstr("scan("));
  EXPECT_THAT(all.at("sums.passes.02-lower-scan.hlo"),
              AllOf(HasSubstr("while("), Not(HasSubstr("scan("))));
}

TEST_F(Dumps, HaveEachDerivative) {
  ASSERT_TRUE(jvp(*hlo::parse_text(kScan), {true, true}).ok());
  EXPECT_THAT(names(), ElementsAre("sums.jvp.0-before.hlo", "sums.jvp.1-after.hlo"));
  ASSERT_TRUE(linearize(*hlo::parse_text(kScan), {true, true}).ok());
  EXPECT_THAT(names(),
              ElementsAre("sums.jvp.0-before.hlo", "sums.jvp.1-after.hlo",
                          "sums.linearize.0-before.hlo", "sums.linearize.1-after.hlo",
                          "sums.pushforward.0-before.hlo", "sums.pushforward.1-after.hlo"));
}

TEST_F(Dumps, StayInTheirFolder) {
  hlo::Module module = *hlo::parse_text(kScan);
  module.name = "../../" + std::string(400, 'x') + "/a b";
  ASSERT_TRUE(dump_step("step", module, module).ok());
  EXPECT_THAT(names(), ElementsAre(AllOf(HasSubstr(".._.._xxx"), HasSubstr("x.step.0-before.hlo")),
                                   HasSubstr("x.step.1-after.hlo")));
}

TEST_F(Dumps, ThatCannotBeWrittenAreAnError) {
  setenv("HEDDLE_DUMP", "/dev/null/x", 1);
  const Status status = jvp(*hlo::parse_text(kScan), {true, true}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(base::message_of(status),
              AllOf(HasSubstr("dump: /dev/null/x/"), HasSubstr("cannot be written")));
}

TEST(NoDumps, WithoutAFolderNothingIsWritten) {
  EXPECT_EQ(dump_folder(), "");
  const hlo::Module module = *hlo::parse_text(kScan);
  EXPECT_TRUE(dump_step("step", module, module).ok());
}

}  // namespace
}  // namespace heddle::transform
