// Tiles: how a sharding cuts an array into the parts that devices hold.
//
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate} of f32[6,8]: two tiles of f32[3,8], each on two
//   devices
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::hlo {

struct Tiles {
  std::vector<int64_t> counts;     // of tiles along each dimension
  Shape shape;                     // of one tile: sizes are rounded up, as XLA's partitioner does
  std::vector<int64_t> of_device;  // which tile, counted in row-major order, a device holds

  // Every device holds all of it.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] int64_t count() const;
  // Where the tile of a device begins, by dimension.
  [[nodiscard]] std::vector<int64_t> start(int64_t device) const;
  // The first device that holds each tile.
  [[nodiscard]] std::vector<int64_t> holders() const;
};

// Returns the tiles of an array of type `shape` on `devices` devices.
//
// errors   InvalidArgument where the sharding is of another number of dimensions or devices;
//          Unimplemented for one that does not place elements (manual, unreduced, unknown, maximal)
[[nodiscard]] StatusOr<Tiles> tiles_of(const Sharding& sharding, const Shape& shape,
                                       int64_t devices);

// The same without the tiles: OK where they can be had. Of many devices they are long lists.
[[nodiscard]] Status check_tiles(const Sharding& sharding, const Shape& shape, int64_t devices);

// Returns the devices of a {devices=..} sharding in the order of its tiles, dimensions along which
// tiles repeat included. Not checked: for what tiles_of() or verify() has taken.
[[nodiscard]] std::vector<int64_t> devices_in_order(const Sharding& sharding);

// Returns the tile that starts at `start`, of type `tile`. Where it reaches past the array, zeros.
[[nodiscard]] Literal cut(const Literal& whole, std::span<const int64_t> start, const Shape& tile);

// Writes a tile to its place; what reaches past the array is left out.
void place(const Literal& tile, std::span<const int64_t> start, Literal& whole);

// Returns the number of arrays in a (nested) tuple; 1 for an array.
[[nodiscard]] size_t leaf_count(const Shape& shape);

// Returns the sharding of each leaf of a type: parts of a tuple sharding, or copies of one sharding
// for all; null where there is none.
// errors   InvalidArgument where a tuple sharding has another number of leaves
[[nodiscard]] StatusOr<std::vector<const Sharding*>> leaf_shardings(const Sharding* sharding,
                                                                    const Shape& shape);

// Returns a tuple sharding of these: a sharding for a tuple of as many arrays.
[[nodiscard]] Sharding tuple_of(std::vector<Sharding> leaves);

// "{devices=[2,1]<=[2]}", as HLO text has it.
[[nodiscard]] std::string to_string(const Sharding& sharding);

}  // namespace heddle::hlo
