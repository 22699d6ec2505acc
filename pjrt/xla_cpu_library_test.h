// Where the tests find real XLA.
#pragma once

#include <filesystem>
#include <string>

#include "heddle/pjrt/plugin.h"

namespace heddle {

// The plugin known as xla-cpu, else what ./dev setup-plugin fetched; empty where there is neither.
inline std::string xla_cpu_library() {
  if (!pjrt::enable_plugins().ok()) return "";
  for (const pjrt::KnownPlugin& known : pjrt::known_plugins()) {
    if (known.name == "xla-cpu") return known.library;
  }
  constexpr char kFetched[] = "build/plugins/xla_cpu_pjrt.so";
  return std::filesystem::exists(kFetched) ? kFetched : "";
}

}  // namespace heddle
