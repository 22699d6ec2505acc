#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "CLI/CLI.hpp"
#include "heddle/base/text/near_name.h"
#include "heddle/base/text/utf8.h"
#include "heddle/cpu/backend.h"  // makes cpu known
#include "heddle/pjrt/plugin.h"  // makes pjrt:NAME known
#include "heddle/tools/command.h"
#include "heddle/tools/number_options.h"

namespace heddle::tools {

namespace {

// The command that the words name, and the place of the first one behind their names.
struct NamedCommand {
  const CLI::App* command;
  int next = 1;
};
NamedCommand find_command(const CLI::App& app, int argc, char** argv) {
  NamedCommand out{&app};
  for (; out.next < argc; ++out.next) {
    const auto all = out.command->get_subcommands([](const CLI::App*) { return true; });
    const auto found = std::ranges::find(all, argv[out.next], &CLI::App::get_name);
    if (found == all.end()) break;
    out.command = *found;
  }
  return out;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

// What is wrong with a word that no option or command takes.
std::string unknown_word(const CLI::App& command, const std::string& word) {
  const std::string given = base::cat("\"", base::printable(word), "\" is ");
  if (!word.starts_with('-'))
    return base::cat(given, "one word too many for ", command.get_name(), "; leave it out");
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(base::cat("--", name));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = base::near_name(word.substr(0, word.find('=')), known, 2);
  return base::cat(given, "no option of ", command.get_name(), "; ",
                   near.empty() ? base::cat("it has ", base::join(names, ", "))
                                : base::cat("is it ", near, "?"));
}

// What is wrong, in one line.
std::string mistake(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const NamedCommand at = find_command(app, argc, argv);
  const std::vector<std::string> commands = commands_of(*at.command);
  if (!commands.empty()) {  // a command has to follow
    const std::string all = base::cat("; it must be one of ", base::join(commands, ", "));
    const std::string name = at.command->get_name();
    if (at.next == argc) return base::cat(name, " needs a command", all);
    const std::string word = argv[at.next];
    return word.starts_with('-')
               ? unknown_word(*at.command, word)
               : base::cat("\"", base::printable(word), "\" is no command of ", name, all);
  }
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !rest.empty())
    return unknown_word(*at.command, rest[0]);
  return base::cat(at.command->get_name(), ": ", base::printable(error.what()));
}

}  // namespace

CLI::Validator at_least(int64_t least, int64_t most) {
  return {[least, most](const std::string& text) {
            int64_t value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            const bool is_one = parsed.ec == std::errc() && parsed.ptr == end;
            if (is_one && value >= least && value <= most) return std::string();
            const bool is_great =
                parsed.ec == std::errc::result_out_of_range || (is_one && value > most);
            return base::cat("\"", base::printable(text),
                             "\" is given; it must be a whole number, ", least, " or more",
                             is_great ? base::cat(", and at most ", most) : "");
          },
          base::cat(">=", least)};
}

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double value = 0;
            const char* end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec == std::errc() && parsed.ptr == end && value > 0 && std::isfinite(value))
              return std::string();
            return base::cat("\"", base::printable(text),
                             "\" is given; it must be above 0, and finite");
          },
          ">0"};
}

void leave_disk_cache() { setenv("HEDDLE_CACHE", "0", /*overwrite=*/0); }

int run_command_line(int argc, char** argv) {
  CLI::App app("Runs, checks and rewrites HLO programs.", "heddle");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
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
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return report(base::invalid_argument(mistake(app, error, argc, argv)));
  }
  return code;
}

}  // namespace heddle::tools
