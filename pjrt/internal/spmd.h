// Programs that several devices of a plugin run together.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/runtime/spmd.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// A launch takes its place in the queues of all its devices while no other one does: two that took
// them in different orders would wait for each other in their first collectives.
class PjrtSpmdExecutable final : public runtime::SpmdExecutable {
 public:
  struct Parts {
    std::shared_ptr<const Client> client;
    std::shared_ptr<const Loaded> loaded;
    std::vector<std::shared_ptr<runtime::Throttle>> throttles;  // by device of the grid
    std::shared_ptr<std::mutex> launching;                      // one for the client
  };

  PjrtSpmdExecutable(const hlo::Module& module, runtime::DeviceGrid grid,
                     std::vector<Shape> parameter_shapes, std::vector<Shape> result_shapes,
                     Parts parts);

 protected:
  [[nodiscard]] StatusOr<runtime::DeviceBuffers> run(
      const runtime::DeviceBuffers& arguments) override;

 private:
  struct Launch;
  [[nodiscard]] Status pin(const runtime::DeviceBuffers& arguments, Launch& launch) const;
  [[nodiscard]] StatusOr<runtime::DeviceBuffers> results_of(const Launch& launch) const;

  const Parts parts_;
  std::vector<size_t> order_;    // of devices by number: in which throttles are asked
  int64_t bytes_in_flight_ = 0;  // of a run on each device: results and scratch
};

// Returns the module in the form of pjrt/internal/program.h's prepare(), with a sharding on every
// parameter and on the root where there are several partitions.
// errors   of prepare()
[[nodiscard]] StatusOr<hlo::Module> prepare_spmd(const hlo::Module& module, int plugin_minor,
                                                 int64_t partitions,
                                                 const runtime::EntryShardings& shardings);

// Takes all shardings out: on one device they name devices that are not there.
void drop_shardings(hlo::Module& module);

// Returns serialised compile options. `devices` are the plugin's numbers, replica by replica.
[[nodiscard]] std::string spmd_compile_options(const std::vector<int>& devices, int64_t replicas,
                                               int64_t partitions,
                                               const std::vector<runtime::BackendOption>& options);

}  // namespace heddle::pjrt
