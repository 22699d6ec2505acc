// A plugin as a backend: devices, transfers, programs.
#include "heddle/pjrt/internal/backend.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/default_options.h"
#include "heddle/pjrt/internal/executable.h"
#include "heddle/pjrt/internal/host_calls.h"
#include "heddle/pjrt/internal/host_view.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/internal/record.h"
#include "heddle/pjrt/internal/spmd.h"
#include "heddle/pjrt/internal/stored.h"
#include "heddle/pjrt/internal/types.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/runtime/host/host_memory.h"
#include "heddle/runtime/transfer.h"
#include "heddle/transform/lower.h"

namespace heddle::pjrt {
namespace {

using runtime::BackendOption;
using runtime::BufferPtr;
using runtime::Device;
using runtime::ModulePtr;

// XLA's CPU takes max(NaN, x) for x unless it is told otherwise; JAX always tells it.
constexpr std::string_view kFastMinMax = "xla_cpu_enable_fast_min_max";
// XLA's GPU leaves out conversions to a narrower type and back unless it is told otherwise.
constexpr std::string_view kExcessPrecision = "xla_allow_excess_precision";

// XLA's of JAX 0.8: Shardy had been JAX's own choice for a release.
constexpr int kShardyMinor = 80;

bool is_gpu(const Client& client) {
  return client.is_xla() && (client.platform() == kCuda || client.platform() == "rocm");
}

// What every program of the plugin is compiled with, before its own options.
std::vector<BackendOption> default_options(const Client& client, const DevicePlugin& plugin) {
  std::vector<BackendOption> options;
  if (client.is_xla() && client.platform() == "cpu") {
    options.push_back({std::string(kFastMinMax), "false"});
  } else if (is_gpu(client)) {
    options.push_back({std::string(kExcessPrecision), "false"});
    options.push_back({std::string(kPrecisionOption), "highest"});
  }
  options.insert(options.end(), plugin.compile_options.begin(), plugin.compile_options.end());
  return options;
}

// The later option of a name counts. Extra options are lists: the later list is joined to the
// earlier one, and the later entry of a name counts.
std::vector<BackendOption> merged(std::vector<BackendOption> options,
                                  const std::vector<BackendOption>& more) {
  for (BackendOption option : more) {
    const auto old = std::ranges::find(options, option.name, &BackendOption::name);
    if (old != options.end()) {
      if (option.name == kExtraOption && !old->value.empty())
        option.value = base::cat(old->value, ",", option.value);
      options.erase(old);
    }
    options.push_back(std::move(option));
  }
  return options;
}

// Half of what the device has free, where it says so and nobody else does. Devices that compute in
// host memory say nothing of it, and share it.
runtime::Throttle::Limits limits_of(const Client& client, const Client::Device& device,
                                    const InFlight& said) {
  runtime::Throttle::Limits limits{.launches = said.launches};
  abi::DeviceMemoryStatsArgs args{.device = device.handle};
  if (said.bytes.has_value()) {
    limits.bytes = *said.bytes;
    return limits;
  }
  if (!client.api()->call(args).ok() || !args.bytes_limit_is_set) {
    if (client.platform() == "cpu")
      limits.bytes = runtime::host_bytes_in_flight(static_cast<int>(client.devices().size()));
    return limits;
  }
  const int64_t all = std::max<int64_t>(args.bytes_limit, 0);
  limits.bytes = std::max<int64_t>((all - std::clamp<int64_t>(args.bytes_in_use, 0, all)) / 2, 1);
  return limits;
}

class PluginBackend final : public PjrtBackend, public runtime::SpmdBackend {
 public:
  PluginBackend(const std::string& name, std::shared_ptr<const Client> client,
                const DevicePlugin& plugin, std::string build)
      : PjrtBackend(base::cat("pjrt:", name), std::move(client), std::move(build)),
        options_(merged({}, default_options(*client_, plugin))),
        record_(std::make_shared<const DevicePlugin>(plugin)),
        defaults_(std::make_shared<DefaultDebugOptions>(
            client_, plugin.dtypes.empty() ? pred : plugin.dtypes[0])) {
    for (const Client::Device& device : client_->devices()) {
      add_device(device.kind).throttle().set_limits(limits_of(*client_, device, plugin.limits));
    }
  }

