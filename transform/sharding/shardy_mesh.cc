#include "heddle/transform/internal/shardy_mesh.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/sharding/sharding_tiles.h"

namespace heddle::transform {
namespace {

using hlo::Sharding;
using Dims = std::vector<int64_t>;

// A factor of the devices that cuts one dimension. The factors of a dimension follow one another,
// the coarsest first.
struct Part {
  size_t dimension;  // of the tile assignment
  int64_t begin;     // as a cut
  int64_t end;
};

int64_t product(const Dims& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// The sharding's devices as sizes and the order of a walk through them.
struct Walk {
  Dims sizes;
  Dims order;
};

StatusOr<Walk> walk_of(const Sharding& sharding, int64_t devices) {
  Walk walk{.sizes = sharding.iota_reshape, .order = sharding.iota_transpose};
  if (walk.sizes.empty()) {
    if (!std::ranges::is_sorted(sharding.tile_devices)) {
      return base::unimplemented(
          "sharding ", hlo::to_string(sharding),
          " has devices in an order of its own; write it as <=[..], or leave it to "
          "GSPMD");
    }
    walk.sizes = {static_cast<int64_t>(sharding.tile_devices.size())};
  }
  if (walk.order.empty()) walk.order = consecutive_dimensions(std::ssize(walk.sizes));
  if (product(walk.sizes) == devices && product(sharding.tile_dimensions) == devices) return walk;
  return base::invalid_argument("sharding ", hlo::to_string(sharding),
                                " is of other devices than the ", devices, " of the program");
}

// Both the walk's sizes and the dimensions factor the devices: this is the finer of the two.
StatusOr<std::vector<Part>> parts_of(const Sharding& sharding, int64_t devices) {
  if (sharding.type == Sharding::Type::kReplicated) return std::vector<Part>();
  if (sharding.type != Sharding::Type::kOther || !sharding.last_tile_dims.empty()) {
    return base::unimplemented("sharding ", hlo::to_string(sharding),
                               " places no elements; use {replicated} or {devices=..}");
  }
  HEDDLE_ASSIGN_OR_RETURN(const Walk walk, walk_of(sharding, devices));
  std::vector<Part> parts;
  size_t dimension = 0;
  int64_t wanted = sharding.tile_dimensions[0];
  for (int64_t axis : walk.order) {
    int64_t begin = product({walk.sizes.begin(), walk.sizes.begin() + axis});
    for (int64_t rest = walk.sizes[static_cast<size_t>(axis)]; rest > 1;) {
      while (wanted == 1) wanted = sharding.tile_dimensions[++dimension];
      const int64_t size = std::min(rest, wanted);
      if (rest % size != 0 || wanted % size != 0) {
        return base::unimplemented(
            "sharding ", hlo::to_string(sharding),
            " cuts a dimension across axes of its devices; leave it to GSPMD");
      }
      parts.push_back({dimension, begin, begin * size});
      begin *= size;
      rest /= size;
      wanted /= size;
    }
  }
  return parts;
}

}  // namespace

Status ShardyMesh::add(const Sharding& sharding, const Shape& shape) {
  HEDDLE_ASSIGN_OR_RETURN(const std::vector<Part> parts, parts_of(sharding, devices_));
  HEDDLE_RETURN_IF_ERROR(hlo::check_tiles(sharding, shape, devices_));
  for (const Part& part : parts) cuts_.insert({part.begin, part.end});
  return {};
}

Status ShardyMesh::check() const {
  const auto nests = [](int64_t outer, int64_t inner) { return inner % outer != 0; };
  const auto wrong = std::ranges::adjacent_find(cuts_, nests);
  if (wrong == cuts_.end()) return {};
  return base::unimplemented("shardings cut ", devices_, " devices in ", *wrong, " and in ",
                             *std::next(wrong), ", which no one mesh does; leave them to GSPMD");
}

std::string ShardyMesh::text() const {
  std::string axes;
  int number = 0;
  for (auto cut = cuts_.begin(); std::next(cut) != cuts_.end(); ++cut) {
    base::append(axes, axes.empty() ? "" : ", ", "\"axis_", number++,
                 "\"=", *std::next(cut) / *cut);
  }
  return base::cat("{mesh = #sdy.mesh<[", axes, "]>}");
}

std::string ShardyMesh::all_axes() const { return axes_between(1, devices_); }

std::string ShardyMesh::axes_between(int64_t begin, int64_t end) const {
  std::string out;
  int number = 0;
  for (auto cut = cuts_.begin(); *cut != end; ++cut, ++number) {
    if (*cut >= begin) base::append(out, out.empty() ? "" : ", ", "\"axis_", number, "\"");
  }
  return out;
}

StatusOr<std::string> ShardyMesh::text_of(const Sharding* sharding, int64_t rank) const {
  std::vector<std::string> dimensions(static_cast<size_t>(rank));
  if (sharding != nullptr) {
    HEDDLE_ASSIGN_OR_RETURN(const std::vector<Part> parts, parts_of(*sharding, devices_));
    for (const Part& part : parts) {
      if (part.dimension >= dimensions.size()) continue;  // copies
      std::string& axes = dimensions[part.dimension];
      base::append(axes, axes.empty() ? "" : ", ", axes_between(part.begin, part.end));
    }
  }
  for (std::string& axes : dimensions) axes = base::cat("{", axes, "}");
  return base::cat("<@mesh, [", base::join(dimensions, ", "), "]>");
}

}  // namespace heddle::transform
