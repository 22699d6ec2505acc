// A plugin as a backend: devices, transfers, programs.
#include <atomic>
#include <mutex>

#include "heddle/base/counters.h"
#include "heddle/base/strings.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/environment.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/spmd.h"
#include "heddle/pjrt/internal/types.h"
#include "heddle/pjrt/plugin.h"

namespace heddle::pjrt {
namespace {

using runtime::BackendOption;
using runtime::BufferPtr;
using runtime::Device;

// XLA's CPU takes max(NaN, x) for x unless it is told otherwise; JAX always tells it.
constexpr std::string_view kFastMinMax = "xla_cpu_enable_fast_min_max";

// What every program of the plugin is compiled with, before its own options.
std::vector<BackendOption> default_options(const Client& client, const DevicePlugin& plugin) {
  std::vector<BackendOption> options;
  if (client.is_xla() && client.platform() == "cpu")
    options.push_back({std::string(kFastMinMax), "false"});
  options.insert(options.end(), plugin.compile_options.begin(), plugin.compile_options.end());
  return options;
}

// Later options of a name count.
std::vector<BackendOption> merged(std::vector<BackendOption> options,
                                  const std::vector<BackendOption>& more) {
  for (const BackendOption& option : more) {
    std::erase_if(options, [&](const BackendOption& old) { return old.name == option.name; });
    options.push_back(option);
  }
  return options;
}

class PluginBackend final : public runtime::Backend, public runtime::SpmdBackend {
 public:
  PluginBackend(const std::string& name, std::shared_ptr<const Client> client,
                const DevicePlugin& plugin)
      : Backend(cat("pjrt:", name)),
        client_(std::move(client)),
        options_(merged({}, default_options(*client_, plugin))) {
    for (const Client::Device& device : client_->devices()) {
      add_device(device.kind);
      throttles_.push_back(std::make_shared<runtime::Throttle>(plugin.limits));
    }
  }

  const std::shared_ptr<runtime::Throttle>& throttle(const Device& device) const {
    return throttles_[static_cast<size_t>(device.id())];
  }

  std::string version() const override {
    const Api& api = *client_->api();
    return cat("PJRT ", api.major(), ".", api.minor(), ", platform ", client_->platform());
  }

 protected:
  StatusOr<std::shared_ptr<runtime::Executable>> compile_module(
      const hlo::Module& module, const runtime::CompileOptions& options, Device& device) override {
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    const int id = device_of(device).id;
    auto compile = [client = client_, module,
                    options = compile_options(id, merged(options_, options.backend_options))](
                       const std::vector<int>& donated) {
      return compile_for(client, module, options, donated);
    };
    HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, compile({}));
    return std::make_shared<PjrtExecutable>(module, device, client_, std::move(loaded),
                                            std::move(compile), throttle(device));
  }

  StatusOr<std::shared_ptr<runtime::SpmdExecutable>> compile_for_grid(
      const hlo::Module& module, const runtime::CompileOptions& options,
      const runtime::DeviceGrid& grid) override {
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    HEDDLE_ASSIGN_OR_RETURN(const runtime::EntryShardings shardings,
                            runtime::entry_shardings(module));
    HEDDLE_ASSIGN_OR_RETURN(runtime::TileShapes tiles,
                            runtime::tile_shapes(module, shardings, grid.partitions));
    HEDDLE_ASSIGN_OR_RETURN(
        const hlo::Module prepared,
        prepare_spmd(module, client_->api()->minor(), grid.partitions, shardings));
    std::vector<int> ids;
    PjrtSpmdExecutable::Parts parts{.client = client_, .launching = launching_};
    for (const Device* device : grid.devices) {
      ids.push_back(device_of(*device).id);
      parts.throttles.push_back(throttle(*device));
    }
    const auto all_options = merged(options_, options.backend_options);
    StatusOr<std::shared_ptr<const Loaded>> loaded = Loaded::compile(
        client_, hlo::to_proto(prepared),
        spmd_compile_options(ids, grid.replicas, grid.partitions, all_options), tiles.results);
    if (!loaded.ok()) return explained(loaded.status(), module);
    parts.loaded = *std::move(loaded);
    return std::make_shared<PjrtSpmdExecutable>(module, grid, std::move(tiles.parameters),
                                                std::move(tiles.results), std::move(parts));
  }

