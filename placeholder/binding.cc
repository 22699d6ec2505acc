#include "heddle/placeholder/binding.h"

namespace heddle {

void Bindings::bind(ValueId id, BufferPtr buffer) {
  if (buffer == nullptr) {
    buffers_.erase(id);
  } else {
    buffers_.insert_or_assign(id, std::move(buffer));
  }
}

Bindings::BufferPtr Bindings::find(ValueId id) const {
  auto it = buffers_.find(id);
  return it == buffers_.end() ? nullptr : it->second;
}

StatusOr<std::vector<Bindings::BufferPtr>> Bindings::resolve(
    std::span<const Placeholder> parameters, std::string_view program) const {
  std::vector<BufferPtr> out;
  out.reserve(parameters.size());
  for (const Placeholder& parameter : parameters) {
    out.push_back(find(parameter.id));
    if (out.back() == nullptr) return unbound_error(parameter, program);
  }
  return out;
}

}  // namespace heddle
