#include "heddle/trace/run/run_module.h"

#include <cmath>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "heddle/base/containers/span.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/derivatives.h"

namespace heddle::trace_internal {
namespace {

using runtime::BufferPtr;
using runtime::Device;
using runtime::Executable;

// errors: FailedPrecondition where a part is compiled for another device
Status check_device(const hlo::Module& traced, const Device& device) {
  for (const hlo::Computation& computation : traced.computations) {
    for (const hlo::Instruction& each : computation.instructions) {
      const std::string_view want = hlo::frontend_attribute(each, transform::kDeviceAttribute);
      if (want.empty() || want == device.name()) continue;
      return base::failed_precondition(
          "run: the function called at ", each.at, " is compiled with .device = \"", want,
          "\", and is a part of what runs on ", device.name(),
          "; compile the outermost function for that device, or leave out .device inside");
    }
  }
  return {};
}

}  // namespace

StatusOr<std::shared_ptr<Executable>> executable_for(const runtime::ModulePtr& traced,
                                                     Device& device,
                                                     const runtime::CompileOptions& options,
                                                     runtime::ProgramHandle* handle) {
  HEDDLE_RETURN_IF_ERROR(check_device(*traced, device));
  return runtime::compile_traced(traced, device, options, handle);
}

StatusOr<std::shared_ptr<Executable>> executable_for(hlo::Module traced, Device& device,
                                                     runtime::ProgramHandle* handle) {
  return executable_for(std::make_shared<const hlo::Module>(std::move(traced)), device, {}, handle);
}

std::vector<BufferPtr> buffers_of(std::span<const Tensor> tensors, std::string_view what) {
  std::vector<BufferPtr> buffers;
  buffers.reserve(tensors.size());
  for (const Tensor& tensor : tensors) buffers.push_back(buffer_of(tensor, what));
  return buffers;
}

namespace {

bool are_apart(std::span<const BufferPtr> buffers) {
  const Device* device = nullptr;
  for (const BufferPtr& buffer : buffers) {
    if (!buffer || &buffer->device() == device) continue;
    if (device != nullptr) return true;
    device = &buffer->device();
  }
  return false;
}

// The value of a scalar that was made of a C++ number; none where it is not known to the last bit.
std::optional<Literal> number_of(const Tensor& tensor) {
  const Node& node = *tensor.node();
  if (node.number) return *node.number;
  const std::shared_ptr<const Remark> remark = remark_of(node);
  if (!remark || !remark->number || !node.shape.is_scalar()) return std::nullopt;
  const auto& [value, dtype, at, of] = *remark->number;
  constexpr double kExact = 0x1p53;
  if (is_integer(dtype) && std::abs(value) >= kExact) return std::nullopt;
  if (is_integer(dtype)) return Literal::scalar(dtype, static_cast<int64_t>(value));
  return Literal::scalar(dtype, value);
}

}  // namespace

Device& append_buffers(std::span<const std::span<const Tensor>> lists,
                       std::vector<BufferPtr>& buffers, std::string_view what) {
  const size_t first = buffers.size();
  bool has_numbers = false;
  for (std::span<const Tensor> tensors : lists) {
    buffers.reserve(buffers.size() + tensors.size());
    for (const Tensor& tensor : tensors) {
      const bool is_number = tensor.node() && tensor.node()->number;
      has_numbers = has_numbers || is_number;
      buffers.push_back(is_number ? nullptr : buffer_of(tensor, what));
    }
  }
  const auto for_each = [&](const auto& visit) {
    size_t i = first;
    for (std::span<const Tensor> tensors : lists) {
      for (const Tensor& tensor : tensors) visit(tensor, buffers[i++]);
    }
  };
  if (are_apart(buffers)) {
    for_each([&](const Tensor& tensor, BufferPtr& buffer) {
      if (!buffer || !number_of(tensor)) return;
      buffer = nullptr;
      has_numbers = true;
    });
  }
  Device& device = device_of(buffers, what);
  if (!has_numbers) return device;
  for_each([&](const Tensor& tensor, BufferPtr& buffer) {
    if (!buffer) buffer = value_or_throw(runtime::number_to_device(device, *number_of(tensor)));
  });
  return device;
}

Device& append_buffers(std::span<const Tensor> tensors, std::vector<BufferPtr>& buffers,
                       std::string_view what) {
  return append_buffers(std::span(&tensors, 1), buffers, what);
}

Device& device_of(std::span<const BufferPtr> buffers, std::string_view what) {
  Device* device = nullptr;
  for (const BufferPtr& buffer : buffers) {
    if (!buffer) continue;  // a number, which goes to the device of the others
    if (device == nullptr) device = &buffer->device();
    if (&buffer->device() == device) continue;
    throw Error(base::invalid_argument(
        what, ": operands are on ", device->name(), " and on ", buffer->device().name(),
        "; all must be on one device; move one with device_put(x, device), or make them under one "
        "DefaultDevice"));
  }
  return device ? *device : *value_or_throw(runtime::find_default_device());
}

namespace {

std::vector<Tensor> results_of(Executable& executable, std::span<const BufferPtr> arguments,
                               const runtime::ExecuteOptions& options) {
  absl::InlinedVector<BufferPtr, 4> outputs(executable.result_shapes().size());
  throw_if_error(executable.execute_into(arguments, {outputs.data(), outputs.size()}, options));
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (BufferPtr& output : outputs) results.push_back(tensor_of(std::move(output)));
  return results;
}

}  // namespace

std::vector<Tensor> run_executable(Executable& executable, std::span<const BufferPtr> arguments,
                                   const runtime::ExecuteOptions& options) {
  if (!base::may_be_observed()) [[likely]]
    return results_of(executable, arguments, options);
  const base::Span span(base::Activity::kCall, executable.name(), PublicCall::line_or({}));
  return results_of(executable, arguments, options);
}

void throw_at_once(const Status& status) {
  if (status.ok()) return;
  // What debug_check and check_nans find: its line is part of the program.
  if (status.code() == StatusCode::kOutOfRange) throw Error(status);
  throw Error({status.code(), status.text()});
}

std::vector<Tensor> run_at_once(Executable& executable, std::span<const BufferPtr> arguments) {
  try {
    return run_executable(executable, arguments);
  } catch (const Error& error) {
    throw_at_once(error.status());
    throw;
  }
}

}  // namespace heddle::trace_internal
