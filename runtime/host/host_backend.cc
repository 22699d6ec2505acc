#include "heddle/runtime/host/host_backend.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "heddle/base/system/memory.h"
#include "heddle/base/system/pool.h"
#include "heddle/base/system/subnormals.h"
#include "heddle/base/text/strings.h"
#include "heddle/runtime/host/host_memory.h"
#include "heddle/runtime/internal/host_grid.h"
#include "heddle/runtime/internal/literal_buffer.h"
#include "heddle/runtime/work_queue.h"

namespace heddle::runtime {
namespace {

// An argument of a run: where its value is, or will be.
struct Argument {
  std::shared_ptr<Slot> slot;
  bool donated = false;

  // Waits for it. Once.
  [[nodiscard]] StatusOr<Literal> value() const { return donated ? slot->take() : slot->share(); }
};
using Arguments = absl::InlinedVector<Argument, 8>;

// The bytes of arguments for one run.
class ReadArguments {
 public:
  explicit ReadArguments(size_t count) : bytes_(count), slots_(count) {}
  ~ReadArguments() {
    for (const std::shared_ptr<Slot>& slot : slots_) {
      if (slot != nullptr) slot->end_use();
    }
  }
  ReadArguments(const ReadArguments&) = delete;
  ReadArguments& operator=(const ReadArguments&) = delete;
  [[nodiscard]] bool read(size_t i, LiteralBuffer& buffer) {
    return (bytes_[i] = buffer.bytes_for_run(slots_[i])) != nullptr;
  }
  [[nodiscard]] std::span<const void* const> bytes() const { return bytes_; }

 private:
  absl::InlinedVector<const void*, 8> bytes_;
  absl::InlinedVector<std::shared_ptr<Slot>, 8> slots_;
};
using Slots = std::vector<std::shared_ptr<Slot>>;

// The values of the arguments, waiting for them. An argument that carries an error passes it on;
// the others are used up all the same.
StatusOr<std::vector<Literal>> values_of(const Arguments& arguments) {
  std::vector<Literal> values;
  values.reserve(arguments.size());
  Status error;
  for (const Argument& argument : arguments) {
    StatusOr<Literal> value = argument.value();
    error.update(value.status());
    if (error.ok()) values.push_back(*std::move(value));
  }
  if (!error.ok()) return error;
  return values;
}

void fill(const Slots& slots, StatusOr<std::vector<Literal>> results) {
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i]->set(results.ok() ? StatusOr<Literal>(std::move((*results)[i]))
                               : StatusOr<Literal>(results.status()));
  }
}

BufferPtr make_buffer(Device& device, Literal value, int64_t held_bytes) {
  Shape shape = value.shape();
  return base::make_pooled<LiteralBuffer>(device, std::move(shape), held_bytes,
                                          base::make_pooled<Slot>(std::move(value)));
}

// Of at most LiteralBuffer::kFewBytes.
BufferPtr make_buffer_of_few(Device& device, const Shape& shape, const void* data) {
  auto few = base::make_pooled<LiteralBuffer>(device, shape);
  if (shape.byte_size() > 0) std::memcpy(few->few(), data, static_cast<size_t>(shape.byte_size()));
  return few;
}

class HostExecutable final : public Executable {
 public:
  HostExecutable(const hlo::Module& module, std::shared_ptr<const HostProgram> program,
                 Device& device, WorkQueue* queue, bool flushes_subnormals)
      : Executable(module, device),
        program_(std::move(program)),
        queue_(queue),
        flushes_subnormals_(flushes_subnormals) {
    if (program_->is_from_disk()) mark_from_disk();
    result_bytes_ = total_bytes(result_shapes());
  }

  ProgramCost cost() const override {
    ProgramCost cost = Executable::cost();
    cost.scratch_bytes = program_->scratch_bytes();
    if (cost.scratch_bytes)
      cost.peak_bytes = cost.argument_bytes + cost.result_bytes + *cost.scratch_bytes;
    cost.flops = program_->flops();
    cost.bytes_accessed = program_->bytes_accessed();
    return cost;
  }

  bool can_stop() const override { return true; }

