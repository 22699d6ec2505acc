// Programs that several devices of a plugin run together.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/runtime/spmd.h"
#include "heddle/transform/lapack/expand.h"

namespace heddle::pjrt {

// A launch takes its place in the queues of all its devices while no other one does: two that took
// them in different orders would wait for each other in their first collectives.
class PjrtSpmdExecutable final : public runtime::SpmdExecutable {
 public:
  struct Parts {
    std::shared_ptr<const Client> client;
    std::shared_ptr<std::mutex> launching;  // one for the client
    bool donates = true;                    // the plugin is given arguments' memory
    // Of a program that was compiled for no device: where it runs.
    abi::Device* execute_device = nullptr;
  };

  PjrtSpmdExecutable(const hlo::Module& module, runtime::DeviceGrid grid,
                     std::vector<Shape> parameter_shapes, std::vector<Shape> result_shapes,
                     Parts parts, std::shared_ptr<const Loaded> loaded,
                     DonatingPrograms::Compile compile);

  [[nodiscard]] runtime::ProgramCost cost() const override;

 protected:
  [[nodiscard]] StatusOr<runtime::DeviceBuffers> run(const runtime::DeviceBuffers& arguments,
                                                     const runtime::ExecuteOptions& options,
                                                     bool& started) override;

 private:
  struct Launch;
  [[nodiscard]] Status pin(const runtime::DeviceBuffers& arguments,
                           const runtime::ExecuteOptions& how, Launch& launch) const;
  [[nodiscard]] StatusOr<runtime::DeviceBuffers> results_of(const Launch& launch) const;

  const Parts parts_;
  DonatingPrograms programs_;
  int64_t bytes_in_flight_ = 0;  // of a run on each device: results and scratch
};

// Returns the module in the form of pjrt/internal/program.h's prepare(), with a sharding on every
// parameter and on the root where there are several partitions. A donated parameter is the memory
// of a result that is cut as it is.
// errors   of prepare()
[[nodiscard]] StatusOr<hlo::Module> prepare_spmd(const hlo::Module& module, int plugin_minor,
                                                 int64_t partitions,
                                                 const runtime::EntryShardings& shardings,
                                                 const std::vector<int>& donated = {},
                                                 const transform::CallFilter& expanded = nullptr);

// The option of a program that chooses XLA's partitioner: "true" is Shardy, "false" GSPMD.
inline constexpr std::string_view kShardyOption = "use_shardy_partitioner";

// What the options, which check_options() has seen, say of it; nothing, where they do not.
[[nodiscard]] std::optional<bool> wants_shardy(const std::vector<runtime::BackendOption>& options);

// Puts a module of several partitions into the form of the partitioner that the options choose, and
// adds the choice to them. Where they say nothing, `prefers_shardy` does, for programs that Shardy
// has a form for.
// errors   of transform::to_shardy(), where the options ask for it
[[nodiscard]] Status choose_partitioner(hlo::Module& module,
                                        std::vector<runtime::BackendOption>& options,
                                        const runtime::DeviceGrid& grid, bool prefers_shardy);

// Takes all shardings out: on one device they name devices that are not there.
void drop_shardings(hlo::Module& module);

// Returns serialised compile options. `devices` are the plugin's numbers, replica by replica. No
// two options have one name; kShardyOption is a field of its own.
[[nodiscard]] std::string spmd_compile_options(const std::vector<int>& devices, int64_t replicas,
                                               int64_t partitions,
                                               const std::vector<runtime::BackendOption>& options);

}  // namespace heddle::pjrt
