#include "heddle/runtime/spmd.h"

#include <algorithm>
#include <numeric>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/memory.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/runtime/internal/launch_room.h"
#include "heddle/runtime/internal/mesh_executable.h"

namespace heddle::runtime {
namespace {

using hlo::Sharding;

Status check_grid(const hlo::Module& module, const DeviceGrid& grid) {
  const auto count = static_cast<int64_t>(grid.devices.size());
  if (grid.replicas < 1 || grid.partitions < 1 || count % grid.replicas != 0 ||
      count / grid.replicas != grid.partitions) {
    return base::invalid_argument("compile ", module.name, ": ", grid.devices.size(),
                                  " devices for ", grid.replicas, " replicas of ", grid.partitions,
                                  " partitions; must be as many as their product");
  }
  for (size_t i = 0; i < grid.devices.size(); ++i) {
    Device* device = grid.devices[i];
    if (device == nullptr)
      return base::invalid_argument("compile ", module.name, ": device ", i,
                                    " is none; must be one");
    if (device->is_gone()) return gone_error(base::cat("compile ", module.name), *device);
    if (&device->backend() != &grid.devices[0]->backend()) {
      return base::invalid_argument("compile ", module.name, ": device ", i, " is ", device->name(),
                                    "; must be of backend ", grid.devices[0]->backend().name(),
                                    ", as device 0");
    }
    if (std::ranges::count(grid.devices, device) > 1) {
      return base::invalid_argument("compile ", module.name, ": ", device->name(),
                                    " is in the grid twice; must be there once");
    }
  }
  return {};
}

const Sharding* sharding_of(const hlo::Instruction& instruction) {
  const auto& extras = *instruction.extras;
  return extras.sharding.has_value() ? &*extras.sharding : nullptr;
}

Status append_shardings(const hlo::Instruction& instruction, std::vector<Sharding>& out) {
  auto leaves = hlo::leaf_shardings(sharding_of(instruction), instruction.shape);
  HEDDLE_RETURN_IF_ERROR(
      base::annotate(leaves.status(), to_string(instruction.opcode), " ", instruction.name, ": "));
  for (const Sharding* leaf : *leaves) out.push_back(leaf == nullptr ? Sharding() : *leaf);
  return {};
}

// A root tuple without a sharding has those of its elements.
Status append_root_shardings(const hlo::Computation& entry, const hlo::Instruction& root,
                             std::vector<Sharding>& out) {
  if (root.opcode != hlo::Opcode::kTuple || root.extras->sharding.has_value())
    return append_shardings(root, out);
  for (hlo::InstructionId element : root.operands)
    HEDDLE_RETURN_IF_ERROR(append_root_shardings(entry, entry.at(element), out));
  return {};
}

}  // namespace

StatusOr<EntryShardings> entry_shardings(const hlo::Module& module) {
  const hlo::Computation& entry = module.entry_computation();
  EntryShardings out;
  for (hlo::InstructionId parameter : entry.parameters)
    HEDDLE_RETURN_IF_ERROR(append_shardings(entry.at(parameter), out.parameters));
  HEDDLE_RETURN_IF_ERROR(append_root_shardings(entry, entry.root_instruction(), out.results));
  return out;
}

StatusOr<TileShapes> tile_shapes(const hlo::Module& module, const EntryShardings& shardings,
                                 int64_t partitions) {
  const hlo::Computation& entry = module.entry_computation();
  std::vector<Shape> parameters, results;
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    append_leaves(entry.parameter_shape(i), parameters);
  append_leaves(entry.result_shape(), results);
  TileShapes out;
  const auto append = [&](const std::vector<Shape>& shapes, const std::vector<Sharding>& said,
                          std::string_view what, std::vector<Shape>& to) -> Status {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto tiles = hlo::tiles_of(said[i], shapes[i], partitions);
      HEDDLE_RETURN_IF_ERROR(
          base::annotate(tiles.status(), "compile ", module.name, ": ", what, " ", i, ": "));
      to.push_back(tiles->shape);
    }
    return {};
  };
  HEDDLE_RETURN_IF_ERROR(append(parameters, shardings.parameters, "parameter", out.parameters));
  HEDDLE_RETURN_IF_ERROR(append(results, shardings.results, "result", out.results));
  return out;
}

