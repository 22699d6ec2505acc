// One test a golden error file. UPDATE_GOLDEN=1 writes the messages into the files, for review.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/opcode.h"
#include "heddle/tests/golden/error_file.h"
#include "heddle/tests/golden/golden_file.h"

namespace heddle::golden {
namespace {

constexpr char kFolder[] = "tests/golden/errors";

class GoldenErrors : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenErrors, StandOnTheLineThatIsWrong) {
  auto file = read_errors(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_FALSE(file->cases.empty());
  if (updating()) {
    ASSERT_TRUE(write_errors(*file).ok());
    return;
  }
  for (const ErrorCase& item : file->cases) {
    const std::string got = with_error(item.text);
    EXPECT_EQ(got, item.expected) << item.tag << "; UPDATE_GOLDEN=1 writes the file anew";
    EXPECT_EQ(messages_in(got).size(), 1u) << item.tag << " verifies";
  }
}

// Of all files.
std::vector<ErrorCase> every_case() {
  std::vector<ErrorCase> cases;
  for (const std::string& path : golden_paths(kFolder)) {
    ErrorFile file = *read_errors(path);
    std::ranges::move(file.cases, std::back_inserter(cases));
  }
  return cases;
}

TEST(GoldenErrorFiles, TagsAreUnlike) {
  std::set<std::string> tags;
  for (const ErrorCase& item : every_case()) EXPECT_TRUE(tags.insert(item.tag).second) << item.tag;
}

// Their results are as declared, whatever they are, but for the constant, whose mistakes are the
// reader's.
using hlo::Opcode;
constexpr Opcode kWithoutErrors[] = {Opcode::kConstant,    Opcode::kCollectiveReduce,
                                     Opcode::kSendDone,    Opcode::kRecvDone,
                                     Opcode::kAsyncUpdate, Opcode::kShuffle};

TEST(GoldenErrorFiles, HaveAnErrorOfEveryOp) {
  std::vector<std::string> messages;
  for (const ErrorCase& item : every_case())
    std::ranges::move(messages_in(item.expected), std::back_inserter(messages));
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const std::string name = base::cat(to_string(opcode), ": ");
    const bool has_one = std::ranges::any_of(messages, [&](const std::string& message) {
      return message.starts_with(name) || message.find(": " + name) != std::string::npos;
    });
    const bool may_miss = std::ranges::find(kWithoutErrors, opcode) != std::end(kWithoutErrors);
    EXPECT_NE(has_one, may_miss) << name;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}
INSTANTIATE_TEST_SUITE_P(File, GoldenErrors, ::testing::ValuesIn(golden_paths(kFolder)), name_of);

}  // namespace
}  // namespace heddle::golden