 protected:
  StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> buffers,
                                       const ExecuteOptions& options) override {
    std::vector<BufferPtr> results(result_shapes().size());
    HEDDLE_RETURN_IF_ERROR(run_into(buffers, results, options));
    return results;
  }

  Status run_into(std::span<const BufferPtr> buffers, std::span<BufferPtr> results,
                  const ExecuteOptions& options) override {
    Throttle::Ticket ticket;  // none for a run that is done when this returns
    if (queue_ != nullptr || options.only_if_room) {
      HEDDLE_ASSIGN_OR_RETURN(ticket, admit(result_bytes_, options));
    }
    if (queue_ == nullptr && options.donate.empty() && result_bytes_ <= kMostInPlace &&
        program_->runs_in_place()) {
      const FlushSubnormals flush(flushes_subnormals_);
      const auto run = [&] { return run_in_place(buffers, results, options.stop); };
      if (auto status = base::within_memory(run, "run ", name())) return *std::move(status);
    }
    Arguments arguments(buffers.size());
    HEDDLE_RETURN_IF_ERROR(take(buffers, options, arguments));
    if (queue_ == nullptr) return run_now(arguments, results, options.stop);
    run_later(std::move(arguments), results, std::move(ticket), options.stop);
    return {};
  }

 private:
  // Of results that memory is there for: what a greater run lacks, the program says.
  static constexpr int64_t kMostInPlace = int64_t{1} << 20;

  // Nothing where an argument's value is not there.
  std::optional<Status> run_in_place(std::span<const BufferPtr> buffers, std::span<BufferPtr> into,
                                     const StopToken& stop) const {
    ReadArguments arguments(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!arguments.read(i, on_host(buffers[i]))) return std::nullopt;
    }
    const std::vector<Shape>& shapes = result_shapes();
    absl::InlinedVector<Literal, 2> values(shapes.size());
    absl::InlinedVector<void*, 8> places(shapes.size());
    absl::InlinedVector<BufferPtr, 4> results(shapes.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (shapes[i].byte_size() <= LiteralBuffer::kFewBytes) {
        auto few = base::make_pooled<LiteralBuffer>(device(), shapes[i]);
        places[i] = few->few();
        results[i] = std::move(few);
      } else {
        values[i] = Literal::uninitialised(shapes[i]);
        places[i] = values[i].mutable_bytes();
      }
    }
    HEDDLE_RETURN_IF_ERROR(program_->run_in_place(arguments.bytes(), places, stop));
    for (size_t i = 0; i < results.size(); ++i) {
      into[i] =
          results[i] != nullptr ? std::move(results[i]) : result_buffer(i, std::move(values[i]));
    }
    return Status();
  }

  Status take(std::span<const BufferPtr> buffers, const ExecuteOptions& options,
              Arguments& arguments) const {
    bool all_there = true;
    for (size_t i = 0; i < buffers.size(); ++i) {
      arguments[i].slot = on_host(buffers[i]).use();
      all_there &= arguments[i].slot != nullptr;
    }
    if (!all_there) return deleted_by_another_thread(arguments);
    for (int number : options.donate) {  // not before: an error leaves them
      arguments[static_cast<size_t>(number)].donated = true;
      buffers[static_cast<size_t>(number)]->release();
    }
    return {};
  }

  static LiteralBuffer& on_host(const BufferPtr& buffer) {
    return static_cast<LiteralBuffer&>(*buffer);  // of this device, so of this kind
  }

  // execute() saw the buffers whole, so another thread released one since.
  Status deleted_by_another_thread(const Arguments& arguments) const {
    Status error;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].slot != nullptr) {
        arguments[i].slot->end_use();
      } else {
        error.update(
            deleted_error(base::cat("run ", name(), ": argument ", i), parameter_shapes()[i]));
      }
    }
    return error;
  }

  Status run_now(const Arguments& arguments, std::span<BufferPtr> into,
                 const StopToken& stop) const {
    HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> values, values_of(arguments));
    const FlushSubnormals flush(flushes_subnormals_);
    HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> results, program_->run(std::move(values), stop));
    for (size_t i = 0; i < results.size(); ++i) into[i] = result_buffer(i, std::move(results[i]));
    return {};
  }

  void run_later(Arguments arguments, std::span<BufferPtr> into, Throttle::Ticket ticket,
                 const StopToken& stop) const {
    Slots slots(result_shapes().size());
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i] = base::make_pooled<Slot>();
      into[i] = result_buffer(i, slots[i]);
    }
    ticket.outlive_device();
    // In a pointer, since the queue's functions are copyable.
    auto shared_ticket = std::make_shared<Throttle::Ticket>(std::move(ticket));
    queue_->submit([program = program_, arguments = std::move(arguments), slots = std::move(slots),
                    shared_ticket = std::move(shared_ticket), stop,
                    flushes = flushes_subnormals_]() mutable {
      const FlushSubnormals flush(flushes);
      StatusOr<std::vector<Literal>> values = values_of(arguments);
      arguments.clear();  // what was donated is the run's alone from here
      fill(slots, values.ok() ? program->run(*std::move(values), stop)
                              : StatusOr<std::vector<Literal>>(values.status()));
    });
  }

  BufferPtr result_buffer(size_t number, Literal value) const {
    const Shape& shape = result_shapes()[number];
    if (shape.byte_size() <= LiteralBuffer::kFewBytes)
      return make_buffer_of_few(device(), shape, value.bytes());
    return result_buffer(number, base::make_pooled<Slot>(std::move(value)));
  }
  BufferPtr result_buffer(size_t number, std::shared_ptr<Slot> slot) const {
    const Shape& shape = result_shapes()[number];
    return base::make_pooled<LiteralBuffer>(device(), shape, shape.byte_size(), std::move(slot));
  }

  std::shared_ptr<const HostProgram> program_;  // shared with runs that outlive this executable
  WorkQueue* queue_;                            // null: on the caller's thread
  int64_t result_bytes_ = 0;
  bool flushes_subnormals_;
};

}  // namespace

