#include "heddle/grad/custom.h"

#include "heddle/grad/internal/traced.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/trace/error.h"
#include "heddle/trace/recorder.h"

namespace heddle::grad_internal {
namespace {

constexpr auto kNumbers = trace_internal::Recorder::Numbers::kWithStarts;

}  // namespace

Derived custom_jvp(const FlatFunction& fn, const FlatBody& rule, const Point& point) {
  const Trace plain = traced(fn, types_of(point.leaves), point.leaves, kNumbers);
  std::vector<Tensor> both = point.leaves;
  both.insert(both.end(), point.leaves.begin(), point.leaves.end());
  const Trace derived = traced({fn.what, "", rule}, types_of(both), both, kNumbers);
  const std::span<const Shape> all(derived.results);
  const std::vector<std::string> paths = leaf_paths(plain.spec);
  const size_t half = std::min(plain.results.size(), all.size());
  for (size_t i = 0; i < 2; ++i)
    require_structure(i == 0 ? "the rule's result" : "the rule's tangent", derived.spec.children[i],
                      plain.spec, "what the function gives");
  require_alike("the rule's result", all.first(half), plain.results, paths);
  require_alike("the rule's tangent", all.subspan(half), plain.results, paths);
  return custom_call(fn, hlo::kCustomJvp, point, {&plain, &derived});
}

Derived custom_vjp(const FlatFunction& fn, const FlatBody& forward,
                   base::FunctionRef<std::vector<Tensor>(
                       const TreeSpec& forward, std::span<const Tensor>, std::vector<TreeSpec>&)>
                       backward,
                   const Point& point) {
  const std::vector<Shape> arguments = types_of(point.leaves);
  const Trace plain = traced(fn, arguments, point.leaves, kNumbers);
  const Trace forward_trace = traced({fn.what, "", forward}, arguments, point.leaves, kNumbers);
  require_structure("what forward gives first", forward_trace.spec.children[0], plain.spec,
                    "what the function gives");
  const size_t results = std::min(plain.results.size(), forward_trace.results.size());
  require_alike("what forward gives first", std::span(forward_trace.results).first(results),
                plain.results, leaf_paths(plain.spec));
  std::vector<Shape> given(forward_trace.results.begin() + static_cast<std::ptrdiff_t>(results),
                           forward_trace.results.end());
  given.insert(given.end(), plain.results.begin(), plain.results.end());
  const auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    return backward(forward_trace.spec, leaves, out);
  };
  const Trace back = traced({fn.what, "", run}, given, {}, kNumbers);
  const bool is_one = point.specs.size() == 1;
  const TreeSpec of_arguments{.kind = TreeSpec::Kind::kTuple, .keys = {}, .children = point.specs};
  require_structure("the cotangent", back.spec, is_one ? point.specs[0] : of_arguments,
                    is_one ? "the argument" : "the tuple of the arguments");
  std::vector<std::string> paths;
  for (size_t i = 0; i < point.specs.size(); ++i) {
    for (const std::string& path : leaf_paths(point.specs[i]))
      paths.push_back(base::cat(" of arg", i, path));
  }
  require_alike("the cotangent", back.results, arguments, paths);
  return custom_call(fn, hlo::kCustomVjp, point, {&plain, &forward_trace, &back});
}

}  // namespace heddle::grad_internal
