// Bindings: which buffer takes the place of which placeholder when a program runs.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/placeholder/placeholder.h"

namespace heddle {

namespace runtime {
class Buffer;
}

// Buffers are held and handed on, never looked into: types are checked where the program runs.
class Bindings {
 public:
  using BufferPtr = std::shared_ptr<runtime::Buffer>;

  // Binds `buffer` to the value, in place of an earlier one. A null buffer unbinds it.
  void bind(ValueId id, BufferPtr buffer);

  // Returns null where nothing is bound.
  [[nodiscard]] BufferPtr find(ValueId id) const;

  // Returns the buffers of `parameters`, in that order.
  // errors   FailedPrecondition for the first that is not bound: unbound_error()
  [[nodiscard]] StatusOr<std::vector<BufferPtr>> resolve(std::span<const Placeholder> parameters,
                                                         std::string_view program) const;

  [[nodiscard]] size_t size() const { return buffers_.size(); }

 private:
  std::unordered_map<ValueId, BufferPtr> buffers_;
};

}  // namespace heddle
