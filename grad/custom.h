// Functions with a derivative of your own: custom_jvp for both modes, custom_vjp for reverse mode.
//
//   auto softplus = custom_jvp([](Tensor x) { return log1p(exp(x)); },
//                              [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
//                                const Tensor y = logaddexp(std::get<0>(x), 0);
//                                return std::pair(y, logistic(std::get<0>(x)) * std::get<0>(dx));
//                              });
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/grad/flat.h"
#include "heddle/grad/grad.h"

namespace heddle {

namespace grad_internal {

// fn at the point, as one custom-call that knows its rule. The rule takes the leaves of the
// arguments and then of their tangents, and gives those of the results and of their tangents.
// errors: Error if the rule gives other types than fn, and which
Derived custom_jvp(const FlatFunction& fn, const FlatBody& rule, const Point& point);
// The same with a forward function, which gives results and residuals, and a backward function:
// leaves of the residuals and of the cotangents -> cotangents of the arguments. `backward` is made
// once the structure of forward's result is known.
Derived custom_vjp(const FlatFunction& fn, const FlatBody& forward,
                   base::FunctionRef<std::vector<Tensor>(
                       const TreeSpec& forward, std::span<const Tensor>, std::vector<TreeSpec>&)>
                       backward,
                   const Point& point);

// What custom_jvp() returns.
template <class Fn, class Rule>
class CustomJvp {
 public:
  CustomJvp(Fn fn, Rule rule, SourceLocation at)
      : fn_(std::move(fn)), rule_(std::move(rule)), at_(at) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const trace_internal::HigherOrderCall call("custom_jvp", at_);
    return of_trees(scan_internal::as_tree(args)...);
  }

 private:
  template <class... Args>
  auto of_trees(const Args&... args) const {
    using Tuple = std::tuple<Args...>;
    if constexpr (!maps_trees<Fn, Args...>()) {
      return Tensor();
    } else if constexpr (!std::is_invocable_v<const Rule&, Tuple, Tuple>) {
      static_assert(std::is_invocable_v<const Rule&, Tuple, Tuple>,
                    "the rule of custom_jvp takes (std::tuple of the arguments, std::tuple of "
                    "their tangents), each a tree like its argument");
      return Tensor();
    } else {
      using Result = ResultOf<Fn, Args...>;
      constexpr bool kGivesBoth =
          std::is_same_v<std::remove_cvref_t<std::invoke_result_t<const Rule&, Tuple, Tuple>>,
                         std::pair<Result, Result>>;
      static_assert(kGivesBoth,
                    "the rule of custom_jvp returns std::pair(what fn returns, its tangent)");
      if constexpr (!kGivesBoth) {
        return Tensor();
      } else {
        trace_internal::require_function("function", fn_);
        trace_internal::require_function("rule", rule_);
        Point point = point_at(args...);
        by_all(point, "custom_jvp");
        const auto run = flat<Fn, Args...>(fn_, point.specs);
        const auto rule = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
          const auto take = [&]<size_t... I>(std::index_sequence<I...>) {
            return Tuple{unflatten<Args>(point.specs[I], leaves)...};  // braces: left to right
          };
          constexpr auto kAll = std::index_sequence_for<Args...>();
          Tuple x = take(kAll), dx = take(kAll);
          const std::pair<Result, Result> both = rule_(std::move(x), std::move(dx));
          out = {tree_spec(both)};
          return flatten(both);
        };
        const Derived out =
            custom_jvp({"custom_jvp", scan_internal::name_of(fn_), run}, rule, point);
        return tree_from<Result>(out.spec, out.results);
      }
    }
  }

  Fn fn_;
  Rule rule_;
  SourceLocation at_;
};

// What backward gives for one argument, or for several.
template <class... Args>
struct CotangentsOf {
  using Type = std::tuple<Args...>;
};
template <class Arg>
struct CotangentsOf<Arg> {
  using Type = Arg;
};

