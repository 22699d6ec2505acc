// Random programs of the public functions: none ends the process of real XLA, none is refused, and
// none differs from the evaluator. HEDDLE_RANDOM_PROGRAMS=2000 runs so many instead of 100,
// HEDDLE_RANDOM_PROGRAMS=500:2500 those of these numbers.
#include "heddle/tests/plugins/random_programs.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <string_view>
#include <vector>

#include "heddle/hlo/text.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle::random_programs {
namespace {

// More of the same cause say nothing new, and take long to make small.
constexpr int kMostShrunk = 3;

std::pair<uint64_t, uint64_t> numbers() {
  const char* asked = std::getenv("HEDDLE_RANDOM_PROGRAMS");
  if (asked == nullptr) return {0, 100};
  char* end = nullptr;
  const uint64_t first = std::strtoull(asked, &end, 10);
  if (*end != ':') return {0, first};
  return {first, std::strtoull(end + 1, nullptr, 10)};
}

std::string_view word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAgrees: return "agrees";
    case Outcome::kDiffers: return "differs";
    case Outcome::kRefused: return "is refused";
    case Outcome::kEnded: return "ended";
  }
  return "";
}

std::string text_of(const Program& program) {
  std::string out = hlo::print(program.module);
  for (size_t i = 0; i < program.arguments.size(); ++i)
    base::append(out, "\nargument ", i, ": ", hlo::print_literal(program.arguments[i]));
  return out;
}

// Whether other tests run in this process. They start threads, which a fork has not: it waits for
// them forever.
bool has_other_tests() { return ::testing::UnitTest::GetInstance()->test_to_run_count() > 1; }

// Runs the test alone in a process of its own, and returns how that ended. It writes what it finds
// where this process writes.
int status_of_test_alone(const std::string& name) {
  std::vector<std::string> words = {"/proc/self/exe", "--gtest_filter=" + name, "--gtest_output="};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("GTEST_")) environment.push_back(*each);
  }
  environment.push_back(nullptr);
  std::cout << std::flush;
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environment.data()) !=
      0)
    return -1;
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(RandomPrograms, GiveWhatTheEvaluatorGives) {
  const std::string library = xla_cpu_library();
  if (library.empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  if (has_other_tests()) {
    EXPECT_EQ(status_of_test_alone("RandomPrograms.GiveWhatTheEvaluatorGives"), 0);
    return;
  }
  const auto [first, last] = numbers();
  ASSERT_LT(first, last) << "HEDDLE_RANDOM_PROGRAMS is N or FIRST:LAST";
  int found = 0, refused = 0;
  std::map<std::string, std::pair<int, std::string>> refusals;  // by step
  const auto note_refused = [&](const std::string& step) {
    const size_t colon = step.find(": ");
    auto& [count, message] = refusals[step.substr(0, colon)];
    if (count++ == 0) message = step.substr(colon + 2);
    ++refused;
  };
  const auto note = [&](uint64_t seed, const Finding& finding) {
    std::string text;
    if (++found <= kMostShrunk)
      text = text_of(shrunk(make_program(seed), finding.outcome, library));
    ADD_FAILURE() << "program " << seed << " " << word(finding.outcome) << ": " << finding.message
                  << "\nHEDDLE_RANDOM_PROGRAMS=" << seed << ":" << seed + 1 << "\n"
                  << text;
  };
  compare_in_workers(first, last, library, note, note_refused);
  std::cout << last - first << " programs, of which " << found << " do not agree; " << refused
            << " steps were refused by the library\n";
  for (const auto& [step, refusal] : refusals)
    std::cout << "  " << step << " " << refusal.first << " times, first: " << refusal.second
              << "\n";
}

// Without the plugin too: the programs are what they are said to be.
TEST(RandomPrograms, AreTheSameInEveryRunAndLong) {
  int64_t instructions = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Program program = make_program(seed);
    EXPECT_EQ(hlo::print(program.module), hlo::print(make_program(seed).module));
    instructions += program.module.entry_computation().size();
  }
  EXPECT_GT(instructions, 20 * 10);
}

}  // namespace
}  // namespace heddle::random_programs
