// The evaluator as a backend. An execution takes its arguments' slots on the caller's thread (so
// that donation shows at once), and evaluates on the caller's thread or on the device's.
#include "heddle/runtime/interpreter.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "heddle/base/strings.h"
#include "heddle/hlo/evaluate.h"
#include "heddle/hlo/tiles.h"
#include "heddle/runtime/host_memory.h"
#include "heddle/runtime/internal/joint_interpreter.h"
#include "heddle/runtime/internal/literal_buffer.h"
#include "heddle/runtime/internal/memory.h"
#include "heddle/runtime/internal/work_queue.h"
#include "heddle/runtime/spmd.h"

namespace heddle::runtime {
namespace {

// An argument of a run: where its value is, or will be.
struct Argument {
  std::shared_ptr<Slot> slot;
  bool donated = false;

  // Waits for it. Once.
  [[nodiscard]] StatusOr<Literal> value() const { return donated ? slot->take() : slot->share(); }
};
using Arguments = std::vector<Argument>;
using Slots = std::vector<std::shared_ptr<Slot>>;

// Puts leaves back into the tuple that the parameter is.
Literal nest(const Shape& shape, std::vector<Literal>::iterator& leaf) {
  if (!shape.is_tuple()) return std::move(*leaf++);
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(nest(element, leaf));
  return Literal::tuple(std::move(elements));
}

bool same_sizes(const Shape& a, const Shape& b) {
  return same_dimensions(a, b) && std::ranges::equal(a.elements(), b.elements(), same_sizes);
}

// A value of dynamic size fills its bounds, with zeros: a buffer is of its type.
Literal filled(Literal value, const Shape& type) {
  if (same_sizes(value.shape(), type)) return value;
  if (!type.is_tuple())
    return hlo::cut(value, std::vector<int64_t>(type.dimensions().size()), type);
  std::vector<Literal> elements;
  for (size_t i = 0; i < type.elements().size(); ++i)
    elements.push_back(filled(std::move(value.mutable_elements()[i]), type.elements()[i]));
  return Literal::tuple(std::move(elements));
}

// Calls visit(leaf) with each leaf of a result, in order.
template <class Visit>
void for_each_leaf(Literal value, const Visit& visit) {
  if (!value.is_tuple()) return visit(std::move(value));
  for (Literal& element : value.mutable_elements()) for_each_leaf(std::move(element), visit);
}

// An evaluator that takes flat arguments.
class FlatEvaluator {
 public:
  FlatEvaluator(hlo::Evaluator evaluator, std::function<Status()> before_run,
                std::shared_ptr<std::atomic<uint64_t>> next_seed)
      : evaluator_(std::move(evaluator)),
        before_run_(std::move(before_run)),
        next_seed_(std::move(next_seed)) {
    for (size_t i = 0; i < entry().parameter_count(); ++i)
      has_tuples_ |= entry().parameter_shape(i).is_tuple();
  }

  StatusOr<Literal> run(std::vector<Literal> leaves) const {
    const Throttle::Exempt own_work;  // of functions that the program calls
    if (before_run_) HEDDLE_RETURN_IF_ERROR(before_run_());
    if (has_tuples_) leaves = nested(std::move(leaves));
    HEDDLE_ASSIGN_OR_RETURN(Literal result,
                            evaluator_.run(std::move(leaves), {.seed = next_seed_->fetch_add(1)}));
    return within_memory(
        [&]() -> StatusOr<Literal> { return filled(std::move(result), entry().result_shape()); },
        "run ", evaluator_.module().name);
  }

 private:
  const hlo::Computation& entry() const { return evaluator_.module().entry_computation(); }

  std::vector<Literal> nested(std::vector<Literal> leaves) const {
    std::vector<Literal> arguments;
    auto leaf = leaves.begin();
    for (size_t i = 0; i < entry().parameter_count(); ++i)
      arguments.push_back(nest(entry().parameter_shape(i), leaf));
    return arguments;
  }

