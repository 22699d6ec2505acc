// One test a golden file. UPDATE_GOLDEN=1 writes what the passes give into the files, for review.
#include <gtest/gtest.h>

#include <filesystem>

#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/golden/golden_file.h"
#include "heddle/transform/pass.h"

namespace heddle::golden {
namespace {

constexpr char kFolder[] = "tests/golden";

// Runs the passes, each result verified.
StatusOr<hlo::Module> transformed(const std::string& passes, const hlo::Module& input) {
  HEDDLE_ASSIGN_OR_RETURN(std::vector<transform::Pass> pipeline, transform::parse_pipeline(passes));
  return transform::run_pipeline(input, pipeline, {.verify_each = true});
}

class Golden : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_rewrite(const GoldenFile& file) {
    auto input = parse_golden(file.input);
    ASSERT_TRUE(input.ok()) << input.status();
    auto once = transformed(file.passes, *input);
    ASSERT_TRUE(once.ok()) << once.status();
    std::string got = print_golden(*once);
    if (updating()) {
      ASSERT_TRUE(write_golden(file, got).ok());
      return;
    }
    EXPECT_EQ(got, file.expected) << "UPDATE_GOLDEN=1 writes the file anew";
    auto twice = transformed(file.passes, *once);
    ASSERT_TRUE(twice.ok()) << twice.status();
    EXPECT_EQ(print_golden(*twice), got) << "the pass is not idempotent here";
  }
};

TEST_P(Golden, IsWhatThePassGives) {
  auto file = read_golden(GetParam());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_NE(file->passes, "") << "no `// pass:` at the top";
  expect_rewrite(*file);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::relative(info.param, kFolder).replace_extension().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// errors/ and trace/ have tests of their own.
std::vector<std::string> pass_files() {
  std::vector<std::string> paths = golden_paths(kFolder);
  std::erase_if(paths, [](const std::string& path) {
    return path.find("/errors/") != std::string::npos || path.find("/trace/") != std::string::npos;
  });
  return paths;
}
INSTANTIATE_TEST_SUITE_P(File, Golden, ::testing::ValuesIn(pass_files()), name_of);

TEST(GoldenFiles, EveryRuleOfSimplifyHasOne) {
  for (std::string_view rule : transform::simplify_rules()) {
    std::string path = base::cat(kFolder, "/simplify/", rule, ".hlo");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

}  // namespace
}  // namespace heddle::golden
