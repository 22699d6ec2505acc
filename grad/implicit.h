// Solutions of equations: custom_linear_solve and custom_root. Their derivatives are those of the
// equation, not of the steps that solve it. The steps may be a while_loop, or anything else without
// a derivative.
//
//   // x of A x = b by conjugate gradients, in both modes
//   const auto a = [&](Tensor v) { return matmul(A, v); };
//   const Tensor x = custom_linear_solve(a, b, conjugate_gradients, {.symmetric = true});
//
//   // the root of x^3 = a by bisection
//   const auto f = [&](Tensor x) { return x * x * x - a; };
//   const Tensor x = custom_root(f, scalar(1.0), bisect,
//                                [](auto df, Tensor y) { return y / df(scalar(1.0)); });
//
// Derivatives go to what `matvec` and `f` capture, and to b. source: JAX, jax.lax's functions of
// these names.
#pragma once

#include <utility>
#include <vector>

#include "heddle/grad/grad.h"

namespace heddle {

struct LinearSolveOptions {
  base::Flag symmetric = false;  // matvec is its own transpose, so `solve` solves both
};

namespace grad_internal {

// Leaves of b -> of x. `transpose_solve` takes the transpose of matvec, on leaves; null: reverse
// mode is an error.
using FlatSolve = base::FunctionRef<std::vector<Tensor>(
    base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)>, std::span<const Tensor>,
    std::vector<TreeSpec>&)>;
Derived linear_solve(const FlatFunction& matvec, const FlatBody& solve,
                     const FlatSolve* transpose_solve, bool symmetric, const Point& b);
Derived root(const FlatFunction& f, const FlatBody& solve, const FlatBody& tangent_solve,
             const Point& guess);

// Results of a user's function as leaves.
template <class T>
std::vector<Tensor> as_leaves(const T& tree, std::vector<TreeSpec>& out) {
  out = {tree_spec(tree)};
  return flatten(tree);
}

template <class Tree>
Point tree_point(std::string_view what, const Tree& tree) {
  Point point = point_at(tree);
  by_all(point, what);
  return point;
}

// Whether what is solved for is a tree; says why not.
template <class X>
constexpr bool is_unknown() {
  static_assert(tree_internal::is_tree_or_explained<X>,
                "custom_linear_solve and custom_root solve for a tree of Tensors, or a C++ number");
  tree_internal::explain<X>();
  return is_tree<X>();
}

// Whether the functions fit; says which does not.
template <class Matvec, class B, class Solve>
constexpr bool is_linear_equation() {
  if constexpr (!is_unknown<B>()) {
    return false;
  } else if constexpr (!std::is_invocable_r_v<B, const Matvec&, const B&>) {
    static_assert(std::is_invocable_r_v<B, const Matvec&, const B&>,
                  "the matvec of custom_linear_solve takes a tree like b, and returns one");
    return false;
  } else {
    constexpr bool kSolves = std::is_invocable_r_v<B, const Solve&, const Matvec&, const B&>;
    static_assert(kSolves,
                  "the solve of custom_linear_solve takes (matvec, b) and returns x, a tree like "
                  "b");
    return kSolves;
  }
}

template <class Matvec, class B, class Solve, class TransposeSolve>
auto linear_solve_at(const Matvec& matvec, const B& b, const Solve& solve,
                     const TransposeSolve* transpose_solve, bool symmetric, SourceLocation at) {
  if constexpr (!is_linear_equation<Matvec, B, Solve>()) {
    return Tensor();
  } else {
    constexpr std::string_view kWhat = "custom_linear_solve";
    const trace_internal::HigherOrderCall call(kWhat, at);
    trace_internal::require_function("matvec", matvec);
    trace_internal::require_function("solve", solve);
    if (transpose_solve != nullptr)
      trace_internal::require_function("transpose_solve", *transpose_solve);
    const Point point = tree_point(kWhat, b);
    const auto product = flat<Matvec, B>(matvec, point.specs);
    const auto solved = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
      return as_leaves<B>(solve(matvec, unflatten<B>(point.specs[0], leaves)), out);
    };
    const FlatFunction function{kWhat, scan_internal::name_of(matvec), product};
    if constexpr (std::is_same_v<TransposeSolve, None>) {
      return tree_from<B>(point.specs[0],
                          linear_solve(function, solved, nullptr, symmetric, point).results);
    } else {
      const auto transposed =
          [&](base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> run,
              std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
            const auto vecmat = [&](const B& y) {
              return tree_from<B>(point.specs[0], run(flatten(y)));
            };
            constexpr bool kSolves =
                std::is_invocable_r_v<B, const TransposeSolve&, decltype(vecmat)&, B>;
            static_assert(
                kSolves,
                "the transpose_solve of custom_linear_solve takes (the transpose of matvec, b) "
                "and returns x, a tree like b");
            if constexpr (kSolves)
              return as_leaves<B>((*transpose_solve)(vecmat, unflatten<B>(point.specs[0], leaves)),
                                  out);
            else
              return std::vector<Tensor>();
          };
      const FlatSolve flat_solve = transposed;
      return tree_from<B>(point.specs[0],
                          linear_solve(function, solved, &flat_solve, symmetric, point).results);
    }
  }
}

