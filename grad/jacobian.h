// Jacobians and Hessians of functions of trees.
//
//   Tensor j = jacrev(f)(x);                    // [f(x)'s sizes.., x's sizes..]
//   auto [by_w, by_b] = jacfwd(layer)(cell);    // the fields of a Cell; by_w.b: d w / d b
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

namespace grad_internal {

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

// The derivatives: for each leaf of the result by each leaf in `of`.
Derived jacobian(const FlatFunction& fn, const Point& point, By by);
// The structure of a JacobianOf.
TreeSpec jacobian_spec(const TreeSpec& result, const TreeSpec& by);

// What jacrev(), jacfwd() and hessian() return.
template <class Fn, By kBy, size_t... I>
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
      trace_internal::require_function("function", fn_);
      Point point = point_at(args...);
      by_arguments<I...>(point, what_);
      const auto run = flat<Fn, Args...>(fn_, point.specs);
      const Derived out = jacobian(flat_function(what_, fn_, run, args...), point, kBy);
      const auto argument = [&](std::span<const Tensor> leaves) {
        return chosen<I...>(leaves, point.specs, std::type_identity<std::tuple<Args...>>());
      };
      using Arg = decltype(argument({}));
      using Result = ResultOf<Fn, Args...>;
      std::vector<Tensor> leaves;
      const auto count = static_cast<size_t>(std::count(point.of.begin(), point.of.end(), true));
      for (std::span<const Tensor> rest(out.derivatives); !rest.empty(); rest = rest.subspan(count))
        for_each_leaf(argument(rest), [&](const Tensor& leaf) { leaves.push_back(leaf); });
      return tree_from<JacobianOf<Result, Arg>>(spec_of<Arg>(out.spec, point.specs), leaves);
    }
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

template <By kBy, class Fn, size_t... I>
auto jacobian_of(std::string_view what, Fn&& fn, Argnums<I...>, SourceLocation at) {
  return Jacobian<std::decay_t<Fn>, kBy, I...>(what, std::forward<Fn>(fn), at);
}

// A gradient whose function gives no aux, of which hessian() would take the Jacobian too.
template <class Fn, size_t... I>
struct GradientAlone : Gradient<Fn, false, I...> {
  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(!Loss<tree_internal::ResultOf<const Fn&, const Args&...>>::kHasAux,
                  "a function whose Hessian is taken returns a Tensor, the loss, and no aux");
    return Gradient<Fn, false, I...>::operator()(args...);
  }
};

template <class Fn, size_t... I>
auto hessian_of(Fn&& fn, Argnums<I...> by, SourceLocation at) {
  using Alone = GradientAlone<std::decay_t<Fn>, I...>;
  return jacobian_of<By::kColumns>("hessian", Alone{{"hessian", std::forward<Fn>(fn), at}}, by, at);
}

}  // namespace grad_internal

// A function that gives the Jacobian of `fn` by its first argument, row by row in reverse mode: for
// functions to few numbers. Of a Tensor by a Tensor it is [result's sizes.., argument's sizes..],
// of trees the tree that JacobianOf says. With argnums<1> it is by another argument, with
// argnums<0, 2> by the tuple of several.
//
// fn      a function of trees, kept by value; it may capture tensors
// errors  at a call: Error naming the leaf that has no real numbers, or the op without a derivative
//         and its line
// cost    one pullback for each number of the result, all at once
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto jacrev(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kRows>("jacrev", std::forward<Fn>(fn),
                                                              argnums<0>, at);
}
template <class Fn, size_t... I>
auto jacrev(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kRows>("jacrev", std::forward<Fn>(fn), by,
                                                              at);
}
inline auto jacrev(trace_internal::ByName<Operand> fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kRows>("jacrev", fn, argnums<0>, at);
}

// The same column by column in forward mode: for functions of few numbers.
//
// cost  one pushforward for each number of the arguments, all at once
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto jacfwd(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kColumns>("jacfwd", std::forward<Fn>(fn),
                                                                 argnums<0>, at);
}
template <class Fn, size_t... I>
auto jacfwd(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kColumns>("jacfwd", std::forward<Fn>(fn), by,
                                                                 at);
}
inline auto jacfwd(trace_internal::ByName<Operand> fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::jacobian_of<grad_internal::By::kColumns>("jacfwd", fn, argnums<0>, at);
}

// A function that gives the second derivatives of `fn`, a function of trees to a scalar of floats:
// the Jacobian of its gradient by the same arguments, forward over reverse. By a Tensor they are
// [its sizes.., its sizes..], by a tree its tree of trees.
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto hessian(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(std::forward<Fn>(fn), argnums<0>, at);
}
template <class Fn, size_t... I>
auto hessian(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(std::forward<Fn>(fn), by, at);
}
inline auto hessian(trace_internal::ByName<Operand> fn,
                    SourceLocation at = SourceLocation::here()) {
  return grad_internal::hessian_of(fn, argnums<0>, at);
}

}  // namespace heddle
