// Backends by name, and the device that is used when none is named.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// Makes a backend. `argument` is what follows the first colon of the name asked for: the path in
// "pjrt:PATH", else empty. May not call into the registry.
using BackendFactory = std::function<StatusOr<std::unique_ptr<Backend>>(std::string_view argument)>;

// A family of backends in a library of its own, known where the program links it.
struct LinkedBackend {
  const char* name;
  StatusOr<std::unique_ptr<Backend>> (*make)(std::string_view argument);
};

// Makes a backend known by name, without a colon. It is made at the first find_backend(), once per
// argument, and lives as long as the process.
//
// errors   InvalidArgument for an empty name, one with a colon, or one that is taken
[[nodiscard]] Status register_backend(std::string name, BackendFactory factory);

// Returns the backend "interpreter", or another that was registered; the same object each time.
// errors   NotFound that lists the names there are; else the factory's
[[nodiscard]] StatusOr<Backend*> find_backend(std::string_view name);

// Returns the backends that find_backend() made until now.
[[nodiscard]] std::vector<Backend*> used_backends();

// Returns the registered names, sorted.
[[nodiscard]] std::vector<std::string> backend_names();

// Returns the device "interpreter:0"; a backend's name alone is its device 0.
// errors   as find_backend(); NotFound for a number that the backend has not
[[nodiscard]] StatusOr<Device*> find_device(std::string_view name);

// Returns the device where new tensors go and eager ops run: that of the innermost DefaultDevice of
// this thread, else that of set_default_device(), else that which the environment variable
// HEDDLE_DEVICE named when it was first asked for, else cpu:0, or interpreter:0 in a program that
// links no cpu/.
// errors   as find_device(), for HEDDLE_DEVICE
[[nodiscard]] StatusOr<Device*> find_default_device();

// The same; interpreter:0 where HEDDLE_DEVICE names none that is there, which operations on tensors
// refuse.
[[nodiscard]] Device& default_device();

// Sets it for the process.
// errors   as find_device()
[[nodiscard]] Status set_default_device(std::string_view name);

// Sets it for this thread while it lives. Scopes nest.
class DefaultDevice {
 public:
  [[nodiscard]] explicit DefaultDevice(Device& device);
  ~DefaultDevice();
  DefaultDevice(const DefaultDevice&) = delete;
  DefaultDevice& operator=(const DefaultDevice&) = delete;

 private:
  Device* outer_;
};

}  // namespace heddle::runtime

namespace heddle {
using runtime::default_device;
using runtime::DefaultDevice;
using runtime::find_device;
using runtime::set_default_device;
}  // namespace heddle
