#include "heddle/trace/run_module.h"

#include <mutex>
#include <optional>

#include "heddle/base/counters.h"
#include "heddle/base/lru.h"
#include "heddle/base/span.h"
#include "heddle/runtime/program_cache.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/expand_checks.h"
#include "heddle/transform/lower.h"

namespace heddle::trace_internal {
namespace {

using runtime::BufferPtr;
using runtime::Device;
using runtime::Executable;

struct Key {
  hlo::Module canonical;
  uint64_t device;  // serial number: an address may be used again
  runtime::CompileOptions options;
};

struct Cache {
  std::mutex mutex;
  LruMap<Key, std::shared_ptr<Executable>> programs{kMaxPrograms};
  std::optional<uint64_t> forced_hash;
};

Cache& cache() {
  static Cache* const kCache = new Cache;  // never destroyed: threads may outlive main
  return *kCache;
}

}  // namespace

StatusOr<std::shared_ptr<Executable>> executable_for(const hlo::Module& traced, Device& device,
                                                     const runtime::CompileOptions& options,
                                                     uint64_t* hash_out) {
  hlo::Module canonical = transform::canonicalize(traced);
  uint64_t hash = hlo::hash_of(canonical).low;
  {
    std::lock_guard lock(cache().mutex);
    hash = cache().forced_hash.value_or(hash);
    if (hash_out) *hash_out = hash;
    auto* found = cache().programs.find(hash, [&](const Key& key) {
      return key.device == device.serial() && key.options == options &&
             hlo::equal(key.canonical, canonical);
    });
    if (found) return *found;
  }
  // Not under the lock: two threads that miss at once lower twice, and the program cache compiles
  // once.
  count(&Counters::lowerings);
  hlo::Module checked;
  const bool has_checks = options.check_nans || transform::has_checks(traced);
  if (has_checks) {
    HEDDLE_ASSIGN_OR_RETURN(checked, transform::expand_checks(traced, options.check_nans));
  }
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module lowered, transform::lower(has_checks ? checked : traced));
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<Executable> executable,
                          runtime::compile_cached(lowered, device, options));
  decltype(Cache::programs)::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  cache().programs.insert(hash, {std::move(canonical), device.serial(), options}, executable,
                          dropped);
  return executable;
}

void used_again(uint64_t hash, const std::shared_ptr<Executable>& executable) {
  std::lock_guard lock(cache().mutex);
  cache().programs.refresh(hash, executable);
}

std::vector<BufferPtr> buffers_of(std::span<const Tensor> tensors, std::string_view what,
                                  SourceLocation at) {
  std::vector<BufferPtr> buffers;
  buffers.reserve(tensors.size());
  for (const Tensor& tensor : tensors) buffers.push_back(buffer_of(tensor, what, at));
  return buffers;
}

Device& append_buffers(std::span<const Tensor> tensors, std::vector<BufferPtr>& buffers,
                       std::string_view what, SourceLocation at) {
  const size_t first = buffers.size();
  buffers.reserve(first + tensors.size());
  for (const Tensor& tensor : tensors) {
    const bool is_number = tensor.node() && tensor.node()->number;
    buffers.push_back(is_number ? nullptr : buffer_of(tensor, what, at));
  }
  Device& device = device_of(buffers, what, at);
  for (size_t i = 0; i < tensors.size(); ++i) {
    BufferPtr& buffer = buffers[first + i];
    if (!buffer)
      buffer = value_or_throw(runtime::number_to_device(device, *tensors[i].node()->number), at);
  }
  return device;
}

Device& device_of(std::span<const BufferPtr> buffers, std::string_view what, SourceLocation at) {
  Device* device = nullptr;
  for (const BufferPtr& buffer : buffers) {
    if (!buffer) continue;  // a number, which goes to the device of the others
    if (device == nullptr) device = &buffer->device();
    if (&buffer->device() == device) continue;
    throw Error(base::invalid_argument(
                    what, ": operands are on ", device->name(), " and on ", buffer->device().name(),
                    "; all must be on one device, make them under one default device"),
                at);
  }
  return device ? *device : *value_or_throw(runtime::find_default_device(), at);
}

namespace {

std::vector<Tensor> results_of(Executable& executable, std::span<const BufferPtr> arguments,
                               SourceLocation at, const runtime::ExecuteOptions& options) {
  std::vector<BufferPtr> outputs = value_or_throw(executable.execute(arguments, options), at);
  std::vector<Tensor> results;
  results.reserve(outputs.size());
  for (BufferPtr& output : outputs) results.push_back(tensor_of(std::move(output), at));
  return results;
}

}  // namespace

std::vector<Tensor> run_executable(Executable& executable, std::span<const BufferPtr> arguments,
                                   SourceLocation at, const runtime::ExecuteOptions& options) {
  if (!base::may_be_observed()) [[likely]]
    return results_of(executable, arguments, at, options);
  const base::Span span(base::Activity::kCall, executable.name(), at);
  return results_of(executable, arguments, at, options);
}

std::vector<Tensor> run_at_once(Executable& executable, std::span<const BufferPtr> arguments,
                                SourceLocation at) {
  try {
    return run_executable(executable, arguments, at);
  } catch (const Error& error) {
    const Status& status = error.status();
    std::string text = base::message_of(status);
    if (text.starts_with("debug_check: ")) throw;  // its line is part of the program
    const std::string place = base::cat(" [", status.location(), "]");
    if (!status.location().empty() && text.ends_with(place))
      text.resize(text.size() - place.size());
    throw Error({status.code(), text}, at);
  }
}

size_t program_count() {
  std::lock_guard lock(cache().mutex);
  return cache().programs.size();
}

void set_program_capacity_for_testing(size_t capacity) {
  decltype(Cache::programs)::Dropped dropped;
  std::lock_guard lock(cache().mutex);
  cache().programs.set_capacity(capacity, dropped);
}

void force_program_hash_for_testing(const uint64_t* hash) {
  std::lock_guard lock(cache().mutex);
  cache().forced_hash = hash ? std::optional(*hash) : std::nullopt;
}

}  // namespace heddle::trace_internal
