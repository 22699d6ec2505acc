#include "heddle/pjrt/plugin.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "heddle/base/settings.h"
#include "heddle/base/text/strings.h"
#include "heddle/pjrt/finder.h"
#include "heddle/pjrt/internal/plugin_file.h"
#include "heddle/runtime/registry.h"

namespace heddle::pjrt {
namespace {

constexpr char kVariable[] = "HEDDLE_PLUGINS";

struct Entry {
  StatusOr<DevicePlugin> plugin;  // an error: of the file that describes it
  std::string from;

  [[nodiscard]] std::string library() const { return plugin.ok() ? plugin->library : ""; }
};

struct Plugins {
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> by_name;
  Status variable;                  // of HEDDLE_PLUGINS
  std::vector<std::string> passed;  // what the folders hold that is no plugin's, and why
};

// Never destroyed, as the backends that it makes.
Plugins& plugins() {
  static Plugins& instance = *new Plugins;
  return instance;
}

bool is_path(std::string_view name) { return name.find('/') != std::string_view::npos; }

Status check_name(std::string_view name) {
  if (!name.empty() && !is_path(name) && name.find(':') == std::string_view::npos) return {};
  return base::invalid_argument("plugin name \"", name,
                                "\"; it must be a word without colon and slash");
}

// With the mutex held.
Status add(std::string name, StatusOr<DevicePlugin> plugin, std::string_view from, Plugins& to) {
  HEDDLE_RETURN_IF_ERROR(check_name(name));
  auto [it, is_new] =
      to.by_name.try_emplace(std::move(name), Entry{std::move(plugin), std::string(from)});
  if (is_new) return {};
  return base::invalid_argument("plugin name \"", it->first, "\" is taken by ",
                                it->second.library(), " (", it->second.from, "); choose another");
}

std::string names_of(const Plugins& from) {
  std::string names;
  for (const auto& [name, entry] : from.by_name)
    base::append(names, names.empty() ? "" : ", ", name);
  return names.empty() ? "none" : names;
}

// NAME:PATH,NAME:PATH
Status add_all(std::string_view text, Plugins& to) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos || colon + 1 == item.size()) {
      return base::invalid_argument(kVariable, ": \"", item,
                                    "\"; it must be NAME:PATH, with commas "
                                    "between several");
    }
    HEDDLE_RETURN_IF_ERROR(base::annotate(
        add(std::string(item.substr(0, colon)),
            DevicePlugin{.library = std::string(item.substr(colon + 1))}, kVariable, to),
        kVariable, ": "));
  }
  return {};
}

// A folder that is there without having been named: nobody misses it where it is not.
enum class Folder : bool { kNamed, kUsual };

// NAME.json in the folder, and what Python packages below it hold. Earlier folders, and names that
// were given otherwise, count more.
void add_folder(const std::string& folder, Folder kind, Plugins& to) {
  const auto add_or_pass = [&](std::string name, StatusOr<DevicePlugin> plugin,
                               const std::string& from) {
    const Status added = add(std::move(name), std::move(plugin), from, to);
    if (!added.ok()) to.passed.push_back(base::cat(from, ": ", base::message_of(added)));
  };
  std::error_code error;
  // A folder that cannot be read further ends the loop; the loop of the language would throw.
  for (std::filesystem::directory_iterator file(folder, error), end; file != end;
       file.increment(error)) {
    const std::filesystem::path& path = file->path();
    if (path.extension() != ".json") continue;
    add_or_pass(path.stem().string(), read_plugin_file(path.string()), path.string());
  }
  if (error && kind == Folder::kNamed)
    to.passed.push_back(base::cat(folder, ": ", error.message()));
  for (FoundPlugin& found : find_plugins(folder))
    add_or_pass(std::move(found.name), DevicePlugin{.library = std::move(found.library)}, folder);
}

// heddle_plugins.d in the user's and in the machine's folder of settings.
std::vector<std::string> usual_folders() {
  std::vector<std::string> folders;
  const std::string settings = base::environment_variable("XDG_CONFIG_HOME");
  const std::string home = base::environment_variable("HOME");
  if (!settings.empty()) {
    folders.push_back(settings + "/heddle_plugins.d");
  } else if (!home.empty()) {
    folders.push_back(home + "/.config/heddle_plugins.d");
  }
  folders.emplace_back("/etc/heddle_plugins.d");
  return folders;
}

// Once a process.
Plugins& with_environment() {
  Plugins& all = plugins();
  static std::once_flag once;
  std::call_once(once, [&] {
    const std::scoped_lock lock(all.mutex);
    all.variable = add_all(setting<Setting::kPlugins>(), all);
    std::istringstream named(setting<Setting::kPluginPath>());
    for (std::string folder; std::getline(named, folder, ':');)
      add_folder(folder, Folder::kNamed, all);
    for (const std::string& folder : usual_folders()) add_folder(folder, Folder::kUsual, all);
  });
  return all;
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Backend>> plugin_internal::make_known(std::string_view argument) {
  StatusOr<DevicePlugin> plugin = DevicePlugin{.library = std::string(argument)};
  {
    Plugins& all = with_environment();
    const std::scoped_lock lock(all.mutex);
    const auto found = all.by_name.find(argument);
    if (found != all.by_name.end()) {
      plugin = found->second.plugin;
    } else if (argument.empty()) {
      return base::not_found("backend pjrt: names no plugin; there are: ", names_of(all),
                             "; write pjrt:NAME, or name a path as pjrt:/PATH");
    } else if (!is_path(argument)) {
      if (!all.variable.ok()) return base::annotate(all.variable, "backend pjrt:", argument, ": ");
      return base::not_found("backend pjrt:", argument,
                             ": no plugin of this name is known; there are: ", names_of(all),
                             "; register it, set ", kVariable,
                             "=NAME:PATH, or name a path as pjrt:/PATH");
    }
  }
  if (!plugin.ok()) return plugin.status();
  return make_backend(std::string(argument), *plugin);
}

Status enable_plugins() {
  Plugins& all = with_environment();
  const std::scoped_lock lock(all.mutex);
  return all.variable;
}

Status register_plugin(std::string name, DevicePlugin plugin) {
  Plugins& all = with_environment();
  const std::scoped_lock lock(all.mutex);
  return base::annotate(add(std::move(name), std::move(plugin), "register_plugin", all),
                        "register_plugin: ");
}

std::vector<KnownPlugin> known_plugins() {
  Plugins& all = with_environment();
  const std::scoped_lock lock(all.mutex);
  std::vector<KnownPlugin> known;
  for (const auto& [name, entry] : all.by_name)
    known.push_back({name, entry.library(), entry.from});
  return known;
}

std::vector<std::string> passed_plugins() {
  Plugins& all = with_environment();
  const std::scoped_lock lock(all.mutex);
  std::vector<std::string> passed = all.passed;
  if (!all.variable.ok()) passed.push_back(base::message_of(all.variable));
  return passed;
}

}  // namespace heddle::pjrt
