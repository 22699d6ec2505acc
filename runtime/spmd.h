// Programs of several devices: one module, run by all of them at once, each on its own arguments.
// What the devices hold of one array stands in runtime/mesh.h; here each device has its buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/sharding/sharding.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// The devices of a program, replica by replica: partition p of replica r is number
// r * partitions + p.
struct DeviceGrid {
  int64_t replicas = 1;
  int64_t partitions = 1;
  std::vector<Device*> devices;  // distinct, of one backend

  friend bool operator==(const DeviceGrid&, const DeviceGrid&) = default;
};

// What one device passes or gets: by device, then by flat parameter or result.
using DeviceBuffers = std::vector<std::vector<BufferPtr>>;

// A program compiled for a grid. May be executed from several threads at once: launches of one
// backend follow one another, so that devices never wait for each other crosswise.
class SpmdExecutable {
 public:
  virtual ~SpmdExecutable() = default;
  SpmdExecutable(const SpmdExecutable&) = delete;
  SpmdExecutable& operator=(const SpmdExecutable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const DeviceGrid& grid() const { return grid_; }
  // Of one device: a parameter that is sharded is a tile of the module's.
  [[nodiscard]] const std::vector<Shape>& parameter_shapes() const { return parameter_shapes_; }
  [[nodiscard]] const std::vector<Shape>& result_shapes() const { return result_shapes_; }
  // What one of the devices needs.
  [[nodiscard]] virtual ProgramCost cost() const;

  // Starts a run on all devices and returns their results, which may be pending. Counted as one of
  // `executions`, whether or not it succeeds, unless its arguments are wrong.
  //
  // errors   InvalidArgument that names the device and the argument whose count, type or place is
  // wrong; FailedPrecondition for a deleted argument, or where the backend is gone; Unavailable
  // where a device has no
  //          room and the caller does not want to wait; the backend's
  [[nodiscard]] StatusOr<DeviceBuffers> execute(const DeviceBuffers& arguments,
                                                bool only_if_room = false);
  // The same, not counted: for who has. `started`: the run was, whatever became of it; else nothing
  // has touched its arguments.
  [[nodiscard]] StatusOr<DeviceBuffers> launch(const DeviceBuffers& arguments,
                                               const ExecuteOptions& options, bool& started);

 protected:
  // Shapes are those of one device.
  SpmdExecutable(const hlo::Module& module, DeviceGrid grid, std::vector<Shape> parameter_shapes,
                 std::vector<Shape> result_shapes);

  [[nodiscard]] virtual StatusOr<DeviceBuffers> run(const DeviceBuffers& arguments,
                                                    const ExecuteOptions& options,
                                                    bool& started) = 0;
  // For run(): room for a launch of so many bytes on every device, in the order of the grid. They
  // are asked in the order of their numbers, so that two programs never wait for each other's.
  // errors   Unavailable where there is none on a device and the caller does not want to wait
  [[nodiscard]] StatusOr<std::vector<Throttle::Ticket>> admit(int64_t bytes,
                                                              bool only_if_room) const;

 private:
  [[nodiscard]] Status check(const DeviceBuffers& arguments) const;
  [[nodiscard]] Status check(size_t device, const std::vector<BufferPtr>& arguments) const;

  std::string name_;
  DeviceGrid grid_;
  std::vector<std::shared_ptr<Device>> devices_;  // of the grid: they stay as long as this
  std::vector<Shape> parameter_shapes_;
  std::vector<Shape> result_shapes_;
};

// What a backend implements, beside Backend, whose devices can run one program together.
class SpmdBackend {
 public:
  virtual ~SpmdBackend() = default;

 protected:
  friend StatusOr<std::shared_ptr<SpmdExecutable>> compile_spmd_uncounted(const hlo::Module&,
                                                                          const CompileOptions&,
                                                                          const DeviceGrid&);
  [[nodiscard]] virtual StatusOr<std::shared_ptr<SpmdExecutable>> compile_for_grid(
      const hlo::Module& module, const CompileOptions& options, const DeviceGrid& grid) = 0;
};

// Compiles a module for all devices of the grid. With several partitions, shardings of parameters
// and of the root (of what stands in it, where the root has none) say which tile a device holds; a
// parameter or result without one is whole on every device. Counted in `compiles`.
//
// errors   InvalidArgument for an illegal module, a grid that is not one of distinct devices of one
//          backend, a sharding that does not fit; Unimplemented where the backend has programs of
//          one device only
[[nodiscard]] StatusOr<std::shared_ptr<SpmdExecutable>> compile_spmd(const hlo::Module& module,
                                                                     const CompileOptions& options,
                                                                     const DeviceGrid& grid);

// The shardings of a module's flat parameters and results, {replicated} where it says none.
struct EntryShardings {
  std::vector<hlo::Sharding> parameters;
  std::vector<hlo::Sharding> results;
};
// errors   InvalidArgument where a tuple has shardings for another number of arrays
[[nodiscard]] StatusOr<EntryShardings> entry_shardings(const hlo::Module& module);

// The types that one device has of the flat parameters and results.
struct TileShapes {
  std::vector<Shape> parameters;
  std::vector<Shape> results;
};
// errors   as hlo::tiles_of(), naming the parameter or result
[[nodiscard]] StatusOr<TileShapes> tile_shapes(const hlo::Module& module,
                                               const EntryShardings& shardings, int64_t partitions);

}  // namespace heddle::runtime
