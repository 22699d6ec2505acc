// What is done to tensors of indices before they index. Private to Heddle's op functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// Indices from the end made positive; the dtype stays.
Tensor from_start(const Tensor& indices, int64_t size);

// Wide enough to hold any position of the axis.
Tensor widened(const Tensor& indices);

// errors: throws Error unless they are integers
void require_integers(const Tensor& indices);

Status nothing_to_take(std::string_view op, const Shape& shape, int64_t axis);

}  // namespace heddle::trace_internal
