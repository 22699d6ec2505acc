// Random programs of the public functions give natively what the evaluator gives, and the same with
// all arguments donated. HEDDLE_RANDOM_PROGRAMS=FIRST:LAST runs those of these numbers.
#include "heddle/tests/plugins/random_programs.h"

#include <gtest/gtest.h>

#include <iostream>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::random_programs {
namespace {

constexpr uint64_t kPrograms = 300;
// More of the same cause say nothing new.
constexpr int kMostShrunk = 10;

// Empty, or what differs.
std::string problem(const Program& program) {
  runtime::Device& evaluator = *runtime::find_device("interpreter").value();
  const Finding found = compare(program, evaluator, cpu::cpu_device());
  if (found.outcome != Outcome::kAgrees) return found.message.empty() ? "refused" : found.message;
  if (!cpu::cpu_device().backend().compile(program.module, {}, cpu::cpu_device()).ok()) return "";
  const cpu::OnCpu native(program.module);
  const Literal kept = native.run(program.arguments, /*donated=*/false);
  const std::string of_donated =
      cpu::difference(native.run(program.arguments, /*donated=*/true), kept);
  return of_donated.empty() ? "" : base::cat("donated: ", of_donated);
}

std::string text_of(const Program& program) {
  std::string out = hlo::print(program.module);
  for (size_t i = 0; i < program.arguments.size(); ++i)
    base::append(out, "\nargument ", i, ": ", hlo::print_literal(program.arguments[i]));
  return out;
}

TEST(RandomPrograms, GiveNativelyWhatTheEvaluatorGives) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto [first, last] = cpu::random_numbers(kPrograms);
  const cpu::Statistics before = cpu::statistics();
  int found = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    const Program program = make_program(seed);
    const std::string message = problem(program);
    if (message.empty()) continue;
    std::string text;
    if (++found <= kMostShrunk)
      text = text_of(shrunk(program, [](const Program& tried) { return !problem(tried).empty(); }));
    ADD_FAILURE() << "program " << seed << ": " << message << "\n" << text;
  }
  const cpu::Statistics now = cpu::statistics();
  const int64_t native = now.native - before.native, evaluated = now.evaluated - before.evaluated;
  std::cout << last - first << " programs, of which " << found << " do not agree; of "
            << native + evaluated << " compiled, " << native << " are native\n";
  EXPECT_GE(native, 9 * evaluated);
}

}  // namespace
}  // namespace heddle::random_programs
