#include "heddle/pjrt/finder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

namespace heddle::pjrt {
namespace {

namespace fs = std::filesystem;

// What is in `folder`, sorted, so that a search finds the same each time.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

// `prefix` itself, and the folders of packages of a Python installed there.
std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> folders{prefix};
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    for (const fs::path& python : entries(prefix / lib)) {
      if (!python.filename().string().starts_with("python3")) continue;
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
  return folders;
}

// "xla-cpu" of the package xla_cpu_pjrt.
std::string plugin_name(std::string package) {
  constexpr std::string_view kSuffix = "_pjrt";
  if (package.ends_with(kSuffix)) package.resize(package.size() - kSuffix.size());
  std::replace(package.begin(), package.end(), '_', '-');
  return package;
}

bool is_plugin_library(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".so") && (name.ends_with("_pjrt.so") || name.ends_with("_plugin.so"));
}

}  // namespace

std::vector<FoundPlugin> find_plugins(const std::string& prefix) {
  std::map<std::string, std::string> found;
  for (const fs::path& packages : package_folders(prefix)) {
    for (const char* family : {"xla_plugins", "jax_plugins"}) {
      for (const fs::path& package : entries(packages / family)) {
        for (const fs::path& file : entries(package)) {
          if (is_plugin_library(file))
            found.try_emplace(plugin_name(package.filename().string()), file.string());
        }
      }
    }
    const fs::path tpu = packages / "libtpu" / "libtpu.so";
    std::error_code ignored;
    if (fs::exists(tpu, ignored)) found.try_emplace("tpu", tpu.string());
  }
  std::vector<FoundPlugin> plugins;
  for (const auto& [name, library] : found) plugins.push_back({name, library});
  return plugins;
}

}  // namespace heddle::pjrt
