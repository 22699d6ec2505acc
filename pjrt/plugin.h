// Foreign devices: any PJRT plugin (XLA's CPU, CUDA, TPU, a vendor's) as a backend.
//
//   pjrt::register_plugin("xla-cpu", {.library = "plugins/xla_cpu_pjrt.so"});
//   set_default_device("pjrt:xla-cpu");  // or "pjrt:xla-cpu:1"
//
// A plugin is also found by the environment variable HEDDLE_PLUGINS=NAME:PATH,NAME:PATH, by a file
// NAME.json in a folder of HEDDLE_PLUGIN_PATH=FOLDER:FOLDER or in heddle_plugins.d of the user's or
// the machine's settings, in the Python packages below such a folder (finder.h), and every path of
// a library is a name: "pjrt:/opt/plugin.so". The environment is read when it is first asked for. A
// program that includes this header, or heddle/heddle.h, has the backends pjrt:NAME without a call.
// See docs/plugins.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/dtype.h"
#include "heddle/hlo/random_algorithm.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

class KeyValueStore;  // pjrt/key_values/key_value_store.h

// A setting of a plugin's client. The type is part of it: plugins take no other.
struct CreateOption {
  std::string name;
  std::variant<bool, int64_t, float, std::string, std::vector<int64_t>> value;
};

// What a device may have in flight; a launch that finds no room waits for the oldest.
struct InFlight {
  int launches = runtime::Throttle::Limits{}.launches;  // at least 1
  // Of all of it together; INT64_MAX: without a limit. Not said: half of what the device has free
  // at the start, where it says.
  std::optional<int64_t> bytes = std::nullopt;
};

// How a plugin is used. All but the library may be left out.
struct DevicePlugin {
  std::string library;  // path of the shared library
  std::vector<CreateOption> create_options;
  // For every program, before its own: XLA's debug options by name.
  std::vector<runtime::BackendOption> compile_options;
  InFlight limits;  // of each device
  // Element types that arrays and programs may have, those too that Heddle writes an op with (s64
  // for mulhi of s32); others are refused when a program is compiled or loaded, or an array
  // uploaded. Empty: all that the plugin's version has.
  std::vector<DType> dtypes = {};
  // What rng-bit-generator does where a program leaves it open. kDefault: what the plugin likes.
  hlo::RandomAlgorithm rng = hlo::RandomAlgorithm::kDefault;
  // False: the plugin is never given an argument's memory. Donated arguments are deleted all the
  // same.
  bool donation = true;
  // Custom calls that are written as HLO before the plugin sees them, by target. Not said: all that
  // can be (docs/plugins.md); those that are left are the plugin's, or the host's.
  std::optional<std::vector<std::string>> expansions = std::nullopt;
  // Where the processes of one program meet; null: there is one process.
  std::shared_ptr<const KeyValueStore> key_values = nullptr;
};

// Makes the plugin known as the backend pjrt:NAME. It is loaded at the first use.
// errors   InvalidArgument for a name that is empty, has a colon or a slash, or is taken
[[nodiscard]] Status register_plugin(std::string name, DevicePlugin plugin);

// Reads the environment now, and tells what is wrong with HEDDLE_PLUGINS; else that is told where a
// plugin is asked for that is not known. Never needed.
// errors   InvalidArgument where HEDDLE_PLUGINS cannot be read. A file that cannot is an error of
//          its plugin
[[nodiscard]] Status enable_plugins();

// Loads a plugin and makes a backend of it that belongs to the caller. `name` is that of its
// devices: "pjrt:NAME:0".
// errors   what is wrong with the library, an option, or the plugin's own
[[nodiscard]] StatusOr<std::unique_ptr<runtime::Backend>> make_backend(const std::string& name,
                                                                       const DevicePlugin& plugin);

// What is known by name.
struct KnownPlugin {
  std::string name;
  std::string library;
  std::string from;  // "register_plugin", "HEDDLE_PLUGINS", or the path of its file
};
[[nodiscard]] std::vector<KnownPlugin> known_plugins();

// What was found and is no plugin, a sentence each: folders of HEDDLE_PLUGIN_PATH that cannot be
// read, files with names that are no plugin's or taken, and what is wrong with HEDDLE_PLUGINS.
[[nodiscard]] std::vector<std::string> passed_plugins();

namespace plugin_internal {
[[nodiscard]] StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument);
// The registry looks here when it is first asked for a backend, by a weak reference
// (runtime/registry.cc). So a program that includes this header has the family "pjrt" without a
// call, nothing runs before main(), and a linker that drops unused sections drops the family where
// nobody asks for a device.
[[gnu::used]] inline constinit const runtime::LinkedBackend kFamily{"pjrt", make_known};
}  // namespace plugin_internal

}  // namespace heddle::pjrt
