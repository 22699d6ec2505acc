#include "heddle/pjrt/internal/client.h"

#include <algorithm>

#include "heddle/hlo/attrs.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/internal/key_values.h"
#include "heddle/pjrt/internal/reaper.h"

namespace heddle::pjrt {
namespace {

using abi::NamedValueType;

// The order of CreateOption::value's alternatives.
constexpr std::string_view kTypeNames[] = {"a bool", "an int64", "a float", "a string",
                                           "a list of int64"};
constexpr NamedValueType kTypes[] = {NamedValueType::kBool, NamedValueType::kInt64,
                                     NamedValueType::kFloat, NamedValueType::kString,
                                     NamedValueType::kInt64List};
enum Type : size_t { kBool, kInt64, kFloat, kString, kInt64List };

struct KnownOption {
  std::string_view name;
  Type type;
};

// Those of XLA's CPU, GPU and TPU plugins.
constexpr KnownOption kKnownOptions[] = {
    {"abort_collectives_on_failure", kBool},
    {"allocator", kString},
    {"asynchronous", kBool},
    {"collective_memory_size", kInt64},
    {"cpu_device_count", kInt64},
    {"enable_mock_nccl", kBool},
    {"max_inflight_computations", kInt64},
    {"memory_fraction", kFloat},
    {"ml_framework_name", kString},
    {"ml_framework_version", kString},
    {"mock_gpu_topology", kString},
    {"node_id", kInt64},
    {"num_nodes", kInt64},
    {"partition_index", kInt64},
    {"platform_name", kString},
    {"preallocate", kBool},
    {"process_id", kInt64},
    {"should_stage_host_to_device_transfers", kBool},
    {"use_tfrt_gpu_client", kBool},
    {"visible_devices", kInt64List},
};

// Writes the option as the plugin reads it; `to` points into `from`.
void write_value(const CreateOption& from, abi::NamedValue& to) {
  to.head.struct_size = sizeof(abi::NamedValue);
  to.name = from.name.data();
  to.name_size = from.name.size();
  to.type = kTypes[from.value.index()];
  to.value_size = 1;
  if (const auto* flag = std::get_if<bool>(&from.value)) to.value.flag = *flag;
  if (const auto* integer = std::get_if<int64_t>(&from.value)) to.value.integer = *integer;
  if (const auto* number = std::get_if<float>(&from.value)) to.value.number = *number;
  if (const auto* text = std::get_if<std::string>(&from.value)) {
    to.value.text = text->data();
    to.value_size = text->size();
  }
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&from.value)) {
    to.value.integers = integers->data();
    to.value_size = integers->size();
  }
}

std::string text_of(const char* data, size_t size) {
  return data == nullptr ? std::string() : std::string(data, size);
}

}  // namespace

Status check_create_option(std::string_view plugin, const CreateOption& option) {
  for (const KnownOption& known : kKnownOptions) {
    if (known.name != option.name || option.value.index() == known.type) continue;
    return base::invalid_argument("plugin ", plugin, ": create option ", option.name, " is ",
                                  kTypeNames[option.value.index()], "; it must be ",
                                  kTypeNames[known.type]);
  }
  const auto* count = std::get_if<int64_t>(&option.value);
  if (option.name == "cpu_device_count" && *count < 1) {
    return base::invalid_argument("plugin ", plugin, ": create option cpu_device_count is ", *count,
                                  "; it must be at least 1");
  }
  return {};
}

bool is_float_option(std::string_view name) {
  return std::ranges::any_of(kKnownOptions, [&](const KnownOption& known) {
    return known.name == name && known.type == kFloat;
  });
}

StatusOr<std::shared_ptr<const Client>> Client::create(
    std::shared_ptr<const Api> api, const std::vector<CreateOption>& options,
    std::shared_ptr<const KeyValueStore> key_values) {
  std::vector<abi::NamedValue> values(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_create_option(api->name(), options[i]));
    write_value(options[i], values[i]);
  }
  abi::ClientCreateArgs args{.create_options = values.data(), .options_count = values.size()};
  if (key_values != nullptr) set_key_values(*key_values, args);
  HEDDLE_RETURN_IF_ERROR(api->call(args));
  if (args.client == nullptr) {
    return api->error(StatusCode::kInternal, name_of(args.kSlot),
                      "succeeded without a client; the plugin is at fault");
  }
  start_reaper();
  std::shared_ptr<Client> client(new Client(std::move(api), std::move(key_values), args.client),
                                 &Client::destroy);
  HEDDLE_RETURN_IF_ERROR(client->read_facts());
  return client;
}

Client::Client(std::shared_ptr<const Api> api, std::shared_ptr<const KeyValueStore> key_values,
               abi::Client* handle)
    : api_(std::move(api)), key_values_(std::move(key_values)), handle_(handle) {}

void Client::destroy(Client* client) {
  if (!InPluginsCall::is_here()) {
    delete client;
    return;
  }
  do_elsewhere([client] { delete client; });
}

Client::~Client() { api_->destroy(abi::ClientDestroyArgs{.client = handle_}); }

Status Client::read_facts() {
  abi::ClientPlatformNameArgs args{.client = handle_};
  HEDDLE_RETURN_IF_ERROR(api_->call(args));
  platform_ = text_of(args.platform_name, args.platform_name_size);
  read_attributes();
  return read_devices();
}

void Client::read_attributes() {
  abi::PluginAttributesArgs args;
  if (!api_->call(args).ok()) return;  // an old plugin
  for (size_t i = 0; i < args.attributes_count; ++i) {
    const abi::NamedValue& attribute = args.attributes[i];
    is_xla_ |= std::string_view(attribute.name, attribute.name_size) == "xla_version";
  }
}

std::string Client::platform_version() const {
  abi::ClientPlatformVersionArgs args{.client = handle_};
  const bool told = api_->call(args).ok() && args.platform_version != nullptr;
  return base::cat(platform_, " ",
                   told ? std::string_view(args.platform_version, args.platform_version_size)
                        : "of unknown version");
}

Status Client::read_devices() {
  abi::ClientAddressableDevicesArgs args{.client = handle_};
  HEDDLE_RETURN_IF_ERROR(api_->call(args));
  if (args.addressable_devices_count == 0) {
    return api_->error(StatusCode::kFailedPrecondition, name_of(args.kSlot),
                       "the client has no device");
  }
  for (size_t i = 0; i < args.addressable_devices_count; ++i) {
    HEDDLE_ASSIGN_OR_RETURN(Device device, read_device(args.addressable_devices[i]));
    devices_.push_back(std::move(device));
  }
  return {};
}

StatusOr<Client::Device> Client::read_device(abi::Device* handle) const {
  abi::DeviceGetDescriptionArgs described{.device = handle};
  if (handle != nullptr) HEDDLE_RETURN_IF_ERROR(api_->call(described));
  if (described.device_description == nullptr) {
    return api_->error(StatusCode::kInternal, name_of(described.kSlot),
                       "a device is null, or has no description; the plugin is at fault");
  }
  abi::DeviceDescriptionIdArgs id{.device_description = described.device_description};
  HEDDLE_RETURN_IF_ERROR(api_->call(id));
  abi::DeviceDescriptionKindArgs kind{.device_description = described.device_description};
  const bool has_kind = api_->call(kind).ok();
  return Device{.handle = handle,
                .id = id.id,
                .kind = has_kind ? text_of(kind.device_kind, kind.device_kind_size) : platform_};
}

}  // namespace heddle::pjrt
