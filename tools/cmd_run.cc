// heddle run: runs a program on given or zero inputs; prints its results, its time and the bytes
// that moved.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "CLI/CLI.hpp"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/memory.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tools/command.h"
#include "heddle/tools/interrupt.h"
#include "heddle/tools/number_options.h"
#include "heddle/tools/program.h"

namespace heddle::tools {
namespace {

using runtime::BufferPtr;
using Clock = std::chrono::steady_clock;

struct RunFlags {
  std::string program;
  std::vector<std::string> inputs;
  std::string backend = {};          // empty: the default device
  std::vector<std::string> options;  // NAME=VALUE
  std::string output_dir;
  int repeat = 1;
};

// A value may have an equals sign itself, or be empty.
StatusOr<runtime::CompileOptions> compile_options_of(const RunFlags& options) {
  runtime::CompileOptions out;
  for (const std::string& option : options.options) {
    const size_t middle = option.find('=');
    if (middle == 0 || middle == std::string::npos)
      return base::invalid_argument("run: --option ", option, " must be NAME=VALUE");
    out.backend_options.push_back({option.substr(0, middle), option.substr(middle + 1)});
  }
  return out;
}

// Values of the entry's parameters: from .npy files, else from the case, else zeros.
StatusOr<std::vector<Literal>> inputs_of(const RunFlags& options, const Program& program) {
  const hlo::Computation& entry = program.module.entry_computation();
  if (options.inputs.empty() && program.from_case) return program.from_case->arguments;
  if (!options.inputs.empty() && options.inputs.size() != entry.parameter_count()) {
    return base::invalid_argument("run: ", options.inputs.size(),
                                  options.inputs.size() == 1 ? " input was" : " inputs were",
                                  " given; the program takes ", entry.parameter_count());
  }
  std::vector<Literal> values;
  for (size_t i = 0; i < entry.parameter_count(); ++i) {
    const Shape& want = entry.parameter_shape(i);
    if (options.inputs.empty()) {
      const auto zeros = [&]() -> StatusOr<Literal> { return Literal(want); };
      HEDDLE_ASSIGN_OR_RETURN(Literal value,
                              base::within_memory(zeros, "run: parameter ", i, ", ", want, ","));
      values.push_back(std::move(value));
      continue;
    }
    HEDDLE_ASSIGN_OR_RETURN(std::string bytes, read_file(options.inputs[i]));
    auto value = hlo::read_npy(bytes, want.dtype());
    if (!value.ok()) return base::annotate(value.status(), options.inputs[i], ": ");
    if (!same_type(value->shape(), want)) {
      return base::invalid_argument("run: ", options.inputs[i], " is ", value->shape(),
                                    "; parameter ", i, " is ", want);
    }
    values.push_back(*std::move(value));
  }
  return values;
}

void flatten(const Literal& value, std::vector<Literal>& leaves) {
  if (!value.is_tuple()) leaves.push_back(value);
  for (const Literal& element : value.elements()) flatten(element, leaves);
}

struct Times {
  double least_ms = 0;
  double median_ms = 0;
};

Times times_of(std::vector<double> ms) {
  std::ranges::sort(ms);
  return {ms.front(), ms[ms.size() / 2]};
}

Status print_results(const RunFlags& options, const std::vector<BufferPtr>& results) {
  constexpr int64_t kMostElements = 64;
  for (size_t i = 0; i < results.size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(Literal value, runtime::to_host(*results[i], "heddle run"));
    std::printf("result %zu: %s %s\n", i, to_string(value.shape()).c_str(),
                value.element_count() > kMostElements ? "..." : hlo::print_literal(value).c_str());
    if (options.output_dir.empty()) continue;
    HEDDLE_ASSIGN_OR_RETURN(std::string bytes, hlo::write_npy(value));
    HEDDLE_RETURN_IF_ERROR(write_file(base::cat(options.output_dir, "/result", i, ".npy"), bytes));
  }
  return {};
}

Status run(const RunFlags& options) {
  HEDDLE_ASSIGN_OR_RETURN(const runtime::CompileOptions compile_options,
                          compile_options_of(options));
  HEDDLE_ASSIGN_OR_RETURN(Program program, load_program(options.program));
  HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> values, inputs_of(options, program));
  HEDDLE_ASSIGN_OR_RETURN(runtime::Device * device, options.backend.empty()
                                                        ? runtime::find_default_device()
                                                        : runtime::find_device(options.backend));
  const auto compile_start = Clock::now();
  HEDDLE_ASSIGN_OR_RETURN(auto executable,
                          runtime::compile_cached(program.module, *device, compile_options));
  const double compile_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - compile_start).count();
  std::vector<BufferPtr> arguments;
  std::vector<Literal> leaves;
  for (const Literal& value : values) flatten(value, leaves);
  for (const Literal& leaf : leaves) {
    HEDDLE_ASSIGN_OR_RETURN(BufferPtr buffer, runtime::to_device(*device, leaf, "heddle run"));
    arguments.push_back(std::move(buffer));
  }
  runtime::ExecuteOptions execute_options;
  if (executable->can_stop()) execute_options.stop = stop_at_interrupt();
  std::vector<BufferPtr> results;
  std::vector<double> ms;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = Clock::now();
    HEDDLE_ASSIGN_OR_RETURN(results, executable->execute(arguments, execute_options));
    for (const BufferPtr& result : results) HEDDLE_RETURN_IF_ERROR(result->await());
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  HEDDLE_RETURN_IF_ERROR(print_results(options, results));
  const Times times = times_of(ms);
  const Counters moved = counters();
  std::printf("%s: %s %.3f ms, run min %.3f ms, median %.3f ms of %d; %lld bytes up, %lld down\n",
              device->name().c_str(), executable->is_from_disk() ? "read from disk" : "compile",
              compile_ms, times.least_ms, times.median_ms, options.repeat,
              static_cast<long long>(moved.upload_bytes),
              static_cast<long long>(moved.download_bytes));
  return {};
}

}  // namespace

void add_run_command(CLI::App& app, int& code) {
  auto options = std::make_shared<RunFlags>();
  CLI::App* command =
      app.add_subcommand("run", "Runs a program; prints results, time and bytes moved");
  command->add_option("PROGRAM", options->program, "HLO text, a proto, or pack.cases.gz#case")
      ->required();
  command->add_option("INPUT", options->inputs,
                      "one .npy file a parameter; without any: the case's arguments, or zeros");
  command->add_option("--backend", options->backend,
                      "backend or device; else $HEDDLE_DEVICE, else cpu");
  command
      ->add_option("--option", options->options,
                   "NAME=VALUE: an option of the backend for this program; may be there several "
                   "times")
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--output-dir", options->output_dir, "existing folder for result0.npy, ..");
  command->add_option("--repeat", options->repeat, "runs to time")
      ->check(at_least(1))
      ->capture_default_str();
  command->callback([options, &code] { code = report(run(*options)); });
}

}  // namespace heddle::tools