  std::string version() const override {
    const Api& api = *client_->api();
    return base::cat("PJRT ", api.major(), ".", api.minor(), ", platform ", client_->platform());
  }

  base::Hash128 program_hash(const hlo::Module& module, const runtime::CompileOptions& options,
                             const Device& device) const override {
    base::Hasher hasher;
    hash_value(hasher, hlo::hash_of(module));
    const ProgramOptions all =
        program_options(device_of(device).id, merged(options_, options.backend_options));
    hash_value(hasher, all.serialized);
    hash_value(hasher, static_cast<int>(all.precision));
    hash_value(hasher, static_cast<int>(record_->rng));
    for (const std::string& target : record_->expansions.value_or(std::vector<std::string>{"all"}))
      hash_value(hasher, target);
    return hasher.digest();
  }

  bool compiles_portable(const runtime::CompileOptions& options) const override {
    return is_portable(merged(options_, options.backend_options));
  }

  StatusOr<std::shared_ptr<runtime::Executable>> load_module(const ModulePtr& traced,
                                                             const runtime::CompileOptions& options,
                                                             Device& device,
                                                             std::string_view serialized) override {
    const hlo::Module& module = *traced;
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    if (!record_->dtypes.empty())  // the bytes may be of a time when it said otherwise
      HEDDLE_RETURN_IF_ERROR(prepared_for(*client_, *record_, module, {}).status());
    // The plugin has to know the handler of the program's calls.
    HEDDLE_RETURN_IF_ERROR(with_host_calls(module, client_).status());
    HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded,
                            Loaded::deserialize(client_, serialized, results_of(module)));
    HEDDLE_ASSIGN_OR_RETURN(auto compile, compiler_of(traced, options, device));
    return std::make_shared<PjrtExecutable>(
        module, device, client_, std::move(loaded), std::move(compile),
        program_hash(module, options, device), how_of(options, device));
  }

 protected:
  StatusOr<std::shared_ptr<runtime::Executable>> compile_module(
      const ModulePtr& module, const runtime::CompileOptions& options, Device& device) override {
    HEDDLE_ASSIGN_OR_RETURN(auto compile, compiler_of(module, options, device));
    HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, compile({}));
    return std::make_shared<PjrtExecutable>(
        *module, device, client_, std::move(loaded), std::move(compile),
        program_hash(*module, options, device), how_of(options, device));
  }

