// The calls on clients, devices, programs and events that Heddle does not make, as a plugin of
// XLA's answers them.
#include <string_view>

#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/mock/enter.h"

namespace heddle::pjrt::abi {

struct ExecuteContext {
  mock::Alive alive;
};
struct DeviceAssignmentSerialized {
  mock::Alive alive;
  std::string bytes;
};

}  // namespace heddle::pjrt::abi

namespace heddle::pjrt::mock {
namespace {

// Takes a number of seven bits a byte off the front. False: there is none.
bool take_number(std::string_view& from, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from[0]);
    from.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Takes the value of a field of this wire type. False: it is none.
bool take_value(std::string_view& from, uint64_t wire_type, std::string_view& bytes) {
  uint64_t size = 0;
  if (wire_type == 0) return take_number(from, size);
  if (wire_type == 1) size = 8;
  if (wire_type == 5) size = 4;
  if (wire_type == 2 && !take_number(from, size)) return false;
  if ((wire_type != 1 && wire_type != 2 && wire_type != 5) || size > from.size()) return false;
  bytes = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

abi::Error* no_device(int id) {
  return fail(
      {.code = 3, .message = "No matching device found for device_id " + std::to_string(id)});
}

// ---- Clients.

void answer(abi::ClientProcessIndexArgs& args) { args.process_index = 0; }

void answer(abi::ClientDevicesArgs& args) {
  args.devices = args.client->handles.data();
  args.devices_count = args.client->handles.size();
}

abi::Error* answer(abi::ClientLookupDeviceArgs& args) {
  for (abi::Device* device : args.client->handles) {
    if (device->description.id == args.id) args.device = device;
  }
  return args.device == nullptr ? no_device(args.id) : nullptr;
}

abi::Error* answer(abi::ClientLookupAddressableDeviceArgs& args) {
  for (abi::Device* device : args.client->handles) {
    if (device->local_id == args.local_hardware_id) args.addressable_device = device;
  }
  return args.addressable_device == nullptr ? no_device(args.local_hardware_id) : nullptr;
}

void answer(abi::ClientAddressableMemoriesArgs& args) {
  args.addressable_memories = args.client->memories.data();
  args.addressable_memories_count = args.client->memories.size();
}

abi::Error* answer(abi::ClientDefaultDeviceAssignmentArgs& args) {
  if (args.replicas_count <= 0 || args.partitions_count <= 0)
    return fail({.code = 3, .message = "counts of replicas and partitions must be positive"});
  const uint64_t count =
      static_cast<uint64_t>(args.replicas_count) * static_cast<uint64_t>(args.partitions_count);
  if (args.default_assignment_size < count)
    return fail({.code = 9, .message = "default_assignment_size is too small"});
  const auto& devices = args.client->devices;
  for (size_t i = 0; i < count; ++i)
    args.default_assignment[i] = devices[i % devices.size()].description.id;
  return nullptr;
}

abi::Error* answer(abi::ClientDmaMapArgs& args) {
  if (args.data == nullptr || args.size == 0)
    return fail({.code = 3, .message = "there is no memory to map"});
  return nullptr;
}

void answer(abi::ClientDmaUnmapArgs&) {}

// ---- Devices and memories.

constexpr std::string_view kDeviceText = "mock device", kMemoryKind = "device";
constexpr int kMemoryKindId = 7;

void answer(abi::DeviceDescriptionProcessIndexArgs& args) { args.process_index = 0; }

void answer(abi::DeviceDescriptionDebugStringArgs& args) {
  args.debug_string = kDeviceText.data();
  args.debug_string_size = kDeviceText.size();
}

void answer(abi::DeviceDescriptionToStringArgs& args) {
  args.to_string = args.device_description->text.data();
  args.to_string_size = args.device_description->text.size();
}

void answer(abi::DeviceIsAddressableArgs& args) { args.is_addressable = true; }

void answer(abi::DeviceLocalHardwareIdArgs& args) {
  args.local_hardware_id = args.device->local_id;
}

void answer(abi::DeviceDefaultMemoryArgs& args) { args.memory = &args.device->memory; }

void answer(abi::MemoryIdArgs& args) { args.id = args.memory->id; }

void answer(abi::MemoryKindArgs& args) {
  args.kind = kMemoryKind.data();
  args.kind_size = kMemoryKind.size();
}

// ---- Programs.

void answer(abi::ExecutableNameArgs& args) {
  args.executable_name = args.executable->program->name.data();
  args.executable_name_size = args.executable->program->name.size();
}

void answer(abi::ExecutableSizeOfGeneratedCodeInBytesArgs& args) { args.size_in_bytes = 100; }

void answer(abi::ExecutableFingerprintArgs& args) {
  args.executable_fingerprint = args.executable->program->code.data();
  args.executable_fingerprint_size = args.executable->program->code.size();
}

// The build options are field 3 of the options, and field 9 of those is the assignment.
std::string assignment_of(const Program& program) {
  const std::string_view build = field_of(program.options, 3).value_or("");
  return std::string(field_of(build, 9).value_or(""));
}

void answer(abi::LoadedExecutableGetDeviceAssignmentArgs& args) {
  auto* bytes = new abi::DeviceAssignmentSerialized{Alive(seen().programs),
                                                    assignment_of(*args.executable->program)};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_device_assignment = bytes;
  args.deleter = [](abi::DeviceAssignmentSerialized* gone) { delete gone; };
}

// Of one device, whose number is the assignment's last byte.
void answer(abi::LoadedExecutableAddressableDevicesArgs& args) {
  const std::string assignment = assignment_of(*args.executable->program);
  const auto& handles = args.executable->client->handles;
  for (size_t i = 0; i < handles.size() && !assignment.empty(); ++i) {
    if (handles[i]->description.id != assignment.back()) continue;
    args.addressable_devices = &handles[i];
    args.addressable_devices_count = 1;
  }
}

void answer(abi::ExecuteContextCreateArgs& args) {
  args.context = new abi::ExecuteContext{Alive(seen().programs)};
}

void answer(abi::ExecuteContextDestroyArgs& args) { delete args.context; }

// ---- Events.

void answer(abi::EventCreateArgs& args) { args.event = event_of(std::make_shared<Moment>()); }

abi::Error* answer(abi::EventSetArgs& args) {
  if (args.event->moment->is_done())
    return fail({.code = 9, .message = "the event has happened already"});
  if (args.error_code == abi::ErrorCode::kOk) {
    args.event->moment->happen();
  } else {
    args.event->moment->happen(
        Fault{.code = static_cast<int>(args.error_code),
              .message = std::string(args.error_message, args.error_message_size)});
  }
  return nullptr;
}

constexpr auto kAnswerComplete = [](auto& args) { return answer(args); };
constexpr auto kUndoComplete = [](auto& args) { take_back(args); };

// ---- Extensions.

abi::Error* tell_memories(abi::DeviceDescriptionMemoryDescriptionsArgs* args) {
  static const int kOne = 0;  // whose address stands for the one kind of memory
  static const auto* const kDescription = reinterpret_cast<const abi::MemoryDescription*>(&kOne);
  args->memory_descriptions = &kDescription;
  args->memory_descriptions_count = 1;
  args->default_memory_index = 0;
  return nullptr;
}

abi::Error* tell_kind(abi::MemoryDescriptionKindArgs* args) {
  args->kind = kMemoryKind.data();
  args->kind_size = kMemoryKind.size();
  args->kind_id = kMemoryKindId;
  return nullptr;
}

}  // namespace

std::optional<std::string_view> field_of(std::string_view message, uint64_t number) {
  std::string_view found;
  while (!message.empty()) {
    uint64_t tag = 0;
    std::string_view bytes;
    if (!take_number(message, tag) || tag < 8 || !take_value(message, tag & 7, bytes))
      return std::nullopt;
    if (tag >> 3 == number) found = bytes;
  }
  return found;
}

void add_complete_rows(abi::Table& table) {
  add_rows<abi::ClientProcessIndexArgs, abi::ClientDevicesArgs, abi::ClientLookupDeviceArgs,
           abi::ClientLookupAddressableDeviceArgs, abi::ClientAddressableMemoriesArgs,
           abi::ClientDefaultDeviceAssignmentArgs, abi::ClientDmaMapArgs, abi::ClientDmaUnmapArgs,
           abi::DeviceDescriptionProcessIndexArgs, abi::DeviceDescriptionDebugStringArgs,
           abi::DeviceDescriptionToStringArgs, abi::DeviceIsAddressableArgs,
           abi::DeviceLocalHardwareIdArgs, abi::DeviceDefaultMemoryArgs, abi::MemoryIdArgs,
           abi::MemoryKindArgs, abi::ExecutableNameArgs,
           abi::ExecutableSizeOfGeneratedCodeInBytesArgs, abi::ExecutableFingerprintArgs,
           abi::LoadedExecutableGetDeviceAssignmentArgs,
           abi::LoadedExecutableAddressableDevicesArgs, abi::ExecuteContextCreateArgs,
           abi::ExecuteContextDestroyArgs, abi::EventCreateArgs, abi::EventSetArgs>(
      table, kAnswerComplete, kUndoComplete);
}

abi::Extension* add_complete_extensions(abi::Extension* next) {
  static abi::MemoryDescriptionsExtension memories;
  memories.base = {.struct_size = sizeof(memories),
                   .type = abi::ExtensionType::kMemoryDescriptions,
                   .next = add_layouts(next)};
  memories.memory_descriptions = &tell_memories;
  memories.kind = &tell_kind;
  return &memories.base;
}

}  // namespace heddle::pjrt::mock
