// while_loop and fori_loop.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/base/int.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"

namespace heddle {

struct WhileOptions {
  // The body runs at most this often; the loop then ends as if the condition had been false.
  std::optional<base::Int> max_steps = {};
  // For its reverse derivative, of max_steps steps; unset: it keeps all. Needs max_steps.
  std::optional<Checkpoint> checkpoint = {};
};

struct ForiOptions {
  static constexpr int64_t kUnrollAll = ScanOptions::kUnrollAll;
  // Both need C++ integers as bounds, and are as of scan.
  base::Int unroll = 1;  // steps per trip of the loop
  std::optional<Checkpoint> checkpoint = {};
};

namespace scan_internal {

std::vector<Tensor> run_while(const Callable& condition, const Callable& body, const Argument& init,
                              const WhileOptions& options);
// The loop's bounds as the caller gave them. Both must have one integer dtype.
std::vector<Tensor> run_fori(const Callable& body, Operand low, Operand high, const Argument& init,
                             const ForiOptions& options);

template <TensorTree C, class Run>
C with_leaves(const C& init, Run&& run) {
  auto init_spec = [&] { return tree_spec(init); };
  std::vector<Tensor> leaves = run(Argument{leaves_of(init), structure_of(init), init_spec});
  std::span<const Tensor> rest(leaves);
  return unflatten<C>(init_spec(), rest);
}

// Whether a loop's body may run on a carry; says why not. Args: the types of its arguments.
template <class Fn, class Carry, class... Args>
constexpr bool is_body() {
  using namespace tree_internal;
  static_assert(
      is_tree_or_explained<Carry>,
      "the carry of a loop is a tree of Tensors, behind the functions: while_loop(cond, body, "
      "init), fori_loop(low, high, body, init); a struct needs its kFields");
  if constexpr (!is_tree<Carry>()) {
    explain<Carry>();
    return false;
  } else if constexpr (!std::is_invocable_v<Fn&, Args...>) {
    static_assert(is_misfit_told<Fn, Args...>(),
                  "the body of while_loop takes (carry), that of fori_loop (i, carry), of the "
                  "type of init");
    return false;
  } else {
    using Result = std::invoke_result_t<Fn&, Args...>;
    using Next = std::remove_cvref_t<Result>;
    constexpr bool kIsCarry = std::is_same_v<Next, Carry>;
    if constexpr (!kIsCarry && !std::is_void_v<Next>) {
      static_assert(!is_tree<Next>() && is_tree_or_explained<Next>,
                    "the body of a loop must return a carry of the type that it was given");
      explain<Next>();
    } else {
      static_assert(kIsCarry,
                    "the body of a loop must return a carry of the type that it was given");
      require_value<Fn, Result>();
    }
    return kIsCarry && is_value<Fn, Result>;
  }
}

template <class Fn, class Carry>
constexpr bool is_condition() {
  if constexpr (!std::is_invocable_v<Fn&, Carry>) {
    static_assert(!is_tree<Carry>() || tree_internal::is_misfit_told<Fn, Carry>(),
                  "the condition of while_loop takes (carry), of the type of init");
    return false;
  } else {
    using Result = std::invoke_result_t<Fn&, Carry>;
    constexpr bool kIsTensor = std::is_same_v<std::remove_cvref_t<Result>, Tensor>;
    static_assert(kIsTensor, "the condition of while_loop returns one Tensor, pred[]");
    tree_internal::require_value<Fn, Result>();
    return kIsTensor && tree_internal::is_value<Fn, Result>;
  }
}

}  // namespace scan_internal

// Repeats carry = body(carry) while condition(carry).
//
// condition  carry -> pred[]: one boolean; a number is no condition, compare it
// body       carry -> carry of the same structure, shapes and dtypes
// init       the first carry; a C++ number is a constant of its type's dtype
// max_steps  bounds the trips: with n the loop makes at most n trips, and the condition may still
//            be true for the result. 0 gives init. The loop counts its trips in one more element of
//            its state. With it the loop has a reverse derivative, which stacks the residuals of n
//            steps, or what `checkpoint` says
// returns    the carry for which condition was false; init if it was false at once
// errors     Error naming the path in the carry and both types; or what the condition returned
//            instead of pred[]; or a max_steps below 0; or a checkpoint without max_steps
template <class Condition, class Body, class C>
requires(!trace_internal::TakesOperands<Body>)  //
    auto while_loop(Condition&& condition, Body&& body, const C& init, const WhileOptions& options,
                    SourceLocation at = SourceLocation::here()) {
  const trace_internal::HigherOrderCall call("while_loop", at);
  using namespace scan_internal;
  const auto& start = as_tree(init);
  using Carry = std::remove_cvref_t<decltype(start)>;
  constexpr bool kIsBody = is_body<Body, Carry, Carry>();
  if constexpr (kIsBody && is_condition<Condition, Carry>()) {
    trace_internal::require_function("condition", condition);
    trace_internal::require_function("body", body);
    auto spec = [&] { return tree_spec(start); };
    auto test = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
      specs = {TreeSpec{}};
      return std::vector<Tensor>{condition(unflatten<Carry>(spec(), leaves))};
    };
    auto step = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
      Carry next = body(unflatten<Carry>(spec(), leaves));
      specs = {tree_spec(next)};
      return flatten(next);
    };
    return with_leaves(start, [&](const Argument& argument) {
      return run_while(callable_of(condition, test), callable_of(body, step), argument, options);
    });
  } else {
    return start;
  }
}
template <class Condition, class Body, class C>
requires(!trace_internal::TakesOperands<Body>)  //
    auto while_loop(Condition&& condition, Body&& body, const C& init,
                    SourceLocation at = SourceLocation::here()) {
  return while_loop(std::forward<Condition>(condition), std::forward<Body>(body), init,
                    WhileOptions(), at);
}
// The same with a function of Heddle's by its name as the body: while_loop(is_small, exp, x).
template <class Condition, class C>
auto while_loop(Condition&& condition, trace_internal::ByName<Operand> body, const C& init,
                const WhileOptions& options = {}, SourceLocation at = SourceLocation::here()) {
  return while_loop<Condition, trace_internal::ByName<Operand>&, C>(
      std::forward<Condition>(condition), body, init, options, at);
}

