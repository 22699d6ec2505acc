// Element types and layouts, as plugins number them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt {

// The plugin's number for an element type; kInvalid for what is no element of arrays.
[[nodiscard]] abi::BufferType element_type(DType dtype);

// The type of a number that a plugin gives; kInvalid for one that Heddle does not know.
[[nodiscard]] DType dtype_of(abi::BufferType type);

// Plugins end the process over types that they do not know: these are checked before each call.
// errors   Unimplemented for what is no array, has dynamic dimensions, or is of a type that came
//          after the plugin's version
[[nodiscard]] Status check_transferable(const Shape& shape, int plugin_minor);

// Under 8 bits: the host has one in a byte, devices several.
[[nodiscard]] bool is_packed(DType dtype);

// Plugins give types under 8 bits back with what they like in the upper bits of each byte: puts
// there what a Literal holds, the sign or zeros.
void extend_small_integers(DType dtype, std::span<std::byte> bytes);

// Row-major, as host memory is. Points into itself: neither copied nor moved.
class RowMajorLayout {
 public:
  explicit RowMajorLayout(int64_t rank);
  RowMajorLayout(const RowMajorLayout&) = delete;
  RowMajorLayout& operator=(const RowMajorLayout&) = delete;
  [[nodiscard]] abi::MemoryLayout* get() { return &layout_; }

 private:
  int64_t minor_to_major_[Shape::kMaxRank];
  abi::MemoryLayout layout_;
};

// Runs `check` on the arrays of all results in the module.
// errors   Unimplemented, of what `check` says, with the op and its line
[[nodiscard]] Status check_arrays(const hlo::Module& module,
                                  const std::function<Status(const Shape&)>& check);

}  // namespace heddle::pjrt
