// Client: a plugin's connection to its devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/pjrt/internal/api.h"
#include "heddle/pjrt/plugin.h"

namespace heddle::pjrt {

inline constexpr std::string_view kCuda = "cuda";  // a platform

// Held by everything that was made with it: plugins crash where their client goes first. The last
// one may let it go anywhere: see pjrt/internal/reaper.h.
class Client {
 public:
  struct Device {
    abi::Device* handle = nullptr;
    int id = 0;        // the plugin's number: what a device assignment holds
    std::string kind;  // "cpu", "NVIDIA H100"
  };

  // errors   InvalidArgument for an option of the wrong type; the plugin's
  [[nodiscard]] static StatusOr<std::shared_ptr<const Client>> create(
      std::shared_ptr<const Api> api, const std::vector<CreateOption>& options,
      std::shared_ptr<const KeyValueStore> key_values = nullptr);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] const std::shared_ptr<const Api>& api() const { return api_; }
  [[nodiscard]] abi::Client* handle() const { return handle_; }
  // "cpu", kCuda, "tpu".
  [[nodiscard]] const std::string& platform() const { return platform_; }
  // The plugin's words for what it is of.
  [[nodiscard]] std::string platform_version() const;
  // Of this process.
  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  // XLA made it: it reads HloModuleProto and XLA's options.
  [[nodiscard]] bool is_xla() const { return is_xla_; }

 private:
  Client(std::shared_ptr<const Api> api, std::shared_ptr<const KeyValueStore> key_values,
         abi::Client* handle);
  static void destroy(Client* client);
  [[nodiscard]] Status read_facts();
  [[nodiscard]] Status read_devices();
  [[nodiscard]] StatusOr<Device> read_device(abi::Device* handle) const;
  void read_attributes();

  std::shared_ptr<const Api> api_;
  std::shared_ptr<const KeyValueStore> key_values_;  // which the plugin may call while it lives
  abi::Client* handle_;
  std::string platform_;
  std::vector<Device> devices_;
  bool is_xla_ = false;
};

// Plugins end the process over an option of the wrong type: the ones that are known are checked.
// errors   InvalidArgument with the option and the type that it must be of
[[nodiscard]] Status check_create_option(std::string_view plugin, const CreateOption& option);

// An option that is known to be a float.
[[nodiscard]] bool is_float_option(std::string_view name);

}  // namespace heddle::pjrt
