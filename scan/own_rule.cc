#include "heddle/scan/own_rule.h"

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/scan/internal/trace_body.h"
#include "heddle/trace/recorder.h"

namespace heddle::scan_internal {

namespace {

using Flat = base::FunctionRef<std::vector<Tensor>(Tensors)>;

// The first parameters are like `like`.
Fragment traced_alone(std::string_view op, const std::vector<Shape>& shapes,
                      const std::vector<Tensor>& like, const Flat& run) {
  bool known = false;
  return intern(trace_internal::trace_flat(std::string(op), shapes, run, {}, like).module, &known);
}

}  // namespace

std::vector<Tensor> call_with_derivative(std::string_view target,
                                         const std::vector<Tensor>& arguments,
                                         std::span<const FunctionOfCall> functions) {
  std::vector<Tensor> operands = arguments;
  std::vector<Fragment> called;
  std::string counts = base::cat(arguments.size());
  for (const FunctionOfCall& each : functions) {
    operands.insert(operands.end(), each.captures.begin(), each.captures.end());
    called.push_back(each.body);
    base::append(counts, ",", each.captures.size());
  }
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  const Shape& declared = called[0]->entry_computation().result_shape();
  return trace_internal::emit_many({.opcode = hlo::Opcode::kCustomCall,
                                    .operands = std::move(operands),
                                    .attrs = std::move(attrs),
                                    .called = std::move(called),
                                    .declared = declared,
                                    .backend_config = std::move(counts)});
}

Tensor with_rule(std::string_view op, const std::vector<Tensor>& arguments,
                 base::FunctionRef<Tensor(Tensors x)> fn,
                 base::FunctionRef<Tensor(Tensors x, const Tensor& y, Tensors dx)> rule) {
  const size_t count = arguments.size();
  const std::vector<Shape> shapes = shapes_of(arguments, op);
  const Fragment plain =
      traced_alone(op, shapes, arguments, [&](Tensors x) { return std::vector<Tensor>{fn(x)}; });
  std::vector<Shape> all = shapes;
  all.push_back(plain->entry_computation().result_shape().elements()[0]);
  all.insert(all.end(), shapes.begin(), shapes.end());
  const Fragment tangent = traced_alone(op, all, arguments, [&](Tensors x) {
    return std::vector<Tensor>{rule(x.first(count), x[count], x.subspan(count + 1))};
  });
  const FunctionOfCall functions[] = {{plain, {}}, {tangent, {}}};
  return call_with_derivative(hlo::kWithTangent, arguments, functions)[0];
}

Tensor elementwise(std::string_view op, const std::vector<Tensor>& arguments,
                   base::FunctionRef<Tensor(Tensors x)> fn) {
  const Fragment plain = traced_alone(op, shapes_of(arguments, op), arguments,
                                      [&](Tensors x) { return std::vector<Tensor>{fn(x)}; });
  const FunctionOfCall function{plain, {}};
  return call_with_derivative(hlo::kElementwiseCall, arguments, std::span(&function, 1))[0];
}

}  // namespace heddle::scan_internal
