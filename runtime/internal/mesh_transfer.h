// What runtime/transfer.cc does with devices and buffers of a mesh.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/runtime/mesh.h"

namespace heddle::runtime {

// False, null: none of a mesh.
[[nodiscard]] bool is_mesh(const Device& device);
[[nodiscard]] ShardedBuffer* as_sharded(Buffer& buffer);

// Puts into `out`, of a mesh, the tile of each of its holders: tile_of(i) is that of number i.
template <class TileOf>
[[nodiscard]] Status place_tiles(const hlo::Tiles& tiles, std::span<const int64_t> holders,
                                 const TileOf& tile_of, Literal& out) {
  for (size_t i = 0; i < holders.size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(const Literal tile, tile_of(i));
    hlo::place(tile, tiles.start(holders[i]), out);
  }
  return {};
}

// Downloads each tile once and puts them together.
[[nodiscard]] StatusOr<Literal> assemble(ShardedBuffer& buffer, std::string_view what);

}  // namespace heddle::runtime
