// MeshExecutable: a program of a mesh device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/runtime/mesh.h"
#include "heddle/runtime/spmd.h"

namespace heddle::runtime {

// Where the module leaves the layout of parameters open, it is compiled at the first run, and once
// for each layout that arguments have.
class MeshExecutable final : public Executable {
 public:
  // errors   those of compile_spmd(). Not counted: Backend::compile() does
  [[nodiscard]] static StatusOr<std::shared_ptr<Executable>> compile(hlo::Module module,
                                                                     const CompileOptions& options,
                                                                     Device& mesh);

  [[nodiscard]] ProgramCost cost() const override;

 protected:
  [[nodiscard]] StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> arguments,
                                                     const ExecuteOptions& options) override;

 private:
  using Shardings = std::vector<hlo::Sharding>;
  struct Variant {
    Shardings parameters;
    Shardings results;
    std::shared_ptr<SpmdExecutable> program;
  };

  MeshExecutable(hlo::Module module, const CompileOptions& options, Device& mesh);
  [[nodiscard]] Status read_parameters();
  [[nodiscard]] StatusOr<Variant> compile_variant(Shardings parameters) const;
  [[nodiscard]] StatusOr<const Variant*> variant_for(std::span<const BufferPtr> arguments);
  [[nodiscard]] StatusOr<std::vector<BufferPtr>> wrapped(const Variant& variant,
                                                         DeviceBuffers outputs) const;

  const hlo::Module module_;
  const CompileOptions options_;
  const DeviceGrid grid_;
  std::vector<std::optional<hlo::Sharding>> annotations_;  // of the module, by flat parameter
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const Variant>> variants_;
};

// compile_spmd() that counts nothing.
[[nodiscard]] StatusOr<std::shared_ptr<SpmdExecutable>> compile_spmd_uncounted(
    const hlo::Module& module, const CompileOptions& options, const DeviceGrid& grid);

}  // namespace heddle::runtime
