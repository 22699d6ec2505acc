// The evaluator as a backend. An execution takes its arguments' slots on the caller's thread (so that donation shows at once), and
// evaluates on the caller's thread or on the device's.
#include "heddle/runtime/interpreter.h"

#include <algorithm>
#include <cstring>

#include "heddle/base/strings.h"
#include "heddle/hlo/evaluate.h"
#include "heddle/runtime/internal/literal_buffer.h"
#include "heddle/runtime/internal/work_queue.h"

namespace heddle::runtime {
namespace {

// An argument of a run: where its value is, or will be, and whether the run may keep it.
struct Argument {
  std::shared_ptr<Slot> slot;
  bool donated = false;
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

void flatten(Literal value, std::vector<Literal>& leaves) {
  if (!value.is_tuple()) {
    leaves.push_back(std::move(value));
    return;
  }
  for (Literal& element : value.mutable_elements()) flatten(std::move(element), leaves);
}

// An evaluator between flat lists of leaves.
class FlatEvaluator {
 public:
  FlatEvaluator(hlo::Evaluator evaluator, std::function<Status()> before_run)
      : evaluator_(std::move(evaluator)), before_run_(std::move(before_run)) {
    const hlo::Computation& entry = evaluator_.module().entry_computation();
    for (size_t i = 0; i < entry.parameter_count(); ++i) has_tuples_ |= entry.parameter_shape(i).is_tuple();
  }

  StatusOr<std::vector<Literal>> run(std::vector<Literal> leaves) const {
    if (has_tuples_) leaves = nested(std::move(leaves));
    HEDDLE_ASSIGN_OR_RETURN(Literal result, evaluator_.run(std::move(leaves)));
    std::vector<Literal> results;
    flatten(std::move(result), results);
    return results;
  }

  // Evaluates on the values in the slots, waiting for them. An argument that carries an error passes it on.
  StatusOr<std::vector<Literal>> run(const Arguments& arguments) const {
    std::vector<Literal> leaves;
    leaves.reserve(arguments.size());
    Status error = before_run_ ? before_run_() : Status();
    for (const Argument& argument : arguments) {  // to the end: each use has to be ended
      StatusOr<Literal> leaf = argument.donated ? argument.slot->take() : argument.slot->share();
      if (leaf.ok()) {
        leaves.push_back(*std::move(leaf));
      } else {
        error.Update(leaf.status());
      }
    }
    if (!error.ok()) return error;
    return run(std::move(leaves));
  }

 private:
  std::vector<Literal> nested(std::vector<Literal> leaves) const {
    const hlo::Computation& entry = evaluator_.module().entry_computation();
    std::vector<Literal> arguments;
    auto leaf = leaves.begin();
    for (size_t i = 0; i < entry.parameter_count(); ++i) arguments.push_back(nest(entry.parameter_shape(i), leaf));
    return arguments;
  }

  hlo::Evaluator evaluator_;
  std::function<Status()> before_run_;
  bool has_tuples_ = false;
};

// Results of a run that is not done yet.
void fill(const Slots& slots, StatusOr<std::vector<Literal>> values) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (values.ok()) {
      slots[i]->set(std::move((*values)[i]));
    } else {
      slots[i]->set(values.status());
    }
  }
}

class InterpreterExecutable final : public Executable {
 public:
  InterpreterExecutable(hlo::Evaluator evaluator, Device& device, WorkQueue* queue, std::function<Status()> before_run)
      : Executable(evaluator.module(), device),
        evaluator_(std::make_shared<const FlatEvaluator>(std::move(evaluator), std::move(before_run))),
        queue_(queue) {}

 protected:
  StatusOr<std::vector<BufferPtr>> run(std::span<const BufferPtr> buffers, const ExecuteOptions& options) override {
    HEDDLE_ASSIGN_OR_RETURN(Arguments arguments, take_arguments(buffers, options));
    return queue_ == nullptr ? run_now(arguments) : run_later(std::move(arguments));
  }

