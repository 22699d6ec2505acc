// Finds the graph of a call. Private to compile/.
#pragma once

#include <memory>
#include <string>

#include "heddle/compile/graphs.h"

namespace heddle::compile_internal {

using ShardingPtr = std::shared_ptr<const hlo::Sharding>;
bool is_same(const ShardingPtr& a, const ShardingPtr& b);

// The shard_map and the named vmaps around: sizes of their axes are part of what is traced.
std::string surroundings();

bool has_rows(const Call& call, size_t leaf);
// The type of a leaf in the run.
Shape padded(const Call& call, size_t leaf);
// Whether the leaf has that type in the run.
bool has_type(const Call& call, size_t leaf, const Shape& type);

CallTypes types_of(const Call& call);
// Whether the call has these types.
bool fits(const CallTypes& types, const Call& call);

}  // namespace heddle::compile_internal
