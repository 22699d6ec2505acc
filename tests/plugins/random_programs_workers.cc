// Processes of their own, and smaller programs of the same outcome.
#include <memory>
#include <optional>

#include "heddle/base/subnormals.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/evaluate.h"
#include "heddle/hlo/verify.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/plugins/random_programs.h"
#include "heddle/tools/conformance/child.h"
#include "heddle/transform/passes.h"

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

// The entry up to an instruction, as the result.
Program cut(const Program& program, hlo::InstructionId root) {
  Program out = program;
  hlo::Computation& main = out.module.computations[out.module.entry.value];
  main.root = root;
  out.module = transform::remove_unused(out.module).value();
  out.errors.clear();
  return out;
}

// With one instruction more an argument, of the value that the evaluator gives it.
std::optional<Program> with_argument(const Program& program, hlo::InstructionId id) {
  const hlo::Computation& main = program.module.entry_computation();
  const hlo::Instruction& old = main.at(id);
  const bool is_source = old.opcode == hlo::Opcode::kParameter ||
                         old.opcode == hlo::Opcode::kConstant || !old.shape.is_array();
  if (is_source || id == main.root) return std::nullopt;
  const StatusOr<Literal> value = hlo::evaluate(cut(program, id).module, program.arguments);
  if (!value.ok()) return std::nullopt;
  Program out = program;
  hlo::Computation& now = out.module.computations[out.module.entry.value];
  hlo::Instruction& parameter = now.instructions[id.value];
  parameter = hlo::Instruction();
  parameter.opcode = hlo::Opcode::kParameter;
  parameter.shape = old.shape;
  parameter.attrs = hlo::ParameterAttrs{.number = static_cast<int64_t>(now.parameters.size())};
  now.parameters.push_back(id);
  out.module = transform::remove_unused(out.module).value();
  out.arguments.push_back(*value);
  return out;
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
  const auto same = [&](const Program& tried) {
    return compare_in_a_process(tried, library).outcome == outcome;
  };
  // The first instruction by which it is found.
  for (size_t i = 0; i < program.module.entry_computation().instructions.size(); ++i) {
    const hlo::InstructionId id(i);
    const hlo::Instruction& root = program.module.entry_computation().at(id);
    if (root.opcode == hlo::Opcode::kParameter || !root.shape.is_array()) continue;
    Program tried = cut(program, id);
    if (!same(tried)) continue;
    program = std::move(tried);
    break;
  }
  // From the last on: what an instruction is given instead of computing it leaves all before it.
  for (size_t i = program.module.entry_computation().instructions.size(); i-- > 0;) {
    if (i >= program.module.entry_computation().instructions.size()) continue;
    std::optional<Program> tried = with_argument(program, hlo::InstructionId(i));
    if (tried.has_value() && same(*tried)) program = *std::move(tried);
  }
  return program;
}

}  // namespace heddle::random_programs