// What custom_vjp() returns.
template <class Fn, class Forward, class Backward>
class CustomVjp {
 public:
  CustomVjp(Fn fn, Forward forward, Backward backward, SourceLocation at)
      : fn_(std::move(fn)), forward_(std::move(forward)), backward_(std::move(backward)), at_(at) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const trace_internal::HigherOrderCall call("custom_vjp", at_);
    return of_trees(scan_internal::as_tree(args)...);
  }

 private:
  template <class... Args>
  auto of_trees(const Args&... args) const {
    if constexpr (!maps_trees<Fn, Args...>()) {
      return Tensor();
    } else if constexpr (!std::is_invocable_v<const Forward&, Args...>) {
      static_assert(std::is_invocable_v<const Forward&, Args...>,
                    "the forward function of custom_vjp takes the arguments of fn");
      return Tensor();
    } else {
      return run<Args...>(args...);
    }
  }

  template <class... Args>
  auto run(const Args&... args) const {
    using Result = ResultOf<Fn, Args...>;
    using Both = std::remove_cvref_t<std::invoke_result_t<const Forward&, Args...>>;
    using Cotangents = typename CotangentsOf<Args...>::Type;
    constexpr bool kIsPair = scan_internal::PairLike<Both>;
    static_assert(kIsPair,
                  "the forward function of custom_vjp returns std::pair(what fn returns, what "
                  "backward needs)");
    tree_internal::explain<Both>();
    if constexpr (kIsPair && is_tree<Both>()) {
      using Residuals = std::remove_const_t<std::tuple_element_t<1, Both>>;
      constexpr bool kIsBackward =
          std::is_invocable_r_v<Cotangents, const Backward&, Residuals, Result>;
      static_assert(std::is_same_v<std::remove_const_t<std::tuple_element_t<0, Both>>, Result>,
                    "the forward function of custom_vjp returns std::pair(what fn returns, what "
                    "backward needs)");
      static_assert(kIsBackward,
                    "the backward function of custom_vjp takes (what forward kept, the cotangent "
                    "of the result), and returns the cotangent of the argument: of several "
                    "arguments the std::tuple");
      if constexpr (kIsBackward) {
        trace_internal::require_function("function", fn_);
        trace_internal::require_function("forward", forward_);
        trace_internal::require_function("backward", backward_);
        Point point = point_at(args...);
        by_all(point, "custom_vjp");
        const auto run = flat<Fn, Args...>(fn_, point.specs);
        const auto forward = flat<Forward, Args...>(forward_, point.specs);
        const auto backward = [&](const TreeSpec& both, std::span<const Tensor> leaves,
                                  std::vector<TreeSpec>& out) {
          Residuals residuals = unflatten<Residuals>(both.children[1], leaves);
          Result cotangent = unflatten<Result>(both.children[0], leaves);
          const Cotangents made = backward_(std::move(residuals), std::move(cotangent));
          out = {tree_spec(made)};
          return flatten(made);
        };
        const Derived out =
            custom_vjp({"custom_vjp", scan_internal::name_of(fn_), run}, forward, backward, point);
        return tree_from<Result>(out.spec, out.results);
      }
    }
  }

  Fn fn_;
  Forward forward_;
  Backward backward_;
  SourceLocation at_;
};

}  // namespace grad_internal

// A function that gives what `fn` gives, and whose derivative is `rule`, in forward and reverse
// mode.
//
// fn      of trees to a tree; kept by value
// rule    (std::tuple(args..), std::tuple(tangents..)) -> std::pair(result, tangent of it), linear
//         in the tangents, which are trees like the arguments; those of integers are zeros. Its
//         result replaces fn's in a derivative
// errors  at a call: Error naming the leaf for which the rule gives another type than fn; or if a
//         derivative goes to a tensor that a function captures: pass it as an argument
template <class Fn, class Rule>
auto custom_jvp(Fn fn, Rule rule, SourceLocation at = SourceLocation::here()) {
  return grad_internal::CustomJvp<Fn, Rule>(std::move(fn), std::move(rule), at);
}

// The same for reverse mode only: jvp and linearize of it are errors.
//
// forward   args.. -> std::pair(result, residuals): residuals are a tree, perhaps None{}
// backward  (residuals, cotangent of the result) -> the cotangent of the argument, a tree like it;
//           for several arguments a std::tuple. Those of integers are not read
// errors    as of custom_jvp
template <class Fn, class Forward, class Backward>
auto custom_vjp(Fn fn, Forward forward, Backward backward,
                SourceLocation at = SourceLocation::here()) {
  return grad_internal::CustomVjp<Fn, Forward, Backward>(std::move(fn), std::move(forward),
                                                         std::move(backward), at);
}

}  // namespace heddle
