// The dimensions of a product of two arrays, as loops and kernels go along them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/shape.h"

namespace heddle::cpu {

inline constexpr int64_t kMaxInlined = 4096;  // multiplications of a product that is loops
inline constexpr int64_t kMaxApart = 64;      // elements that are loaded one by one

// A dimension of the product: its size and the step in elements of each array that has it.
struct Axis {
  int64_t size = 1;
  int64_t lhs = 0, rhs = 0, to = 0;
};

struct Axes {
  std::vector<Axis> batch, rows, columns, contracted;
};

// Of a dot whose arrays have these steps, in elements.
Axes axes_of(const hlo::DotAttrs& attrs, const Shape& lhs, const Shape& rhs,
             const std::vector<int64_t>& lhs_strides, const std::vector<int64_t>& rhs_strides,
             const std::vector<int64_t>& to_strides);

// Axes that lie one behind the other in every array become one, whatever their order.
void merge(std::vector<Axis>& axes);

// The product of the sizes.
int64_t total(std::span<const Axis> axes);

// The larger operand is read from its beginning to its end.
void in_order_of_memory(std::vector<Axis>& axes);

// The product as the kernel takes it. None: its matrices would be so small that loops do as well.
std::optional<MatrixProduct> matrix_product(const Axes& axes, DType dtype);

}  // namespace heddle::cpu
