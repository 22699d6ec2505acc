#include "heddle/compile/internal/matching.h"

#include <algorithm>

#include "heddle/hlo/module.h"
#include "heddle/trace/node.h"
#include "heddle/trace/surroundings.h"

namespace heddle::compile_internal {

std::string surroundings() {
  std::string text;
  trace_internal::append_surroundings(text);
  return text;
}

bool is_same(const ShardingPtr& a, const ShardingPtr& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool has_rows(const Call& call, size_t leaf) {
  return call.rows.leaves != nullptr && call.rows.leaves->have[leaf];
}
Shape padded(const Call& call, size_t leaf) {
  const Shape& shape = call.leaves[leaf].shape();
  return has_rows(call, leaf) ? of_rows(shape, call.rows.size) : shape;
}
bool has_type(const Call& call, size_t leaf, const Shape& type) {
  const Shape& shape = call.leaves[leaf].shape();
  if (!has_rows(call, leaf)) return same_type(shape, type);
  if (shape.dtype() != type.dtype() || type.rank() == 0 || call.rows.size != type.dimension(0))
    return false;
  return std::ranges::equal(std::span(shape.dimensions()).subspan(1),
                            std::span(type.dimensions()).subspan(1));
}

CallTypes types_of(const Call& call) {
  CallTypes of{.types = call.types,
               .structure = call.structure(),
               .has_rows = call.rows.leaves != nullptr,
               .surroundings = surroundings()};
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    of.shapes.push_back(leaf.is_valid() ? padded(call, i) : Shape());
    of.shardings.push_back(leaf.is_valid() ? leaf.node()->sharding : nullptr);
  }
  return of;
}

bool fits(const CallTypes& types, const Call& call) {
  if (types.types != call.types || types.shapes.size() != call.leaves.size()) return false;
  if (types.has_rows != (call.rows.leaves != nullptr)) return false;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    if (!leaf.is_valid() || !has_type(call, i, types.shapes[i])) return false;
    if (!is_same(leaf.node()->sharding, types.shardings[i])) return false;
  }
  return call.has_structure(types.structure) && types.surroundings == surroundings();
}

}  // namespace heddle::compile_internal
