#include "heddle/runtime/registry.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include "heddle/base/settings.h"
#include "heddle/base/text/strings.h"
#include "heddle/runtime/report.h"

// interpreter/backend.h, cpu/backend.h and pjrt/plugin.h define them; weak, since a program may do
// without.
namespace heddle::pjrt::plugin_internal {
[[gnu::weak]] extern const runtime::LinkedBackend kFamily;
}
namespace heddle::interpreter {
[[gnu::weak]] extern const runtime::LinkedBackend kFamily;
}
namespace heddle::cpu {
[[gnu::weak]] extern const runtime::LinkedBackend kFamily;
}

namespace heddle::runtime {
namespace {

// A backend by the name asked for. Made under a mutex of its own: making one may take long, and may
// ask for others.
struct Named {
  std::mutex making;
  std::unique_ptr<Backend> made;
  std::atomic<Backend*> done{nullptr};  // `made`, for who does not wait
};

struct Registry {
  Registry() {
    report_at_exit();
    for (const LinkedBackend* family :
         {&pjrt::plugin_internal::kFamily, &cpu::kFamily, &interpreter::kFamily}) {
      if (family != nullptr) factories.emplace(family->name, family->make);
    }
  }

  std::mutex mutex;
  std::map<std::string, BackendFactory, std::less<>> factories;
  std::map<std::string, Named, std::less<>> backends;
  std::atomic<Device*> default_device{nullptr};  // null: nobody has set it
};

// Never destroyed: buffers in static storage may outlive main().
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

thread_local Device* scoped_device = nullptr;

std::vector<std::string> names_of(const Registry& from) {
  std::vector<std::string> names;
  for (const auto& [name, factory] : from.factories) names.push_back(name);
  return names;
}

// The number after the last colon, and what stands before it: "interpreter:0".
std::optional<std::pair<std::string_view, int>> split_device(std::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const char* end = name.data() + name.size();
  int number = 0;
  auto parsed = std::from_chars(name.data() + colon + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return std::nullopt;
  return std::pair(name.substr(0, colon), number);
}

StatusOr<Device*> device_of_environment() {
  const std::string name = setting<Setting::kDevice>();
  if (name.empty())
    return find_device(&cpu::kFamily != nullptr ? cpu::kFamily.name : "interpreter");
  StatusOr<Device*> device = find_device(name);
  if (!device.ok()) return base::annotate(device.status(), "HEDDLE_DEVICE: ");
  return device;
}

}  // namespace

Status register_backend(std::string name, BackendFactory factory) {
  if (name.empty() || name.find(':') != std::string::npos) {
    return base::invalid_argument("register_backend: name \"", name,
                                  "\"; it must be a word without a colon");
  }
  Registry& r = registry();
  std::scoped_lock lock(r.mutex);
  if (!r.factories.try_emplace(name, std::move(factory)).second) {
    return base::invalid_argument("register_backend: name \"", name, "\" is taken; choose another");
  }
  return {};
}

StatusOr<Backend*> find_backend(std::string_view name) {
  const std::string_view family = name.substr(0, name.find(':'));
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  const auto factory = r.factories.find(family);
  if (factory == r.factories.end()) {
    return base::not_found(
        "backend \"", name, "\" is not known; there are: ", base::join(names_of(r), ", "),
        family == "pjrt" ? "; a program knows plugins where it includes heddle/heddle.h"
        : r.factories.contains("pjrt") ? "; a device of a plugin is pjrt:NAME, as in HEDDLE_PLUGINS"
                                       : "");
  }
  const BackendFactory& make = factory->second;  // neither it nor the entry ever goes
  Named& named = r.backends.try_emplace(std::string(name)).first->second;
  lock.unlock();
  const std::scoped_lock making(named.making);
  if (named.made == nullptr) {
    const std::string_view argument =
        family.size() == name.size() ? "" : name.substr(family.size() + 1);
    HEDDLE_ASSIGN_OR_RETURN(named.made, make(argument));
    named.done.store(named.made.get(), std::memory_order_release);
  }
  return named.made.get();
}

std::vector<Backend*> used_backends() {
  Registry& r = registry();
  std::vector<Backend*> used;
  std::scoped_lock lock(r.mutex);
  for (const auto& [name, named] : r.backends)
    if (Backend* backend = named.done.load(std::memory_order_acquire)) used.push_back(backend);
  return used;
}

std::vector<std::string> backend_names() {
  Registry& r = registry();
  std::scoped_lock lock(r.mutex);
  return names_of(r);
}

StatusOr<Device*> find_device(std::string_view name) {
  const auto [backend_name, number] = split_device(name).value_or(std::pair(name, 0));
  HEDDLE_ASSIGN_OR_RETURN(Backend * backend, find_backend(backend_name));
  const auto& devices = backend->devices();
  if (static_cast<size_t>(number) >= devices.size()) {
    return base::not_found("device \"", name, "\": backend ", backend_name, " has ", devices.size(),
                           " device(s), numbered from 0");
  }
  return devices[static_cast<size_t>(number)].get();
}

StatusOr<Device*> find_default_device() {
  if (scoped_device != nullptr) return scoped_device;
  if (Device* set = registry().default_device.load(std::memory_order_acquire)) return set;
  static const auto& first = *new StatusOr<Device*>(device_of_environment());
  return first;
}

Device& default_device() {
  const StatusOr<Device*> device = find_default_device();
  return device.ok() ? **device : *find_device("interpreter").value();
}

Status set_default_device(std::string_view name) {
  HEDDLE_ASSIGN_OR_RETURN(Device * device, find_device(name));
  registry().default_device.store(device, std::memory_order_release);
  return {};
}

DefaultDevice::DefaultDevice(Device& device) : outer_(scoped_device) { scoped_device = &device; }
DefaultDevice::~DefaultDevice() { scoped_device = outer_; }

}  // namespace heddle::runtime