  StatusOr<std::shared_ptr<runtime::SpmdExecutable>> compile_for_grid(
      const hlo::Module& module, const runtime::CompileOptions& options,
      const runtime::DeviceGrid& grid) override {
    HEDDLE_RETURN_IF_ERROR(hlo::verify(module));
    HEDDLE_ASSIGN_OR_RETURN(const hlo::Module own, fit_to_plugin(module, *record_));
    HEDDLE_ASSIGN_OR_RETURN(const runtime::EntryShardings shardings,
                            runtime::entry_shardings(module));
    HEDDLE_ASSIGN_OR_RETURN(runtime::TileShapes tiles,
                            runtime::tile_shapes(module, shardings, grid.partitions));
    HEDDLE_ASSIGN_OR_RETURN(auto all_options,
                            checked_options(module, options, grid.devices.size()));
    HEDDLE_ASSIGN_OR_RETURN(all_options, resolved(module, std::move(all_options), *defaults_));
    std::vector<int> ids;
    for (const Device* device : grid.devices) ids.push_back(device_of(*device).id);
    const DonatingPrograms::Compile compile =
        [client = client_, record = record_, own, shardings, grid, ids, all_options,
         results = tiles.results](const std::vector<int>& donated) {
          return compile_spmd(client, *record, {own, shardings, grid, ids, all_options}, results,
                              donated);
        };
    HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Loaded> loaded, compile({}));
    PjrtSpmdExecutable::Parts parts{
        .client = client_, .launching = launching_, .donates = record_->donation};
    if (compiles_portable(options))  // and so for one device
      parts.execute_device = device_of(*grid.devices[0]).handle;
    return std::make_shared<PjrtSpmdExecutable>(module, grid, std::move(tiles.parameters),
                                                std::move(tiles.results), std::move(parts),
                                                std::move(loaded), compile);
  }

 private:
  enum class ZeroCopy : uint8_t { kUnknown, kYes, kNo };

  // The options of a program of one device.
  struct ProgramOptions {
    std::string serialized;
    hlo::Precision precision;
  };
  static ProgramOptions program_options(int device, const std::vector<BackendOption>& all) {
    return {compile_options(device, all), matmul_precision(all)};
  }

  // Defaults, and what the program says.
  StatusOr<std::vector<BackendOption>> checked_options(const hlo::Module& module,
                                                       const runtime::CompileOptions& options,
                                                       size_t devices) const {
    std::vector<BackendOption> all = merged(options_, options.backend_options);
    const bool is_xla = client_->is_xla(), is_cpu = is_xla && client_->platform() == "cpu";
    const Status status =
        check_options(all, devices, {is_xla, is_cpu ? record_->library : std::string()});
    if (!status.ok()) return base::annotate(status, "compile ", module.name, ": ");
    return all;
  }

  // As the plugin reads them.
  static StatusOr<std::vector<BackendOption>> resolved(const hlo::Module& module,
                                                       std::vector<BackendOption> options,
                                                       DefaultDebugOptions& defaults) {
    const Status status = resolve_extra_options([&] { return defaults.get(); }, options);
    if (!status.ok()) return base::annotate(status, "compile ", module.name, ": ");
    return options;
  }

  PjrtExecutable::How how_of(const runtime::CompileOptions& options, const Device& device) const {
    return {.donates = record_->donation,
            .execute_device = compiles_portable(options) ? device_of(device).handle : nullptr};
  }

  // The function lowers the module when it is called first. Its caller holds a lock.
  StatusOr<PjrtExecutable::Compile> compiler_of(const ModulePtr& traced,
                                                const runtime::CompileOptions& options,
                                                const Device& device) const {
    HEDDLE_ASSIGN_OR_RETURN(std::vector<BackendOption> checked,
                            checked_options(*traced, options, 1));
    return [client = client_, record = record_, defaults = defaults_, traced, lowered = ModulePtr(),
            build = build(), id = device_of(device).id, checked = std::move(checked)](
               const std::vector<int>& donated) mutable -> StatusOr<std::shared_ptr<const Loaded>> {
      HEDDLE_ASSIGN_OR_RETURN(const auto all, resolved(*traced, checked, *defaults));
      if (lowered == nullptr) {
        count(&Counters::lowerings);
        HEDDLE_ASSIGN_OR_RETURN(hlo::Module plain, transform::lower(*traced));
        lowered = std::make_shared<const hlo::Module>(std::move(plain));
      }
      return compile_for(client, *record, build, *lowered, program_options(id, all), donated);
    };
  }

  static std::vector<Shape> results_of(const hlo::Module& module) {
    std::vector<Shape> results;
    runtime::append_leaves(module.entry_computation().result_shape(), results);
    return results;
  }

  // The module as the plugin gets it, but for its calls of the host.
  static StatusOr<hlo::Module> prepared_for(const Client& client, const DevicePlugin& record,
                                            const hlo::Module& module,
                                            const std::vector<int>& donated) {
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, fit_to_plugin(module, record));
    HEDDLE_ASSIGN_OR_RETURN(
        out, prepare(std::move(out), client.api()->minor(), donated, expansions_of(record)));
    HEDDLE_RETURN_IF_ERROR(check_written(out, record));
    drop_shardings(out);
    return out;
  }

  // What a program of several devices is compiled from.
  struct SpmdSource {
    const hlo::Module& module;  // as fit_to_plugin() gives it
    const runtime::EntryShardings& shardings;
    const runtime::DeviceGrid& grid;
    const std::vector<int>& ids;  // of the devices, the plugin's
    std::vector<BackendOption> options;
  };
  static StatusOr<std::shared_ptr<const Loaded>> compile_spmd(
      const std::shared_ptr<const Client>& client, const DevicePlugin& record, SpmdSource from,
      const std::vector<Shape>& results, const std::vector<int>& donated) {
    const int minor = client->api()->minor();
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module prepared,
                            prepare_spmd(from.module, minor, from.grid.partitions, from.shardings,
                                         donated, expansions_of(record)));
    HEDDLE_RETURN_IF_ERROR(check_written(prepared, record));
    HEDDLE_ASSIGN_OR_RETURN(prepared, with_host_calls(prepared, client));
    HEDDLE_ASSIGN_OR_RETURN(prepared, with_own_constants(prepared));
    set_for_plugin(*client, matmul_precision(from.options), prepared);
    HEDDLE_RETURN_IF_ERROR(choose_partitioner(prepared, from.options, from.grid,
                                              client->is_xla() && minor >= kShardyMinor));
    StatusOr<std::shared_ptr<const Loaded>> loaded = Loaded::compile(
        client, hlo::to_proto(prepared),
        spmd_compile_options(from.ids, from.grid.replicas, from.grid.partitions, from.options),
        results);
    if (!loaded.ok()) return explained(loaded.status(), from.module);
    return loaded;
  }

  // What Heddle adds to a prepared module for the plugin that compiles it.
  static void set_for_plugin(const Client& client, hlo::Precision precision,
                             hlo::Module& prepared) {
    set_matmul_precision(precision, prepared);
    if (is_gpu(client)) drop_trip_counts(prepared);
  }

  static StatusOr<std::shared_ptr<const Loaded>> compile_for(
      const std::shared_ptr<const Client>& client, const DevicePlugin& record,
      const std::string& build, const hlo::Module& module, const ProgramOptions& options,
      const std::vector<int>& donated) {
    HEDDLE_ASSIGN_OR_RETURN(hlo::Module prepared, prepared_for(*client, record, module, donated));
    HEDDLE_ASSIGN_OR_RETURN(prepared, with_host_calls(prepared, client));
    set_for_plugin(*client, options.precision, prepared);
    StatusOr<std::shared_ptr<const Loaded>> loaded =
        compile_or_read(client, {prepared, options.serialized, build}, results_of(module));
    if (!loaded.ok()) return explained(loaded.status(), module);
    return loaded;
  }

  const Client::Device& device_of(const Device& device) const {
    return client_->devices()[static_cast<size_t>(device.id())];
  }

  StatusOr<BufferPtr> copy_to_device(Device& device, const void* data,
                                     const Shape& shape) override {
    return copy_now(device, data, shape, {});
  }

  StatusOr<BufferPtr> copy_strided_to_device(Device& device, const void* data, const Shape& shape,
                                             std::span<const int64_t> byte_strides) override {
    return copy_now(device, data, shape, byte_strides);
  }

  // Without strides, from row-major memory.
  StatusOr<BufferPtr> copy_now(Device& device, const void* data, const Shape& shape,
                               std::span<const int64_t> byte_strides) const {
    HEDDLE_ASSIGN_OR_RETURN(
        Upload upload,
        start_upload(device, data, shape, abi::HostSemantics::kDuringCall, byte_strides));
    BufferPtr buffer = buffer_of(device, shape, shape.byte_size(), upload.buffer);
    HEDDLE_RETURN_IF_ERROR(upload.host_is_free.await());
    return buffer;
  }

  BufferPtr buffer_of(Device& device, const Shape& shape, int64_t held_bytes,
                      abi::Buffer* handle) const {
    return PjrtBuffer::make(client_, device, shape, held_bytes, handle);
  }

  StatusOr<BufferPtr> borrow(Device& device, const void* data, const Shape& shape,
                             std::shared_ptr<const void> owner) override {
    if (shape.byte_size() == 0 || is_packed(shape.dtype()) || !takes_loans(device, shape.dtype()))
      return nullptr;
    HEDDLE_ASSIGN_OR_RETURN(Upload upload,
                            start_upload(device, data, shape, abi::HostSemantics::kZeroCopy, {}));
    BufferPtr buffer = buffer_of(device, shape, /*held_bytes=*/0, upload.buffer);
    const bool lent = uses_in_place(upload.buffer, data);
    if (upload.host_is_free.is_null()) {  // nothing would say when the memory may go
      if (!lent) (void)buffer->await();
      return nullptr;
    }
    const std::shared_ptr<Held> held = make_held(std::move(upload.host_is_free));
    held->owner = std::move(owner);
    Status status = let_go_later(held);
    if (!status.ok()) {
      buffer.reset();
      HEDDLE_RETURN_IF_ERROR(held->event.await());
      if (status.code() != StatusCode::kUnimplemented) return status;
      return nullptr;
    }
    return lent ? buffer : nullptr;
  }

  // Whether the plugin uses host memory in place, learnt once from an array that costs nothing to
  // copy: of the type that is to be lent, which the plugin is known to take.
  bool takes_loans(Device& device, DType dtype) const {
    if (!client_->api()->has(abi::Slot::kEventOnReady)) return false;
    const ZeroCopy known = zero_copy_.load(std::memory_order_relaxed);
    if (known != ZeroCopy::kUnknown) return known == ZeroCopy::kYes;
    alignas(runtime::kLendAlignment) static const std::byte kProbe[64] = {};
    const Shape shape(dtype,
                      {static_cast<int64_t>(sizeof(kProbe)) / Shape::scalar(dtype).byte_size()});
    StatusOr<Upload> upload =
        start_upload(device, kProbe, shape, abi::HostSemantics::kZeroCopy, {});
    if (!upload.ok()) return false;  // this time
    const BufferPtr buffer = buffer_of(device, shape, /*held_bytes=*/0, upload->buffer);
    const bool lent = !upload->host_is_free.is_null() && uses_in_place(upload->buffer, kProbe);
    zero_copy_.store(lent ? ZeroCopy::kYes : ZeroCopy::kNo, std::memory_order_relaxed);
    return lent;
  }

  Status copy_to_host(runtime::Buffer& buffer, void* data) override {
    HEDDLE_ASSIGN_OR_RETURN(std::function<Status()> finish, start_copy_to_host(buffer, data));
    return finish();
  }

  StatusOr<std::function<Status()>> start_copy_to_host(runtime::Buffer& buffer,
                                                       void* data) override {
    struct Use {
      const Pin pin;  // goes last, since it holds the client
      Event event;
    };
    const std::shared_ptr<Use> use(new Use{Pin(static_cast<PjrtBuffer&>(buffer)), {}});
    abi::Buffer* const handle = use->pin.get();
    if (handle == nullptr) return runtime::deleted_error("download", buffer.shape());
    RowMajorLayout layout(buffer.shape().rank());
    const auto size = static_cast<size_t>(buffer.size_bytes());
    std::byte nothing;  // an empty array has no bytes to point at
    abi::BufferToHostBufferArgs args{.src = handle,
                                     .host_layout = layout.get(),
                                     .dst = size == 0 ? &nothing : data,
                                     .dst_size = size};
    HEDDLE_RETURN_IF_ERROR(check_size(handle, layout, buffer));
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    use->event = Event(client_->api(), args.event);
    return [use, dtype = buffer.shape().dtype(), size, data] {
      HEDDLE_RETURN_IF_ERROR(use->event.await());
      extend_small_integers(dtype, {static_cast<std::byte*>(data), size});
      return Status();
    };
  }

  StatusOr<Literal> share_with_host(runtime::Buffer& buffer) override {
    auto& source = static_cast<PjrtBuffer&>(buffer);
    HEDDLE_RETURN_IF_ERROR(buffer.await());
    HEDDLE_ASSIGN_OR_RETURN(HostView view, view_of(client_, source));
    return Literal::borrowed(buffer.shape(), view.data, std::move(view.owner));
  }

  // What the plugin means to write must be what there is room for.
  Status check_size(abi::Buffer* handle, RowMajorLayout& layout,
                    const runtime::Buffer& buffer) const {
    abi::BufferToHostBufferArgs args{.src = handle, .host_layout = layout.get()};
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    const Event none(client_->api(), args.event);
    if (args.dst_size == static_cast<size_t>(buffer.size_bytes())) return {};
    return client_->api()->error(StatusCode::kInternal, name_of(args.kSlot), "has ", args.dst_size,
                                 " bytes for ", buffer.shape(), ", which has ", buffer.size_bytes(),
                                 "; the plugin is at fault");
  }

  struct Upload {
    abi::Buffer* buffer = nullptr;
    Event host_is_free;
  };

  StatusOr<Upload> start_upload(const Device& device, const void* data, const Shape& shape,
                                abi::HostSemantics semantics,
                                std::span<const int64_t> byte_strides) const {
    const Api& api = *client_->api();
    HEDDLE_RETURN_IF_ERROR(base::annotate(check_transferable(shape, api.minor()), "upload: "));
    HEDDLE_RETURN_IF_ERROR(base::annotate(check_dtype(shape.dtype(), *record_), "upload: "));
    const std::byte nothing{};
    abi::ClientBufferFromHostBufferArgs args{
        .client = client_->handle(),
        .data = data == nullptr ? &nothing : data,
        .type = element_type(shape.dtype()),
        .dims = shape.dimensions().data(),
        .dims_count = shape.dimensions().size(),
        .byte_strides = byte_strides.empty() ? nullptr : byte_strides.data(),
        .byte_strides_count = byte_strides.size(),
        .host_buffer_semantics = semantics,
        .device = device_of(device).handle,
    };
    HEDDLE_RETURN_IF_ERROR(api.call(args));
    Event host_is_free(client_->api(), args.done_with_host_buffer);
    if (args.buffer == nullptr) {
      return api.error(StatusCode::kInternal, name_of(args.kSlot),
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

  const std::vector<BackendOption> options_;
  const std::shared_ptr<const DevicePlugin> record_;
  const std::shared_ptr<DefaultDebugOptions> defaults_;
  const std::shared_ptr<std::mutex> launching_ = std::make_shared<std::mutex>();
  mutable std::atomic<ZeroCopy> zero_copy_{ZeroCopy::kUnknown};
};

// One at a time: a plugin need not be safe from two threads that set it up.
StatusOr<std::shared_ptr<const Api>> load(const std::string& name, const std::string& library) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return Api::load(name, library);
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Backend>> make_backend(const std::string& name,
                                                         const DevicePlugin& plugin) {
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_record(plugin), "plugin ", name, ": "));
  for (const CreateOption& option : plugin.create_options)
    HEDDLE_RETURN_IF_ERROR(check_create_option(name, option));
  std::string build = build_of(plugin.library);  // now: another may come to stand at its path
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Api> api, load(name, plugin.library));
  HEDDLE_ASSIGN_OR_RETURN(std::shared_ptr<const Client> client,
                          Client::create(std::move(api), plugin.create_options, plugin.key_values));
  return std::make_unique<PluginBackend>(name, std::move(client), plugin, std::move(build));
}

}  // namespace heddle::pjrt
