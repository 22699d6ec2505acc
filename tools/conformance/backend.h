// Runs whole modules on a device, synchronously: upload, execute, download.
#pragma once

#include <memory>
#include <vector>

#include "heddle/runtime/backend.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {

// A module that is ready to run on a device. The device must outlive it.
class Compiled {
 public:
  // errors   those of the backend
  static StatusOr<Compiled> make(runtime::Device& device, const hlo::Module& module);

  // Arguments by parameter number, tuples as they are; the result as one literal of the root's
  // type.
  // errors   those of the backend
  [[nodiscard]] StatusOr<Literal> run(const std::vector<Literal>& arguments) const;

 private:
  Compiled(std::shared_ptr<runtime::Executable> program, Shape result)
      : program_(std::move(program)), result_(std::move(result)) {}
  std::shared_ptr<runtime::Executable> program_;
  Shape result_;
};

// make() and run() at once.
[[nodiscard]] StatusOr<Literal> run_on_device(runtime::Device& device, const hlo::Module& module,
                                              const std::vector<Literal>& arguments);

// run_on_device() with the device bound. The device must outlive it.
[[nodiscard]] RunModule on_device(runtime::Device& device);

// The same on the first devices of a backend, as many as there are lists of arguments: each is a
// replica of one program.
// errors   Unimplemented where there are fewer devices
[[nodiscard]] StatusOr<std::vector<Literal>> run_on_replicas(
    runtime::Backend& backend, const hlo::Module& module,
    const std::vector<std::vector<Literal>>& arguments);

// run_on_replicas() with the backend bound. The backend must outlive it. The interpreter and
// cpu may have any number of devices, and are made with enough of them.
[[nodiscard]] RunReplicas on_replicas(runtime::Backend& backend);

}  // namespace heddle::conformance
