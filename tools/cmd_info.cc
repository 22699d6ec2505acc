// heddle info: backends, devices, processor and limits in force.
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "heddle/base/settings.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/registry.h"
#include "heddle/scan/cache_control.h"
#include "heddle/tools/command.h"

namespace heddle::tools {
namespace {

// The value of the first line "key : value" of /proc/cpuinfo, or "unknown".
std::string cpu_fact(const std::string& key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    size_t colon = line.find(':');
    return colon == std::string::npos || colon + 2 > line.size() ? "unknown"
                                                                 : line.substr(colon + 2);
  }
  return "unknown";
}

// The processor's features that numeric code uses.
std::string vector_features() {
  const std::string flags = " " + cpu_fact("flags") + " ";
  std::string found;
  for (const char* name :
       {"avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16"}) {
    if (flags.find(" " + std::string(name) + " ") != std::string::npos)
      base::append(found, found.empty() ? "" : " ", name);
  }
  return found.empty() ? "none known" : found;
}

// A backend's devices, or why it cannot be used.
void print_backend(const std::string& name, const std::string& about) {
  auto backend = runtime::find_backend(name);
  if (!backend.ok()) {
    std::printf("backend         %s: not usable: %s%s\n", name.c_str(),
                base::message_of(backend.status()).c_str(), about.c_str());
    return;
  }
  std::printf("backend         %s: %s%s\n", name.c_str(), (*backend)->version().c_str(),
              about.c_str());
  for (const auto& device : (*backend)->devices())
    std::printf("  device        %s (%s)\n", device->name().c_str(), device->kind().c_str());
}

// Loads every known plugin.
void print_plugins() {
  const std::vector<pjrt::KnownPlugin> plugins = pjrt::known_plugins();
  for (const pjrt::KnownPlugin& plugin : plugins) {
    print_backend(base::cat("pjrt:", plugin.name),
                  base::cat(" (", plugin.library, ", by ", plugin.from, ")"));
  }
  for (const std::string& passed : pjrt::passed_plugins())
    std::printf("passed over     %s\n", passed.c_str());
  if (plugins.empty())
    std::printf(
        "plugins         none: set HEDDLE_PLUGINS=NAME:PATH, or use --backend pjrt:/PATH\n");
}

void print_disk_cache() {
  const StatusOr<runtime::DiskCacheOptions> options = runtime::disk_cache_options();
  if (!options.ok()) {
    std::string why = base::message_of(options.status());
    why.erase(0, why.find(": ") + 2);  // its name
    std::printf("disk cache      %s\n", why.c_str());
    return;
  }
  const auto size = runtime::DiskCache(*options).size();
  const bool is_there = size.ok() || size.status().code() == StatusCode::kNotFound;
  const runtime::DiskCache::Size total = size.ok() ? *size : runtime::DiskCache::Size();
  std::printf(
      "disk cache      %s: %lld programs, %lld bytes of at most %lld%s%s\n",
      options->folder.c_str(), static_cast<long long>(total.files),
      static_cast<long long>(total.bytes), static_cast<long long>(options->capacity_bytes),
      is_there ? "" : "; not usable: ", is_there ? "" : base::message_of(size.status()).c_str());
}

void print_settings() {
  for (const SettingValue& s : settings()) {
    std::printf("setting         %s=%s (%s): %s\n", s.name.c_str(), s.value.c_str(),
                s.from.c_str(), s.meaning.c_str());
  }
  for (const std::string& problem : setting_problems())
    std::printf("setting         %s\n", problem.c_str());
}

void run() {
  std::printf("processor       %s, %u threads\n", cpu_fact("model name").c_str(),
              std::thread::hardware_concurrency());
  std::printf("vector units    %s\n", vector_features().c_str());
  for (const std::string& name : runtime::backend_names()) {
    if (name != "pjrt") print_backend(name, "");
  }
  print_plugins();
  const StatusOr<Device*> device = runtime::find_default_device();
  std::printf("default device  %s\n",
              device.ok() ? (**device).name().c_str() : base::message_of(device.status()).c_str());
  std::printf("program cache   %zu programs at most\n", runtime::program_cache().capacity());
  print_disk_cache();
  std::printf("combine cache   %zu entries a level at most\n", combine_cache_capacity());
  print_settings();
}

}  // namespace

void add_info_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("info", "Shows backends, devices, processor and limits");
  command->callback([&code] {
    run();
    code = 0;
  });
}

}  // namespace heddle::tools
