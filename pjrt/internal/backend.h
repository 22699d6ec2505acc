// PjrtBackend: what a plugin's backend is beside a backend.
#pragma once

#include <memory>
#include <string>

#include "heddle/base/hash.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/runtime/backend.h"

namespace heddle::pjrt {

class PjrtBackend : public runtime::Backend {
 public:
  [[nodiscard]] const std::shared_ptr<const Client>& client() const { return client_; }
  [[nodiscard]] const std::string& library() const { return library_; }

  // The program that a module and options become on a device.
  [[nodiscard]] virtual Hash128 program_hash(const hlo::Module& module,
                                             const runtime::CompileOptions& options,
                                             const runtime::Device& device) const = 0;
  // compile(), from what Loaded::serialize() gave.
  [[nodiscard]] virtual StatusOr<std::shared_ptr<runtime::Executable>> load_module(
      const hlo::Module& module, const runtime::CompileOptions& options, runtime::Device& device,
      std::string_view serialized) = 0;

 protected:
  PjrtBackend(std::string name, std::shared_ptr<const Client> client, std::string library)
      : Backend(std::move(name)), client_(std::move(client)), library_(std::move(library)) {}

  const std::shared_ptr<const Client> client_;

 private:
  const std::string library_;
};

}  // namespace heddle::pjrt
