// The rules, by topic. A rule serves several ops where they are alike.
#pragma once

#include "heddle/hlo/batching.h"
#include "heddle/hlo/value.h"

namespace heddle::hlo {

// elementwise.cc
StatusOr<Values> batch_elementwise(const BatchArgs& b);

// movement.cc
StatusOr<Values> batch_broadcast(const BatchArgs& b);
StatusOr<Values> batch_reshape(const BatchArgs& b);
StatusOr<Values> batch_dimensions(const BatchArgs& b);  // names dimensions of its operands
StatusOr<Values> batch_transpose(const BatchArgs& b);
StatusOr<Values> batch_slice(const BatchArgs& b);
StatusOr<Values> batch_pad(const BatchArgs& b);
StatusOr<Values> batch_dimension_size(const BatchArgs& b);
StatusOr<Values> batch_sort(const BatchArgs& b);
// Dimensions of the op become later ones; what it does to each lane it does to all.
StatusOr<Values> batch_leading(const BatchArgs& b);

// indexing.cc
StatusOr<Values> batch_dynamic_slice(const BatchArgs& b);
StatusOr<Values> batch_dynamic_update_slice(const BatchArgs& b);
StatusOr<Values> batch_gather(const BatchArgs& b);
StatusOr<Values> batch_scatter(const BatchArgs& b);

// reductions.cc
StatusOr<Values> batch_reduce(const BatchArgs& b);
StatusOr<Values> batch_reduce_window(const BatchArgs& b);
StatusOr<Values> batch_select_and_scatter(const BatchArgs& b);
StatusOr<Values> batch_map(const BatchArgs& b);

// contractions.cc
StatusOr<Values> batch_dot(const BatchArgs& b);
StatusOr<Values> batch_convolution(const BatchArgs& b);

// calls.cc
StatusOr<Values> batch_custom_call(const BatchArgs& b);
StatusOr<Values> batch_collective(const BatchArgs& b);
StatusOr<Values> batch_ragged_all_to_all(const BatchArgs& b);

// one_by_one.cc: a scan over the lanes, for ops without a wider form.
StatusOr<Values> batch_one_by_one(const BatchArgs& b);

// Each of them one further: dimensions behind that of the lanes.
Dims shifted(const Dims& dimensions);
// The same with the lanes in front.
Dims shifted_behind_lanes(const Dims& dimensions);

}  // namespace heddle::hlo
