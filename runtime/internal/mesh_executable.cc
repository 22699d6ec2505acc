#include "heddle/runtime/internal/mesh_executable.h"

#include <algorithm>

#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/builder.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/internal/mesh_transfer.h"

namespace heddle::runtime {
namespace {

using hlo::Sharding;

DeviceGrid grid_of(Device& mesh) {
  std::vector<Device*> devices = devices_of(mesh);
  return {.partitions = static_cast<int64_t>(devices.size()), .devices = std::move(devices)};
}

// x as it is, in another layout.
StatusOr<hlo::Module> moving_module(const Shape& shape, const Sharding& from, const Sharding& to) {
  hlo::Module module;
  module.name = "reshard";
  hlo::ComputationBuilder builder(module, "main");
  const hlo::InstructionId x = builder.parameter(shape, "x");
  builder.mutable_at(x).extras.mutate().sharding = base::Box<Sharding>(from);
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = "Sharding";
  HEDDLE_ASSIGN_OR_RETURN(const hlo::InstructionId moved,
                          builder.add(hlo::Opcode::kCustomCall, {x}, attrs, {}, &shape));
  builder.mutable_at(moved).extras.mutate().sharding = base::Box<Sharding>(to);
  module.entry = module.add(std::move(builder).finish(moved));
  return module;
}

bool same_layout(const hlo::Tiles& a, const hlo::Tiles& b) {
  return a.counts == b.counts && a.of_device == b.of_device;
}

// The argument in the layout that the program wants: itself, or moved from device to device.
StatusOr<BufferPtr> laid_out(const BufferPtr& argument, const Sharding& wanted, Device& mesh,
                             bool only_if_room) {
  const auto& buffer = static_cast<const ShardedBuffer&>(*argument);  // of the mesh
  HEDDLE_ASSIGN_OR_RETURN(
      const hlo::Tiles tiles,
      hlo::tiles_of(wanted, buffer.shape(), static_cast<int64_t>(buffer.parts().size())));
  if (same_layout(tiles, buffer.tiles())) return argument;
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module module,
                          moving_module(buffer.shape(), buffer.sharding(), wanted));
  HEDDLE_ASSIGN_OR_RETURN(const auto program, compile_cached(module, mesh));
  HEDDLE_ASSIGN_OR_RETURN(
      std::vector<BufferPtr> moved,
      program->execute({&argument, 1}, {.donate = {}, .only_if_room = only_if_room}));
  return moved[0];
}

}  // namespace

MeshExecutable::MeshExecutable(hlo::Module module, const CompileOptions& options, Device& mesh)
    : Executable(module, mesh),
      module_(std::move(module)),
      options_(options),
      grid_(grid_of(mesh)) {}

Status MeshExecutable::read_parameters() {
  const hlo::Computation& entry = module_.entry_computation();
  for (hlo::InstructionId id : entry.parameters) {
    const hlo::Instruction& parameter = entry.at(id);
    const auto& sharding = parameter.extras->sharding;
    const auto leaves =
        hlo::leaf_shardings(sharding.has_value() ? &*sharding : nullptr, parameter.shape);
    HEDDLE_RETURN_IF_ERROR(base::annotate(leaves.status(), "parameter ", parameter.name, ": "));
    for (const Sharding* leaf : *leaves)
      annotations_.push_back(leaf == nullptr ? std::nullopt : std::optional(*leaf));
  }
  return {};
}

StatusOr<std::shared_ptr<Executable>> MeshExecutable::compile(hlo::Module module,
                                                              const CompileOptions& options,
                                                              Device& mesh) {
  std::shared_ptr<MeshExecutable> out(new MeshExecutable(std::move(module), options, mesh));
  HEDDLE_RETURN_IF_ERROR(base::annotate(out->read_parameters(), "compile ", out->name(), ": "));
  const auto is_known = [](const std::optional<Sharding>& sharding) {
    return sharding.has_value();
  };
  if (!std::ranges::all_of(out->annotations_, is_known)) return out;  // its arguments will tell
  Shardings parameters;
  for (const auto& sharding : out->annotations_) parameters.push_back(*sharding);
  HEDDLE_ASSIGN_OR_RETURN(Variant first, out->compile_variant(std::move(parameters)));
  out->variants_.push_back(std::make_unique<const Variant>(std::move(first)));
  return out;
}

