#include "heddle/cpu/lower/products/dot_axes.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace heddle::cpu {
namespace {

constexpr int64_t kMinMatrix = 64;  // multiplications of one call of the kernel
constexpr int64_t kMinContiguous = 16;

// The number of the axis that the kernel's matrices have: one along which the result is contiguous,
// else the longest.
size_t axis_of_matrix(const std::vector<Axis>& axes) {
  const auto score = [](const Axis& axis) {
    return std::pair(axis.to == 1 && axis.size >= kMinContiguous, axis.size);
  };
  return static_cast<size_t>(std::ranges::max_element(axes, {}, score) - axes.begin());
}

void merge_neighbours(std::vector<Axis>& axes) {
  for (size_t i = axes.size(); i-- > 1;) {
    Axis& outer = axes[i - 1];
    const Axis& inner = axes[i];
    const bool follow = outer.lhs == inner.lhs * inner.size &&
                        outer.rhs == inner.rhs * inner.size && outer.to == inner.to * inner.size;
    if (!follow) continue;
    outer = {outer.size * inner.size, inner.lhs, inner.rhs, inner.to};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

Axes axes_of(const hlo::DotAttrs& attrs, const Shape& lhs, const Shape& rhs,
             const std::vector<int64_t>& lhs_strides, const std::vector<int64_t>& rhs_strides,
             const std::vector<int64_t>& to_strides) {
  const auto at = [](const std::vector<int64_t>& list, int64_t i) {
    return list[static_cast<size_t>(i)];
  };
  Axes axes;
  int64_t next = 0;
  for (size_t i = 0; i < attrs.lhs_batch_dims.size(); ++i, ++next) {
    axes.batch.push_back({.size = lhs.dimension(attrs.lhs_batch_dims[i]),
                          .lhs = at(lhs_strides, attrs.lhs_batch_dims[i]),
                          .rhs = at(rhs_strides, attrs.rhs_batch_dims[i]),
                          .to = at(to_strides, next)});
  }
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (std::ranges::count(attrs.lhs_batch_dims, d) ||
        std::ranges::count(attrs.lhs_contracting_dims, d))
      continue;
    axes.rows.push_back(
        {.size = lhs.dimension(d), .lhs = at(lhs_strides, d), .to = at(to_strides, next++)});
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (std::ranges::count(attrs.rhs_batch_dims, d) ||
        std::ranges::count(attrs.rhs_contracting_dims, d))
      continue;
    axes.columns.push_back(
        {.size = rhs.dimension(d), .rhs = at(rhs_strides, d), .to = at(to_strides, next++)});
  }
  for (size_t i = 0; i < attrs.lhs_contracting_dims.size(); ++i) {
    axes.contracted.push_back({.size = lhs.dimension(attrs.lhs_contracting_dims[i]),
                               .lhs = at(lhs_strides, attrs.lhs_contracting_dims[i]),
                               .rhs = at(rhs_strides, attrs.rhs_contracting_dims[i])});
  }
  return axes;
}

void merge(std::vector<Axis>& axes) {
  std::erase_if(axes, [](const Axis& axis) { return axis.size == 1; });
  std::vector<Axis> sorted = axes;
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const Axis& axis) {
    return std::tuple(axis.lhs, axis.rhs, axis.to);
  });
  merge_neighbours(axes);
  merge_neighbours(sorted);
  if (sorted.size() < axes.size()) axes = std::move(sorted);
}

int64_t total(std::span<const Axis> axes) {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

void in_order_of_memory(std::vector<Axis>& axes) {
  int64_t lhs = 1, rhs = 1;
  for (const Axis& axis : axes) {
    if (axis.lhs != 0) lhs *= axis.size;
    if (axis.rhs != 0) rhs *= axis.size;
  }
  std::ranges::stable_sort(axes, std::ranges::greater(), lhs > rhs ? &Axis::lhs : &Axis::rhs);
}

std::optional<MatrixProduct> matrix_product(const Axes& axes, DType dtype) {
  if (axes.rows.empty() || axes.columns.empty() || axes.contracted.empty()) return std::nullopt;
  const size_t row = axis_of_matrix(axes.rows), column = axis_of_matrix(axes.columns),
               inner = axis_of_matrix(axes.contracted);
  const Axis &i = axes.rows[row], &j = axes.columns[column], &l = axes.contracted[inner];
  if (i.size * j.size * l.size <= kMinMatrix) return std::nullopt;
  MatrixProduct product{.dtype = dtype,
                        .m = i.size,
                        .n = j.size,
                        .k = l.size,
                        .a_row = i.lhs,
                        .a_column = l.lhs,
                        .b_row = l.rhs,
                        .b_column = j.rhs,
                        .c_row = i.to,
                        .c_column = j.to,
                        .outer = {},
                        .summed = {}};
  const auto add = [](std::vector<MatrixProduct::Axis>& to, const std::vector<Axis>& from,
                      size_t without) {
    for (size_t n = 0; n < from.size(); ++n) {
      if (n != without) to.push_back({from[n].size, from[n].lhs, from[n].rhs, from[n].to});
    }
  };
  add(product.outer, axes.batch, axes.batch.size());
  add(product.outer, axes.rows, row);
  add(product.outer, axes.columns, column);
  add(product.summed, axes.contracted, inner);
  return product;
}

}  // namespace heddle::cpu