// The same.
template <class F, class X, class Solve, class TangentSolve>
constexpr bool is_equation() {
  if constexpr (!is_unknown<X>()) {
    return false;
  } else if constexpr (!std::is_invocable_r_v<X, const F&, const X&>) {
    static_assert(std::is_invocable_r_v<X, const F&, const X&>,
                  "the f of custom_root takes a tree like guess, and returns one");
    return false;
  } else {
    constexpr bool kSolves = std::is_invocable_r_v<X, const Solve&, const F&, const X&>;
    static_assert(kSolves,
                  "the solve of custom_root takes (f, guess) and returns x, a tree like guess");
    constexpr bool kHasTangents =
        std::is_invocable_r_v<X, const TangentSolve&, Pushforward<X, X>, const X&>;
    static_assert(
        kHasTangents,
        "the tangent_solve of custom_root takes (the derivative of f, y) and returns x, a "
        "tree like guess");
    return kSolves && kHasTangents;
  }
}

template <class F, class X, class Solve, class TangentSolve>
auto root_at(const F& f, const X& guess, const Solve& solve, const TangentSolve& tangent_solve,
             SourceLocation at) {
  if constexpr (!is_equation<F, X, Solve, TangentSolve>()) {
    return Tensor();
  } else {
    constexpr std::string_view kWhat = "custom_root";
    const trace_internal::HigherOrderCall call(kWhat, at);
    trace_internal::require_function("f", f);
    trace_internal::require_function("solve", solve);
    trace_internal::require_function("tangent_solve", tangent_solve);
    const Point point = tree_point(kWhat, guess);
    const auto residual = flat<F, X>(f, point.specs);
    const auto solved = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
      return as_leaves<X>(solve(f, unflatten<X>(point.specs[0], leaves)), out);
    };
    const auto tangent = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
      const X x = unflatten<X>(point.specs[0], leaves);
      const X y = unflatten<X>(point.specs[0], leaves);
      return as_leaves<X>(tangent_solve(linearize_at(kWhat, f, {}, x).second, y), out);
    };
    return tree_from<X>(
        point.specs[0],
        root({kWhat, scan_internal::name_of(f), residual}, solved, tangent, point).results);
  }
}

}  // namespace grad_internal

// x with matvec(x) = b.
//
// matvec  linear: a tree like b -> a tree like b; what it captures, the matrix, has derivatives
// solve   (matvec, b) -> x, a tree like b; need not be differentiable
// errors  at a call: Error naming the leaf that matvec or solve gives with another type, or what in
//         matvec is not linear; in reverse mode without .symmetric: give transpose_solve
template <class Matvec, class B, class Solve>
auto custom_linear_solve(const Matvec& matvec, const B& b, const Solve& solve,
                         const LinearSolveOptions& options = {},
                         SourceLocation at = SourceLocation::here()) {
  return grad_internal::linear_solve_at(matvec, scan_internal::as_tree(b), solve,
                                        static_cast<const None*>(nullptr), bool(options.symmetric),
                                        at);
}
// The same with transpose_solve: (the transpose of matvec, b) -> x, for reverse mode.
template <class Matvec, class B, class Solve, class TransposeSolve>
requires(!std::is_convertible_v<TransposeSolve, LinearSolveOptions>) auto custom_linear_solve(
    const Matvec& matvec, const B& b, const Solve& solve, const TransposeSolve& transpose_solve,
    SourceLocation at = SourceLocation::here()) {
  return grad_internal::linear_solve_at(matvec, scan_internal::as_tree(b), solve, &transpose_solve,
                                        false, at);
}

// x with f(x) = 0, near `guess`.
//
// f              a tree like guess -> a tree like it; what it captures has derivatives, guess none
// solve          (f, guess) -> x; need not be differentiable
// tangent_solve  (g, y) -> x with g(x) = y, where g, linear, is the derivative of f at the root;
//                made of functions with derivatives, or of custom_linear_solve. For a scalar:
//                [](auto g, Tensor y) { return y / g(scalar(1.0)); }
// errors         at a call: Error naming the leaf that a function gives with another type
template <class F, class X, class Solve, class TangentSolve>
auto custom_root(const F& f, const X& guess, const Solve& solve, const TangentSolve& tangent_solve,
                 SourceLocation at = SourceLocation::here()) {
  return grad_internal::root_at(f, scan_internal::as_tree(guess), solve, tangent_solve, at);
}

}  // namespace heddle
