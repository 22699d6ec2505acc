// Jacobians and Hessians of functions of trees.
//
//   Tensor j = jacrev(f)(x);                    // [f(x)'s sizes.., x's sizes..]
//   auto [by_w, by_b] = jacfwd(layer)(cell);    // the fields of a Cell; by_w.b: d w / d b
//   auto [j, aux] = jacrev(f, has_aux)(x);      // of an f that returns std::pair(result, aux)
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/grad/vmap.h"

namespace heddle {

// With it, a function of which a Jacobian is taken returns std::pair(result, aux), and aux has no
// derivative.
struct HasAux {
  // For Heddle's own code.
  template <class Fn, class... Args>
  static constexpr bool kHasAux = true;
};
inline constexpr HasAux has_aux{};

namespace grad_internal {

struct NoAux {
  template <class Fn, class... Args>
  static constexpr bool kHasAux = false;
};
// A gradient has an aux if its function has.
struct AuxOfGradient {
  template <class Gradient, class... Args>
  static constexpr bool kHasAux = Gradient::template kHasAux<Args...>;
};

// A tree like T with a tree like Arg in the place of each Tensor.
template <class T, class Arg>
struct JacobianTree;

}  // namespace grad_internal

// The Jacobian of a result of type T by a tree of type Arg: a tree like T that has, in the place of
// each Tensor, a tree like Arg of arrays [result's sizes.., argument's sizes..]. By one Tensor that
// is a T. By other trees a struct becomes the tuple of its fields, without static ones: C++ does
// not put other types in the members of a struct.
template <class T, class Arg>
using JacobianOf = typename std::conditional_t<std::is_same_v<Arg, Tensor>, std::type_identity<T>,
                                               grad_internal::JacobianTree<T, Arg>>::type;

namespace grad_internal {

template <class Arg>
struct JacobianTree<Tensor, Arg> {
  using type = Arg;
};
template <class Arg>
struct JacobianTree<None, Arg> {
  using type = None;
};
template <class A, class B, class Arg>
struct JacobianTree<std::pair<A, B>, Arg> {
  using type = std::pair<JacobianOf<A, Arg>, JacobianOf<B, Arg>>;
};
template <class... Ts, class Arg>
struct JacobianTree<std::tuple<Ts...>, Arg> {
  using type = std::tuple<JacobianOf<Ts, Arg>...>;
};
template <class T, size_t N, class Arg>
struct JacobianTree<std::array<T, N>, Arg> {
  using type = std::array<JacobianOf<T, Arg>, N>;
};
template <class T, class Arg>
struct JacobianTree<std::vector<T>, Arg> {
  using type = std::vector<JacobianOf<T, Arg>>;
};
template <class T, class Arg>
struct JacobianTree<std::optional<T>, Arg> {
  using type = std::optional<JacobianOf<T, Arg>>;
};
template <class T, class Arg>
struct JacobianTree<std::map<std::string, T>, Arg> {
  using type = std::map<std::string, JacobianOf<T, Arg>>;
};
template <class Arg, class... Fields>
auto jacobian_of_fields(const std::tuple<Fields...>&) {
  using namespace tree_internal;
  const auto one = []<class Field>(std::type_identity<Field>) {
    if constexpr (FieldOf<Field>::kIsStatic)
      return std::tuple<>();
    else
      return std::tuple<JacobianOf<typename FieldOf<Field>::Type, Arg>>();
  };
  return std::tuple_cat(one(std::type_identity<Fields>())...);
}
template <HasFields T, class Arg>
struct JacobianTree<T, Arg> {
  using type = decltype(jacobian_of_fields<Arg>(fields_of<T>()));
};

enum class By : uint8_t { kRows, kColumns };  // in reverse mode, in forward mode

// The derivatives: for each wanted leaf of the result by each leaf in `of`.
Derived jacobian(const FlatFunction& fn, const Point& point, By by, Wanted wanted);
// The structure of a JacobianOf.
TreeSpec jacobian_spec(const TreeSpec& result, const TreeSpec& by);

// What jacrev(), jacfwd() and hessian() return.
template <class Fn, By kBy, class Aux, size_t... I>
class Jacobian {
 public:
  // what: the public function
  Jacobian(std::string_view what, Fn fn, SourceLocation at)
      : what_(what), fn_(std::move(fn)), at_(at) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const trace_internal::HigherOrderCall call(what_, at_);
    return of_trees(scan_internal::as_tree(args)...);
  }

