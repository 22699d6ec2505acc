// cond and switch_case: branches chosen by a value on the device. All branches are traced; one
// runs.
#pragma once

#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"

namespace heddle {

namespace scan_internal {

std::vector<Tensor> run_cond(Operand predicate, const Callable& on_true, const Callable& on_false,
                             const Argument& operands, TreeSpec* result);
std::vector<Tensor> run_switch(Operand index, std::span<const Callable> branches,
                               const Argument& operands, TreeSpec* result);

// A branch on leaves. `operands` must outlive it.
template <class Fn, class Operands>
auto flat_branch(Fn& fn, const Operands& operands) {
  return [&fn, &operands](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    auto result = std::apply(fn, tree_internal::unflatten_like(operands, leaves));
    specs.clear();
    specs.push_back(tree_spec(result));
    return flatten(result);
  };
}

// Whether the compiler has said why a branch does not take the operands. It says so for the first
// such branch.
template <class... Operands>
constexpr bool is_unfit_told() {
  return false;
}
template <class... Operands, class First, class... Fns>
constexpr bool is_unfit_told(std::type_identity<First>, std::type_identity<Fns>... rest) {
  if constexpr (!std::is_invocable_v<First&, Operands...>)
    return tree_internal::is_misfit_told<First, Operands...>();
  else
    return is_unfit_told<Operands...>(rest...);
}

// Whether branches may run on the operands, and return one type; says why not.
template <class First, class... Fns, class... Operands>
constexpr bool are_branches(std::type_identity<std::tuple<Operands...>>) {
  using namespace tree_internal;
  static_assert((is_tree_or_explained<Operands> && ...),
                "the operands of branches are trees of Tensors, or C++ numbers; a struct needs its "
                "kFields");
  if constexpr (!(is_tree<Operands>() && ...)) {
    (explain<Operands>(), ...);
    return false;
  } else if constexpr (!(std::is_invocable_v<First&, Operands...> && ... &&
                         std::is_invocable_v<Fns&, Operands...>)) {
    constexpr bool kIsValue =
        std::is_same_v<std::remove_cvref_t<First>, Tensor> || std::is_arithmetic_v<First>;
    static_assert(!kIsValue,
                  "cond and switch_case call one of some functions; between values choose with "
                  "where(p, x, y)");
    static_assert(kIsValue || is_unfit_told<Operands...>(std::type_identity<First>(),
                                                         std::type_identity<Fns>()...),
                  "branches take the operands behind them: cond(p, f, g, x) calls f(x)");
    return false;
  } else {
    using Result = std::invoke_result_t<First&, Operands...>;
    using Value = std::remove_cvref_t<Result>;
    constexpr bool kIsSame =
        (std::is_same_v<Value, std::remove_cvref_t<std::invoke_result_t<Fns&, Operands...>>> &&
         ...);
    static_assert(kIsSame, "all branches of cond or switch_case must return the same type");
    static_assert(!kIsSame || is_tree_or_explained<Value>, "a branch returns a tree of Tensors");
    if constexpr (!is_tree<Value>() && !std::is_void_v<Value>)
      explain<Value>();
    else if constexpr (kIsSame) {
      require_value<First, Result>();
      (require_value<Fns, std::invoke_result_t<Fns&, Operands...>>(), ...);
    }
    return kIsSame && is_tree<Value>() && is_value<First, Result> &&
           (is_value<Fns, std::invoke_result_t<Fns&, Operands...>> && ...);
  }
}

template <class OnTrue, class OnFalse, class... Operands>
auto cond_on(Operand predicate, OnTrue& on_true, OnFalse& on_false, const Operands&... operands) {
  using Result = tree_internal::ResultOf<OnTrue&, Operands...>;
  if constexpr (!are_branches<OnTrue, OnFalse>(std::type_identity<std::tuple<Operands...>>())) {
    return TreeOr<Result>();
  } else {
    trace_internal::require_function("branch on_true", on_true);
    trace_internal::require_function("branch on_false", on_false);
    std::tuple<Operands...> all(operands...);
    auto spec = [&] { return tree_spec(all); };
    auto first = flat_branch(on_true, all);
    auto second = flat_branch(on_false, all);
    TreeSpec result;
    std::vector<Tensor> leaves =
        run_cond(predicate, callable_of(on_true, first), callable_of(on_false, second),
                 {leaves_of(all), structure_of(all), spec}, &result);
    std::span<const Tensor> rest(leaves);
    return unflatten<Result>(result, rest);
  }
}

template <class Fn>
void require_branch(size_t number, const Fn& fn) {
  if (base::is_null_function(fn)) trace_internal::throw_no_function(base::cat("branch ", number));
  trace_internal::require_function("branch", fn);
}

template <class... Fns, class... Operands>
auto switch_on(Operand index, const std::tuple<Fns...>& branches, const Operands&... operands) {
  static_assert(sizeof...(Fns) > 0, "switch_case takes at least one branch");
  using Result = tree_internal::ResultOf<const std::tuple_element_t<0, std::tuple<Fns..., Tensor>>&,
                                         Operands...>;
  if constexpr (sizeof...(Fns) == 0) {
    return Tensor();
  } else if constexpr (!are_branches<const Fns...>(std::type_identity<std::tuple<Operands...>>())) {
    return TreeOr<Result>();
  } else {
    std::tuple<Operands...> all(operands...);
    auto spec = [&] { return tree_spec(all); };
    TreeSpec result;
    std::vector<Tensor> leaves = std::apply(
        [&](const auto&... fn) {
          size_t number = 0;
          (require_branch(number++, fn), ...);
          auto flat = std::tuple(flat_branch(fn, all)...);
          return std::apply(
              [&](auto&... run) {
                std::vector<Callable> callables{callable_of(fn, run)...};
                return run_switch(index, callables, {leaves_of(all), structure_of(all), spec},
                                  &result);
              },
              flat);
        },
        branches);
    std::span<const Tensor> rest(leaves);
    return unflatten<Result>(result, rest);
  }
}

template <class Fn, class... Operands>
auto switch_on(Operand index, const std::vector<Fn>& branches, const Operands&... operands) {
  using Result = tree_internal::ResultOf<const Fn&, Operands...>;
  if constexpr (!are_branches<const Fn>(std::type_identity<std::tuple<Operands...>>())) {
    return TreeOr<Result>();
  } else {
    std::tuple<Operands...> all(operands...);
    auto spec = [&] { return tree_spec(all); };
    using Flat = decltype(flat_branch(branches[0], all));
    std::vector<Flat> flat;
    for (const Fn& fn : branches) {
      require_branch(flat.size(), fn);
      flat.push_back(flat_branch(fn, all));
    }
    std::vector<Callable> callables;
    for (size_t i = 0; i < flat.size(); ++i) callables.push_back(callable_of(branches[i], flat[i]));
    TreeSpec result;
    std::vector<Tensor> leaves =
        run_switch(index, callables, {leaves_of(all), structure_of(all), spec}, &result);
    std::span<const Tensor> rest(leaves);
    return unflatten<Result>(result, rest);
  }
}

}  // namespace scan_internal

// on_true(operands..) where `predicate` is true, else on_false(operands..). Branches may capture
// tensors, and need no operands.
//
// predicate  pred[]; a numeric scalar is compared with zero
// operands   trees; a C++ number is a scalar of its type's dtype
// returns    what both branches return: one type, one structure
// errors     Error naming the path and both types if the branches differ; or the predicate's type
// if it is no scalar
template <class OnTrue, class OnFalse, class... Operands>
requires(!trace_internal::TakesOperands<OnTrue> && !trace_internal::TakesOperands<OnFalse>)  //
    auto cond(Operand predicate, OnTrue&& on_true, OnFalse&& on_false,
              const Operands&... operands) {
  const trace_internal::HigherOrderCall call("cond", predicate.at());
  return scan_internal::cond_on(predicate, on_true, on_false, scan_internal::as_tree(operands)...);
}

template <class Fn, class Other, std::same_as<Tensor> P, class... More>
requires(!std::is_convertible_v<Fn, Operand> && !std::is_convertible_v<Other, Operand>)  //
    trace_internal::Refused
    cond(Fn&& /*on_true*/, Other&& /*on_false*/, const P& /*predicate*/, const More&...) {
  static_assert(!sizeof(P), "the predicate comes first: write cond(p, f, g, x)");
  return {};
}

// The same with functions of Heddle's by their names: cond(p, exp, log, x), cond(p, fmod, atan2, x,
// y), and with one of them beside a callable.
inline Tensor cond(Operand predicate, trace_internal::ByName<Operand> on_true,
                   trace_internal::ByName<Operand> on_false, const Tensor& x) {
  return cond<>(predicate, on_true, on_false, x);
}
inline Tensor cond(Operand predicate, trace_internal::ByName<Operand, Operand> on_true,
                   trace_internal::ByName<Operand, Operand> on_false, const Tensor& x,
                   const Tensor& y) {
  return cond<>(predicate, on_true, on_false, x, y);
}
template <class OnFalse>
requires(!trace_internal::TakesOperands<OnFalse>)  //
    auto cond(Operand predicate, trace_internal::ByName<Operand> on_true, OnFalse&& on_false,
              const Tensor& x) {
  return cond<trace_internal::ByName<Operand>&>(predicate, on_true, on_false, x);
}
template <class OnTrue>
requires(!trace_internal::TakesOperands<OnTrue>)  //
    auto cond(Operand predicate, OnTrue&& on_true, trace_internal::ByName<Operand> on_false,
              const Tensor& x) {
  return cond<OnTrue&, trace_internal::ByName<Operand>&>(predicate, on_true, on_false, x);
}

// `branches[index](operands..)`; an index outside 0 .. n-1 is clamped. A single branch is called
// without any conditional.
//
// index     scalar of an integer dtype, or a C++ integer
// branches  std::tuple of callables, or a vector of one callable type
// operands  trees; a C++ number is a scalar of its type's dtype
template <class... Fns, class... Operands>
auto switch_case(Operand index, const std::tuple<Fns...>& branches, const Operands&... operands) {
  const trace_internal::HigherOrderCall call("switch_case", index.at());
  return scan_internal::switch_on(index, branches, scan_internal::as_tree(operands)...);
}

// The same with branches of one type. errors: also where there is none
template <class Fn, class... Operands>
auto switch_case(Operand index, const std::vector<Fn>& branches, const Operands&... operands) {
  const trace_internal::HigherOrderCall call("switch_case", index.at());
  return scan_internal::switch_on(index, branches, scan_internal::as_tree(operands)...);
}

// The same with functions of Heddle's by their names: switch_case(i, {exp, log}, x).
inline Tensor switch_case(Operand index,
                          std::initializer_list<trace_internal::ByName<Operand>> branches,
                          const Tensor& x) {
  return switch_case(index, std::vector<trace_internal::ByName<Operand>>(branches), x);
}

}  // namespace heddle
