#include "heddle/transform/internal/shrink.h"

#include <algorithm>

#include "heddle/hlo/sharding/sharding_tiles.h"
#include "heddle/transform/internal/scan_sharding.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {

using hlo::leaf_count;
namespace {

// From a list with one item for each leaf, the items of the kept elements. Any other list stays as
// it is.
template <class List>
List shrink_leaves(const List& leaves, const Shape& shape, const std::vector<bool>& mask) {
  if (leaves.size() != leaf_count(shape)) return leaves;
  List out;
  auto at = leaves.begin();
  for (size_t i = 0; i < mask.size(); ++i) {
    auto end = at + static_cast<std::ptrdiff_t>(leaf_count(shape.elements()[i]));
    if (mask[i]) out.insert(out.end(), at, end);
    at = end;
  }
  return out;
}

void shrink_config(hlo::Instruction& instruction) {
  if (instruction.opcode != hlo::Opcode::kWhile) return;
  std::string& config = instruction.extras.mutate().backend_config;
  if (config.find("tuple_ind") == std::string::npos) return;
  auto trips = known_trip_count(instruction);
  config = trips ? trip_count_config(*trips) : "";
}

}  // namespace

Shape shrink(const Shape& shape, const std::vector<bool>& mask) {
  if (!shape.is_tuple()) return shape;
  std::vector<Shape> elements;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) elements.push_back(shape.elements()[i]);
  }
  return Shape::tuple(std::move(elements));
}

hlo::Sharding shrink(const hlo::Sharding& sharding, const Shape& shape,
                     const std::vector<bool>& mask) {
  if (sharding.type != hlo::Sharding::Type::kTuple) return sharding;
  hlo::Sharding out = sharding;
  out.tuple = shrink_leaves(sharding.tuple, shape, mask);
  return out;
}

void shrink(hlo::Instruction& instruction, const std::vector<bool>& mask) {
  if (std::ranges::find(mask, false) == mask.end()) return;
  if (instruction.extras.has_value()) {
    hlo::InstructionExtras& extras = instruction.extras.mutate();
    if (extras.sharding.has_value()) {
      extras.sharding = base::Box<hlo::Sharding>(shrink(*extras.sharding, instruction.shape, mask));
    }
    extras.parameter_replication =
        shrink_leaves(extras.parameter_replication, instruction.shape, mask);
    shrink_config(instruction);
  }
  instruction.shape = shrink(instruction.shape, mask);
}

int64_t rank_in(const std::vector<bool>& mask, size_t element) {
  return std::count(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(element), true);
}

}  // namespace heddle::transform
