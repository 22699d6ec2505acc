// PjrtExecutable: a program that a plugin compiled.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/hash.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/runtime/backend.h"

namespace heddle::pjrt {

// Compiles `code`, which the interface takes without const, with serialised options.
// errors   the plugin's; Internal where it succeeds without a program
[[nodiscard]] StatusOr<abi::LoadedExecutable*> compile(const Client& client, std::string code,
                                                       std::string_view format,
                                                       const std::string& options);

// The plugin's program, and what it says of itself.
class Loaded {
 public:
  // Compiles a prepared module, in XLA's wire form, with serialised options.
  // errors   the plugin's; Internal where it gives other results than `results`
  [[nodiscard]] static StatusOr<std::shared_ptr<const Loaded>> compile(
      std::shared_ptr<const Client> client, const std::string& module, const std::string& options,
      const std::vector<Shape>& results);
  // Loads what serialize() gave, in this process or another.
  // errors   as compile()
  [[nodiscard]] static StatusOr<std::shared_ptr<const Loaded>> deserialize(
      std::shared_ptr<const Client> client, std::string_view bytes,
      const std::vector<Shape>& results);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  [[nodiscard]] abi::LoadedExecutable* handle() const { return handle_; }
  [[nodiscard]] const Api& api() const { return *client_->api(); }
  [[nodiscard]] bool was_compiled() const { return was_compiled_; }  // else deserialised
  // Where the plugin says.
  [[nodiscard]] std::optional<int64_t> scratch_bytes() const { return scratch_bytes_; }
  // Adds what the plugin says of the program: sizes, and the analysis of its ops.
  void append_cost(runtime::ProgramCost& cost) const;
  // errors   the plugin's; Unimplemented where it cannot
  [[nodiscard]] StatusOr<std::string> serialize() const;
  // What it compiled: XLA's HloModuleProtoWithConfig.
  // errors   the plugin's; Unimplemented where it cannot say, or not in this form
  [[nodiscard]] StatusOr<std::string> optimized_program() const;

 private:
  Loaded(std::shared_ptr<const Client> client, abi::LoadedExecutable* handle)
      : client_(std::move(client)), handle_(handle) {}
  [[nodiscard]] static StatusOr<std::shared_ptr<const Loaded>> checked(
      std::shared_ptr<Loaded> loaded, const std::vector<Shape>& results);
  // Calls use(program) with the plugin's description of the program.
  template <class Use>
  [[nodiscard]] Status describe(const Use& use) const;
  [[nodiscard]] Status check_results(abi::Executable* program,
                                     const std::vector<Shape>& results) const;
  void read_sizes(abi::Executable* program);
  [[nodiscard]] Status check_types(abi::Executable* program,
                                   const std::vector<Shape>& results) const;

  std::shared_ptr<const Client> client_;
  abi::LoadedExecutable* handle_;
  bool was_compiled_ = true;
  std::optional<int64_t> scratch_bytes_;
  std::optional<int64_t> code_bytes_;
  std::optional<int64_t> peak_bytes_;
};

// A run with these options may take the memory of this argument.
[[nodiscard]] bool is_donated_by(const runtime::ExecuteOptions& how, size_t argument);

// A run that is given arguments' memory needs a program that says so: it is compiled at the first
// such run, once for each choice of arguments, and counted as one of `compiles`; or read from the
// disk cache.
class DonatingPrograms {
 public:
  // Compiles for a donation, given the numbers of the arguments, in ascending order.
  using Compile = std::function<StatusOr<std::shared_ptr<const Loaded>>(const std::vector<int>&)>;

  DonatingPrograms(std::shared_ptr<const Loaded> plain, Compile compile)
      : plain_(std::move(plain)), compile_(std::move(compile)) {}

  // The program without donations.
  [[nodiscard]] const std::shared_ptr<const Loaded>& plain() const { return plain_; }
  [[nodiscard]] StatusOr<std::shared_ptr<const Loaded>> program_for(std::vector<int> donated);

 private:
  const std::shared_ptr<const Loaded> plain_;
  const Compile compile_;
  std::mutex mutex_;
  std::map<std::vector<int>, std::shared_ptr<const Loaded>> donating_;
};

// Runs are asynchronous as far as the plugin's are. A run waits where the device has enough in
// flight.
class PjrtExecutable final : public runtime::Executable {
 public:
  struct How {
    bool donates = true;  // the plugin is given arguments' memory
    // Of a program that was compiled for no device: where it runs.
    abi::Device* execute_device = nullptr;
  };
  using Compile = DonatingPrograms::Compile;

  PjrtExecutable(const hlo::Module& module, runtime::Device& device,
                 std::shared_ptr<const Client> client, std::shared_ptr<const Loaded> loaded,
                 Compile compile, const base::Hash128& program_hash, How how);

  [[nodiscard]] runtime::ProgramCost cost() const override;

  // The program without donations.
  [[nodiscard]] const Loaded& loaded() const { return *programs_.plain(); }
  // Of the module and the options that it was compiled from.
  [[nodiscard]] const base::Hash128& program_hash() const { return program_hash_; }
  // It was compiled for no device.
  [[nodiscard]] bool is_portable() const { return how_.execute_device != nullptr; }

 protected:
  [[nodiscard]] StatusOr<std::vector<runtime::BufferPtr>> run(
      std::span<const runtime::BufferPtr> arguments,
      const runtime::ExecuteOptions& options) override;
  [[nodiscard]] Status run_into(std::span<const runtime::BufferPtr> arguments,
                                std::span<runtime::BufferPtr> results,
                                const runtime::ExecuteOptions& options) override;

 private:
  // `started`: the plugin was asked for the run, whatever it answered.
  [[nodiscard]] Status launch(const Loaded& loaded, std::span<const runtime::BufferPtr> arguments,
                              std::span<runtime::BufferPtr> results,
                              const runtime::ExecuteOptions& options, bool& started) const;
  [[nodiscard]] Status take_results(std::span<abi::Buffer* const> handles,
                                    std::span<runtime::BufferPtr> results) const;

  const std::shared_ptr<const Client> client_;
  DonatingPrograms programs_;
  const base::Hash128 program_hash_;
  const How how_;
  const bool shows_lines_;  // while it runs
  int64_t bytes_in_flight_ = 0;  // what a run holds: results and scratch
};

}  // namespace heddle::pjrt
