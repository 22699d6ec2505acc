// PjrtBackend: what a plugin's backend is beside a backend.
#pragma once

#include <memory>
#include <string>

#include "heddle/base/hash.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/runtime/backend.h"

namespace heddle::pjrt {

class PjrtBackend : public runtime::Backend {
 public:
  [[nodiscard]] const std::shared_ptr<const Client>& client() const { return client_; }
  // Tells the plugin's library from other builds of it; empty where it could not be read.
  [[nodiscard]] const std::string& build() const { return build_; }

  // The program that a module and options become on a device.
  [[nodiscard]] virtual base::Hash128 program_hash(const hlo::Module& module,
                                                   const runtime::CompileOptions& options,
                                                   const runtime::Device& device) const = 0;
  // Its programs of these options belong to no device.
  [[nodiscard]] virtual bool compiles_portable(const runtime::CompileOptions& options) const = 0;
  // compile(), from what Loaded::serialize() gave.
  [[nodiscard]] virtual StatusOr<std::shared_ptr<runtime::Executable>> load_module(
      const runtime::ModulePtr& module, const runtime::CompileOptions& options,
      runtime::Device& device, std::string_view serialized) = 0;

 protected:
  PjrtBackend(std::string name, std::shared_ptr<const Client> client, std::string build)
      : Backend(std::move(name)), client_(std::move(client)), build_(std::move(build)) {}

  const std::shared_ptr<const Client> client_;

 private:
  const std::string build_;
};

// What a library is now: it has no version of its own. Empty where it cannot be read.
[[nodiscard]] std::string build_of(const std::string& library);

}  // namespace heddle::pjrt