StatusOr<MeshExecutable::Variant> MeshExecutable::compile_variant(Shardings parameters) const {
  hlo::Module module = module_;
  hlo::Computation& entry = module.computations[module.entry.value];
  size_t next = 0;
  for (hlo::InstructionId id : entry.parameters) {
    hlo::Instruction& parameter = entry.instructions[id.value];
    std::vector<Shape> leaves;
    append_leaves(parameter.shape, leaves);
    Shardings shardings(parameters.begin() + static_cast<std::ptrdiff_t>(next),
                        parameters.begin() + static_cast<std::ptrdiff_t>(next + leaves.size()));
    next += leaves.size();
    parameter.extras.mutate().sharding = base::Box<Sharding>(
        parameter.shape.is_tuple() ? hlo::tuple_of(std::move(shardings)) : shardings[0]);
  }
  HEDDLE_ASSIGN_OR_RETURN(EntryShardings all, entry_shardings(module));
  HEDDLE_ASSIGN_OR_RETURN(auto program, compile_spmd_uncounted(module, options_, grid_));
  return Variant{std::move(parameters), std::move(all.results), std::move(program)};
}

StatusOr<const MeshExecutable::Variant*> MeshExecutable::variant_for(
    std::span<const BufferPtr> arguments) {
  Shardings wanted;
  for (size_t i = 0; i < arguments.size(); ++i)
    wanted.push_back(annotations_[i].has_value() ? *annotations_[i] : *sharding_of(*arguments[i]));
  const std::scoped_lock lock(mutex_);
  for (const auto& variant : variants_) {
    if (variant->parameters == wanted) return variant.get();
  }
  HEDDLE_ASSIGN_OR_RETURN(Variant made, compile_variant(std::move(wanted)));
  if (!variants_.empty()) count(&Counters::compiles);  // the first was counted before
  variants_.push_back(std::make_unique<const Variant>(std::move(made)));
  return variants_.back().get();
}

ProgramCost MeshExecutable::cost() const {
  const std::scoped_lock lock(mutex_);
  return variants_.empty() ? Executable::cost() : variants_[0]->program->cost();
}

StatusOr<std::vector<BufferPtr>> MeshExecutable::run(std::span<const BufferPtr> arguments,
                                                     const ExecuteOptions& options) {
  HEDDLE_ASSIGN_OR_RETURN(const Variant* variant, variant_for(arguments));
  DeviceBuffers inputs(grid_.devices.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(const BufferPtr argument, laid_out(arguments[i], variant->parameters[i],
                                                               device(), options.only_if_room));
    const auto& parts = static_cast<const ShardedBuffer&>(*argument).parts();
    for (size_t device = 0; device < inputs.size(); ++device)
      inputs[device].push_back(parts[device]);
  }
  bool started = false;
  StatusOr<DeviceBuffers> outputs = variant->program->launch(inputs, options, started);
  if (started) {
    for (int number : options.donate) arguments[static_cast<size_t>(number)]->release();
  }
  if (!outputs.ok()) return outputs.status();
  return wrapped(*variant, *std::move(outputs));
}

StatusOr<std::vector<BufferPtr>> MeshExecutable::wrapped(const Variant& variant,
                                                         DeviceBuffers outputs) const {
  std::vector<BufferPtr> results;
  for (size_t i = 0; i < result_shapes().size(); ++i) {
    std::vector<BufferPtr> parts;
    for (std::vector<BufferPtr>& of_device : outputs) parts.push_back(std::move(of_device[i]));
    HEDDLE_ASSIGN_OR_RETURN(
        hlo::Tiles tiles, hlo::tiles_of(variant.results[i], result_shapes()[i], grid_.partitions));
    results.push_back(std::make_shared<ShardedBuffer>(
        device(), result_shapes()[i], variant.results[i], std::move(tiles), std::move(parts)));
  }
  return results;
}

}  // namespace heddle::runtime
