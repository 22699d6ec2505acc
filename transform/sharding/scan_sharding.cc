#include "heddle/transform/internal/scan_sharding.h"

#include "heddle/hlo/sharding/sharding_tiles.h"

namespace heddle::transform {

using hlo::leaf_count;
using hlo::Sharding;

std::vector<Sharding> result_shardings(const hlo::Instruction& scan) {
  if (!scan.extras->sharding.has_value()) return {};
  const Sharding& whole = *scan.extras->sharding;
  size_t results = scan.shape.is_tuple() ? scan.shape.elements().size() : 1;
  if (whole.type != Sharding::Type::kTuple) return std::vector<Sharding>(results, whole);
  if (whole.tuple.size() != leaf_count(scan.shape)) return {};  // of another type: none is better
  std::vector<Sharding> out;
  auto at = whole.tuple.begin();
  for (const Shape& shape : scan.shape.elements()) {
    auto end = at + static_cast<std::ptrdiff_t>(leaf_count(shape));
    Sharding nested;
    nested.type = Sharding::Type::kTuple;
    nested.tuple.assign(at, end);
    out.push_back(shape.is_tuple() ? nested : *at);
    at = end;
  }
  return out;
}

Sharding tuple_sharding(const Shape& shape, const std::vector<const Sharding*>& elements) {
  Sharding out;
  out.type = Sharding::Type::kTuple;
  for (size_t i = 0; i < elements.size(); ++i) {
    size_t leaves = leaf_count(shape.elements()[i]);
    const Sharding* element = elements[i];
    if (element != nullptr && element->type == Sharding::Type::kTuple &&
        element->tuple.size() == leaves) {
      out.tuple.insert(out.tuple.end(), element->tuple.begin(), element->tuple.end());
    } else {
      out.tuple.insert(out.tuple.end(), leaves, element != nullptr ? *element : Sharding());
    }
  }
  return out;
}

}  // namespace heddle::transform
