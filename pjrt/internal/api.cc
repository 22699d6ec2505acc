#include "heddle/pjrt/internal/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <vector>

namespace heddle::pjrt {
namespace {

using abi::Slot;
using Code = StatusCode;

constexpr std::string_view kSlotNames[] = {
#define PJRT_SLOT(row, name, since) #name,
#include "heddle/pjrt/abi/slots.def"
#undef PJRT_SLOT
};

// Structures that Heddle sends are prefixes of their newest form from here on.
constexpr int kOldestMinor = 29;
// Had a row in the middle of its table for some days, and never a release.
constexpr int kUnstableMinor = 56;
// Extensions had no size before, and lay otherwise.
constexpr int kOldestMinorWithExtensions = 45;

constexpr size_t kTableHeadBytes = offsetof(abi::Table, rows);
constexpr size_t kMostExtensions = 256;

// Without these there is nothing to run. All others are asked for when they are needed.
constexpr Slot kNeeded[] = {
    Slot::kErrorDestroy,
    Slot::kErrorMessage,
    Slot::kErrorGetCode,
    Slot::kEventDestroy,
    Slot::kEventIsReady,
    Slot::kClientCreate,
    Slot::kClientDestroy,
    Slot::kClientPlatformName,
    Slot::kClientAddressableDevices,
    Slot::kDeviceGetDescription,
    Slot::kDeviceDescriptionId,
    Slot::kClientCompile,
    Slot::kLoadedExecutableGetExecutable,
    Slot::kExecutableNumOutputs,
    Slot::kExecutableDestroy,
    Slot::kLoadedExecutableExecute,
    Slot::kLoadedExecutableDestroy,
    Slot::kClientBufferFromHostBuffer,
    Slot::kBufferReadyEvent,
    Slot::kBufferToHostBuffer,
    Slot::kBufferDestroy,
};

std::string label_of(std::string_view name, const abi::Table& table) {
  return base::cat("plugin ", name, " (PJRT ", table.version.major, ".", table.version.minor, ")");
}

size_t rows_of(const abi::Table& table) {
  if (table.head.struct_size < kTableHeadBytes) return 0;
  const size_t rows = (table.head.struct_size - kTableHeadBytes) / sizeof(void*);
  return std::min<size_t>(rows, abi::kSlotCount);
}

Status check_version(std::string_view name, const abi::Table& table) {
  if (table.head.struct_size < kTableHeadBytes) {
    return base::failed_precondition("plugin ", name, ": its function table has ",
                                     table.head.struct_size, " bytes; it must have at least ",
                                     kTableHeadBytes,
                                     " to hold a version; the file is damaged or no PJRT plugin");
  }
  const int major = table.version.major, minor = table.version.minor;
  if (major != abi::kMajor) {
    return base::failed_precondition(label_of(name, table), ": load: the major version must be ",
                                     abi::kMajor, "; use a build of the plugin for this interface");
  }
  if (minor < kOldestMinor || minor == kUnstableMinor) {
    return base::failed_precondition(label_of(name, table), ": load: the minor version must be ",
                                     kOldestMinor, " or later, and not ", kUnstableMinor,
                                     ", which was never released; use a newer build of the plugin");
  }
  return {};
}

// Calls visit(extension) until it says true, and returns that one. A list may be a ring.
template <class Visit>
const abi::Extension* find_extension(const abi::Extension* first, const Visit& visit) {
  size_t seen = 0;
  for (const abi::Extension* at = first; at != nullptr && seen < kMostExtensions; at = at->next) {
    if (visit(*at)) return at;
    ++seen;
  }
  return nullptr;
}

const abi::Extension* first_extension(const abi::Table& table) {
  return table.version.minor < kOldestMinorWithExtensions ? nullptr : table.head.extensions;
}

std::vector<abi::ExtensionType> types_of(const abi::Extension* first) {
  std::vector<abi::ExtensionType> types;
  (void)find_extension(first, [&](const abi::Extension& extension) {
    types.push_back(extension.type);
    return false;
  });
  return types;
}

// Why the last dl call failed. The text begins with the path.
std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

std::string_view name_of(Slot slot) { return kSlotNames[static_cast<size_t>(slot)]; }

StatusOr<std::shared_ptr<const Api>> Api::load(const std::string& name,
                                               const std::string& library) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(library, ignored)) {
    return base::not_found("plugin ", name, ": ", library,
                           " is no file; give the path of the library");
  }
  // Local: every plugin brings its own copies of common libraries.
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    return base::failed_precondition("plugin ", name, ": cannot be loaded: ", last_dl_error());
  const auto get_table = reinterpret_cast<abi::GetTable>(dlsym(handle, abi::kGetTable));
  if (get_table == nullptr) {
    dlclose(handle);
    return base::failed_precondition("plugin ", name, ": ", library, " has no function ",
                                     abi::kGetTable, "; it is no PJRT plugin");
  }
  return from_table(name, get_table());
}

