#include "heddle/hlo/sharding/sharding_tiles.h"

#include <algorithm>
#include <numeric>

#include "heddle/hlo/literal/strides.h"
#include "heddle/hlo/sharding/device_lists.h"

namespace heddle::hlo {
namespace {

using Dims = std::vector<int64_t>;

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Every device of 0 .. count-1 once.
Status check_devices(const Sharding& sharding, int64_t count) {
  HEDDLE_RETURN_IF_ERROR(check_sharding(sharding));
  const bool is_iota = !sharding.iota_reshape.empty();  // which has each once
  if (device_count(sharding.tile_dimensions) == count &&
      (is_iota || is_each_once(sharding.tile_devices, count)))
    return {};
  return base::invalid_argument("sharding ", to_string(sharding),
                                ": is of other devices than 0 .. ", count - 1,
                                "; must name each once");
}

// Dimensions of the assignment behind those of the array, along which tiles repeat.
Status check_rest(const Sharding& sharding, const Shape& shape) {
  const size_t rest = sharding.last_tile_dims.empty() ? sharding.replicate_on_last_tile_dim
                                                      : sharding.last_tile_dims.size();
  if (sharding.tile_dimensions.size() == static_cast<size_t>(shape.rank()) + rest) {
    const bool repeats = std::ranges::all_of(sharding.last_tile_dims, [](Sharding::Type type) {
      return type == Sharding::Type::kReplicated;
    });
    if (repeats) return {};
    return base::unimplemented(
        "sharding ", to_string(sharding),
        ": has devices along which values are not copies; must have none here");
  }
  return base::invalid_argument("sharding ", to_string(sharding), ": is of ",
                                static_cast<int64_t>(sharding.tile_dimensions.size() - rest),
                                " dimensions; ", shape, " has ", shape.rank());
}

Tiles whole(const Shape& shape, int64_t devices) {
  Tiles tiles;
  tiles.counts.assign(static_cast<size_t>(shape.rank()), 1);
  tiles.shape = Shape(shape.dtype(), shape.dimensions());
  tiles.of_device.assign(static_cast<size_t>(devices), 0);
  return tiles;
}

}  // namespace

std::vector<int64_t> devices_in_order(const Sharding& sharding) {
  if (sharding.iota_reshape.empty()) return sharding.tile_devices;
  return devices_of_iota(sharding.iota_reshape, sharding.iota_transpose);
}

bool Tiles::is_whole() const { return count() == 1; }

int64_t Tiles::count() const { return product(counts); }

std::vector<int64_t> Tiles::start(int64_t device) const {
  int64_t tile = of_device[static_cast<size_t>(device)];
  Dims out(counts.size());
  for (size_t d = counts.size(); d-- > 0;) {
    out[d] = tile % counts[d] * shape.dimensions()[d];
    tile /= counts[d];
  }
  return out;
}

std::vector<int64_t> Tiles::holders() const {
  Dims out(static_cast<size_t>(count()), -1);
  for (size_t device = of_device.size(); device-- > 0;)
    out[static_cast<size_t>(of_device[device])] = static_cast<int64_t>(device);
  return out;
}

Status check_tiles(const Sharding& sharding, const Shape& shape, int64_t devices) {
  if (!shape.is_array())
    return base::invalid_argument("sharding ", to_string(sharding), ": of a ", shape,
                                  "; must be of an array");
  if (sharding.type == Sharding::Type::kReplicated || devices == 1) return {};
  if (sharding.type != Sharding::Type::kOther) {
    return base::unimplemented(
        "sharding ", to_string(sharding),
        ": does not place elements on devices; use {replicated} or {devices=..}");
  }
  HEDDLE_RETURN_IF_ERROR(check_rest(sharding, shape));
  return check_devices(sharding, devices);
}

StatusOr<Tiles> tiles_of(const Sharding& sharding, const Shape& shape, int64_t devices) {
  HEDDLE_RETURN_IF_ERROR(check_tiles(sharding, shape, devices));
  if (sharding.type == Sharding::Type::kReplicated || devices == 1) return whole(shape, devices);
  Tiles tiles;
  const auto rank = static_cast<size_t>(shape.rank());
  tiles.counts.assign(sharding.tile_dimensions.begin(),
                      sharding.tile_dimensions.begin() + static_cast<std::ptrdiff_t>(rank));
  Dims sizes = shape.dimensions();
  for (size_t d = 0; d < rank; ++d) sizes[d] = (sizes[d] + tiles.counts[d] - 1) / tiles.counts[d];
  tiles.shape = Shape(shape.dtype(), std::move(sizes));
  const Dims order = devices_in_order(sharding);
  const int64_t copies = devices / tiles.count();
  tiles.of_device.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    tiles.of_device[static_cast<size_t>(order[i])] = static_cast<int64_t>(i) / copies;
  return tiles;
}

namespace {

// The part of a tile that lies in the array, and where it begins there, in elements.
struct Inside {
  Inside(std::span<const int64_t> start, const Shape& tile, const Shape& whole) : strides(whole) {
    for (int64_t d = 0; d < whole.rank(); ++d) {
      const int64_t left = whole.dimension(d) - start[static_cast<size_t>(d)];
      sizes.push_back(std::clamp<int64_t>(left, 0, tile.dimension(d)));
      is_all &= sizes.back() == tile.dimension(d);
      is_none |= sizes.back() == 0;
      offset += start[static_cast<size_t>(d)] * strides[d];
    }
  }
  Strides strides;
  Dims sizes;
  int64_t offset = 0;
  bool is_all = true;
  bool is_none = false;
};

}  // namespace

Literal cut(const Literal& whole, std::span<const int64_t> start, const Shape& tile) {
  if (same_type(whole.shape(), tile)) return whole;
  const Inside inside(start, tile, whole.shape());
  Literal out = inside.is_all ? Literal::uninitialised(tile) : Literal(tile);
  if (inside.is_none) return out;
  const int64_t width = storage_bytes(tile.dtype());
  copy_strided(out.mutable_bytes(), Strides(tile), whole.bytes() + inside.offset * width,
               inside.strides, inside.sizes, width);
  return out;
}

void place(const Literal& tile, std::span<const int64_t> start, Literal& whole) {
  const Inside inside(start, tile.shape(), whole.shape());
  if (inside.is_none) return;
  const int64_t width = storage_bytes(tile.shape().dtype());
  copy_strided(whole.mutable_bytes() + inside.offset * width, inside.strides, tile.bytes(),
               Strides(tile.shape()), inside.sizes, width);
}

size_t leaf_count(const Shape& shape) {
  if (!shape.is_tuple()) return 1;
  size_t leaves = 0;
  for (const Shape& element : shape.elements()) leaves += leaf_count(element);
  return leaves;
}

StatusOr<std::vector<const Sharding*>> leaf_shardings(const Sharding* sharding,
                                                      const Shape& shape) {
  const size_t leaves = leaf_count(shape);
  if (sharding == nullptr || sharding->type != Sharding::Type::kTuple)
    return std::vector<const Sharding*>(leaves, sharding);
  if (sharding->tuple.size() != leaves) {
    return base::invalid_argument("sharding ", to_string(*sharding), ": is of ",
                                  sharding->tuple.size(), " arrays; ", shape, " has ", leaves);
  }
  std::vector<const Sharding*> out;
  for (const Sharding& leaf : sharding->tuple) out.push_back(&leaf);
  return out;
}

Sharding tuple_of(std::vector<Sharding> leaves) {
  Sharding out;
  out.type = Sharding::Type::kTuple;
  out.tuple = std::move(leaves);
  return out;
}

}  // namespace heddle::hlo
