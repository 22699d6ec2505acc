// while_loop and fori_loop.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/scan/scan.h"
#include "heddle/trace/operand.h"

namespace heddle {

namespace scan_internal {

std::vector<Tensor> run_while(const Callable& condition, const Callable& body, const Argument& init,
                              SourceLocation at);
// The loop's bounds, as they were given; both must be of one integer dtype.
std::vector<Tensor> run_fori(const Callable& body, Operand low, Operand high, const Argument& init,
                             SourceLocation at);

template <Tree C, class Run>
C with_leaves(const C& init, Run&& run) {
  auto init_spec = [&] { return tree_spec(init); };
  std::vector<Tensor> leaves = run(Argument{flatten(init), structure_of(init), init_spec});
  std::span<const Tensor> rest(leaves);
  return unflatten<C>(init_spec(), rest);
}

}  // namespace scan_internal

// Repeats carry = body(carry) while condition(carry).
//
// condition  carry -> pred[]: one boolean; numbers are not taken for truth, compare them
// body       carry -> carry of the same structure, shapes and dtypes
// returns    the carry for which condition was false; init where it was false at once
// errors     Error naming the path in the carry and both types; or what the condition returned
// instead of pred[]
template <class Condition, class Body, class C>
auto while_loop(Condition&& condition, Body&& body, const C& init,
                SourceLocation at = SourceLocation::here()) {
  using namespace scan_internal;
  const auto& start = as_tree(init, at);
  using Carry = std::remove_cvref_t<decltype(start)>;
  static_assert(Tree<Carry>, "the carry of a loop is a tree of Tensors");
  static_assert(
      std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Condition&, Carry>>, Tensor>,
      "the condition of while_loop returns one Tensor, pred[]");
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Body&, Carry>>, Carry>,
                "the body of while_loop must return a carry of the type that it was given");
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
  const void* types = type_tag<Carry>();
  return with_leaves(start, [&](const Argument& argument) {
    return run_while({identity_of(condition), types, test}, {identity_of(body), types, step},
                     argument, at);
  });
}

// value = body(i, value) for i from low up to, not including, high; high <= low gives init.
//
// low, high  C++ integers (the trip count is then known: a scan), or integer scalars of one dtype
// body       (i, value) -> value of the same structure, shapes and dtypes; i has the bounds' dtype,
//            s32 for C++ integers that fit
template <class Body, class C>
auto fori_loop(Operand low, Operand high, Body&& body, const C& init,
               SourceLocation at = SourceLocation::here()) {
  using namespace scan_internal;
  const auto& start = as_tree(init, at);
  using Carry = std::remove_cvref_t<decltype(start)>;
  static_assert(Tree<Carry>, "the value of a loop is a tree of Tensors");
  static_assert(
      std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Body&, Tensor, Carry>>, Carry>,
      "the body of fori_loop must return a value of the type that it was given");
  auto spec = [&] { return tree_spec(start); };
  auto step = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& specs) {
    Tensor index = leaves.front();
    std::span<const Tensor> rest = leaves.subspan(1);
    Carry next = body(std::move(index), unflatten<Carry>(spec(), rest));
    specs = {tree_spec(next), TreeSpec{.kind = TreeSpec::Kind::kNone}};
    return flatten(next);
  };
  return with_leaves(start, [&](const Argument& argument) {
    return run_fori({identity_of(body), type_tag<Carry>(), step}, low, high, argument, at);
  });
}

}  // namespace heddle
