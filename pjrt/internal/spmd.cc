#include "heddle/pjrt/internal/spmd.h"

#include <algorithm>

#include "heddle/base/arithmetic.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/transform/sharding/shardy.h"

namespace heddle::pjrt {

using runtime::BufferPtr;
using runtime::DeviceBuffers;

StatusOr<hlo::Module> prepare_spmd(const hlo::Module& module, int plugin_minor, int64_t partitions,
                                   const runtime::EntryShardings& shardings,
                                   const std::vector<int>& donated,
                                   const transform::CallFilter& expanded) {
  hlo::Module single = module;  // the counts of the grid hold, not those of the header
  if (single.extras->replica_count != 1 || single.extras->num_partitions != 1) {
    single.extras.mutate().replica_count = 1;
    single.extras.mutate().num_partitions = 1;
  }
  const MayAlias alike = [&](int parameter, size_t result) {
    return partitions == 1 ||
           shardings.parameters[static_cast<size_t>(parameter)] == shardings.results[result];
  };
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out,
                          prepare(std::move(single), plugin_minor, donated, expanded, alike));
  if (partitions == 1) return out;
  hlo::Computation& entry = out.computations[out.entry.value];
  const auto set = [&](hlo::InstructionId id, hlo::Sharding sharding) {
    entry.instructions[id.value].extras.mutate().sharding =
        base::Box<hlo::Sharding>(std::move(sharding));
  };
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    set(entry.parameters[i], shardings.parameters[i]);
  set(entry.root,
      entry.result_shape().is_tuple() ? hlo::tuple_of(shardings.results) : shardings.results[0]);
  return out;
}

Status choose_partitioner(hlo::Module& module, std::vector<runtime::BackendOption>& options,
                          const runtime::DeviceGrid& grid, bool prefers_shardy) {
  const std::optional<bool> wanted = wants_shardy(options);
  if (grid.partitions == 1 || !wanted.value_or(prefers_shardy && grid.replicas == 1)) return {};
  hlo::Module counted = module;
  counted.extras.mutate().num_partitions = grid.partitions;
  StatusOr<hlo::Module> written = transform::to_shardy(counted);
  if (!wanted.has_value() && written.status().code() == StatusCode::kUnimplemented) return {};
  if (!written.ok())
    return base::annotate(written.status(), "compile ", module.name, ": to-shardy: ");
  module = *std::move(written);
  if (!wanted.has_value()) options.push_back({std::string(kShardyOption), "true"});
  return {};
}

void drop_shardings(hlo::Module& module) {
  for (hlo::Computation& computation : module.computations) {
    for (hlo::Instruction& instruction : computation.instructions) {
      if (instruction.extras->sharding.has_value()) instruction.extras.mutate().sharding.reset();
    }
  }
}

PjrtSpmdExecutable::PjrtSpmdExecutable(const hlo::Module& module, runtime::DeviceGrid grid,
                                       std::vector<Shape> parameter_shapes,
                                       std::vector<Shape> result_shapes, Parts parts,
                                       std::shared_ptr<const Loaded> loaded,
                                       DonatingPrograms::Compile compile)
    : SpmdExecutable(module, std::move(grid), std::move(parameter_shapes),
                     std::move(result_shapes)),
      parts_(std::move(parts)),
      programs_(std::move(loaded), std::move(compile)) {
  bytes_in_flight_ = saturating_add(runtime::total_bytes(this->result_shapes()),
                                    programs_.plain()->scratch_bytes().value_or(0));
}

runtime::ProgramCost PjrtSpmdExecutable::cost() const {
  runtime::ProgramCost cost = SpmdExecutable::cost();
  programs_.plain()->append_cost(cost);
  return cost;
}

// What one run holds on to until it is started.
struct PjrtSpmdExecutable::Launch {
  LaunchPins pins;                                   // of all devices, one after another
  std::vector<std::vector<abi::Buffer*>> arguments;  // by device, from here on
  std::vector<std::vector<abi::Buffer*>> outputs;
};

