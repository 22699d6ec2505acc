#include "heddle/tools/conformance/backend.h"

#include "heddle/runtime/transfer.h"

namespace heddle::conformance {
namespace {

using runtime::BufferPtr;

Status upload(runtime::Device& device, const Literal& value, std::vector<BufferPtr>& out) {
  if (value.is_tuple()) {
    for (const Literal& element : value.elements()) HEDDLE_RETURN_IF_ERROR(upload(device, element, out));
    return {};
  }
  HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), runtime::to_device(device, value, "argument"));
  return {};
}

// Takes the leaves of `shape` from the front of `left`.
StatusOr<Literal> download(const Shape& shape, std::span<const BufferPtr>& left) {
  if (!shape.is_tuple()) {
    if (left.empty()) return internal_error("a program gave fewer results than its type has leaves");
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

StatusOr<Literal> run_on_device(runtime::Device& device, const hlo::Module& module,
                                const std::vector<Literal>& arguments) {
  HEDDLE_ASSIGN_OR_RETURN(auto program, device.backend().compile(module, {}, device));
  std::vector<BufferPtr> inputs;
  for (const Literal& argument : arguments) HEDDLE_RETURN_IF_ERROR(upload(device, argument, inputs));
  HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> outputs, program->execute(inputs));
  std::span<const BufferPtr> left = outputs;
  return download(module.entry_computation().result_shape(), left);
}

RunModule on_device(runtime::Device& device) {
  return [&device](const hlo::Module& module, std::vector<Literal> arguments) {
    return run_on_device(device, module, arguments);
  };
}

}  // namespace heddle::conformance
