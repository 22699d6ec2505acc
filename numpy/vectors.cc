#include "heddle/numpy/vectors.h"

#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Expr vector_of(std::string_view name, const Operand& operand, int64_t least) {
  const Tensor x = as_tensor(operand);
  if (x.rank() == 1 && x.size() >= least) return x;
  const std::string how = least > 0 ? base::cat(" of ", least, " elements or more") : "";
  refuse(name, " is ", x.shape(), "; it must be a vector", how);
}

}  // namespace heddle::trace_internal
