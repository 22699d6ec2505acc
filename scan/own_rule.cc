#include "heddle/scan/own_rule.h"

#include <string>

#include "heddle/base/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/transform/custom_derivative.h"

namespace heddle::scan_internal {

Tensor with_rule(std::string_view op, const std::vector<Tensor>& arguments,
                 base::FunctionRef<Tensor(Tensors x)> fn,
                 base::FunctionRef<Tensor(Tensors x, const Tensor& y, Tensors dx)> rule) {
  const SourceLocation at = trace_internal::PublicCall::line_or({});
  const auto traced = [&](const std::vector<Tensor>& like,
                          base::FunctionRef<std::vector<Tensor>(Tensors)> run) {
    std::vector<Shape> shapes;
    for (const Tensor& x : like) shapes.push_back(x.shape());
    bool known = false;
    return intern(trace_internal::trace_flat(std::string(op), shapes, run, at, like).module,
                  &known);
  };
  const size_t count = arguments.size();
  std::vector<Tensor> both = arguments;
  both.insert(both.end(), arguments.begin(), arguments.end());
  const Fragment plain = traced(arguments, [&](Tensors x) { return std::vector<Tensor>{fn(x)}; });
  const Fragment derived = traced(both, [&](Tensors all) {
    const Tensor y = fn(all.first(count));
    return std::vector<Tensor>{y, rule(all.first(count), y, all.subspan(count))};
  });
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = transform::kCustomJvp;
  return trace_internal::emit_many({.opcode = hlo::Opcode::kCustomCall,
                                    .operands = arguments,
                                    .attrs = attrs,
                                    .called = {plain, derived},
                                    .declared = plain->entry_computation().result_shape(),
                                    .at = at,
                                    .backend_config = base::cat(count, ",0,0")})[0];
}

}  // namespace heddle::scan_internal
