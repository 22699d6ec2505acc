// checkpoint: derivatives that keep less and compute more.
//
//   const auto layer = checkpoint(block, {.policy = checkpoint_policies::dots_saveable()});
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/grad/grad.h"

namespace heddle {

// What checkpoint() keeps for the way back, beside the arguments. It keeps no values inside of a
// loop in the function: give the loop's body to checkpoint() for that.
class CheckpointPolicy {
 public:
  CheckpointPolicy();  // nothing_saveable()
  // implicit: {.policy = checkpoint_policies::dots_saveable}
  CheckpointPolicy(CheckpointPolicy (*policy)())
      : CheckpointPolicy(policy == nullptr ? CheckpointPolicy() : policy()) {}
  // What text() of another one gave. errors: Error if it is no policy
  explicit CheckpointPolicy(std::string_view text, SourceLocation at = SourceLocation::here());
  // The form of transform/derivatives.h; "": it keeps all.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Names are those of jax.checkpoint_policies.
namespace checkpoint_policies {

CheckpointPolicy nothing_saveable();
// As without checkpoint().
CheckpointPolicy everything_saveable();
// The results of dots and convolutions.
CheckpointPolicy dots_saveable();
// The results of dots without batch dimensions: of weights with activations, not of attention.
CheckpointPolicy dots_with_no_batch_dims_saveable();
// Values with one of these names, by checkpoint_name(); or with any other name.
// errors: Error if a name is empty or has a comma
CheckpointPolicy save_only_these_names(const std::vector<std::string>& names,
                                       SourceLocation at = SourceLocation::here());
CheckpointPolicy save_any_names_but_these(const std::vector<std::string>& names,
                                          SourceLocation at = SourceLocation::here());

}  // namespace checkpoint_policies

struct CheckpointOptions {
  CheckpointPolicy policy = {};
};

namespace grad_internal {

// What checkpoint() returns.
template <class Fn>
class Checkpoint {
 public:
  Checkpoint(Fn fn, CheckpointPolicy policy, SourceLocation at)
      : fn_(std::move(fn)), policy_(std::move(policy)), at_(at) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const trace_internal::HigherOrderCall call("checkpoint", at_);
    return of_trees(scan_internal::as_tree(args)...);
  }

  // For Heddle's own code.
  [[nodiscard]] scan_internal::Identity identity() const {
    const std::string& policy = policy_.text();
    return scan_internal::identity_of_transform(fn_, base::cat(policy.size(), ":", policy));
  }

 private:
  template <class... Args>
  auto of_trees(const Args&... args) const {
    if constexpr (!maps_trees<Fn, Args...>()) {
      return Tensor();
    } else {
      trace_internal::require_function("function", fn_);
      using Result = ResultOf<Fn, Args...>;
      if (policy_.text().empty())
        return trace_internal::as_users_code([&] { return Result(fn_(args...)); });
      Point point = point_at(args...);
      by_all(point, "checkpoint");
      const auto run = flat<Fn, Args...>(fn_, point.specs);
      const Derived out =
          checkpointed(flat_function("checkpoint", fn_, run, args...), point, policy_.text());
      return tree_from<Result>(out.spec, out.results);
    }
  }

  Fn fn_;
  CheckpointPolicy policy_;
  SourceLocation at_;
};

}  // namespace grad_internal

// A function that gives what `fn` gives; its way back keeps only the arguments and captures of fn,
// and computes the rest again. A scan with such a step stacks only its carries.
//
// fn      is kept by value; takes and returns trees
// policy  what it keeps beside them, {.policy = checkpoint_policies::dots_saveable()}
// cost    fn once more on the way back; nothing without a derivative
template <class Fn>
auto checkpoint(Fn fn, const CheckpointOptions& options = {},
                SourceLocation at = SourceLocation::here()) {
  return grad_internal::Checkpoint<Fn>(std::move(fn), options.policy, at);
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused checkpoint(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "checkpoint(fn) is a function: write checkpoint(fn)(x)");
  return {};
}

// The same tree, whose leaves have a name for the policies of checkpoint().
template <class T>
auto checkpoint_name(const T& tree, std::string_view name,
                     SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("checkpoint_name", at);
  return tree_map([&](const Tensor& leaf) { return grad_internal::named(leaf, name); },
                  scan_internal::as_tree(tree));
}

}  // namespace heddle
