// The subcommands of the tool. Each adds itself to the command line, and sets the exit status.
#pragma once

#include <string>

#include "heddle/base/status.h"

namespace CLI {
class App;
}

namespace heddle::tools {

// `code`: the exit status of the process; commands set it when they run.
void add_bench_command(CLI::App& app, int& code);
void add_cache_command(CLI::App& app, int& code);
void add_conformance_command(CLI::App& app, int& code);
void add_info_command(CLI::App& app, int& code);
void add_opt_command(CLI::App& app, int& code);
void add_run_command(CLI::App& app, int& code);

// The whole tool. Returns the exit status of the process.
int run_command_line(int argc, char** argv);

// Turns the disk cache off unless HEDDLE_CACHE is set, for commands that look at the compiler.
void leave_disk_cache();

// Prints the error as "heddle: error: .." and returns the exit status for it.
int report(const Status& status);

}  // namespace heddle::tools