 private:
  StatusOr<Arguments> take_arguments(std::span<const BufferPtr> buffers, const ExecuteOptions& options) const {
    Arguments arguments(buffers.size());
    for (int number : options.donate) arguments[static_cast<size_t>(number)].donated = true;
    bool all_there = true;
    for (size_t i = 0; i < buffers.size(); ++i) {
      auto& buffer = static_cast<LiteralBuffer&>(*buffers[i]);  // of this device, so of this kind
      arguments[i].slot = arguments[i].donated ? buffer.donate() : buffer.use();
      all_there &= arguments[i].slot != nullptr;
    }
    if (all_there) return arguments;
    return deleted_by_another_thread(arguments);
  }

  // execute() saw the buffers whole, so another thread released one since.
  Status deleted_by_another_thread(const Arguments& arguments) const {
    Status error;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].slot != nullptr) {
        arguments[i].slot->end_use();
      } else {
        error.Update(deleted_error(cat("run ", name(), ": argument ", i), parameter_shapes()[i]));
      }
    }
    return error;
  }

  StatusOr<std::vector<BufferPtr>> run_now(const Arguments& arguments) const {
    HEDDLE_ASSIGN_OR_RETURN(std::vector<Literal> values, evaluator_->run(arguments));
    Slots slots;
    slots.reserve(values.size());
    for (Literal& value : values) slots.push_back(std::make_shared<Slot>(std::move(value)));
    return buffers_of(slots);
  }

  StatusOr<std::vector<BufferPtr>> run_later(Arguments arguments) const {
    Slots slots;
    for (size_t i = 0; i < result_shapes().size(); ++i) slots.push_back(std::make_shared<Slot>());
    queue_->submit([evaluator = evaluator_, arguments = std::move(arguments), slots]() mutable {
      auto values = evaluator->run(arguments);
      arguments.clear();  // donated memory is gone before the results are seen
      fill(slots, std::move(values));
    });
    return buffers_of(slots);
  }

  std::vector<BufferPtr> buffers_of(const Slots& slots) const {
    std::vector<BufferPtr> buffers;
    buffers.reserve(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const Shape& shape = result_shapes()[i];
      buffers.push_back(std::make_shared<LiteralBuffer>(device(), shape, shape.byte_size(), slots[i]));
    }
    return buffers;
  }

  std::shared_ptr<const FlatEvaluator> evaluator_;  // shared with runs that outlive this executable
  WorkQueue* queue_;                                // null: on the caller's thread
};

class Interpreter final : public Backend {
 public:
  explicit Interpreter(const InterpreterOptions& options) : Backend("interpreter"), before_run_(options.before_run) {
    for (int i = 0; i < std::max(options.devices, 1); ++i) {
      add_device("host evaluator");
      if (options.asynchronous) queues_.push_back(std::make_unique<WorkQueue>());
    }
  }

  std::string version() const override { return "reference evaluator, single-threaded, IEEE"; }

 protected:
  StatusOr<std::shared_ptr<Executable>> compile_module(const hlo::Module& module, const CompileOptions& options,
                                                       Device& device) override {
    if (!options.backend_options.empty()) {
      return invalid_argument("compile ", module.name, ": option \"", options.backend_options[0].name,
                              "\" is not known to backend interpreter, which has none; leave it out");
    }
    HEDDLE_ASSIGN_OR_RETURN(hlo::Evaluator evaluator, hlo::Evaluator::prepare(module));
    WorkQueue* queue = queues_.empty() ? nullptr : queues_[static_cast<size_t>(device.id())].get();
    return std::make_shared<InterpreterExecutable>(std::move(evaluator), device, queue, before_run_);
  }

 private:
  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data, const Shape& shape) override {
    Literal value = Literal::uninitialised(shape);
    if (shape.byte_size() > 0) std::memcpy(value.mutable_bytes(), data, static_cast<size_t>(shape.byte_size()));
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

  static BufferPtr make_buffer(Device& device, Literal value, int64_t held_bytes) {
    Shape shape = value.shape();
    return std::make_shared<LiteralBuffer>(device, std::move(shape), held_bytes,
                                           std::make_shared<Slot>(std::move(value)));
  }

  std::function<Status()> before_run_;
  std::vector<std::unique_ptr<WorkQueue>> queues_;  // by device; none: runs are done when execute() returns
};

}  // namespace

std::unique_ptr<Backend> make_interpreter(const InterpreterOptions& options) {
  return std::make_unique<Interpreter>(options);
}

}  // namespace heddle::runtime
