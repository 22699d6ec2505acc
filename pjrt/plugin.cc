#include "heddle/pjrt/plugin.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "heddle/base/strings.h"
#include "heddle/pjrt/finder.h"
#include "heddle/pjrt/internal/environment.h"
#include "heddle/pjrt/internal/plugin_file.h"
#include "heddle/runtime/registry.h"

namespace heddle::pjrt {
namespace {

constexpr char kFamily[] = "pjrt";
constexpr char kVariable[] = "HEDDLE_PLUGINS";
constexpr char kFolders[] = "HEDDLE_PLUGIN_PATH";

struct Entry {
  StatusOr<DevicePlugin> plugin;  // an error: of the file that describes it
  std::string from;

  [[nodiscard]] std::string library() const { return plugin.ok() ? plugin->library : ""; }
};

struct Plugins {
  std::mutex mutex;
  std::map<std::string, Entry, std::less<>> by_name;
};

// Never destroyed, as the backends that it makes.
Plugins& plugins() {
  static Plugins& instance = *new Plugins;
  return instance;
}

bool is_path(std::string_view name) { return name.find('/') != std::string_view::npos; }

Status check_name(std::string_view name) {
  if (!name.empty() && !is_path(name) && name.find(':') == std::string_view::npos) return {};
  return invalid_argument("plugin name \"", name, "\"; it must be a word without colon and slash");
}

// With the mutex held.
Status add(std::string name, StatusOr<DevicePlugin> plugin, std::string_view from, Plugins& to) {
  HEDDLE_RETURN_IF_ERROR(check_name(name));
  auto [it, is_new] =
      to.by_name.try_emplace(std::move(name), Entry{std::move(plugin), std::string(from)});
  if (is_new) return {};
  return invalid_argument("plugin name \"", it->first, "\" is taken by ", it->second.library(),
                          " (", it->second.from, "); choose another");
}

std::string names_of(const Plugins& from) {
  std::string names;
  for (const auto& [name, entry] : from.by_name) append(names, names.empty() ? "" : ", ", name);
  return names.empty() ? "none" : names;
}

StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument) {
  StatusOr<DevicePlugin> plugin = DevicePlugin{.library = std::string(argument)};
  {
    std::scoped_lock lock(plugins().mutex);
    const auto found = plugins().by_name.find(argument);
    if (found != plugins().by_name.end()) {
      plugin = found->second.plugin;
    } else if (!is_path(argument)) {
      return not_found("backend pjrt:", argument,
                       ": no plugin of this name is known; there are: ", names_of(plugins()),
                       "; register it, set ", kVariable,
                       "=NAME:PATH, or name a path as pjrt:/PATH");
    }
  }
  if (!plugin.ok()) return plugin.status();
  return make_backend(std::string(argument), *plugin);
}

// NAME:PATH,NAME:PATH
Status add_all(std::string_view text, Plugins& to) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t colon = item.find(':');
    if (colon == std::string_view::npos || colon + 1 == item.size()) {
      return invalid_argument(kVariable, ": \"", item,
                              "\"; it must be NAME:PATH, with commas "
                              "between several");
    }
    HEDDLE_RETURN_IF_ERROR(
        annotate(add(std::string(item.substr(0, colon)),
                     DevicePlugin{.library = std::string(item.substr(colon + 1))}, kVariable, to),
                 kVariable, ": "));
  }
  return {};
}

// NAME.json in each folder, and what Python packages below it hold. Earlier folders, and names that
// were given otherwise, count more.
void add_files(const std::string& folders, Plugins& to) {
  std::istringstream in(folders);
  for (std::string folder; std::getline(in, folder, ':');) {
    std::error_code ignored;
    // A folder that cannot be read further ends the loop; the loop of the language would throw.
    for (std::filesystem::directory_iterator file(folder, ignored), end; file != end;
         file.increment(ignored)) {
      const std::filesystem::path& path = file->path();
      if (path.extension() != ".json") continue;
      (void)add(path.stem().string(), read_plugin_file(path.string()), path.string(), to);
    }
    for (FoundPlugin& found : find_plugins(folder))
      (void)add(std::move(found.name), DevicePlugin{.library = std::move(found.library)}, folder,
                to);
  }
}

}  // namespace

Status enable_plugins() {
  static std::once_flag once;
  Status status;
  std::call_once(once, [&] {
    status = runtime::register_backend(kFamily, make_known);
    if (!status.ok()) return;
    Plugins& all = plugins();
    std::scoped_lock lock(all.mutex);
    status = add_all(environment_variable(kVariable), all);
    add_files(environment_variable(kFolders), all);
  });
  return status;
}

Status register_plugin(std::string name, DevicePlugin plugin) {
  HEDDLE_RETURN_IF_ERROR(enable_plugins());
  std::scoped_lock lock(plugins().mutex);
  return annotate(add(std::move(name), std::move(plugin), "register_plugin", plugins()),
                  "register_plugin: ");
}

std::vector<KnownPlugin> known_plugins() {
  std::scoped_lock lock(plugins().mutex);
  std::vector<KnownPlugin> known;
  for (const auto& [name, entry] : plugins().by_name)
    known.push_back({name, entry.library(), entry.from});
  return known;
}

}  // namespace heddle::pjrt
