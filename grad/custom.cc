#include "heddle/grad/custom.h"

#include "heddle/grad/internal/traced.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/transform/custom_derivative.h"

namespace heddle::grad_internal {
namespace {

using trace_internal::PublicCall;

// errors: throws Error where leaves are of other types than wanted
void require_alike(const FlatFunction& fn, std::string_view what, std::span<const Shape> have,
                   const std::vector<Shape>& want, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < want.size() && i < have.size(); ++i) {
    if (same_type(have[i], want[i])) continue;
    throw Error(trace_internal::invalid_argument(fn.what, ": ", what, paths[i], " is ", have[i],
                                                 "; it must be ", want[i]),
                fn.at);
  }
  if (have.size() == want.size()) return;
  throw Error(trace_internal::invalid_argument(fn.what, ": ", what, " has ", have.size(),
                                               " leaves; it must have ", want.size()),
              fn.at);
}

Derived emitted(const FlatFunction& fn, std::string_view target, const Point& point,
                std::initializer_list<const Trace*> functions) {
  std::vector<Tensor> operands = point.leaves;
  std::vector<trace_internal::Fragment> called;
  std::string counts = base::cat(point.leaves.size());
  for (const Trace* each : functions) {
    operands.insert(operands.end(), each->captures.begin(), each->captures.end());
    called.push_back(each->module);
    base::append(counts, ",", each->captures.size());
  }
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  const Trace& plain = **functions.begin();
  std::vector<Tensor> results = trace_internal::in_program(fn.what, fn.at, [&] {
    return trace_internal::emit_many({.opcode = hlo::Opcode::kCustomCall,
                                      .operands = operands,
                                      .attrs = attrs,
                                      .called = called,
                                      .declared = Shape::tuple(plain.results),
                                      .at = fn.at,
                                      .backend_config = counts});
  });
  return {std::move(results), plain.spec, {}};
}

std::vector<Shape> types_of(std::span<const Tensor> leaves) {
  std::vector<Shape> out;
  for (const Tensor& leaf : leaves) out.push_back(leaf.shape());
  return out;
}

}  // namespace

Derived custom_jvp(const FlatFunction& fn, const FlatBody& rule, const Point& point) {
  const PublicCall public_call(fn.what, fn.at, PublicCall::Runs::kUsersFunction);
  const Trace plain = traced(fn, types_of(point.leaves), point.leaves);
  std::vector<Tensor> both = point.leaves;
  both.insert(both.end(), point.leaves.begin(), point.leaves.end());
  const Trace derived = traced({fn.what, "", rule, fn.at}, types_of(both), both);
  const std::span<const Shape> all(derived.results);
  const std::vector<std::string> paths = leaf_paths(plain.spec);
  const size_t half = std::min(plain.results.size(), all.size());
  require_alike(fn, "the rule's result", all.first(half), plain.results, paths);
  require_alike(fn, "the rule's tangent", all.subspan(half), plain.results, paths);
  return emitted(fn, transform::kCustomJvp, point, {&plain, &derived});
}

Derived custom_vjp(const FlatFunction& fn, const FlatBody& forward,
                   base::FunctionRef<std::vector<Tensor>(
                       const TreeSpec& forward, std::span<const Tensor>, std::vector<TreeSpec>&)>
                       backward,
                   const Point& point) {
  const PublicCall public_call(fn.what, fn.at, PublicCall::Runs::kUsersFunction);
  const std::vector<Shape> arguments = types_of(point.leaves);
  const Trace plain = traced(fn, arguments, point.leaves);
  const Trace kept = traced({fn.what, "", forward, fn.at}, arguments, point.leaves);
  const size_t results = std::min(plain.results.size(), kept.results.size());
  require_alike(fn, "what forward gives first", std::span(kept.results).first(results),
                plain.results, leaf_paths(plain.spec));
  std::vector<Shape> given(kept.results.begin() + static_cast<std::ptrdiff_t>(results),
                           kept.results.end());
  given.insert(given.end(), plain.results.begin(), plain.results.end());
  const auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    return backward(kept.spec, leaves, out);
  };
  const Trace back = traced({fn.what, "", run, fn.at}, given, {});
  std::vector<std::string> paths;
  for (size_t i = 0; i < point.specs.size(); ++i) {
    for (const std::string& path : leaf_paths(point.specs[i]))
      paths.push_back(base::cat(" of arg", i, path));
  }
  require_alike(fn, "the cotangent", back.results, arguments, paths);
  return emitted(fn, transform::kCustomVjp, point, {&plain, &kept, &back});
}

}  // namespace heddle::grad_internal
