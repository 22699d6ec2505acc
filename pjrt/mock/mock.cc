#include "heddle/pjrt/mock/mock.h"

#include <algorithm>
#include <cstring>

#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/mock/enter.h"

namespace heddle::pjrt::mock {
namespace {

using abi::Slot;

class MockPlugin final : public Plugin {
 public:
  void reset(Settings settings) override;
  Settings& settings() override { return settings_; }
  Seen& seen() override { return *seen_; }
  void open() override {
    settings_.held = false;
    std::scoped_lock lock(mutex_);
    for (Worker* worker : workers_) worker->open();
  }
  const abi::Table* table() override {
    if (tables_.empty()) reset({});
    return &tables_.back()->table;
  }
  abi::FfiHandler handler(const std::string& name) override {
    const auto found = registered_handlers().find(name);
    return found == registered_handlers().end() ? nullptr : found->second;
  }

  void add_worker(Worker* worker) {
    std::scoped_lock lock(mutex_);
    workers_.insert(worker);
  }
  void remove_worker(Worker* worker) {
    std::scoped_lock lock(mutex_);
    workers_.erase(worker);
  }

 private:
  Settings settings_;
  std::unique_ptr<Seen> seen_ = std::make_unique<Seen>();
  std::vector<std::unique_ptr<Seen>> left_;
  // One for each reset(), as for plugins that are loaded one after the other. The old ones stay:
  // what is loaded is never unloaded.
  struct Loaded {
    abi::Table table;
    std::vector<abi::Extension> extensions;
  };
  std::vector<std::unique_ptr<Loaded>> tables_;
  std::mutex mutex_;
  std::set<Worker*> workers_;
};

MockPlugin& plugin() {
  static MockPlugin& instance = *new MockPlugin;
  return instance;
}

}  // namespace

Seen& seen() { return plugin().seen(); }
const Settings& settings() { return plugin().settings(); }

abi::Error* fail(Fault fault) { return new abi::Error{Alive(seen().errors), std::move(fault)}; }
abi::Error* fail_if(const std::optional<Fault>& fault) {
  return fault.has_value() ? fail(*fault) : nullptr;
}

abi::Event* event_of(std::shared_ptr<Moment> moment) {
  return new abi::Event{Alive(seen().events), std::move(moment)};
}

size_t width_of(abi::BufferType type) {
  using enum abi::BufferType;
  switch (type) {
    case kS16:
    case kU16:
    case kF16:
    case kBF16: return 2;
    case kS32:
    case kU32:
    case kF32: return 4;
    case kS64:
    case kU64:
    case kF64:
    case kC64: return 8;
    case kC128: return 16;
    default: return 1;
  }
}

abi::Error* deleted_error() {
  return fail({.code = 3, .message = "the buffer was deleted or donated"});
}

abi::Buffer* buffer_of(std::shared_ptr<Memory> memory) {
  return new abi::Buffer{Alive(seen().buffers), std::move(memory)};
}

Array array_of(abi::BufferType type, const int64_t* dims, size_t dims_count) {
  return {.type = type, .dims = {dims, dims + dims_count}, .bytes = {}};
}

size_t size_of(const Array& array) {
  size_t size = width_of(array.type);
  for (int64_t dim : array.dims) size *= static_cast<size_t>(dim);
  return size;
}

// Several of them lie in a byte of a device's memory, as XLA's do: those are not used in place.
bool is_packed(abi::BufferType type) {
  using enum abi::BufferType;
  return type == kS4 || type == kU4 || type == kS2 || type == kU2 || type == kF4E2M1FN ||
         type == kS1 || type == kU1;
}

bool is_destroyer(Slot slot) {
  return slot == Slot::kEventDestroy || slot == Slot::kClientDestroy ||
         slot == Slot::kLoadedExecutableDestroy || slot == Slot::kExecutableDestroy ||
         slot == Slot::kBufferDestroy;
}

std::optional<Fault> fault_of(const std::string& message) {
  if (message.empty()) return std::nullopt;
  return Fault{.message = message};
}

namespace {

// ---- The calls.

void answer(abi::PluginInitializeArgs&) {
  if (settings().initialising) settings().initialising();
}

void answer(abi::PluginAttributesArgs& args) {
  static const int64_t kVersion[] = {1, 0, 0};
  static const abi::NamedValue kXla[] = {{.name = "xla_version",
                                          .name_size = 11,
                                          .type = abi::NamedValueType::kInt64,
                                          .value = {.integer = 2},
                                          .value_size = 1},
                                         {.name = "stablehlo_current_version",
                                          .name_size = 25,
                                          .type = abi::NamedValueType::kInt64List,
                                          .value = {.integers = kVersion},
                                          .value_size = 3},
                                         {.name = "stablehlo_minimum_version",
                                          .name_size = 25,
                                          .type = abi::NamedValueType::kInt64List,
                                          .value = {.integers = kVersion},
                                          .value_size = 3}};
  args.attributes = kXla;
  args.attributes_count = settings().is_xla ? std::size(kXla) : 0;
}

void answer(abi::EventDestroyArgs& args) { delete args.event; }

void answer(abi::EventIsReadyArgs& args) { args.is_ready = args.event->moment->is_done(); }

abi::Error* answer(abi::EventErrorArgs& args) {
  if (!args.event->moment->is_done()) {
    ++seen().errors_asked_early;
    return nullptr;
  }
  return fail_if(args.event->moment->wait());
}

abi::Error* answer(abi::EventAwaitArgs& args) { return fail_if(args.event->moment->wait()); }

void answer(abi::EventOnReadyArgs& args) {
  args.event->moment->then([call = args.callback, user = args.user_arg](
                               const std::optional<Fault>& fault) { call(fail_if(fault), user); });
}

// What plugins for several processes do: tells the others of this one, and waits for their word.
abi::Error* meet_the_others(const abi::ClientCreateArgs& args) {
  if (args.kv_put_callback == nullptr) return nullptr;
  abi::CallbackError fail_with = [](int code, const char* message, size_t size) {
    return fail({.code = code, .message = std::string(message, size)});
  };
  const std::string key = "mock/devices", value = std::to_string(settings().devices);
  abi::KeyValuePutArgs put{.head = {sizeof(put)},
                           .key = key.data(),
                           .key_size = key.size(),
                           .value = value.data(),
                           .value_size = value.size(),
                           .callback_error = &fail_with,
                           .user_arg = args.kv_put_user_arg};
  if (abi::Error* error = args.kv_put_callback(&put)) return error;
  const std::string other = "mock/go";
  abi::KeyValueGetArgs get{.head = {sizeof(get)},
                           .key = other.data(),
                           .key_size = other.size(),
                           .timeout_in_ms = 200,
                           .callback_error = &fail_with,
                           .user_arg = args.kv_get_user_arg};
  if (abi::Error* error = args.kv_get_callback(&get)) return error;
  get.value_deleter(get.value);
  return nullptr;
}

// Those of XLA's plugin for CPUs.
abi::Error* read_options(const abi::ClientCreateArgs& args, int64_t& devices) {
  for (size_t i = 0; i < args.options_count; ++i) {
    const abi::NamedValue& option = args.create_options[i];
    const std::string name(option.name, option.name_size);
    const bool is_flag = name == "asynchronous";
    const bool is_count = name == "cpu_device_count";
    if (!is_flag && !is_count)
      return fail({.code = 3, .message = "Unexpected option name passed to ClientCreate: " + name});
    if (option.type != (is_flag ? abi::NamedValueType::kBool : abi::NamedValueType::kInt64))
      return fail({.code = 3, .message = "Option passed with an incorrect type: " + name});
    if (is_count) devices = option.value.integer;
  }
  return nullptr;
}

abi::Error* answer(abi::ClientCreateArgs& args) {
  if (settings().creating) settings().creating();
  if (abi::Error* error = meet_the_others(args)) return error;
  int64_t devices = settings().devices;
  if (settings().complete) {
    if (abi::Error* error = read_options(args, devices)) return error;
  }
  auto* client = new abi::Client{Alive(seen().clients), {}, {}, nullptr};
  client->devices.resize(static_cast<size_t>(devices));
  for (size_t i = 0; i < client->devices.size(); ++i) {
    abi::Device& device = client->devices[i];
    device.description.id = 10 + static_cast<int>(i);
    device.description.text = "mock device " + std::to_string(device.description.id);
    device.local_id = static_cast<int>(i);
    device.memory = {.id = 20 + static_cast<int>(i), .device = &device};
    client->handles.push_back(&device);
    client->memories.push_back(&device.memory);
  }
  if (settings().asynchronous) {
    client->worker = std::make_unique<Worker>(settings().held);
    plugin().add_worker(client->worker.get());
  }
  args.client = client;
  return nullptr;
}

void answer(abi::ClientDestroyArgs& args) {
  if (args.client->worker != nullptr) plugin().remove_worker(args.client->worker.get());
  delete args.client;
}

void answer(abi::ClientPlatformNameArgs& args) {
  args.platform_name = settings().platform.data();
  args.platform_name_size = settings().platform.size();
}

void answer(abi::ClientAddressableDevicesArgs& args) {
  args.addressable_devices = args.client->handles.data();
  args.addressable_devices_count = args.client->handles.size();
}

void answer(abi::DeviceGetDescriptionArgs& args) {
  args.device_description = &args.device->description;
}

void answer(abi::DeviceDescriptionIdArgs& args) { args.id = args.device_description->id; }

void answer(abi::DeviceDescriptionKindArgs& args) {
  args.device_kind = "mock device";
  args.device_kind_size = std::strlen(args.device_kind);
}

abi::Error* answer(abi::ClientCompileArgs& args) {
  if (abi::Error* error =
          check_size(args.program->head, sizeof(abi::Program), settings().nested_longer_by))
    return error;
  const std::string_view code(args.program->code, args.program->code_size);
  const std::string_view format(args.program->format, args.program->format_size);
  const std::string_view options(args.compile_options, args.compile_options_size);
  const bool is_text = format == "mlir" && settings().compile_text;
  if (format != "hlo" && !is_text)
    return fail({.code = 3, .message = "Unknown program format '" + std::string(format) + "'."});
  if (settings().complete && !field_of(options, 0).has_value())
    return fail({.code = 3, .message = "failed to deserialize CompileOptionsProto"});
  if (!settings().compile) return fail({.code = 12, .message = "no compiler"});
  auto program = std::make_shared<Program>(is_text ? settings().compile_text(code)
                                                   : settings().compile(code, options));
  program->options = options;
  if (program->refused.has_value()) return fail(*program->refused);
  program->code.assign(args.program->code, args.program->code_size);
  args.executable =
      new abi::LoadedExecutable{Alive(seen().programs), args.client, std::move(program)};
  return nullptr;
}

void answer(abi::LoadedExecutableDestroyArgs& args) { delete args.executable; }

void answer(abi::LoadedExecutableGetExecutableArgs& args) {
  auto* executable = new abi::Executable{args.loaded_executable->program, {}, {}, {}};
  for (const Array& result : executable->program->results) {
    executable->types.push_back(settings().other_types ? abi::BufferType::kS8 : result.type);
    executable->dims.insert(executable->dims.end(), result.dims.begin(), result.dims.end());
    executable->ranks.push_back(result.dims.size());
  }
  args.executable = executable;
}

void answer(abi::ExecutableDestroyArgs& args) { delete args.executable; }

void answer(abi::ExecutableNumOutputsArgs& args) {
  args.outputs_count = args.executable->types.size() + static_cast<size_t>(settings().more_results);
}

void answer(abi::ExecutableOutputElementTypesArgs& args) {
  args.output_types = args.executable->types.data();
  args.output_types_count = args.executable->types.size();
}

void answer(abi::ExecutableOutputDimensionsArgs& args) {
  args.dims = args.executable->dims.data();
  args.dim_sizes = args.executable->ranks.data();
  args.outputs_count = args.executable->ranks.size();
}

// The elements in row-major order, by the host's strides.
void copy_from_host(const abi::ClientBufferFromHostBufferArgs& args, Array& to) {
  const auto* from = static_cast<const std::byte*>(args.data);
  const size_t width = width_of(args.type);
  if (args.byte_strides == nullptr) {
    if (!to.bytes.empty()) std::memcpy(to.bytes.data(), from, to.bytes.size());
    return;
  }
  for (size_t at = 0; at < to.bytes.size(); at += width) {
    int64_t rest = static_cast<int64_t>(at / width), offset = 0;
    for (size_t d = to.dims.size(); d-- > 0; rest /= to.dims[d])
      offset += rest % to.dims[d] * args.byte_strides[d];
    std::memcpy(&to.bytes[at], from + offset, width);
  }
}

abi::Error* answer(abi::ClientBufferFromHostBufferArgs& args) {
  if (args.device == nullptr) return fail({.code = 3, .message = "no device"});
  Array array = array_of(args.type, args.dims, args.dims_count);
  const size_t size = size_of(array);
  const bool lends = args.host_buffer_semantics >= abi::HostSemantics::kZeroCopy &&
                     !settings().copies && !is_packed(args.type);
  if (!lends) {
    array.bytes.resize(size);
    copy_from_host(args, array);
  }
  auto memory =
      std::make_shared<Memory>(seen(), std::move(array), size, lends ? args.data : nullptr);
  if (settings().late_uploads) {
    args.client->worker->add([memory] { memory->ready->happen(); });
  } else {
    memory->ready->happen(fault_of(settings().host_error));
  }
  if (!lends) memory->host_is_free->happen(fault_of(settings().host_error));
  if (!lends || !settings().silent_loans)
    args.done_with_host_buffer = event_of(memory->host_is_free);
  args.buffer = buffer_of(std::move(memory));
  return nullptr;
}

void answer(abi::BufferDestroyArgs& args) { delete args.buffer; }

abi::Error* answer(abi::BufferReadyEventArgs& args) {
  if (args.buffer->is_deleted) return deleted_error();
  args.event = event_of(args.buffer->memory->ready);
  return nullptr;
}

void answer(abi::BufferIsOnCpuArgs& args) { args.is_on_cpu = !settings().off_host; }

void answer(abi::BufferUnsafePointerArgs& args) {
  args.buffer_pointer = reinterpret_cast<uintptr_t>(args.buffer->memory->data());
}

abi::Error* answer(abi::BufferToHostBufferArgs& args) {
  if (args.host_layout != nullptr) {
    if (abi::Error* error = check_size(args.host_layout->head, sizeof(abi::MemoryLayout),
                                       settings().nested_longer_by))
      return error;
  }
  if (args.src->is_deleted) return deleted_error();
  const std::shared_ptr<Memory> memory = args.src->memory;
  // Not that of the bytes, which a run that is going on may be writing.
  const auto size = static_cast<size_t>(memory->size + settings().more_bytes);
  if (args.dst == nullptr) {
    args.dst_size = size;
    return nullptr;
  }
  if (args.dst_size < size) return fail({.code = 3, .message = "dst_size is too small"});
  auto moment = std::make_shared<Moment>();
  args.event = event_of(moment);
  memory->ready->then([memory, moment, dst = args.dst](const std::optional<Fault>& fault) {
    if (!fault.has_value() && memory->size > 0)
      std::memcpy(dst, memory->data(), static_cast<size_t>(memory->size));
    moment->happen(fault);
  });
  return nullptr;
}

abi::Error* answer(abi::LoadedExecutableExecuteArgs& args) { return execute(args); }

// ---- The table.

// Undo what a call gave.
void undo(abi::ClientCreateArgs& args) {
  if (args.client->worker != nullptr) plugin().remove_worker(args.client->worker.get());
  delete std::exchange(args.client, nullptr);
}
void undo(abi::ClientCompileArgs& args) { delete std::exchange(args.executable, nullptr); }
void undo(abi::ClientBufferFromHostBufferArgs& args) { delete std::exchange(args.buffer, nullptr); }
void undo(abi::LoadedExecutableExecuteArgs& args) {
  for (size_t device = 0; device < args.devices_count; ++device) {
    for (size_t i = 0; i < args.executable->program->results.size(); ++i)
      delete std::exchange(args.output_lists[device][i], nullptr);
  }
}
template <class Args>
void undo(Args& args) {
  take_back(args);
}

constexpr auto kAnswer = [](auto& args) { return answer(args); };
constexpr auto kUndo = [](auto& args) { undo(args); };

void destroy_error(abi::ErrorDestroyArgs* args) { delete args->error; }

void tell_message(abi::ErrorMessageArgs* args) {
  args->message = args->error->fault.message.data();
  args->message_size = args->error->fault.message.size();
}

abi::Error* tell_code(abi::ErrorGetCodeArgs* args) {
  const auto fault = settings().failing.find(Slot::kErrorGetCode);
  if (fault != settings().failing.end()) return fail(fault->second);
  args->code = static_cast<abi::ErrorCode>(args->error->fault.code);
  return nullptr;
}

void MockPlugin::reset(Settings settings) {
  // Backends that a process keeps, as its registry does, count down when they go.
  if (seen_ != nullptr && seen_->clients != 0) left_.push_back(std::move(seen_));
  settings_ = std::move(settings);
  seen_ = std::make_unique<Seen>();
  registered_handlers().clear();
  Loaded& loaded = *tables_.emplace_back(std::make_unique<Loaded>());
  abi::Table& table = loaded.table;
  add_rows<abi::PluginInitializeArgs, abi::PluginAttributesArgs, abi::EventDestroyArgs,
           abi::EventIsReadyArgs, abi::EventErrorArgs, abi::EventAwaitArgs, abi::EventOnReadyArgs,
           abi::ClientCreateArgs, abi::ClientDestroyArgs, abi::ClientPlatformNameArgs,
           abi::ClientAddressableDevicesArgs, abi::DeviceGetDescriptionArgs,
           abi::DeviceDescriptionIdArgs, abi::DeviceDescriptionKindArgs, abi::ClientCompileArgs,
           abi::LoadedExecutableDestroyArgs, abi::LoadedExecutableGetExecutableArgs,
           abi::ExecutableDestroyArgs, abi::ExecutableNumOutputsArgs,
           abi::ExecutableOutputElementTypesArgs, abi::ExecutableOutputDimensionsArgs,
           abi::ClientBufferFromHostBufferArgs, abi::BufferDestroyArgs, abi::BufferReadyEventArgs,
           abi::BufferIsOnCpuArgs, abi::BufferUnsafePointerArgs, abi::BufferToHostBufferArgs,
           abi::LoadedExecutableExecuteArgs>(table, kAnswer, kUndo);
  table.rows[static_cast<size_t>(Slot::kErrorDestroy)] = reinterpret_cast<void*>(&destroy_error);
  table.rows[static_cast<size_t>(Slot::kErrorMessage)] = reinterpret_cast<void*>(&tell_message);
  table.rows[static_cast<size_t>(Slot::kErrorGetCode)] = reinterpret_cast<void*>(&tell_code);
  add_extra_rows(table);
  if (settings_.complete) {
    add_complete_rows(table);
    add_complete_buffer_rows(table);
  }
  for (Slot slot : settings_.absent) table.rows[static_cast<size_t>(slot)] = nullptr;
  table.head.struct_size = settings_.table_size;
  table.version = {.head = {.struct_size = sizeof(abi::Version)},
                   .major = settings_.major,
                   .minor = settings_.minor};
  auto& extensions = loaded.extensions;
  extensions.assign(static_cast<size_t>(settings_.endless_extensions),
                    {.type = static_cast<abi::ExtensionType>(99)});
  for (size_t i = 0; i < extensions.size(); ++i)
    extensions[i].next = &extensions[(i + 1) % extensions.size()];
  table.head.extensions = add_extra_extensions(extensions.empty() ? nullptr : extensions.data());
  if (settings_.complete) table.head.extensions = add_complete_extensions(table.head.extensions);
}

}  // namespace
}  // namespace heddle::pjrt::mock

extern "C" __attribute__((visibility("default"))) heddle::pjrt::mock::Plugin* heddle_pjrt_mock() {
  return &heddle::pjrt::mock::plugin();
}

extern "C" __attribute__((visibility("default"))) const heddle::pjrt::abi::Table* GetPjrtApi() {
  return heddle::pjrt::mock::plugin().table();
}
