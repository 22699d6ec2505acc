// HostBackend: what backends that compute in host memory have in common. Their buffers are
// Literals; a run takes its arguments' values on the caller's thread, so that donation shows at
// once, and computes there or on the device's own thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/spmd.h"

namespace heddle::runtime {

class WorkQueue;  // runtime/work_queue.h

// A program made ready to run. Called from several threads at once.
class HostProgram {
 public:
  HostProgram() = default;
  virtual ~HostProgram() = default;
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;
  // From the leaves of the parameters to those of the result. A value that was moved in and is
  // unique may be written.
  // errors: Cancelled where `stop` asks for it
  [[nodiscard]] virtual StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves,
                                                           const StopToken& stop) const = 0;
  // The same of bytes to bytes, none of which lies in another's, where runs_in_place(). Argument i
  // is only read.
  [[nodiscard]] virtual bool runs_in_place() const { return false; }
  [[nodiscard]] virtual Status run_in_place(std::span<const void* const> arguments,
                                            std::span<void* const> results,
                                            const StopToken& stop) const;
  // It came from the disk cache.
  [[nodiscard]] virtual bool is_from_disk() const { return false; }
  // What a run holds beside arguments and results, where that is known before.
  [[nodiscard]] virtual std::optional<int64_t> scratch_bytes() const { return std::nullopt; }
  // As ProgramCost has them.
  [[nodiscard]] virtual std::optional<double> flops() const { return std::nullopt; }
  [[nodiscard]] virtual std::optional<double> bytes_accessed() const { return std::nullopt; }
};

// One program of several devices: from the arguments of each, whole arrays, to its results; by
// device, replica by replica.
using GridProgram =
    std::function<StatusOr<std::vector<Literal>>(std::vector<std::vector<Literal>> arguments)>;

struct HostOptions {
  bool asynchronous = false;  // each device has a thread; results are pending, and carry errors
  int devices = 1;
  bool flushes_subnormals = false;  // while programs run (base/system/subnormals.h)
};

class HostBackend : public Backend, public SpmdBackend {
 public:
  ~HostBackend() override;

 protected:
  HostBackend(std::string name, const std::string& device_kind, const HostOptions& options);
  // For a maker: runs of small elementwise ops need no program then (runtime/host/direct.h).
  // Ignored where runs are asynchronous, since an operand may be pending, and where they flush
  // subnormals. `kernels` is of static storage.
  void use_direct_kernels(const DirectKernels& kernels);

  // From the module as it was traced. errors: as Backend::compile()
  [[nodiscard]] virtual StatusOr<std::shared_ptr<const HostProgram>> prepare(
      const ModulePtr& module, const CompileOptions& options) = 0;
  // Unless overridden, there are no programs of several devices.
  // errors: as SpmdBackend::compile_for_grid()
  [[nodiscard]] virtual StatusOr<GridProgram> prepare_for_grid(const hlo::Module& module,
                                                               const DeviceGrid& grid);
  // Checks CompileOptions::backend_options. Unless overridden, there are none.
  // errors: InvalidArgument that names the option
  [[nodiscard]] virtual Status check_options(const hlo::Module& module,
                                             const CompileOptions& options) const;

  [[nodiscard]] StatusOr<std::shared_ptr<Executable>> compile_module(const ModulePtr& module,
                                                                     const CompileOptions& options,
                                                                     Device& device) final;
  [[nodiscard]] StatusOr<std::shared_ptr<SpmdExecutable>> compile_for_grid(
      const hlo::Module& module, const CompileOptions& options, const DeviceGrid& grid) final;

 private:
  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data, const Shape& shape) override;
  StatusOr<BufferPtr> borrow(Device& device, const void* data, const Shape& shape,
                             std::shared_ptr<const void> owner) override;
  Status copy_to_host(Buffer& buffer, void* data) override;
  StatusOr<std::function<Status()>> start_copy_to_host(Buffer& buffer, void* data) override;
  StatusOr<Literal> share_with_host(Buffer& buffer) override;

  bool flushes_subnormals_;
  // By device; none: runs are done when execute() returns.
  std::vector<std::unique_ptr<WorkQueue>> queues_;
};

// Calls visit(leaf) with each leaf of a value, in order.
template <class Visit>
void for_each_leaf(Literal value, const Visit& visit) {
  if (!value.is_tuple()) return visit(std::move(value));
  for (Literal& element : value.mutable_elements()) for_each_leaf(std::move(element), visit);
}

}  // namespace heddle::runtime
