#include "heddle/tools/conformance/backend.h"

#include "heddle/cpu/backend.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/spmd.h"
#include "heddle/runtime/transfer.h"

namespace heddle::conformance {
namespace {

using runtime::BufferPtr;

Status upload(runtime::Device& device, const Literal& value, std::vector<BufferPtr>& out) {
  if (value.is_tuple()) {
    for (const Literal& element : value.elements())
      HEDDLE_RETURN_IF_ERROR(upload(device, element, out));
    return {};
  }
  HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), runtime::to_device(device, value, "argument"));
  return {};
}

// Takes the leaves of `shape` from the front of `left`.
StatusOr<Literal> download(const Shape& shape, std::span<const BufferPtr>& left) {
  if (!shape.is_tuple()) {
    if (left.empty())
      return base::internal_error("a program gave fewer results than its type has leaves");
    const BufferPtr next = left.front();
    left = left.subspan(1);
    return runtime::to_host(*next, "result");
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(), download(element, left));
  }
  return Literal::tuple(std::move(elements));
}

}  // namespace

StatusOr<Compiled> Compiled::make(runtime::Device& device, const hlo::Module& module) {
  HEDDLE_ASSIGN_OR_RETURN(auto program, device.backend().compile(module, {}, device));
  return Compiled(std::move(program), module.entry_computation().result_shape());
}

StatusOr<Literal> Compiled::run(const std::vector<Literal>& arguments) const {
  std::vector<BufferPtr> inputs;
  for (const Literal& argument : arguments)
    HEDDLE_RETURN_IF_ERROR(upload(program_->device(), argument, inputs));
  HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> outputs, program_->execute(inputs));
  std::span<const BufferPtr> left = outputs;
  return download(result_, left);
}

StatusOr<Literal> run_on_device(runtime::Device& device, const hlo::Module& module,
                                const std::vector<Literal>& arguments) {
  HEDDLE_ASSIGN_OR_RETURN(const Compiled program, Compiled::make(device, module));
  return program.run(arguments);
}

RunModule on_device(runtime::Device& device) {
  return [&device](const hlo::Module& module, std::vector<Literal> arguments) {
    return run_on_device(device, module, arguments);
  };
}

StatusOr<std::vector<Literal>> run_on_replicas(runtime::Backend& backend, const hlo::Module& module,
                                               const std::vector<std::vector<Literal>>& arguments) {
  runtime::DeviceGrid grid{.replicas = static_cast<int64_t>(arguments.size())};
  if (backend.devices().size() < arguments.size()) {
    return base::unimplemented("needs ", arguments.size(), " devices; ", backend.name(), " has ",
                               backend.devices().size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) grid.devices.push_back(backend.devices()[i].get());
  HEDDLE_ASSIGN_OR_RETURN(auto program, runtime::compile_spmd(module, {}, grid));
  runtime::DeviceBuffers inputs(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const Literal& argument : arguments[i])
      HEDDLE_RETURN_IF_ERROR(upload(*grid.devices[i], argument, inputs[i]));
  }
  HEDDLE_ASSIGN_OR_RETURN(runtime::DeviceBuffers outputs, program->execute(inputs));
  std::vector<Literal> results;
  for (const std::vector<BufferPtr>& output : outputs) {
    std::span<const BufferPtr> left = output;
    HEDDLE_ASSIGN_OR_RETURN(results.emplace_back(),
                            download(module.entry_computation().result_shape(), left));
  }
  return results;
}

RunReplicas on_replicas(runtime::Backend& backend) {
  return [&backend](const hlo::Module& module, const std::vector<std::vector<Literal>>& arguments) {
    const auto count = static_cast<int>(arguments.size());
    std::unique_ptr<runtime::Backend> enough;
    if (backend.name() == "interpreter") enough = interpreter::make_backend({.devices = count});
    if (backend.name() == "cpu") enough = cpu::make_cpu({.devices = count});
    return run_on_replicas(enough == nullptr ? backend : *enough, module, arguments);
  };
}

}  // namespace heddle::conformance
