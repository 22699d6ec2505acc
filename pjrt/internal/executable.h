// PjrtExecutable: a program that a plugin compiled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// The plugin's program, and what it says of itself.
class Loaded {
 public:
  // Compiles a prepared module, in XLA's wire form, with serialised options.
  // errors   the plugin's; Internal where it gives other results than `results`
  [[nodiscard]] static StatusOr<std::shared_ptr<const Loaded>> compile(
      std::shared_ptr<const Client> client, const std::string& module, const std::string& options,
      const std::vector<Shape>& results);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] abi::LoadedExecutable* handle() const { return handle_; }
  [[nodiscard]] const Api& api() const { return *client_->api(); }
  // Where the plugin says.
  [[nodiscard]] std::optional<int64_t> scratch_bytes() const { return scratch_bytes_; }
  [[nodiscard]] std::optional<int64_t> code_bytes() const { return code_bytes_; }

 private:
  Loaded(std::shared_ptr<const Client> client, abi::LoadedExecutable* handle)
      : client_(std::move(client)), handle_(handle) {}
  [[nodiscard]] Status check_results(const std::vector<Shape>& results);
  [[nodiscard]] Status check_types(abi::Executable* program,
                                   const std::vector<Shape>& results) const;
  void read_sizes(abi::Executable* program);

  std::shared_ptr<const Client> client_;
  abi::LoadedExecutable* handle_;
  std::optional<int64_t> scratch_bytes_;
  std::optional<int64_t> code_bytes_;
};

// Runs are asynchronous as far as the plugin's are. A run that is given arguments' memory needs a
// program that says so: it is compiled at the first such run, once for each choice of arguments. A
// run waits where the device has enough in flight.
class PjrtExecutable final : public runtime::Executable {
 public:
  // Compiles for a donation, given the numbers of the arguments, in ascending order.
  using Compile = std::function<StatusOr<std::shared_ptr<const Loaded>>(const std::vector<int>&)>;

  PjrtExecutable(const hlo::Module& module, runtime::Device& device,
                 std::shared_ptr<const Client> client, std::shared_ptr<const Loaded> loaded,
                 Compile compile, std::shared_ptr<runtime::Throttle> throttle);

  [[nodiscard]] runtime::ProgramCost cost() const override;

 protected:
  [[nodiscard]] StatusOr<std::vector<runtime::BufferPtr>> run(
      std::span<const runtime::BufferPtr> arguments,
      const runtime::ExecuteOptions& options) override;

 private:
  [[nodiscard]] StatusOr<std::shared_ptr<const Loaded>> loaded_for(std::vector<int> donated);
  [[nodiscard]] StatusOr<std::vector<runtime::BufferPtr>> launch(
      const Loaded& loaded, std::span<const runtime::BufferPtr> arguments,
      const std::vector<int>& donated) const;
  [[nodiscard]] StatusOr<std::vector<runtime::BufferPtr>> results_of(
      std::span<abi::Buffer* const> handles) const;

  const std::shared_ptr<const Client> client_;
  const std::shared_ptr<const Loaded> plain_;
  const Compile compile_;
  const std::shared_ptr<runtime::Throttle> throttle_;  // of the device
  int64_t bytes_in_flight_ = 0;                        // what a run holds: results and scratch
  std::mutex mutex_;
  std::map<std::vector<int>, std::shared_ptr<const Loaded>> donating_;
};

}  // namespace heddle::pjrt
