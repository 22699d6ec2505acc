// The options with which a plugin compiles a program where the user gives none.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "heddle/base/status.h"
#include "heddle/pjrt/internal/client.h"

namespace heddle::pjrt {

// Asked of the plugin when it is first needed, by a program of one parameter; kept from then on.
// Safe from any thread.
class DefaultDebugOptions {
 public:
  // The program's parameter is of `dtype`, which the plugin takes.
  DefaultDebugOptions(std::shared_ptr<const Client> client, DType dtype)
      : client_(std::move(client)), dtype_(dtype) {}

  // A serialised DebugOptions.
  // errors   the plugin's; Unimplemented where it does not tell them
  [[nodiscard]] StatusOr<std::string> get();

 private:
  [[nodiscard]] StatusOr<std::string> ask() const;

  const std::shared_ptr<const Client> client_;
  const DType dtype_;
  std::mutex mutex_;
  std::string known_;  // empty before
};

}  // namespace heddle::pjrt