SpmdExecutable::SpmdExecutable(const hlo::Module& module, DeviceGrid grid,
                               std::vector<Shape> parameter_shapes,
                               std::vector<Shape> result_shapes)
    : name_(module.name),
      grid_(std::move(grid)),
      parameter_shapes_(std::move(parameter_shapes)),
      result_shapes_(std::move(result_shapes)) {
  for (Device* device : grid_.devices) devices_.push_back(device->shared_from_this());
}

ProgramCost SpmdExecutable::cost() const {
  return {{.argument_bytes = total_bytes(parameter_shapes_),
           .result_bytes = total_bytes(result_shapes_)}};
}

StatusOr<DeviceBuffers> SpmdExecutable::execute(const DeviceBuffers& arguments, bool only_if_room) {
  HEDDLE_RETURN_IF_ERROR(check(arguments));
  count(&Counters::executions);
  const base::Span span(base::Activity::kExecute, name_);
  bool started = false;
  return run(arguments, {.donate = {}, .only_if_room = only_if_room}, started);
}

StatusOr<std::vector<Throttle::Ticket>> SpmdExecutable::admit(int64_t bytes,
                                                              bool only_if_room) const {
  std::vector<size_t> order(grid_.devices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return grid_.devices[i]->id(); });
  std::vector<Throttle::Ticket> tickets(order.size());
  for (size_t i : order) {
    HEDDLE_ASSIGN_OR_RETURN(tickets[i], admit_run(name_, *grid_.devices[i], bytes, only_if_room));
  }
  return tickets;
}

StatusOr<DeviceBuffers> SpmdExecutable::launch(const DeviceBuffers& arguments,
                                               const ExecuteOptions& options, bool& started) {
  HEDDLE_RETURN_IF_ERROR(check(arguments));
  return run(arguments, options, started);
}

Status SpmdExecutable::check(const DeviceBuffers& arguments) const {
  if (devices_[0]->is_gone()) return gone_error(base::cat("run ", name_), *devices_[0]);
  if (arguments.size() != grid_.devices.size()) {
    return base::invalid_argument("run ", name_, ": got arguments for ", arguments.size(),
                                  " devices; it runs on ", grid_.devices.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) HEDDLE_RETURN_IF_ERROR(check(i, arguments[i]));
  return {};
}

Status SpmdExecutable::check(size_t device, const std::vector<BufferPtr>& arguments) const {
  const std::string& place = grid_.devices[device]->name();
  if (arguments.size() != parameter_shapes_.size()) {
    return base::invalid_argument("run ", name_, ": got ", arguments.size(), " arguments for ",
                                  place, "; it takes ", parameter_shapes_.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Buffer* argument = arguments[i].get();
    const bool fits = argument != nullptr && same_type(argument->shape(), parameter_shapes_[i]) &&
                      &argument->device() == grid_.devices[device];
    if (!fits) {
      return base::invalid_argument(
          "run ", name_, ": argument ", i, " for ", place, " is ",
          argument == nullptr
              ? "no buffer"
              : base::cat(to_string(argument->shape()), " on ", argument->device().name()),
          "; it must be ", parameter_shapes_[i], " on ", place);
    }
    if (argument->is_deleted())
      return deleted_error(base::cat("run ", name_, ": argument ", i, " for ", place),
                           parameter_shapes_[i]);
  }
  return {};
}

StatusOr<std::shared_ptr<SpmdExecutable>> compile_spmd_uncounted(const hlo::Module& module,
                                                                 const CompileOptions& options,
                                                                 const DeviceGrid& grid) {
  HEDDLE_RETURN_IF_ERROR(check_grid(module, grid));
  Backend& backend = grid.devices[0]->backend();
  auto* several = dynamic_cast<SpmdBackend*>(&backend);
  if (several == nullptr) {
    return base::unimplemented(
        "compile ", module.name, ": backend ", backend.name(),
        " has programs of one device only; use a PJRT plugin or the interpreter");
  }
  if (hlo::has_debug_calls(module)) {
    return base::unimplemented("compile ", module.name,
                               ": debug_print, debug_check, check_nans and progress are for one "
                               "device, since each of several would show a part; leave them out");
  }
  return base::within_memory([&] { return several->compile_for_grid(module, options, grid); },
                             "compile ", module.name, ":");
}

StatusOr<std::shared_ptr<SpmdExecutable>> compile_spmd(const hlo::Module& module,
                                                       const CompileOptions& options,
                                                       const DeviceGrid& grid) {
  auto executable = compile_spmd_uncounted(module, options, grid);
  if (executable.ok()) count(&Counters::compiles);
  return executable;
}

}  // namespace heddle::runtime
