#include "heddle/cpu/rewrites/indexing/own_tiles.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr std::string_view kTarget = "SPMDFullToShardShape";

// Where the tiles of the devices start along a dimension.
std::vector<int64_t> starts_along(const hlo::Tiles& tiles, int64_t dimension, int64_t partitions) {
  std::vector<int64_t> starts;
  for (int64_t p = 0; p < partitions; ++p)
    starts.push_back(tiles.start(p)[static_cast<size_t>(dimension)]);
  return starts;
}

// The tile of the device that runs this.
hlo::Value own_tile(hlo::Value x, const hlo::Tiles& tiles, int64_t partitions) {
  const Shape number(u32, {});
  const hlo::Value device = x.graph().op(Opcode::kPartitionId, {}, {}, {}, &number);
  hlo::Values at;
  for (int64_t d = 0; d < x.shape().rank(); ++d) {
    const std::vector<int64_t> starts = starts_along(tiles, d, partitions);
    const hlo::Value table =
        x.graph().constant(Literal::from<int64_t>(Shape(s64, {partitions}), starts));
    at.push_back(drop_dimension(pick(table, 0, device), 0));
    // Tiles are of one size, rounded up.
    const int64_t end = *std::ranges::max_element(starts) + tiles.shape.dimension(d);
    if (end > x.shape().dimension(d)) x = pad_end(x, d, end - x.shape().dimension(d));
  }
  if (at.empty()) return x;
  return dynamic_slice(x, at, tiles.shape.dimensions());
}

// How the operand of `call` is cut.
StatusOr<hlo::Tiles> tiles_for(const transform::Rebuilder& to, const Instruction& call,
                               int64_t partitions) {
  const Instruction* whole = call.operands.size() == 1 ? &to.old(call.operands[0]) : nullptr;
  if (whole == nullptr || !whole->extras->sharding.has_value())
    return base::invalid_argument(
        "its operand has no sharding; must have one, which says how it "
        "is cut");
  HEDDLE_ASSIGN_OR_RETURN(hlo::Tiles tiles,
                          hlo::tiles_of(*whole->extras->sharding, whole->shape, partitions));
  if (same_type(tiles.shape, call.shape)) return tiles;
  return base::invalid_argument("a tile of ", whole->shape, " is ", tiles.shape,
                                "; it is declared as ", call.shape);
}

}  // namespace

StatusOr<std::optional<hlo::Module>> slice_own_tiles(const hlo::Module& module,
                                                     int64_t partitions) {
  Status error;
  const auto make = [&](transform::Rebuilder& to, ComputationId) {
    return [&](InstructionId id) -> hlo::Value {
      const Instruction& call = to.old(id);
      if (!hlo::is_custom(call, kTarget)) return {};
      const StatusOr<hlo::Tiles> tiles = tiles_for(to, call, partitions);
      if (!tiles.ok()) {
        error.update(base::annotate(tiles.status(), "custom-call: ", kTarget, ": "));
        return {};
      }
      to.in_place_of(id);
      return own_tile(to.value(call.operands[0]), *tiles, partitions);
    };
  };
  HEDDLE_ASSIGN_OR_RETURN(auto out, rewritten_if_any(module, make));
  if (!error.ok()) return error;
  return out;
}

}  // namespace heddle::cpu
