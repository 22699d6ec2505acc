#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "CLI/CLI.hpp"
#include "heddle/base/text/utf8.h"
#include "heddle/cpu/backend.h"  // makes cpu known
#include "heddle/pjrt/plugin.h"  // makes pjrt:NAME known
#include "heddle/tools/command.h"
#include "heddle/tools/number_options.h"

namespace heddle::tools {

namespace {

// The error for the first word that must be a command and is not; "" if there is none.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto all = command->get_subcommands([](const CLI::App*) { return true; });
    if (all.empty()) return "";
    const auto found = std::ranges::find(all, argv[i], &CLI::App::get_name);
    if (found == all.end()) {
      std::vector<std::string> names;
      for (const CLI::App* each : all) names.push_back(each->get_name());
      return base::cat("\"", base::printable(argv[i]), "\" is no command of ", command->get_name(),
                       "; it must be one of ", base::join(names, ", "));
    }
    command = *found;
  }
  return "";
}

}  // namespace

CLI::Validator at_least(int64_t least) {
  return {[least](const std::string& text) {
            int64_t value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            const bool is_one = parsed.ec == std::errc() && parsed.ptr == end;
            if (is_one && value >= least) return std::string();
            return base::cat("\"", base::printable(text),
                             "\" is given; it must be a whole number, ", least, " or more");
          },
          base::cat(">=", least)};
}

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec == std::errc() && parsed.ptr == end && value > 0) return std::string();
            return base::cat("\"", base::printable(text), "\" is given; it must be above 0");
          },
          ">0"};
}

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_command(app, argc, argv);
    if (unknown.empty()) return app.exit(error);
    return report(base::invalid_argument(unknown));
  }
  return code;
}

}  // namespace heddle::tools
