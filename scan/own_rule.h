// Heddle's functions with a derivative rule of their own: a formula with a loop that has no reverse
// mode.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/trace/tensor.h"

namespace heddle::scan_internal {

using Tensors = std::span<const Tensor>;

struct FunctionOfCall {
  Fragment body;
  std::vector<Tensor> captures;  // parameters of the body, behind the others
};

// The custom call of `target` (hlo/calls/custom_derivative.h) on the arguments and the captures of
// the functions. The first function is its meaning.
std::vector<Tensor> call_with_derivative(std::string_view target,
                                         const std::vector<Tensor>& arguments,
                                         std::span<const FunctionOfCall> functions);

// fn(arguments..), as one custom call (hlo/calls/custom_derivative.h) whose tangent is
// rule(arguments, fn's result, tangents of the arguments), linear in the tangents; the tangents of
// integers are zeros. Neither fn nor rule captures tensors.
Tensor with_rule(std::string_view op, const std::vector<Tensor>& arguments,
                 base::FunctionRef<Tensor(Tensors x)> fn,
                 base::FunctionRef<Tensor(Tensors x, const Tensor& y, Tensors dx)> rule);

// fn(arguments..), as one custom call whose partial derivatives come from forward mode. It is for
// an elementwise fn with loops that have no reverse mode. fn captures no tensors.
Tensor elementwise(std::string_view op, const std::vector<Tensor>& arguments,
                   base::FunctionRef<Tensor(Tensors x)> fn);

}  // namespace heddle::scan_internal
