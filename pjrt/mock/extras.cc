// The calls that Heddle can do without.
#include <cstring>
#include <string_view>

#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/abi/ffi.h"
#include "heddle/pjrt/mock/enter.h"

namespace heddle::pjrt::abi {

struct SerializedExecutable {
  mock::Alive alive;
  std::string bytes;
};

}  // namespace heddle::pjrt::abi

namespace heddle::pjrt::mock {
namespace {

// ---- Buffers.

void answer(abi::BufferIncreaseExternalReferenceCountArgs& args) {
  ++args.buffer->memory->references;
}

abi::Error* answer(abi::BufferDecreaseExternalReferenceCountArgs& args) {
  if (--args.buffer->memory->references >= 0) return nullptr;
  args.buffer->memory->references = 0;
  return fail({.code = 3, .message = "zero reference count"});
}

void answer(abi::BufferOpaqueDeviceMemoryDataPointerArgs& args) {
  args.device_memory_ptr = const_cast<void*>(args.buffer->memory->data());
}

abi::Error* answer(abi::DeviceMemoryStatsArgs& args) {
  if (settings().bytes_limit == 0) return fail({.code = 12, .message = "no statistics"});
  args.bytes_in_use = seen().bytes;
  args.bytes_limit = settings().bytes_limit;
  args.bytes_limit_is_set = true;
  return nullptr;
}

abi::Error* answer(abi::ClientPlatformVersionArgs& args) {
  if (settings().platform_version.empty()) return fail({.code = 12, .message = "not told"});
  args.platform_version = settings().platform_version.data();
  args.platform_version_size = settings().platform_version.size();
  return nullptr;
}

// ---- Programs.

void answer(abi::ExecutableGetCompiledMemoryStatsArgs& args) {
  args.generated_code_size_in_bytes = 100;
  args.temp_size_in_bytes = settings().scratch_bytes;
  args.peak_memory_in_bytes = 1000;
}

abi::Error* answer(abi::ExecutableGetCostAnalysisArgs& args) {
  const auto number = [](const char* name, float value) {
    return abi::NamedValue{.head = {sizeof(abi::NamedValue)},
                           .name = name,
                           .name_size = std::char_traits<char>::length(name),
                           .type = abi::NamedValueType::kFloat,
                           .value = {.number = value},
                           .value_size = 1};
  };
  static const abi::NamedValue kProperties[] = {number("flops", 2), number("bytes accessed", 24)};
  args.properties = kProperties;
  args.properties_count = std::size(kProperties);
  return nullptr;
}

constexpr char kMark[] = "mock:";

void answer(abi::ExecutableSerializeArgs& args) {
  auto* serialized =
      new abi::SerializedExecutable{Alive(seen().programs), kMark + args.executable->program->code};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_executable = serialized;
  args.serialized_executable_deleter = [](abi::SerializedExecutable* gone) { delete gone; };
}

abi::Error* answer(abi::ExecutableDeserializeAndLoadArgs& args) {
  const std::string_view bytes(args.serialized_executable, args.serialized_executable_size);
  if (!bytes.starts_with(kMark)) return fail({.message = "proto deserialization failed"});
  const std::string_view code = bytes.substr(sizeof(kMark) - 1);
  auto program = std::make_shared<Program>(settings().compile(code, ""));
  program->code = code;
  args.loaded_executable =
      new abi::LoadedExecutable{Alive(seen().programs), args.client, std::move(program)};
  return nullptr;
}

// A program with its options, of which the debug options are these two bytes.
constexpr std::string_view kOptimized = "\x12\x04\x72\x02\x08\x01";

abi::Error* answer(abi::ExecutableOptimizedProgramArgs& args) {
  if (abi::Error* error =
          check_size(args.program->head, sizeof(abi::Program), settings().nested_longer_by))
    return error;
  constexpr std::string_view kFormat = "hlo_with_config";
  args.program->format = kFormat.data();
  args.program->format_size = kFormat.size();
  args.program->code_size = kOptimized.size();
  if (args.program->code != nullptr)
    std::memcpy(args.program->code, kOptimized.data(), kOptimized.size());
  return nullptr;
}

void undo(abi::ExecutableDeserializeAndLoadArgs& args) {
  delete std::exchange(args.loaded_executable, nullptr);
}
template <class Args>
void undo(Args& args) {
  take_back(args);
}

constexpr auto kAnswerExtras = [](auto& args) { return answer(args); };
constexpr auto kUndoExtras = [](auto& args) { undo(args); };

}  // namespace

void add_extra_rows(abi::Table& table) {
  add_rows<abi::BufferIncreaseExternalReferenceCountArgs,
           abi::BufferDecreaseExternalReferenceCountArgs,
           abi::BufferOpaqueDeviceMemoryDataPointerArgs, abi::DeviceMemoryStatsArgs,
           abi::ClientPlatformVersionArgs, abi::ExecutableGetCompiledMemoryStatsArgs,
           abi::ExecutableGetCostAnalysisArgs, abi::ExecutableOptimizedProgramArgs,
           abi::ExecutableSerializeArgs, abi::ExecutableDeserializeAndLoadArgs>(
      table, kAnswerExtras, kUndoExtras);
}

std::map<std::string, abi::FfiHandler>& registered_handlers() {
  static auto& instance = *new std::map<std::string, abi::FfiHandler>;
  return instance;
}

namespace {

// The handler is asked for its version by a call that is none.
abi::Error* register_handler(abi::FfiRegisterHandlerArgs* args) {
  if (!settings().handler_error.empty()) return fail({.message = settings().handler_error});
  const auto handler = reinterpret_cast<abi::FfiHandler>(args->handler);
  abi::FfiMetadata metadata;
  abi::FfiMetadataExtension question{
      .base = {.struct_size = sizeof(question),
               .type = static_cast<abi::ExtensionType>(abi::kFfiMetadata)},
      .metadata = &metadata};
  abi::FfiFrame frame{.head = {.struct_size = sizeof(frame), .extensions = &question.base}};
  (void)handler(&frame);
  if (metadata.version.minor <= settings().handler_minor)
    registered_handlers()[std::string(args->target_name, args->target_name_size)] = handler;
  return nullptr;
}

}  // namespace

abi::Extension* add_extra_extensions(abi::Extension* next) {
  if (settings().handler_error.empty() && !settings().handler_minor.has_value()) return next;
  static abi::FfiExtension ffi;
  ffi.base = {.struct_size = sizeof(ffi), .type = abi::ExtensionType::kFfi, .next = next};
  ffi.register_handler = &register_handler;
  return &ffi.base;
}

}  // namespace heddle::pjrt::mock
