// Runs of programs.
#include <algorithm>
#include <deque>

#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/mock/enter.h"

namespace heddle::pjrt::mock {
namespace {

using Memories = std::vector<std::shared_ptr<Memory>>;

int64_t bytes_of(const Memories& results) {
  int64_t bytes = 0;
  for (const auto& result : results) bytes += result->size;
  return bytes;
}

// Lets go of the memory before it says that the run is over.
void run(const Program& program, Memories& arguments, Memories& results, Seen& seen) {
  std::optional<Fault> fault = fault_of(settings().run_error);
  std::vector<const Array*> values;
  std::deque<Array> read;  // of memory that is lent
  for (const auto& argument : arguments) {
    if (std::optional<Fault> earlier = argument->ready->wait(); earlier.has_value())
      fault = earlier;
    values.push_back(argument->lent == nullptr ? &argument->array
                                               : &read.emplace_back(argument->read()));
  }
  std::vector<Array> made;
  if (!fault.has_value() && program.run) made = program.run(values);
  std::vector<std::shared_ptr<Moment>> ready;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < made.size()) results[i]->array.bytes = std::move(made[i].bytes);
    ready.push_back(results[i]->ready);
  }
  seen.in_flight -= bytes_of(results);
  arguments.clear();
  results.clear();
  for (const auto& moment : ready) moment->happen(fault);
}

// The part of one device of a run.
void launch(abi::LoadedExecutableExecuteArgs& args, size_t device) {
  Memories arguments, results;
  for (size_t i = 0; i < args.args_count; ++i)
    arguments.push_back(args.argument_lists[device][i]->memory);
  const auto program = args.executable->program;
  for (size_t i = 0; i < program->results.size(); ++i) {
    Array array = program->results[i];
    const size_t size = size_of(array);
    array.bytes.resize(size);
    results.push_back(std::make_shared<Memory>(seen(), std::move(array), size));
    args.output_lists[device][i] = buffer_of(results.back());
  }
  Seen& seen = mock::seen();
  add_up(seen.in_flight, bytes_of(results), seen.peak_in_flight);
  const auto complete = std::make_shared<Moment>();
  if (args.device_complete_events != nullptr)
    args.device_complete_events[device] = event_of(complete);
  auto work = [program, complete, &seen, arguments = std::move(arguments),
               results = std::move(results)]() mutable {
    run(*program, arguments, results, seen);
    complete->happen();
  };
  Worker* worker = args.executable->client->worker.get();
  if (worker == nullptr) {
    work();
  } else {
    worker->add(std::move(work));
  }
}

// Arguments that the run takes are gone, unless something else reads their memory.
abi::Error* take_arguments(const abi::LoadedExecutableExecuteArgs& args) {
  const Program& program = *args.executable->program;
  if (program.parameters.value_or(args.args_count) != args.args_count) {
    return fail({.code = 3,
                 .message = "Execution supplied " + std::to_string(args.args_count) +
                            " buffers but compiled program expected " +
                            std::to_string(*program.parameters) + " buffers"});
  }
  const abi::ExecuteOptions& options = *args.options;
  const int64_t* const kept = options.non_donatable_input_indices;
  for (size_t device = 0; device < args.devices_count; ++device) {
    abi::Buffer* const* const row = args.argument_lists[device];
    for (size_t number : program.aliased) {
      const int64_t* const end = kept + options.non_donatable_input_indices_count;
      if (std::find(kept, end, static_cast<int64_t>(number)) != end) continue;
      if (std::count(row, row + args.args_count, row[number]) > 1) {
        return fail({.code = 3,
                     .message = "Attempt to use a buffer that was previously donated in the same "
                                "call"});
      }
      const Memory& memory = *row[number]->memory;
      if (memory.references == 0 && memory.lent == nullptr) row[number]->is_deleted = true;
    }
  }
  return nullptr;
}

// A buffer that is gone is no argument, whoever took it.
abi::Error* check_arguments(const abi::LoadedExecutableExecuteArgs& args) {
  for (size_t device = 0; device < args.devices_count; ++device) {
    for (size_t i = 0; i < args.args_count; ++i) {
      if (args.argument_lists[device][i]->is_deleted) return deleted_error();
    }
  }
  return nullptr;
}

}  // namespace

abi::Error* execute(abi::LoadedExecutableExecuteArgs& args) {
  if (abi::Error* error = check_arguments(args)) return error;
  const auto& options = *args.options;
  if (abi::Error* error =
          check_size(options.head, sizeof(abi::ExecuteOptions), settings().nested_longer_by))
    return error;
  if (abi::Error* error = take_arguments(args)) return error;
  static std::mutex mutex;  // several threads may launch
  std::unique_lock lock(mutex);
  seen().kept.assign(
      options.non_donatable_input_indices,
      options.non_donatable_input_indices + options.non_donatable_input_indices_count);
  seen().execute_device = args.execute_device;
  lock.unlock();
  for (size_t device = 0; device < args.devices_count; ++device) launch(args, device);
  return nullptr;
}

}  // namespace heddle::pjrt::mock