  hlo::Evaluator evaluator_;
  std::function<Status()> before_run_;
  std::shared_ptr<std::atomic<uint64_t>>
      next_seed_;  // of the backend, which a late run may outlive
  bool has_tuples_ = false;
};

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

void fill(const Slots& slots, StatusOr<Literal> result) {
  if (!result.ok()) {
    for (const std::shared_ptr<Slot>& slot : slots) slot->set(result.status());
    return;
  }
  size_t next = 0;
  for_each_leaf(*std::move(result), [&](Literal leaf) { slots[next++]->set(std::move(leaf)); });
}

class InterpreterExecutable final : public Executable {
 public:
  InterpreterExecutable(hlo::Evaluator evaluator, Device& device, WorkQueue* queue,
                        std::function<Status()> before_run,
                        std::shared_ptr<std::atomic<uint64_t>> next_seed)
      : Executable(evaluator.module(), device),
        evaluator_(std::make_shared<const FlatEvaluator>(
            std::move(evaluator), std::move(before_run), std::move(next_seed))),
        queue_(queue) {
    result_bytes_ = total_bytes(result_shapes());
  }

 protected:
  StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> buffers,
                                       const ExecuteOptions& options) override {
    HEDDLE_ASSIGN_OR_RETURN(Throttle::Ticket ticket, admit(result_bytes_, options));
    HEDDLE_ASSIGN_OR_RETURN(Arguments arguments, take_arguments(buffers, options));
    if (queue_ == nullptr) return run_now(arguments);
    return run_later(std::move(arguments), std::move(ticket));
  }

 private:
  StatusOr<Arguments> take_arguments(std::span<const BufferPtr> buffers,
                                     const ExecuteOptions& options) const {
    Arguments arguments(buffers.size());
    bool all_there = true;
    for (size_t i = 0; i < buffers.size(); ++i) {
      arguments[i].slot = of_interpreter(buffers[i]).use();
      all_there &= arguments[i].slot != nullptr;
    }
    if (!all_there) return deleted_by_another_thread(arguments);
    for (int number : options.donate) {  // not before: an error leaves them
      arguments[static_cast<size_t>(number)].donated = true;
      buffers[static_cast<size_t>(number)]->release();
    }
    return arguments;
  }

  static LiteralBuffer& of_interpreter(const BufferPtr& buffer) {
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

  StatusOr<std::vector<BufferPtr>> run_now(const Arguments& arguments) const {
    HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> values, values_of(arguments));
    HEDDLE_ASSIGN_OR_RETURN(Literal result, evaluator_->run(std::move(values)));
    std::vector<BufferPtr> buffers;
    buffers.reserve(result_shapes().size());
    for_each_leaf(std::move(result), [&](Literal leaf) {
      buffers.push_back(result_buffer(buffers.size(), std::make_shared<Slot>(std::move(leaf))));
    });
    return buffers;
  }

  StatusOr<std::vector<BufferPtr>> run_later(Arguments arguments, Throttle::Ticket ticket) const {
    Slots slots(result_shapes().size());
    std::vector<BufferPtr> buffers(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i] = std::make_shared<Slot>();
      buffers[i] = result_buffer(i, slots[i]);
    }
    // In a pointer, since the queue's functions are copyable.
    auto held = std::make_shared<Throttle::Ticket>(std::move(ticket));
    queue_->submit([evaluator = evaluator_, arguments = std::move(arguments),
                    slots = std::move(slots), held = std::move(held)]() mutable {
      StatusOr<std::vector<Literal>> values = values_of(arguments);
      arguments.clear();  // what was donated is the run's alone from here
      fill(slots,
           values.ok() ? evaluator->run(*std::move(values)) : StatusOr<Literal>(values.status()));
    });
    return buffers;
  }

  BufferPtr result_buffer(size_t number, std::shared_ptr<Slot> slot) const {
    const Shape& shape = result_shapes()[number];
    return std::make_shared<LiteralBuffer>(device(), shape, shape.byte_size(), std::move(slot));
  }

  std::shared_ptr<const FlatEvaluator> evaluator_;  // shared with runs that outlive this executable
  WorkQueue* queue_;                                // null: on the caller's thread
  int64_t result_bytes_ = 0;
};

