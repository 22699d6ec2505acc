// Jacobians and Hessians of functions of one tensor to one tensor.
#pragma once

#include <string_view>
#include <utility>

#include "heddle/grad/vmap.h"

namespace heddle {

namespace grad_internal {

enum class By : uint8_t { kRows, kColumns };  // in reverse mode, in forward mode

// [result's sizes.., x's sizes..] of a function of one tensor, x, to one.
Tensor jacobian(const FlatFunction& fn, const Point& point, By by);

// What jacrev(), jacfwd() and hessian() return.
template <class Fn, By kBy>
class Jacobian {
 public:
  // what: the public function
  Jacobian(std::string_view what, Fn fn, SourceLocation at)
      : what_(what), fn_(std::move(fn)), at_(at) {}

  Tensor operator()(const Tensor& x) const {
    if constexpr (!is_differentiable<Fn, Tensor>()) {
      return {};
    } else {
      static_assert(std::is_same_v<ResultOf<Fn, Tensor>, Tensor>,
                    "a function whose Jacobian or Hessian is taken returns a Tensor");
      const trace_internal::HigherOrderCall call(what_, at_);
      trace_internal::require_function("function", fn_);
      Point point = point_at(x);
      by_all(point, what_);
      const auto run = flat<Fn, Tensor>(fn_, point.specs);
      return jacobian(flat_function(what_, fn_, run, x), point, kBy);
    }
  }

  // For Heddle's own code.
  [[nodiscard]] scan_internal::Identity identity() const {
    return scan_internal::identity_of_transform(fn_);
  }

 private:
  std::string_view what_;
  Fn fn_;
  SourceLocation at_;
};

template <By kBy, class Fn>
auto jacobian_of(std::string_view what, Fn fn, SourceLocation at) {
  return Jacobian<Fn, kBy>(what, std::move(fn), at);
}

}  // namespace grad_internal

// A function that gives the Jacobian of `fn`: [result's sizes.., x's sizes..], row by row in
// reverse mode: for functions to few numbers.
//
// fn    Tensor -> Tensor; may capture tensors
// cost  one pullback for each element of the result, all at once
template <class Fn>
auto jacrev(Fn fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kRows>("jacrev", std::move(fn), at);
}

// The same column by column in forward mode: for functions of few numbers.
//
// cost  one pushforward for each element of x, all at once
template <class Fn>
auto jacfwd(Fn fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kColumns>("jacfwd", std::move(fn), at);
}

// A function that gives the second derivatives of `fn`, Tensor -> scalar: [x's sizes.., x's
// sizes..], forward over reverse.
template <class Fn>
auto hessian(Fn fn, SourceLocation at = SourceLocation::here()) {
  using Gradient = grad_internal::Gradient<Fn, false, 0>;
  return grad_internal::jacobian_of<grad_internal::By::kColumns>(
      "hessian", Gradient("hessian", std::move(fn), at), at);
}

}  // namespace heddle