  // For Heddle's own code.
  [[nodiscard]] scan_internal::Identity identity() const {
    return scan_internal::identity_of_transform(fn_);
  }

 private:
  template <class... Args>
  auto of_trees(const Args&... args) const {
    if constexpr (!maps_trees<Fn, Args...>(Argnums<I...>())) {
      return Tensor();
    } else {
      using Result = ResultOf<Fn, Args...>;
      constexpr bool kHasAux = Aux::template kHasAux<Fn, Args...>;
      constexpr bool kIsPair = scan_internal::PairLike<Result>;
      static_assert(!kHasAux || kIsPair,
                    "with has_aux the function of a Jacobian returns std::pair(result, aux)");
      trace_internal::require_function("function", fn_);
      Point point = point_at(args...);
      by_arguments<I...>(point, what_);
      const auto run = flat<Fn, Args...>(fn_, point.specs);
      const Derived out = jacobian(flat_function(what_, fn_, run, args...), point, kBy,
                                   kHasAux ? Wanted::kFirst : Wanted::kAll);
      if constexpr (kHasAux && kIsPair)
        return std::pair(
            tree_of<std::tuple_element_t<0, Result>, Args...>(out, out.spec.children[0], point),
            std::get<1>(tree_from<Result>(out.spec, out.results)));
      else
        return tree_of<Result, Args...>(out, out.spec, point);
    }
  }

  // The derivatives of a Result of this structure.
  template <class Result, class... Args>
  static auto tree_of(const Derived& out, const TreeSpec& result, const Point& point) {
    const auto argument = [&](std::span<const Tensor> leaves) {
      return chosen<I...>(leaves, point.specs, std::type_identity<std::tuple<Args...>>());
    };
    using Arg = decltype(argument({}));
    std::vector<Tensor> leaves;
    const auto count = static_cast<size_t>(std::count(point.of.begin(), point.of.end(), true));
    for (std::span<const Tensor> rest(out.derivatives); !rest.empty(); rest = rest.subspan(count))
      for_each_leaf(argument(rest), [&](const Tensor& leaf) { leaves.push_back(leaf); });
    return tree_from<JacobianOf<Result, Arg>>(spec_of<Arg>(result, point.specs), leaves);
  }

  template <class Arg>
  static TreeSpec spec_of(const TreeSpec& result, const std::vector<TreeSpec>& args) {
    if constexpr (std::is_same_v<Arg, Tensor>)
      return result;
    else if constexpr (sizeof...(I) == 1)
      return jacobian_spec(result, args[(I + ...)]);
    else
      return jacobian_spec(result,
                           {.kind = TreeSpec::Kind::kTuple, .keys = {}, .children = {args[I]...}});
  }

  std::string_view what_;
  Fn fn_;
  SourceLocation at_;
};

template <By kBy, class Fn, class Aux, size_t... I>
auto jacobian_of(std::string_view what, Fn&& fn, Argnums<I...>, Aux, SourceLocation at) {
  return Jacobian<std::decay_t<Fn>, kBy, Aux, I...>(what, std::forward<Fn>(fn), at);
}
template <class Fn, class Aux, size_t... I>
auto jacrev_of(Fn&& fn, Argnums<I...> by, Aux aux, SourceLocation at) {
  return jacobian_of<By::kRows>("jacrev", std::forward<Fn>(fn), by, aux, at);
}
template <class Fn, class Aux, size_t... I>
auto jacfwd_of(Fn&& fn, Argnums<I...> by, Aux aux, SourceLocation at) {
  return jacobian_of<By::kColumns>("jacfwd", std::forward<Fn>(fn), by, aux, at);
}

// What hessian() takes the Jacobian of.
template <class Fn, size_t... I>
struct GradientInside : Gradient<Fn, false, I...> {
  template <class... Args>
  static constexpr bool kHasAux = Loss<ResultOf<Fn, Args...>>::kHasAux;
};

template <class Fn, size_t... I>
auto hessian_of(Fn&& fn, Argnums<I...> by, SourceLocation at) {
  using Inside = GradientInside<std::decay_t<Fn>, I...>;
  return jacobian_of<By::kColumns>("hessian", Inside{{"hessian", std::forward<Fn>(fn), at}}, by,
                                   AuxOfGradient(), at);
}

}  // namespace grad_internal

