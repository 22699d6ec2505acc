// Programs in processes of their own.
#include <memory>
#include <optional>

#include "heddle/base/system/subnormals.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/plugins/random_programs.h"
#include "heddle/tools/conformance/child.h"

namespace heddle::random_programs {
namespace {

constexpr int kSilence = 120;  // seconds

using conformance::Child;
using conformance::say;

struct Devices {
  explicit Devices(const std::string& library)
      : backend(pjrt::make_backend("xla-cpu", {.library = library}).value()),
        ours(*runtime::find_device("interpreter").value()) {}
  std::unique_ptr<runtime::Backend> backend;
  runtime::Device& ours;
  runtime::Device& xla() const { return *backend->devices()[0]; }
};

std::string encoded(const Finding& found) {
  return base::cat("= ", static_cast<int>(found.outcome), " ", found.message);
}

Finding decoded(const std::string& line) {
  return {static_cast<Outcome>(line[2] - '0'), line.substr(4)};
}

Finding compare_in_a_process(const Program& program, const std::string& library) {
  Child child(
      [&](int to) {
        const Devices devices(library);
        say(to, encoded(compare(program, devices.ours, devices.xla())));
        return 0;
      },
      kSilence);
  const std::optional<std::string> line = child.line();
  return line.has_value() ? decoded(*line) : Finding{Outcome::kEnded, child.fate()};
}

// Lines: the number of a program before it runs, "? step: message" for each step of it that the
// library refused, "= N message" with its outcome; and "end".
int work(uint64_t first, uint64_t last, const std::string& library, int to) {
  const Devices devices(library);
  for (uint64_t seed = first; seed < last; ++seed) {
    say(to, base::cat(seed));
    const Program program = make_program(seed);
    for (const std::string& step : program.refused) say(to, base::cat("? ", step));
    say(to, encoded(compare(program, devices.ours, devices.xla())));
  }
  say(to, "end");
  return 0;
}

}  // namespace

void compare_in_workers(uint64_t first, uint64_t last, const std::string& library,
                        const std::function<void(uint64_t, const Finding&)>& report,
                        const std::function<void(const std::string&)>& refused) {
  while (first < last) {
    Child child([&](int to) { return work(first, last, library, to); }, kSilence);
    std::optional<uint64_t> pending;
    bool ended = false;
    while (const std::optional<std::string> line = child.line()) {
      if (*line == "end") {
        ended = true;
        break;
      }
      if (line->starts_with("? ")) {
        refused(line->substr(2));
      } else if (line->starts_with("= ")) {
        const Finding found = decoded(*line);
        if (found.outcome != Outcome::kAgrees) report(*pending, found);
        pending.reset();
      } else {
        pending = std::stoull(*line);
      }
    }
    if (ended) return;
    const uint64_t guilty = pending.value_or(first);
    report(guilty, {Outcome::kEnded, child.fate()});
    first = guilty + 1;
  }
}

Program shrunk(Program program, Outcome outcome, const std::string& library) {
  return shrunk(std::move(program), [&](const Program& tried) {
    return compare_in_a_process(tried, library).outcome == outcome;
  });
}

}  // namespace heddle::random_programs
