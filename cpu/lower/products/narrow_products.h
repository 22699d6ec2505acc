// Products of many rows of a few elements, as of points by a matrix, written as loops.
#pragma once

#include <functional>
#include <vector>

#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/products/dot_axes.h"

namespace heddle::cpu {

// Lanes of a result in loops that are as fast as the kernel.
inline constexpr int64_t kFewestLanesInLoops = 5;

// What an operand holds as numbers of the result.
using WidenOperand = std::function<NodeId(const View& from, NodeId elements)>;

// Lanes lie along the longest axis of the result, which is of `dtype`; the elements of a row of
// each array are vectors of their own. False, and nothing is written, where rows are few or long,
// where they overlap, or where a load would reach beyond its array.
bool write_narrow_product(PlanBuilder& builder, DType dtype, const View& lhs, const View& rhs,
                          const WidenOperand& widened, BufferId to, const std::vector<Axis>& outer,
                          const std::vector<Axis>& contracted);

}  // namespace heddle::cpu