Status HostProgram::run_in_place(std::span<const void* const> /*arguments*/,
                                 std::span<void* const> /*results*/,
                                 const StopToken& /*stop*/) const {
  return base::unimplemented("run: of bytes to bytes");
}

HostBackend::HostBackend(std::string name, const std::string& device_kind,
                         const HostOptions& options)
    : Backend(std::move(name)), flushes_subnormals_(options.flushes_subnormals) {
  const int devices = std::max(options.devices, 1);
  for (int i = 0; i < devices; ++i) {
    add_device(device_kind).throttle().set_limits({.bytes = host_bytes_in_flight(devices)});
    if (options.asynchronous) queues_.push_back(std::make_unique<WorkQueue>());
  }
}

HostBackend::~HostBackend() = default;

void HostBackend::use_direct_kernels(const DirectKernels& kernels) {
  if (!queues_.empty() || flushes_subnormals_) return;
  for (const auto& device : devices()) device->set_direct_kernels(&kernels);
}

StatusOr<std::shared_ptr<Executable>> HostBackend::compile_module(const ModulePtr& module,
                                                                  const CompileOptions& options,
                                                                  Device& device) {
  HEDDLE_RETURN_IF_ERROR(check_options(*module, options));
  HEDDLE_ASSIGN_OR_RETURN(auto program, prepare(module, options));
  WorkQueue* queue = queues_.empty() ? nullptr : queues_[static_cast<size_t>(device.id())].get();
  return std::make_shared<HostExecutable>(*module, std::move(program), device, queue,
                                          flushes_subnormals_);
}

StatusOr<std::shared_ptr<SpmdExecutable>> HostBackend::compile_for_grid(
    const hlo::Module& module, const CompileOptions& options, const DeviceGrid& grid) {
  HEDDLE_RETURN_IF_ERROR(check_options(module, options));
  HEDDLE_ASSIGN_OR_RETURN(GridProgram program, prepare_for_grid(module, grid));
  if (flushes_subnormals_) {
    program = [program = std::move(program)](std::vector<std::vector<Literal>> arguments) {
      const FlushSubnormals flush;
      return program(std::move(arguments));
    };
  }
  return make_host_grid(module, std::move(program), grid);
}

StatusOr<GridProgram> HostBackend::prepare_for_grid(const hlo::Module& module,
                                                    const DeviceGrid& /*grid*/) {
  return base::unimplemented("compile ", module.name, ": backend ", name(),
                             " has no programs of several devices");
}

Status HostBackend::check_options(const hlo::Module& module, const CompileOptions& options) const {
  if (options.backend_options.empty()) return {};
  return base::invalid_argument("compile ", module.name, ": option \"",
                                options.backend_options[0].name, "\" is not known to backend ",
                                name(), ", which has none; leave it out");
}

StatusOr<BufferPtr> HostBackend::copy_to_device(Device& device, const void* data,
                                                const Shape& shape) {
  if (shape.byte_size() <= LiteralBuffer::kFewBytes) return make_buffer_of_few(device, shape, data);
  Literal value = Literal::uninitialised(shape);
  std::memcpy(value.mutable_bytes(), data, static_cast<size_t>(shape.byte_size()));
  return make_buffer(device, std::move(value), shape.byte_size());
}

StatusOr<BufferPtr> HostBackend::borrow(Device& device, const void* data, const Shape& shape,
                                        std::shared_ptr<const void> owner) {
  return make_buffer(device, Literal::borrowed(shape, data, std::move(owner)), /*held_bytes=*/0);
}

Status HostBackend::copy_to_host(Buffer& buffer, void* data) {
  std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
  if (slot == nullptr) return deleted_error("download", buffer.shape());
  return slot->copy_to(data);
}

StatusOr<std::function<Status()>> HostBackend::start_copy_to_host(Buffer& buffer, void* data) {
  std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
  if (slot == nullptr) return deleted_error("download", buffer.shape());
  return [slot, data] { return slot->copy_to(data); };
}

StatusOr<Literal> HostBackend::share_with_host(Buffer& buffer) {
  std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
  if (slot == nullptr) return deleted_error("download", buffer.shape());
  return slot->share();
}

}  // namespace heddle::runtime