 private:
  enum class ZeroCopy : uint8_t { kUnknown, kYes, kNo };

  static StatusOr<std::shared_ptr<const Loaded>> compile_for(
      const std::shared_ptr<const Client>& client, const hlo::Module& module,
      const std::string& options, const std::vector<int>& donated) {
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module prepared, prepare(module, client->api()->minor(), donated));
    drop_shardings(prepared);
    std::vector<Shape> results;
    runtime::append_leaves(module.entry_computation().result_shape(), results);
    StatusOr<std::shared_ptr<const Loaded>> loaded =
        Loaded::compile(client, hlo::to_proto(prepared), options, results);
    if (!loaded.ok()) return explained(loaded.status(), module);
    return loaded;
  }

  const Client::Device& device_of(const Device& device) const {
    return client_->devices()[static_cast<size_t>(device.id())];
  }

  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data,
                                     const Shape& shape) override {
    HEDDLE_ASSIGN_OR_RETURN(Upload upload,
                            start_upload(device, data, shape, abi::HostSemantics::kDuringCall));
    auto buffer =
        std::make_shared<PjrtBuffer>(client_, device, shape, shape.byte_size(), upload.buffer);
    HEDDLE_RETURN_IF_ERROR(upload.host_is_free.await());
    return buffer;
  }

  StatusOr<BufferPtr> borrow(Device& device, const void* data, const Shape& shape,
                             std::shared_ptr<const void> owner) override {
    if (shape.byte_size() == 0 || zero_copy_.load(std::memory_order_relaxed) == ZeroCopy::kNo ||
        !client_->api()->has(abi::Slot::kEventOnReady)) {
      return nullptr;
    }
    HEDDLE_ASSIGN_OR_RETURN(Upload upload,
                            start_upload(device, data, shape, abi::HostSemantics::kZeroCopy));
    auto buffer =
        std::make_shared<PjrtBuffer>(client_, device, shape, /*held_bytes=*/0, upload.buffer);
    const bool lent = uses_in_place(upload.buffer, data);
    zero_copy_.store(lent ? ZeroCopy::kYes : ZeroCopy::kNo, std::memory_order_relaxed);
    // The event lives in its own callback, which lets go of the memory.
    const auto event = std::make_shared<Event>(std::move(upload.host_is_free));
    Status status = event->on_ready([event, owner](const Status&) {});
    if (!status.ok()) {
      buffer.reset();
      HEDDLE_RETURN_IF_ERROR(event->await());
      if (!absl::IsUnimplemented(status)) return status;
      return nullptr;
    }
    if (!lent) return nullptr;
    return buffer;
  }

  Status copy_to_host(runtime::Buffer& buffer, void* data) override {
    const Pin pinned(static_cast<PjrtBuffer&>(buffer));
    if (pinned.get() == nullptr) return runtime::deleted_error("download", buffer.shape());
    RowMajorLayout layout(buffer.shape().rank());
    const auto size = static_cast<size_t>(buffer.size_bytes());
    std::byte nothing;  // an empty array has no bytes to point at
    abi::BufferToHostBufferArgs args{.src = pinned.get(),
                                     .host_layout = layout.get(),
                                     .dst = size == 0 ? &nothing : data,
                                     .dst_size = size};
    HEDDLE_RETURN_IF_ERROR(check_size(pinned.get(), layout, buffer));
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    HEDDLE_RETURN_IF_ERROR(Event(client_->api(), args.event).await());
    extend_small_integers(buffer.shape().dtype(), {static_cast<std::byte*>(data), size});
    return {};
  }

  // What the plugin means to write must be what there is room for.
  Status check_size(abi::Buffer* handle, RowMajorLayout& layout,
                    const runtime::Buffer& buffer) const {
    abi::BufferToHostBufferArgs args{.src = handle, .host_layout = layout.get()};
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    const Event none(client_->api(), args.event);
    if (args.dst_size == static_cast<size_t>(buffer.size_bytes())) return {};
    return client_->api()->error(absl::StatusCode::kInternal, name_of(args.kSlot), "has ",
                                 args.dst_size, " bytes for ", buffer.shape(), ", which has ",
                                 buffer.size_bytes(), "; the plugin is at fault");
  }

  struct Upload {
    abi::Buffer* buffer = nullptr;
    Event host_is_free;
  };

  StatusOr<Upload> start_upload(const Device& device, const void* data, const Shape& shape,
                                abi::HostSemantics semantics) const {
    const Api& api = *client_->api();
    HEDDLE_RETURN_IF_ERROR(annotate(check_transferable(shape, api.minor()), "upload: "));
    const std::byte nothing{};
    abi::ClientBufferFromHostBufferArgs args{
        .client = client_->handle(),
        .data = data == nullptr ? &nothing : data,
        .type = element_type(shape.dtype()),
        .dims = shape.dimensions().data(),
        .dims_count = shape.dimensions().size(),
        .host_buffer_semantics = semantics,
        .device = device_of(device).handle,
    };
    HEDDLE_RETURN_IF_ERROR(api.call(args));
    Event host_is_free(client_->api(), args.done_with_host_buffer);
    if (args.buffer == nullptr) {
      return api.error(absl::StatusCode::kInternal, name_of(args.kSlot),
                       "succeeded without a buffer; the plugin is at fault");
    }
    return Upload{args.buffer, std::move(host_is_free)};
  }

  bool uses_in_place(abi::Buffer* buffer, const void* data) const {
    abi::BufferIsOnCpuArgs on_cpu{.buffer = buffer};
    abi::BufferUnsafePointerArgs pointer{.buffer = buffer};
    if (!client_->api()->call(on_cpu).ok() || !on_cpu.is_on_cpu) return false;
    return client_->api()->call(pointer).ok() &&
           pointer.buffer_pointer == reinterpret_cast<uintptr_t>(data);
  }

  const std::shared_ptr<const Client> client_;
  const std::vector<BackendOption> options_;
  std::vector<std::shared_ptr<runtime::Throttle>> throttles_;  // by device
  const std::shared_ptr<std::mutex> launching_ = std::make_shared<std::mutex>();
  std::atomic<ZeroCopy> zero_copy_{ZeroCopy::kUnknown};
};

}  // namespace

std::shared_ptr<runtime::Throttle> throttle_of(const Device& device) {
  const auto* backend = dynamic_cast<const PluginBackend*>(&device.backend());
  return backend == nullptr ? nullptr : backend->throttle(device);
}

StatusOr<std::unique_ptr<runtime::Backend>> make_backend(const std::string& name,
                                                         const DevicePlugin& plugin) {
  for (const CreateOption& option : plugin.create_options)
    HEDDLE_RETURN_IF_ERROR(check_create_option(name, option));
  for (const EnvironmentVariable& variable : plugin.environment)
    set_environment_variable(variable.name, variable.value);
  if (plugin.small_while_loop_bytes)
    add_xla_option("xla_cpu_small_while_loop_byte_threshold", *plugin.small_while_loop_bytes);
  set_environment_variable("TF_CPP_MIN_LOG_LEVEL", "1");  // XLA's notes; its warnings stay
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Api> api, Api::load(name, plugin.library));
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Client> client,
                          Client::create(std::move(api), plugin.create_options));
  return std::make_unique<PluginBackend>(name, std::move(client), plugin);
}

}  // namespace heddle::pjrt
