// heddle bench: times programs on several backends, side by side, and compares their results.
#include <sched.h>

#include <cstdio>
#include <memory>

#include "CLI/CLI.hpp"
#include "heddle/tools/bench/bench.h"
#include "heddle/tools/command.h"
#include "heddle/tools/interrupt.h"
#include "heddle/tools/number_options.h"

namespace heddle::tools {
namespace {

// Lets the process, and the threads that backends will make, run on that many cores.
Status use_cores(int count) {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return base::internal_error("bench: --threads: the cores of the process cannot be read");
  if (CPU_COUNT(&allowed) < count) {
    return base::invalid_argument("bench: --threads ", count, "; the process has ",
                                  CPU_COUNT(&allowed), " cores");
  }
  std::string names;
  for (size_t core = 0; CPU_COUNT(&chosen) < count; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    CPU_SET(core, &chosen);
    base::append(names, names.empty() ? "" : ",", core);
  }
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0)
    return base::internal_error("bench: --threads: the cores of the process cannot be set");
  std::printf("threads: %d, on the cores %s\n", count, names.c_str());
  return {};
}

}  // namespace

void add_bench_command(CLI::App& app, int& code) {
  auto options = std::make_shared<BenchCommand>();
  auto threads = std::make_shared<int>(0);
  options->backends = {"cpu", "interpreter"};
  CLI::App* command =
      app.add_subcommand("bench", "Times programs on several backends and compares their results");
  command
      ->add_option("PROGRAM", options->programs,
                   "folders with module.hlo.txt and meta.json, or programs as of `heddle run`")
      ->required();
  command
      ->add_option("--backends", options->backends,
                   "backends or devices, with commas between; pjrt:NAME+loops lets XLA's CPU "
                   "compile loops of any size to one kernel")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->capture_default_str();
  command->add_option("--threads", *threads, "cores that the process may use")->check(at_least(1));
  command->add_option("--json", options->json, "write a line a program and backend to this file");
  command
      ->add_option(
          "--seconds", options->times.seconds,
          "time that each backend gets with a program; no turn begins after ten times that")
      ->check(above_zero())
      ->capture_default_str();
  command->add_option("--rounds", options->times.rounds, "turns that each backend gets at least")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_flag(
      "--keep-subnormals", options->keeps_subnormals,
      "beside XLA's CPU backend, which always takes subnormal numbers for zero, the others "
      "compute as they are configured");
  command->callback([options, threads, &code] {
    leave_disk_cache();
    options->times.stop = stop_at_interrupt();
    const Status limited = *threads == 0 ? Status() : use_cores(*threads);
    const StatusOr<int> result = limited.ok() ? run_bench(*options) : limited;
    code = result.ok() ? *result : report(result.status());
  });
}

}  // namespace heddle::tools
