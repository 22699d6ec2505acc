// What the tool says of words that it does not know.
#include "heddle/base/support_test.h"
#include "heddle/tools/command.h"

namespace heddle::tools {
namespace {

// What is written to stderr; `code`: the exit status.
std::string said(std::vector<std::string> words, int& code) {
  words.insert(words.begin(), "heddle");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  ::testing::internal::CaptureStderr();
  code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  return ::testing::internal::GetCapturedStderr();
}

TEST(CommandLine, AnUnknownCommandIsNamedWithThoseThereAre) {
  int code = 0;
  EXPECT_EQ(said({"foo"}, code),
            "heddle: error: \"foo\" is no command of heddle; it must be one of bench, cache, "
            "conformance, info, opt, run\n");
  EXPECT_EQ(code, 2);
  EXPECT_EQ(said({"cache", "f\x1b[2J"}, code),
            "heddle: error: \"f\\x1b[2J\" is no command of cache; it must be one of list, verify, "
            "prune, clear\n");
  EXPECT_EQ(code, 2);
}

TEST(CommandLine, TellsItsVersion) {
  int code = 1;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(said({"--version"}, code), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "heddle " HEDDLE_VERSION "\n");
  EXPECT_EQ(code, 0);
}

TEST(CommandLine, AMistakeIsOneSentenceAndStatus2) {
  const std::pair<std::vector<std::string>, std::string> kMistakes[] = {
      {{}, "heddle needs a command; it must be one of bench, cache, conformance, info, opt, run"},
      {{"--nope"}, "\"--nope\" is no option of heddle; it has --help, --version"},
      {{"cache"}, "cache needs a command; it must be one of list, verify, prune, clear"},
      {{"cache", "--nope"}, "\"--nope\" is no option of cache; it has --help"},
      {{"run", "p.hlo", "--repat", "3"}, "\"--repat\" is no option of run; is it --repeat?"},
      {{"info", "--x\xff"}, "\"--x\\xff\" is no option of info; it has --help"},
      {{"cache", "list", "x"}, "\"x\" is one word too many for list; leave it out"},
      {{"run"}, "run: PROGRAM is required"},
      {{"run", "p.hlo", "--repeat", "99999999999"},
       "run: --repeat: \"99999999999\" is given; it must be a whole number, 1 or more, and at most "
       "2147483647"},
      {{"cache", "prune", "--bytes", "9999999999999999999"},
       "prune: --bytes: \"9999999999999999999\" is given; it must be a whole number, 0 or more, "
       "and at most 9223372036854775807"},
  };
  for (const auto& [words, sentence] : kMistakes) {
    int code = 0;
    EXPECT_EQ(said(words, code), base::cat("heddle: error: ", sentence, "\n"));
    EXPECT_EQ(code, 2) << sentence;
  }
}

TEST(CommandLine, NumbersSayWhatTheyMustBe) {
  int code = 0;
  EXPECT_THAT(said({"cache", "prune", "--bytes", "-1"}, code),
              AllOf(HasSubstr("--bytes: \"-1\" is given; it must be a whole number, 0 or more"),
                    Not(HasSubstr("00000"))));
  EXPECT_NE(code, 0);
  EXPECT_THAT(said({"run", "p.hlo", "--repeat", "0.5"}, code),
              HasSubstr("--repeat: \"0.5\" is given; it must be a whole number, 1 or more"));
  EXPECT_THAT(said({"bench", "p.hlo", "--seconds", "0"}, code),
              HasSubstr("--seconds: \"0\" is given; it must be above 0"));
}

}  // namespace
}  // namespace heddle::tools