Status PjrtSpmdExecutable::pin(const DeviceBuffers& arguments, const runtime::ExecuteOptions& how,
                               Launch& launch) const {
  for (const std::vector<BufferPtr>& of_device : arguments) {
    for (size_t i = 0; i < of_device.size(); ++i) {
      launch.pins.add(static_cast<PjrtBuffer&>(*of_device[i]),  // of the grid's device
                      parts_.donates && is_donated_by(how, i));
    }
  }
  const size_t count = parameter_shapes().size();
  if (const auto refusal = launch.pins.pin(!how.only_if_room); refusal.has_value())
    return LaunchPins::error_of(*refusal, name(), parameter_shapes());
  for (size_t device = 0; device < arguments.size(); ++device) {
    auto& handles = launch.arguments.emplace_back();
    for (size_t i = 0; i < count; ++i) handles.push_back(launch.pins[device * count + i]);
    launch.outputs.emplace_back(result_shapes().size());
  }
  return {};
}

StatusOr<DeviceBuffers> PjrtSpmdExecutable::run(const DeviceBuffers& arguments,
                                                const runtime::ExecuteOptions& how, bool& started) {
  std::shared_ptr<const Loaded> program = programs_.plain();
  const bool donates = parts_.donates && !how.donate.empty();
  if (donates) {
    HEDDLE_ASSIGN_OR_RETURN(program, programs_.program_for(how.donate));
  }
  Launch launch;
  HEDDLE_RETURN_IF_ERROR(pin(arguments, how, launch));
  std::vector<int64_t> kept;  // arguments whose memory the run may not take
  for (size_t i = 0; i < parameter_shapes().size(); ++i) {
    if (!donates || !is_donated_by(how, i)) kept.push_back(static_cast<int64_t>(i));
  }
  abi::ExecuteOptions options{.head = {sizeof(options)},
                              .non_donatable_input_indices = kept.data(),
                              .non_donatable_input_indices_count = kept.size(),
                              .use_major_to_minor_data_layout_for_callbacks = true};
  std::vector<abi::Buffer* const*> argument_lists;
  std::vector<abi::Buffer**> output_lists;
  for (size_t i = 0; i < arguments.size(); ++i) {
    argument_lists.push_back(launch.arguments[i].data());
    output_lists.push_back(launch.outputs[i].data());
  }
  std::vector<abi::Event*> complete(arguments.size());  // asked for where no result says it
  abi::LoadedExecutableExecuteArgs args{
      .executable = program->handle(),
      .options = &options,
      .argument_lists = argument_lists.data(),
      .devices_count = arguments.size(),
      .args_count = parameter_shapes().size(),
      .output_lists = output_lists.data(),
      .device_complete_events = result_shapes().empty() ? complete.data() : nullptr,
      .execute_device = parts_.execute_device};
  HEDDLE_ASSIGN_OR_RETURN(std::vector<runtime::Throttle::Ticket> tickets,
                          admit(bytes_in_flight_, how.only_if_room));
  started = true;
  {
    const std::scoped_lock lock(*parts_.launching);
    const Status status = parts_.client->api()->call(args);
    launch.pins.delete_donated();
    HEDDLE_RETURN_IF_ERROR(base::annotate(status, "run ", name(), ": "));
  }
  HEDDLE_ASSIGN_OR_RETURN(DeviceBuffers results, results_of(launch));
  for (size_t i = 0; i < tickets.size(); ++i) {
    if (!results[i].empty()) {
      results[i].front()->hold_until_ready(std::move(tickets[i]));
    } else if (complete[i] != nullptr) {
      keep_room(make_held(Event(parts_.client->api(), complete[i])), std::move(tickets[i]));
    }
  }
  return results;
}

StatusOr<DeviceBuffers> PjrtSpmdExecutable::results_of(const Launch& launch) const {
  DeviceBuffers results;
  Status status;
  for (size_t device = 0; device < launch.outputs.size(); ++device) {
    auto& of_device = results.emplace_back();
    for (size_t i = 0; i < result_shapes().size(); ++i) {
      abi::Buffer* handle = launch.outputs[device][i];
      if (handle == nullptr) {
        status = parts_.client->api()->error(StatusCode::kInternal, "LoadedExecutableExecute",
                                             "gave no result ", i, " for device ", device,
                                             "; the plugin is at fault");
        continue;
      }
      const Shape& shape = result_shapes()[i];
      of_device.push_back(PjrtBuffer::make(parts_.client, *grid().devices[device], shape,
                                           shape.byte_size(), handle));
    }
  }
  if (!status.ok()) return status;
  return results;
}

}  // namespace heddle::pjrt
