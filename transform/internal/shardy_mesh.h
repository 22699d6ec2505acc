// The mesh of a program whose shardings have tiles and lists of devices.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/shape.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::transform {

// Devices 0 .. n-1 as a grid in row-major order. Its axes come from cuts of n where some sharding
// needs one. A cut is the number of blocks that the axes before it make: axis i lies between cuts i
// and i + 1.
class ShardyMesh {
 public:
  explicit ShardyMesh(int64_t devices) : devices_(devices), cuts_{1, devices} {}

  // Takes the cuts of a sharding of an array.
  // errors   InvalidArgument for other devices, or another number of dimensions; Unimplemented
  // where
  //          it is in no mesh
  Status add(const hlo::Sharding& sharding, const Shape& shape);
  // Call it after all add() calls. errors: Unimplemented if cuts do not nest
  [[nodiscard]] Status check() const;

  // "{mesh = #sdy.mesh<["axis_0"=2, "axis_1"=2]>}"
  [[nodiscard]] std::string text() const;
  // "axis_0", "axis_1", in quotes.
  [[nodiscard]] std::string all_axes() const;
  // "<@mesh, [{"axis_0"}, {}]>", for an array of this rank. {replicated} where there is none.
  // errors: none for shardings that were added
  [[nodiscard]] StatusOr<std::string> text_of(const hlo::Sharding* sharding, int64_t rank) const;

 private:
  [[nodiscard]] std::string axes_between(int64_t begin, int64_t end) const;

  int64_t devices_;
  std::set<int64_t> cuts_;
};

}  // namespace heddle::transform
