// Jacobians and Hessians of functions of one tensor to one tensor.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "heddle/grad/vmap.h"

namespace heddle {

namespace grad_internal {

// One tensor of x's type for each element of it, along a new first axis: 1 there, else 0.
Tensor basis_of(std::string_view name, const Tensor& x);
// rows: of y's elements, each like x -> [y's sizes.., x's sizes..]
Tensor as_jacobian(const Tensor& rows, const Tensor& y, const Tensor& x);
// columns: of x's elements, each like y -> the same
Tensor from_columns(const Tensor& columns, const Tensor& y, const Tensor& x);

// fn for each element along axis 0, all at once.
template <class Fn>
Tensor of_each(std::string_view what, const Fn& fn, const Tensor& xs) {
  const auto run = [&](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    out = {TreeSpec{}};
    return std::vector<Tensor>{fn(leaves[0])};
  };
  return vmapped({what, "", run}, {{xs}, {TreeSpec{}}}, {}).first[0];
}

template <class Fn>
Tensor by_rows(std::string_view what, const Fn& fn, const Tensor& x, SourceLocation at) {
  const trace_internal::HigherOrderCall call(what, at);
  const auto made = vjp_at(what, fn, {}, x);
  const Tensor rows = of_each(
      what, [&](const Tensor& row) { return made.second(row); },
      basis_of("the result", made.first));
  return as_jacobian(rows, made.first, x);
}

template <class Fn>
Tensor by_columns(std::string_view what, const Fn& fn, const Tensor& x, SourceLocation at) {
  const trace_internal::HigherOrderCall call(what, at);
  const auto made = linearize_at(what, fn, {}, x);
  const Tensor columns = of_each(
      what, [&](const Tensor& column) { return made.second(column); }, basis_of("x", x));
  return from_columns(columns, made.first, x);
}

}  // namespace grad_internal

// A function that gives the Jacobian of `fn`: [result's sizes.., x's sizes..], row by row in
// reverse mode: for functions to few numbers.
//
// fn    Tensor -> Tensor; may capture tensors
// cost  one pullback for each element of the result, all at once
template <class Fn>
auto jacrev(Fn fn, SourceLocation at = SourceLocation::here()) {
  return [fn = std::move(fn), at](const Tensor& x) {
    return grad_internal::by_rows("jacrev", fn, x, at);
  };
}

// The same column by column in forward mode: for functions of few numbers.
//
// cost  one pushforward for each element of x, all at once
template <class Fn>
auto jacfwd(Fn fn, SourceLocation at = SourceLocation::here()) {
  return [fn = std::move(fn), at](const Tensor& x) {
    return grad_internal::by_columns("jacfwd", fn, x, at);
  };
}

// A function that gives the second derivatives of `fn`, Tensor -> scalar: [x's sizes.., x's
// sizes..], forward over reverse.
template <class Fn>
auto hessian(Fn fn, SourceLocation at = SourceLocation::here()) {
  return [gradient = grad(std::move(fn), at), at](const Tensor& x) {
    return grad_internal::by_columns("hessian", gradient, x, at);
  };
}

}  // namespace heddle