class Interpreter final : public Backend, public SpmdBackend {
 public:
  explicit Interpreter(const InterpreterOptions& options)
      : Backend("interpreter"),
        before_run_(options.before_run),
        next_seed_(std::make_shared<std::atomic<uint64_t>>(options.seed)) {
    const int devices = std::max(options.devices, 1);
    for (int i = 0; i < devices; ++i) {
      add_device("host evaluator").throttle().set_limits({.bytes = host_bytes_in_flight(devices)});
      if (options.asynchronous) queues_.push_back(std::make_unique<WorkQueue>());
    }
  }

  std::string version() const override { return "reference evaluator, single-threaded, IEEE"; }

 protected:
  StatusOr<std::shared_ptr<Executable>> compile_module(const hlo::Module& module,
                                                       const CompileOptions& options,
                                                       Device& device) override {
    HEDDLE_RETURN_IF_ERROR(check_options(module, options));
    HEDDLE_ASSIGN_OR_RETURN(hlo::Evaluator evaluator, hlo::Evaluator::prepare(module));
    WorkQueue* queue = queues_.empty() ? nullptr : queues_[static_cast<size_t>(device.id())].get();
    return std::make_shared<InterpreterExecutable>(std::move(evaluator), device, queue, before_run_,
                                                   next_seed_);
  }

  StatusOr<std::shared_ptr<SpmdExecutable>> compile_for_grid(const hlo::Module& module,
                                                             const CompileOptions& options,
                                                             const DeviceGrid& grid) override {
    HEDDLE_RETURN_IF_ERROR(check_options(module, options));
    HEDDLE_ASSIGN_OR_RETURN(hlo::Evaluator evaluator, hlo::Evaluator::prepare(module));
    return make_joint_interpreter(std::move(evaluator), grid);
  }

 private:
  static Status check_options(const hlo::Module& module, const CompileOptions& options) {
    if (options.backend_options.empty()) return {};
    return base::invalid_argument(
        "compile ", module.name, ": option \"", options.backend_options[0].name,
        "\" is not known to backend interpreter, which has none; leave it out");
  }

  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data,
                                     const Shape& shape) override {
    Literal value = Literal::uninitialised(shape);
    if (shape.byte_size() > 0)
      std::memcpy(value.mutable_bytes(), data, static_cast<size_t>(shape.byte_size()));
    return make_buffer(device, std::move(value), shape.byte_size());
  }

  StatusOr<BufferPtr> borrow(Device& device, const void* data, const Shape& shape,
                             std::shared_ptr<const void> owner) override {
    return make_buffer(device, Literal::borrowed(shape, data, std::move(owner)), /*held_bytes=*/0);
  }

  Status copy_to_host(Buffer& buffer, void* data) override {
    std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
    if (slot == nullptr) return deleted_error("download", buffer.shape());
    return slot->copy_to(data);
  }

  StatusOr<std::function<Status()>> start_copy_to_host(Buffer& buffer, void* data) override {
    std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
    if (slot == nullptr) return deleted_error("download", buffer.shape());
    return [slot, data] { return slot->copy_to(data); };
  }

  StatusOr<Literal> share_with_host(Buffer& buffer) override {
    std::shared_ptr<Slot> slot = static_cast<LiteralBuffer&>(buffer).use();
    if (slot == nullptr) return deleted_error("download", buffer.shape());
    return slot->share();
  }

  static BufferPtr make_buffer(Device& device, Literal value, int64_t held_bytes) {
    Shape shape = value.shape();
    return std::make_shared<LiteralBuffer>(device, std::move(shape), held_bytes,
                                           std::make_shared<Slot>(std::move(value)));
  }

  std::function<Status()> before_run_;
  std::shared_ptr<std::atomic<uint64_t>> next_seed_;
  std::vector<std::unique_ptr<WorkQueue>>
      queues_;  // by device; none: runs are done when execute() returns
};

}  // namespace

std::unique_ptr<Backend> make_interpreter(const InterpreterOptions& options) {
  return std::make_unique<Interpreter>(options);
}

}  // namespace heddle::runtime