StatusOr<std::shared_ptr<const Api>> Api::from_table(const std::string& name,
                                                     const abi::Table* table) {
  if (table == nullptr)
    return base::failed_precondition("plugin ", name, ": ", abi::kGetTable,
                                     " gave no function table");
  HEDDLE_RETURN_IF_ERROR(check_version(name, *table));
  std::shared_ptr<const Api> api(new Api(name, table));
  HEDDLE_RETURN_IF_ERROR(api->check_rows());
  HEDDLE_RETURN_IF_ERROR(api->initialise());
  // Events point at it, and a plugin may tell of one after all else of it is gone.
  static std::mutex mutex;
  static auto& all = *new std::vector<std::shared_ptr<const Api>>;
  const std::scoped_lock lock(mutex);
  return all.emplace_back(std::move(api));
}

Api::Api(std::string name, const abi::Table* table)
    : name_(std::move(name)),
      label_(label_of(name_, *table)),
      table_(table),
      row_count_(rows_of(*table)),
      extensions_(types_of(first_extension(*table))) {}

const abi::Extension* Api::extension(abi::ExtensionType type) const {
  return find_extension(first_extension(*table_),
                        [&](const abi::Extension& extension) { return extension.type == type; });
}

Status Api::check_rows() const {
  std::vector<std::string_view> missing;
  for (Slot slot : kNeeded) {
    if (!has(slot)) missing.push_back(name_of(slot));
  }
  if (!has(Slot::kEventAwait) && !has(Slot::kEventOnReady))
    missing.push_back("EventAwait or EventOnReady");
  if (missing.empty()) return {};
  return error(Code::kFailedPrecondition, "load", "it has no ", base::join(missing, ", "),
               "; Heddle cannot run programs without");
}

Status Api::initialise() const {
  abi::PluginInitializeArgs args;
  return has(Slot::kPluginInitialize) ? call(args) : Status();
}

Status Api::absent(Slot slot) const {
  return error(Code::kUnimplemented, name_of(slot), "the plugin has no such function");
}

bool Api::wants_longer_structure(const Status& status) const {
  return minor() > abi::kMinor && status.code() == Code::kInvalidArgument &&
         base::message_of(status).find("size: expected") != std::string::npos;
}

Status Api::take(abi::Error* error, std::string_view what) const {
  if (error == nullptr) return {};
  const Code code = code_of(error);
  abi::ErrorMessageArgs message{.head = {sizeof(message)}, .error = error};
  function<void, abi::ErrorMessageArgs>()(&message);
  std::string text = base::cat(label_, ": ", what, ": ");
  if (message.message != nullptr) text.append(message.message, message.message_size);
  destroy_error(error);
  return Status(code, {text.data(), text.size()});
}

// A plugin may fail to tell the code, by another error.
Code Api::code_of(const abi::Error* error) const {
  abi::ErrorGetCodeArgs args{.head = {sizeof(args)}, .error = error};
  abi::Error* nested = function<abi::Error*, abi::ErrorGetCodeArgs>()(&args);
  if (nested != nullptr) destroy_error(nested);
  const auto number = static_cast<int>(args.code);
  const bool known = number > 0 && number <= static_cast<int>(Code::kUnauthenticated);
  return nested == nullptr && known ? static_cast<Code>(number) : Code::kUnknown;
}

void Api::destroy_error(abi::Error* error) const {
  abi::ErrorDestroyArgs args{.head = {sizeof(args)}, .error = error};
  function<void, abi::ErrorDestroyArgs>()(&args);
}

}  // namespace heddle::pjrt
