// heddle opt: reads a program, verifies it, runs passes and writes it in another form.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "CLI/CLI.hpp"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/text/pictures/dot.h"
#include "heddle/hlo/text/pictures/html.h"
#include "heddle/hlo/wire.h"
#include "heddle/tools/command.h"
#include "heddle/tools/program.h"
#include "heddle/transform/pass.h"

namespace heddle::tools {
namespace {

struct OptFlags {
  std::string program;
  std::string passes;
  std::string form = "text";
  std::string output;
};

// The forms of a program on the backend cpu, on its way to machine code.
constexpr std::string_view kStages[] = {"plan", "llvm", "assembly"};

StatusOr<std::string> written(const hlo::Module& module, const std::string& form) {
  if (std::ranges::count(kStages, form)) {
    HEDDLE_ASSIGN_OR_RETURN(cpu::Stages stages, cpu::stages_of(module));
    return form == "plan" ? stages.plan : form == "llvm" ? stages.llvm : stages.assembly;
  }
  using Form = hlo::PrintOptions::Form;
  if (form == "proto") return hlo::to_proto(module);
  if (form == "dot") return hlo::print_dot(module);
  if (form == "html") return hlo::print_html(module);
  return hlo::print(module, {.form = form == "short" ? Form::kShort : Form::kLong});
}

Status run(const OptFlags& options) {
  HEDDLE_ASSIGN_OR_RETURN(Program program, load_program(options.program));
  if (!options.passes.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(auto passes, transform::parse_pipeline(options.passes));
    HEDDLE_ASSIGN_OR_RETURN(program.module,
                            transform::run_pipeline(program.module, passes, {.verify_each = true}));
  }
  HEDDLE_ASSIGN_OR_RETURN(const std::string out, written(program.module, options.form));
  if (!options.output.empty()) return write_file(options.output, out);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return {};
}

}  // namespace

void add_opt_command(CLI::App& app, int& code) {
  auto options = std::make_shared<OptFlags>();
  CLI::App* command = app.add_subcommand("opt", "Reads, verifies and prints a program");
  command->add_option("PROGRAM", options->program, "HLO text, a proto, or pack.cases.gz#case")
      ->required();
  command->add_option(
      "--passes", options->passes,
      "passes to run, as in lower-scan,simplify; lower stands for all that a backend needs");
  command
      ->add_option(
          "--to", options->form,
          "text, short, proto, dot: a graph for Graphviz, html: a picture for a browser; or a "
          "stage of the backend cpu: plan, llvm, assembly")
      ->check(CLI::IsMember({"text", "short", "proto", "dot", "html", "plan", "llvm", "assembly"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "file to write; standard output if absent");
  command->callback([options, &code] { code = report(run(*options)); });
}

}  // namespace heddle::tools
