// optim::lbfgs: a minimum of a smooth function of a tree, by its gradients. It is one while_loop,
// so it runs whole on the device, and inside of other traces.
//
//   auto found = optim::lbfgs(negative_log_likelihood, start);
//   if (found.converged.item<bool>()) use(found.x);
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/grad/grad.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::optim {

struct LbfgsOptions {
  base::Int memory = 10;  // steps that it remembers
  base::Int max_steps = 200;
  double tolerance = 0;  // for the greatest element of the gradient; 0: 1e-5 in f32, 1e-9 in f64
  base::Int max_halvings = 30;  // evaluations of one line search
};

template <TensorTree P>
struct LbfgsResult {
  P x;
  Tensor value;        // f(x)
  Tensor slope;        // the greatest element of |gradient|
  Tensor steps;        // s32[]
  Tensor evaluations;  // s32[], of f and its gradient
  Tensor converged;    // pred[]: slope <= tolerance; else max_steps were made, or no step went down
  static constexpr auto kFields = fields(
      field("x", &LbfgsResult::x), field("value", &LbfgsResult::value),
      field("slope", &LbfgsResult::slope), field("steps", &LbfgsResult::steps),
      field("evaluations", &LbfgsResult::evaluations), field("converged", &LbfgsResult::converged));
};

}  // namespace heddle::optim

namespace heddle::optim_internal {

struct FlatLbfgs {
  Tensor x, value, slope, steps, evaluations, converged;
};
// `look`: the value and the gradient at a vector.
FlatLbfgs lbfgs(const Tensor& start,
                const std::function<std::pair<Tensor, Tensor>(const Tensor&)>& look,
                const optim::LbfgsOptions& options);

// The elements of all leaves, one after the other. errors: throws Error if dtypes differ or are not
// f32 or f64
Tensor joined(const std::vector<Tensor>& leaves, const std::vector<std::string>& paths);
std::vector<Tensor> parted(const Tensor& all, const std::vector<Tensor>& like);

}  // namespace heddle::optim_internal

namespace heddle::optim {

// Limited-memory BFGS (Nocedal 1980; Nocedal and Wright 2006, algorithm 7.5), with a line search
// for the weak Wolfe conditions by doubling and halving (Lewis and Overton 2013).
//
// fn       P -> f32[] or f64[]; may capture tensors
// start    where it begins; its leaves have one dtype, f32 or f64
// errors   Error (InvalidArgument) for other dtypes, and that names an option outside of its range
// cost     one evaluation of fn and its gradient for most steps, since the first try is mostly good
template <class Fn, TensorTree P>
LbfgsResult<P> lbfgs(const Fn& fn, const P& start, const LbfgsOptions& options = {},
                     SourceLocation at = SourceLocation::here()) {
  constexpr std::string_view kName = "optim::lbfgs";
  const trace_internal::HigherOrderCall call(kName, at);
  trace_internal::require_function("function", fn);
  const std::vector<Tensor> like = flatten(start);
  const TreeSpec spec = tree_spec(start);
  trace_internal::require_values(kName, "start", like, [&] { return spec; });
  const auto tree_of = [&](const Tensor& all) {
    const trace_internal::PublicCall own(kName, {});
    const std::vector<Tensor> leaves = optim_internal::parted(all, like);
    std::span<const Tensor> rest(leaves);
    return unflatten<P>(spec, rest);
  };
  const auto look = [&](const Tensor& all) {
    return value_and_grad([&](const Tensor& flat) -> Tensor { return fn(tree_of(flat)); },
                          SourceLocation{})(all);
  };
  const optim_internal::FlatLbfgs found =
      optim_internal::lbfgs(optim_internal::joined(like, leaf_paths(spec)), look, options);
  return {tree_of(found.x), found.value,       found.slope,
          found.steps,      found.evaluations, found.converged};
}

template <std::same_as<Tensor> P, class Fn>
trace_internal::Refused lbfgs(const P& /*start*/, const Fn& /*fn*/) {
  static_assert(!sizeof(Fn),
                "lbfgs takes the function first, then where it starts: lbfgs(fn, start)");
  return {};
}

}  // namespace heddle::optim
