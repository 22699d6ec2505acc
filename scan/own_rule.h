// Functions of ours with a derivative of their own: a formula with a loop that has no way back.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/trace/tensor.h"

namespace heddle::scan_internal {

using Tensors = std::span<const Tensor>;

// fn(arguments..), as one custom call (transform/custom_derivative.h) whose tangent is
// rule(arguments, fn's result, tangents of the arguments), linear in the tangents; those of
// integers are zeros. Neither captures tensors.
Tensor with_rule(std::string_view op, const std::vector<Tensor>& arguments,
                 base::FunctionRef<Tensor(Tensors x)> fn,
                 base::FunctionRef<Tensor(Tensors x, const Tensor& y, Tensors dx)> rule);

}  // namespace heddle::scan_internal
