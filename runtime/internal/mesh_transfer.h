// What runtime/transfer.cc does with devices and buffers of a mesh.
#pragma once

#include <string_view>

#include "heddle/runtime/mesh.h"

namespace heddle::runtime {

// False, null: none of a mesh.
[[nodiscard]] bool is_mesh(const Device& device);
[[nodiscard]] ShardedBuffer* as_sharded(Buffer& buffer);

// Downloads each tile once and puts them together.
[[nodiscard]] StatusOr<Literal> assemble(ShardedBuffer& buffer, std::string_view what);

}  // namespace heddle::runtime