// value = body(i, value) for i from low up to, not including, high; high <= low gives init.
//
// low, high  C++ integers (the trip count is then known: a scan), or integer scalars of one dtype
// body       (i, value) -> value of the same structure, shapes and dtypes; i has the bounds' dtype,
//            s32 for C++ integers that fit
// init       the first value; a C++ number is a constant of its type's dtype
// errors     Error naming the path in the value and both types; or the bounds, if they are not of
//            one integer dtype, or if they are tensors and there is an `unroll` or a `checkpoint`
template <class Body, class C>
auto fori_loop(Operand low, Operand high, Body&& body, const C& init, const ForiOptions& options,
               SourceLocation at = SourceLocation::here()) {
  const trace_internal::HigherOrderCall call("fori_loop", at);
  using namespace scan_internal;
  const auto& start = as_tree(init);
  using Carry = std::remove_cvref_t<decltype(start)>;
  if constexpr (is_body<Body, Carry, Tensor, Carry>()) {
    trace_internal::require_function("body", body);
    auto spec = [&] { return tree_spec(start); };
    auto step = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
      Tensor index = leaves.front();
      std::span<const Tensor> rest = leaves.subspan(1);
      Carry next = body(std::move(index), unflatten<Carry>(spec(), rest));
      specs = {tree_spec(next), TreeSpec{.kind = TreeSpec::Kind::kNone}};
      return flatten(next);
    };
    return with_leaves(start, [&](const Argument& argument) {
      return run_fori(callable_of(body, step), low, high, argument, options);
    });
  } else {
    return start;
  }
}
template <class Body, class C>
auto fori_loop(Operand low, Operand high, Body&& body, const C& init,
               SourceLocation at = SourceLocation::here()) {
  return fori_loop(low, high, std::forward<Body>(body), init, ForiOptions(), at);
}
template <class Body, class C>
trace_internal::Refused fori_loop(Operand /*high*/, const Body& /*body*/, const C& /*init*/) {
  static_assert(!sizeof(C), "both bounds are given: write fori_loop(0, n, body, init)");
  return {};
}

}  // namespace heddle
