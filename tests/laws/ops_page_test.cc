// docs/ops.md says what the definitions say. UPDATE_GOLDEN=1 writes it anew (./dev docs).
#include "heddle/tests/laws/ops_page.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "heddle/base/support_test.h"
#include "heddle/tests/laws/public_functions.h"

namespace heddle::laws {
namespace {

constexpr const char* kPath = "docs/ops.md";

// Without python3 nothing reads the headers.
class OpsPage : public testing::Test {
 protected:
  void SetUp() override {
    if (public_headers("trace").empty()) GTEST_SKIP() << "there is no python3";
  }
};

TEST_F(OpsPage, IsWhatTheDefinitionsSay) {
  std::string page = ops_page();
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && std::string(update) == "1")
    std::ofstream(kPath) << page;
  std::ifstream in(kPath);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), page) << kPath << " is out of date: run ./dev docs";
}

TEST_F(OpsPage, HasEveryPublicFunction) { EXPECT_THAT(ops_page_gaps(), IsEmpty()); }

}  // namespace
}  // namespace heddle::laws
