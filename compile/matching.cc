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

bool fits(const Graph& graph, const Call& call) {
  const std::vector<SignatureLeaf>& leaves = graph.program.signature().arguments;
  if (graph.surroundings != surroundings()) return false;
  if (graph.types != call.types || graph.shardings.size() != call.leaves.size()) return false;
  if ((graph.rows.leaves == nullptr) != (call.rows.leaves == nullptr)) return false;
  for (size_t i = 0; i < call.leaves.size(); ++i) {
    const Tensor& leaf = call.leaves[i];
    if (!leaf.is_valid() || !has_type(call, i, leaves[i].shape)) return false;
    if (!is_same(leaf.node()->sharding, graph.shardings[i])) return false;
  }
  return call.has_structure(graph.structure);
}

}  // namespace heddle::compile_internal