// A function that gives the Jacobian of `fn` by its first argument, row by row in reverse mode: for
// functions to few numbers. Of a Tensor by a Tensor it is [result's sizes.., argument's sizes..],
// of trees the tree that JacobianOf says. With argnums<1> it is by another argument, with
// argnums<0, 2> by the tuple of several. With has_aux it is that of the first of the pair that fn
// returns, and comes as std::pair(Jacobian, aux).
//
// fn      a function of trees, kept by value; it may capture tensors
// errors  at a call: Error naming the leaf that has no real numbers, or the op without a derivative
//         and its line
// cost    one pullback for each number of the result, all at once
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto jacrev(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacrev_of(std::forward<Fn>(fn), argnums<0>, grad_internal::NoAux(), at);
}
template <class Fn, size_t... I>
auto jacrev(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacrev_of(std::forward<Fn>(fn), by, grad_internal::NoAux(), at);
}
template <class Fn>
auto jacrev(Fn&& fn, HasAux aux, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacrev_of(std::forward<Fn>(fn), argnums<0>, aux, at);
}
template <class Fn, size_t... I>
auto jacrev(Fn&& fn, Argnums<I...> by, HasAux aux, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacrev_of(std::forward<Fn>(fn), by, aux, at);
}
inline auto jacrev(trace_internal::ByName<Operand> fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacrev_of(fn, argnums<0>, grad_internal::NoAux(), at);
}

// The same column by column in forward mode: for functions of few numbers.
//
// cost  one pushforward for each number of the arguments, all at once
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto jacfwd(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacfwd_of(std::forward<Fn>(fn), argnums<0>, grad_internal::NoAux(), at);
}
template <class Fn, size_t... I>
auto jacfwd(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacfwd_of(std::forward<Fn>(fn), by, grad_internal::NoAux(), at);
}
template <class Fn>
auto jacfwd(Fn&& fn, HasAux aux, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacfwd_of(std::forward<Fn>(fn), argnums<0>, aux, at);
}
template <class Fn, size_t... I>
auto jacfwd(Fn&& fn, Argnums<I...> by, HasAux aux, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacfwd_of(std::forward<Fn>(fn), by, aux, at);
}
inline auto jacfwd(trace_internal::ByName<Operand> fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacfwd_of(fn, argnums<0>, grad_internal::NoAux(), at);
}
// torch's name does not say which.
template <class Fn>
requires(!std::is_convertible_v<const Fn&, Operand>)  // a user's own may take values
    trace_internal::Refused jacobian(const Fn& /*fn*/) {
  static_assert(!sizeof(Fn), "write jacrev(fn), or jacfwd(fn) where the arguments are few numbers");
  return {};
}

// A function that gives the second derivatives of `fn`, a function of trees to a scalar of floats:
// the Jacobian of its gradient by the same arguments, forward over reverse. By a Tensor they are
// [its sizes.., its sizes..], by a tree its tree of trees. Where fn returns std::pair(loss, aux) it
// gives std::pair(Hessian, aux).
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto hessian(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(std::forward<Fn>(fn), argnums<0>, at);
}
template <class Fn, size_t... I>
auto hessian(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(std::forward<Fn>(fn), by, at);
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused hessian(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "hessian(fn) is a function: write hessian(fn)(x)");
  return {};
}
inline auto hessian(trace_internal::ByName<Operand> fn,
                    SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(fn, argnums<0>, at);
}

}  // namespace heddle
