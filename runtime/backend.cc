#include "heddle/runtime/backend.h"

#include <algorithm>

#include "heddle/base/arithmetic.h"
#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/memory.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/verify.h"
#include "heddle/runtime/internal/launch_room.h"
#include "heddle/transform/expand_checks.h"

namespace heddle::runtime {
namespace {

uint64_t next_serial() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// What a device has when its own is gone.
class GoneBackend final : public Backend {
 public:
  GoneBackend() : Backend("gone") {}
  std::string version() const override { return "gone"; }

 private:
  StatusOr<std::shared_ptr<Executable>> compile_module(const ModulePtr& module,
                                                       const CompileOptions& /*options*/,
                                                       Device& device) override {
    return gone_error(base::cat("compile ", module->name), device);
  }
  StatusOr<BufferPtr> copy_to_device(Device& device, const void* /*data*/,
                                     const Shape& /*shape*/) override {
    return gone_error("upload", device);
  }
  StatusOr<BufferPtr> borrow(Device& device, const void* /*data*/, const Shape& /*shape*/,
                             std::shared_ptr<const void> /*owner*/) override {
    return gone_error("upload", device);
  }
  StatusOr<BufferPtr> copy_strided_to_device(Device& device, const void* /*data*/,
                                             const Shape& /*shape*/,
                                             std::span<const int64_t> /*byte_strides*/) override {
    return gone_error("upload", device);
  }
  Status copy_to_host(Buffer& buffer, void* /*data*/) override {
    return gone_error("download", buffer.device());
  }
};

}  // namespace

int64_t total_bytes(std::span<const Shape> shapes) {
  int64_t total = 0;
  for (const Shape& shape : shapes) total = saturating_add(total, shape.byte_size());
  return total;
}

Device::Device(Backend& backend, int id, std::string kind)
    : backend_(&backend),
      id_(id),
      kind_(std::move(kind)),
      name_(base::cat(backend.name(), ":", id)),
      serial_(next_serial()),
      throttle_(std::make_shared<Throttle>(Throttle::Limits{})) {}

Backend& Device::backend() const {
  if (Backend* backend = backend_.load(std::memory_order_acquire)) return *backend;
  static Backend& gone = *new GoneBackend;  // buffers in static storage may outlive main()
  return gone;
}

void Device::reset_peak() { peak_bytes_.store(live_bytes(), std::memory_order_relaxed); }

void Device::add_bytes(int64_t bytes) {
  if (bytes == 0) return;
  const int64_t before = live_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  const int64_t live =
      counted(static_cast<int64_t>(static_cast<uint64_t>(before) + static_cast<uint64_t>(bytes)));
  int64_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

Buffer::Buffer(Device& device, Shape shape, int64_t held_bytes)
    : device_(device.shared_from_this()),
      shape_(std::move(shape)),
      size_bytes_(shape_.byte_size()),
      held_bytes_(held_bytes) {
  device_->add_bytes(held_bytes);
}

void Buffer::hold_until_ready(Throttle::Ticket /*ticket*/) {}

// As forget_bytes(), where nobody else can.
Buffer::~Buffer() { device_->add_bytes(-held_bytes_.load(std::memory_order_relaxed)); }

void Buffer::forget_bytes() {
  device_->add_bytes(-held_bytes_.exchange(0, std::memory_order_relaxed));
}

Status wait(Buffer& buffer) { return buffer.await(); }

Status deleted_error(std::string_view op, const Shape& shape) {
  return base::failed_precondition(
      op, ": the buffer of type ", shape,
      " was donated to a run or released; use the result of that run, or do not donate it");
}

Status gone_error(std::string_view op, const Device& device) {
  return base::failed_precondition(
      op, ": the backend of ", device.name(),
      " is gone; keep it as long as its arrays and programs are in use");
}

void append_leaves(const Shape& shape, std::vector<Shape>& leaves) {
  if (!shape.is_tuple()) {
    leaves.push_back(shape);
    return;
  }
  for (const Shape& element : shape.elements()) append_leaves(element, leaves);
}

Executable::Executable(const hlo::Module& module, Device& device)
    : name_(module.name), device_(device.shared_from_this()) {
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    append_leaves(entry.parameter_shape(i), parameter_shapes_);
  append_leaves(entry.result_shape(), result_shapes_);
}

ProgramCost Executable::cost() const {
  return {{.argument_bytes = total_bytes(parameter_shapes_),
           .result_bytes = total_bytes(result_shapes_)}};
}

StatusOr<std::vector<BufferPtr>> Executable::execute(std::span<const BufferPtr> arguments,
                                                     const ExecuteOptions& options) {
  HEDDLE_RETURN_IF_ERROR(check(arguments, options));
  count(&Counters::executions);
  if (!base::may_be_observed()) [[likely]]
    return run(arguments, options);
  const base::Span span(base::Activity::kExecute, name_);
  return run(arguments, options);
}

Status Executable::execute_into(std::span<const BufferPtr> arguments, std::span<BufferPtr> results,
                                const ExecuteOptions& options) {
  HEDDLE_RETURN_IF_ERROR(check(arguments, options));
  if (results.size() != result_shapes_.size()) {
    return base::invalid_argument("run ", name_, ": got room for ", results.size(),
                                  " results; it has ", result_shapes_.size());
  }
  count(&Counters::executions);
  if (!base::may_be_observed()) [[likely]]
    return run_into(arguments, results, options);
  const base::Span span(base::Activity::kExecute, name_);
  return run_into(arguments, results, options);
}

Status Executable::run_into(std::span<const BufferPtr> arguments, std::span<BufferPtr> results,
                            const ExecuteOptions& options) {
  HEDDLE_ASSIGN_OR_RETURN(std::vector<BufferPtr> made, run(arguments, options));
  std::ranges::move(made, results.begin());
  return {};
}

StatusOr<Throttle::Ticket> Executable::admit(int64_t bytes, const ExecuteOptions& options) const {
  return admit_run(name_, *device_, bytes, options.only_if_room);
}

Status Executable::check(std::span<const BufferPtr> arguments,
                         const ExecuteOptions& options) const {
  if (device_->is_gone()) return gone_error(base::cat("run ", name_), *device_);
  if (options.stop.stop_possible() && !can_stop()) {
    return base::unimplemented("run ", name_, ": ", device_->name(),
                               " cannot stop a run; leave the stop token out and wait for its end");
  }
  if (options.stop.stop_requested()) {
    return base::make_error(StatusCode::kCancelled, "run ", name_,
                            ": it was asked to stop before it began");
  }
  if (arguments.size() != parameter_shapes_.size()) {
    return base::invalid_argument("run ", name_, ": got ", arguments.size(),
                                  " arguments; it takes ", parameter_shapes_.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    HEDDLE_RETURN_IF_ERROR(check_argument(i, arguments[i]));
  return options.donate.empty() ? Status() : check_donations(arguments, options.donate);
}

Status Executable::check_argument(size_t number, const BufferPtr& argument) const {
  const Shape& wanted = parameter_shapes_[number];
  if (argument == nullptr) {
    return base::invalid_argument("run ", name_, ": argument ", number,
                                  " is no buffer; it must be one of type ", wanted);
  }
  if (!same_type(argument->shape(), wanted)) {
    return base::invalid_argument("run ", name_, ": argument ", number, " is ", argument->shape(),
                                  "; it must be ", wanted);
  }
  if (&argument->device() != device_.get()) {
    return base::invalid_argument("run ", name_, ": argument ", number, " is on ",
                                  argument->device().name(), "; it must be on ", device_->name(),
                                  "; copy it there, or compile the program for ",
                                  argument->device().name());
  }
  if (argument->is_deleted())
    return deleted_error(base::cat("run ", name_, ": argument ", number), wanted);
  return {};
}

Status Executable::check_donations(std::span<const BufferPtr> arguments,
                                   const std::vector<int>& donate) const {
  std::vector<const Buffer*> sorted;
  sorted.reserve(arguments.size());
  for (const BufferPtr& argument : arguments) sorted.push_back(argument.get());
  std::ranges::sort(sorted);
  for (int number : donate) {
    if (number < 0 || static_cast<size_t>(number) >= arguments.size()) {
      return base::invalid_argument("run ", name_, ": donates argument ", number, "; it has ",
                                    arguments.size());
    }
    const Buffer* donated = arguments[static_cast<size_t>(number)].get();
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), donated);
    if (last - first > 1) {
      return base::invalid_argument("run ", name_, ": donated argument ", number,
                                    " is passed twice; pass it once, or do not donate it");
    }
  }
  return {};
}

StatusOr<BufferPtr> Backend::copy_strided_to_device(Device& /*device*/, const void* /*data*/,
                                                    const Shape& shape,
                                                    std::span<const int64_t> /*byte_strides*/) {
  return base::unimplemented("upload: ", shape, " with strides");
}

StatusOr<std::function<Status()>> Backend::start_copy_to_host(Buffer& buffer, void* data) {
  HEDDLE_RETURN_IF_ERROR(copy_to_host(buffer, data));
  return [] { return Status(); };
}

StatusOr<Literal> Backend::share_with_host(Buffer& /*buffer*/) {
  return base::unimplemented("backend ", name_,
                             " has no memory that the host can read; copy instead");
}

Backend::~Backend() {
  for (const auto& device : devices_) {
    device->set_direct_kernels(nullptr);
    device->backend_.store(nullptr, std::memory_order_release);
  }
}

Device& Backend::add_device(std::string kind) {
  devices_.push_back(
      std::make_shared<Device>(*this, static_cast<int>(devices_.size()), std::move(kind)));
  return *devices_.back();
}

namespace {

// The module, with its checks as a part of it.
StatusOr<ModulePtr> with_checks(const ModulePtr& module, bool all) {
  if (!all && !transform::has_checks(*module)) return module;
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module expanded, transform::expand_checks(*module, all));
  return std::make_shared<const hlo::Module>(std::move(expanded));
}

}  // namespace

StatusOr<std::shared_ptr<Executable>> Backend::compile(hlo::Module module,
                                                       const CompileOptions& options,
                                                       Device& device) {
  return compile(std::make_shared<const hlo::Module>(std::move(module)), options, device);
}

StatusOr<std::shared_ptr<Executable>> Backend::compile(const ModulePtr& given,
                                                       const CompileOptions& options,
                                                       Device& device) {
  const hlo::Module& module = *given;
  if (device.is_gone()) return gone_error(base::cat("compile ", module.name), device);
  if (&device.backend() != this) {
    return base::invalid_argument("compile ", module.name, ": device ", device.name(),
                                  " is not of backend ", name_,
                                  "; compile with the device's own backend");
  }
  const base::Span span(base::Activity::kCompile, module.name);
  CompileOptions of_backend = options;
  of_backend.check_nans = false;  // its checks are in the module
  const auto made = [&]() -> StatusOr<std::shared_ptr<Executable>> {
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    HEDDLE_ASSIGN_OR_RETURN(const ModulePtr whole, with_checks(given, options.check_nans));
    return compile_module(whole, of_backend, device);
  };
  StatusOr<std::shared_ptr<Executable>> executable =
      base::within_memory(made, "compile ", module.name, ":");
  if (executable.ok() && !(*executable)->is_from_disk()) count(&Counters::compiles);
  return executable;
}

}  // namespace heddle::runtime
