#include "heddle/trace/devices.h"

#include "heddle/trace/error.h"

namespace heddle {

void use_device(std::string_view name, SourceLocation at) {
  throw_if_error(annotate(set_default_device(name), "use_device: "), at);
}

std::vector<Device*> devices(std::string_view name, SourceLocation at) {
  StatusOr<runtime::Backend*> backend = runtime::find_backend(name);
  throw_if_error(annotate(backend.status(), "devices: "), at);
  std::vector<Device*> out;
  for (const auto& device : (**backend).devices()) out.push_back(device.get());
  return out;
}

}  // namespace heddle
