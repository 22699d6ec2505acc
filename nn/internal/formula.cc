#include "heddle/nn/internal/formula.h"

#include "heddle/trace/error.h"

namespace heddle::nn_internal {

Located floating(std::string_view op, std::string_view name, const Operand& x) {
  Located value(as_tensor(x), x.at());
  if (is_floating(value.dtype())) return value;
  throw Error(invalid_argument(op, ": ", name, " is ", value.tensor().shape(),
                               "; it must be of floats, cast it with astype(f32)"),
              x.at());
}

}  // namespace heddle::nn_internal
