#include <cstdlib>

#include "CLI/CLI.hpp"
#include "heddle/cpu/backend.h"  // makes cpu known
#include "heddle/pjrt/plugin.h"  // makes pjrt:NAME known
#include "heddle/tools/command.h"

namespace heddle::tools {

void leave_disk_cache() { setenv("HEDDLE_CACHE", "0", /*overwrite=*/0); }

int run_command_line(int argc, char** argv) {
  CLI::App app("Runs, checks and rewrites HLO programs.", "heddle");
  app.require_subcommand(1);
  int code = 0;
  add_bench_command(app, code);
  add_cache_command(app, code);
  add_conformance_command(app, code);
  add_info_command(app, code);
  add_opt_command(app, code);
  add_run_command(app, code);
  CLI11_PARSE(app, argc, argv);
  return code;
}

}  // namespace heddle::tools
