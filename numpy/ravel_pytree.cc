#include "heddle/numpy/ravel_pytree.h"

#include "heddle/trace/error.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"

namespace heddle::numpy_internal {

using trace_internal::refuse;

Tensor raveled(std::span<const Tensor> leaves, std::span<const std::string> paths) {
  if (leaves.empty()) return zeros({0});
  std::vector<Tensor> parts;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].dtype() != leaves[0].dtype())
      refuse("tree", paths[i], " is ", leaves[i].shape(), ", and tree", paths[0], " is ",
             leaves[0].shape(), "; all leaves must have one dtype: cast them by tree_map");
    parts.push_back(reshape(leaves[i], {leaves[i].size()}));
  }
  return concat(parts, 0);
}

std::vector<Tensor> unraveled(const Operand& x, std::span<const Shape> shapes, DType dtype) {
  const Tensor flat = as_tensor(x);
  int64_t size = 0;
  for (const Shape& shape : shapes) size += shape.element_count();
  if (const Shape want(dtype, {size}); !same_type(flat.shape(), want))
    refuse("x is ", flat.shape(), "; it must be ", want, ", all elements of the tree");
  std::vector<Tensor> leaves;
  int64_t start = 0;
  for (const Shape& shape : shapes) {
    const int64_t end = start + shape.element_count();
    leaves.push_back(reshape(slice(flat, {start}, {end}), shape.dimensions()));
    start = end;
  }
  return leaves;
}

}  // namespace heddle::numpy_internal
