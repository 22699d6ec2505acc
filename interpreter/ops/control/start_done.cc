#include "heddle/interpreter/ops/control/start_done.h"

namespace heddle::interpreter {

StatusOr<Literal> evaluate_done(EvalArgs& in) {
  return std::move(in.operands[0].mutable_elements()[1]);
}

Literal bundled(std::vector<Literal> values) {
  return values.size() == 1 ? std::move(values[0]) : Literal::tuple(std::move(values));
}

StatusOr<Literal> with_contexts(const EvalArgs& in, std::vector<Literal> parts) {
  const Shape& result = in.result();
  for (auto i = static_cast<int64_t>(parts.size()); i < result.element_shapes(); ++i)
    parts.emplace_back(result.element(i));
  Literal out = Literal::tuple(std::move(parts));
  if (same_type(out.shape(), result)) return out;
  return base::invalid_argument(to_string(in.instruction.opcode), ": result is declared as ",
                                result, "; its operands give ", out.shape());
}

}  // namespace heddle::interpreter
