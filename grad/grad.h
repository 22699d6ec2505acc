// Derivatives of functions of trees: grad, value_and_grad, jvp, vjp, linearize, and functions made
// of them. checkpoint, which trades time for memory, is in checkpoint.h.
//
//   auto [value, grads] = value_and_grad(loss)(cell, xs, target);   // grads: a Cell
//
// They work in and outside of traces, and inside each other: grad(grad(f)), grad in the step of a
// scan, grad of a function with a scan. A function is traced once, and its module is
// differentiated; a scan stays one loop. Outside of a trace the result runs at once. Integers and
// pred have no derivatives. Tensors that the function captures are constants for it, and variables
// for a derivative around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/grad/argnums.h"
#include "heddle/grad/flat.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/ops/creation/creation.h"

namespace heddle {

struct CheckGradsOptions {
  base::Int order = 2;        // of derivatives of derivatives
  base::Flag reverse = true;  // reverse mode too
  base::Flag forward = true;  // false: reverse mode alone, beside the differences, for a custom_vjp
  std::optional<double> step = {};       // of the differences; above 0. None: by dtype
  std::optional<double> tolerance = {};  // relative; the same
};

namespace grad_internal {

// A number is a scalar of its C++ type's dtype.
template <class T>
using TreeOf = std::remove_cvref_t<decltype(scan_internal::as_tree(std::declval<const T&>()))>;

template <class Fn, class... Args>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<const Fn&, Args...>>;

// (loss, aux), or a lone loss.
template <class T>
struct Loss {
  static constexpr bool kHasAux = false;
};
template <class Aux>
struct Loss<std::pair<Tensor, Aux>> {
  static constexpr bool kHasAux = true;
};

// Whether a derivative, or vmap, may call the function with these arguments; says why not.
template <class Fn, class... Args>
constexpr bool maps_trees() {
  using namespace tree_internal;
  static_assert((is_tree_or_explained<Args> && ...),
                "what a derivative is taken at, and vmap maps over, are trees of Tensors, or C++ "
                "numbers; a struct needs its kFields");
  if constexpr (!(is_tree<Args>() && ...)) {
    (explain<Args>(), ...);
    return false;
  } else if constexpr (!std::is_invocable_v<const Fn&, Args...>) {
    static_assert(is_misfit_told<const Fn, Args...>(),
                  "a derivative calls its function with its arguments, as const, and vmap with "
                  "one example of each: their number and types must be those of the parameters");
    return false;
  } else {
    using Result = std::invoke_result_t<const Fn&, Args...>;
    if constexpr (!is_value<Fn, Result>) {
      require_value<Fn, Result>();
      return false;
    } else {
      static_assert(
          is_tree_or_explained<std::remove_cvref_t<Result>>,
          "a function that is differentiated, or that vmap takes, returns a tree of Tensors");
      explain<std::remove_cvref_t<Result>>();
      return is_tree<std::remove_cvref_t<Result>>();
    }
  }
}

// The same for a derivative by the arguments with these numbers.
template <class Fn, class... Args, size_t... I>
constexpr bool maps_trees(Argnums<I...>) {
  static_assert(((I < sizeof...(Args)) && ...), "argnums count the arguments from 0");
  static_assert(are_different<I...>(), "argnums name each argument once");
  if constexpr (((I >= sizeof...(Args)) || ...) || !are_different<I...>())
    return false;
  else
    return maps_trees<Fn, Args...>();
}

// Arguments as leaves.
template <class... Args>
Point point_at(const Args&... args) {
  Point point;
  point.specs = {tree_spec(args)...};
  (for_each_leaf(args, [&](const Tensor& leaf) { point.leaves.push_back(leaf); }), ...);
  return point;
}

// Every leaf that has tangents.
template <class... Args>
void by_all(Point& point, const std::string_view what) {
  for (size_t i = 0, next = 0; i < point.specs.size(); ++i) {
    const size_t count = leaf_count(point.specs[i]);
    trace_internal::require_values(what, base::cat("arg", i),
                                   std::span(point.leaves).subspan(next, count),
                                   [&] { return point.specs[i]; });
    next += count;
  }
  for (const Tensor& leaf : point.leaves) point.of.push_back(has_tangent(leaf));
}

// The leaves of the arguments with these numbers.
template <size_t... I>
void by_arguments(Point& point, const std::string_view what) {
  by_all(point, what);
  point.of.clear();
  for (size_t i = 0; i < point.specs.size(); ++i) {
    const bool is_one = ((i == I) || ...);
    point.of.insert(point.of.end(), leaf_count(point.specs[i]), is_one);
  }
}

// Runs the function on leaves.
template <class Fn, class... Args>
auto flat(const Fn& fn, const std::vector<TreeSpec>& specs) {
  return [&fn, &specs](std::span<const Tensor> leaves, std::vector<TreeSpec>& out) {
    auto result = [&]<size_t... I>(std::index_sequence<I...>) {
      std::tuple<Args...> args{unflatten<Args>(specs[I], leaves)...};  // braces: left to right
      return std::apply(fn, std::move(args));
    }
    (std::index_sequence_for<Args...>());
    out = {tree_spec(result)};
    return flatten(result);
  };
}

// `run`: the result of flat() for the function and these arguments. It must outlive the result.
template <class Fn, class Run, class... Args>
FlatFunction flat_function(std::string_view what, const Fn& fn, const Run& run,
                           const Args&... args) {
  FlatFunction out{what, scan_internal::name_of(fn), run, scan_internal::identity_of(fn)};
  if (!out.identity.known()) return out;
  out.types = scan_internal::type_tag<Run>();
  (scan_internal::append_structure(out.structure, args), ...);
  return out;
}

template <class T>
T tree_from(const TreeSpec& spec, const std::vector<Tensor>& leaves) {
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(spec, rest);
}

// One argument's tree, or the tuple of several, in the order of the numbers. `leaves`: the leaves
// of these arguments, in the order of the arguments.
template <size_t... I, class... Args>
auto chosen(std::span<const Tensor> leaves, const std::vector<TreeSpec>& specs,
            std::type_identity<std::tuple<Args...>>) {
  using All = std::tuple<Args...>;
  const auto from = [&](size_t argument) {
    size_t first = 0;
    for (size_t i = 0; i < argument; ++i) first += size_t{((i == I) || ...)} * leaf_count(specs[i]);
    return leaves.subspan(first);
  };
  const auto tree = [&]<size_t A>(std::integral_constant<size_t, A>) {
    std::span<const Tensor> rest = from(A);
    return unflatten<std::tuple_element_t<A, All>>(specs[A], rest);
  };
  if constexpr (sizeof...(I) == 1)
    return tree(std::integral_constant<size_t, (I + ...)>());
  else
    return std::tuple<std::tuple_element_t<I, All>...>{
        tree(std::integral_constant<size_t, I>())...};
}

// What value_and_grad() and grad() return.
template <class Fn, bool kWithValue, size_t... I>
class Gradient {
 public:
  // what: the public function
  Gradient(std::string_view what, Fn fn, SourceLocation at)
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
      return std::pair<Tensor, Tensor>();
    } else {
      trace_internal::require_function("function", fn_);
      using Result = ResultOf<Fn, Args...>;
      static_assert(std::is_same_v<Result, Tensor> || Loss<Result>::kHasAux,
                    "a function whose gradient is taken returns a Tensor, the loss, or "
                    "std::pair(loss, aux)");
      Point point = point_at(args...);
      by_arguments<I...>(point, what_);
      const auto run = flat<Fn, Args...>(fn_, point.specs);
      const Derived out = gradient(flat_function(what_, fn_, run, args...), point);
      auto grads = chosen<I...>(std::span<const Tensor>(out.derivatives), point.specs,
                                std::type_identity<std::tuple<Args...>>());
      auto value = tree_from<Result>(out.spec, out.results);
      if constexpr (kWithValue)
        return std::pair(std::move(value), std::move(grads));
      else if constexpr (Loss<Result>::kHasAux)
        return std::pair(std::move(grads), std::move(value.second));
      else
        return grads;
    }
  }

  std::string_view what_;
  Fn fn_;
  SourceLocation at_;
};

template <bool kWithValue, class Fn, size_t... I>
auto gradient_of(Fn&& fn, Argnums<I...>, SourceLocation at) {
  return Gradient<std::decay_t<Fn>, kWithValue, I...>(kWithValue ? "value_and_grad" : "grad",
                                                      std::forward<Fn>(fn), at);
}

}  // namespace grad_internal

// What vjp() returns beside the value: cotangents of the result -> cotangents of the arguments, a
// tuple of trees (one argument: its tree). Zeros for integers, and for a leaf that the result does
// not depend on.
template <class Result, class... Args>
class Pullback {
 public:
  Pullback(grad_internal::Linear linear, grad_internal::Point point)
      : linear_(std::move(linear)), point_(std::move(point)) {}

  template <grad_internal::NumberFor<Result> T>
  auto operator()(const T& cotangent) const {
    return (*this)(scan_internal::as_tree(cotangent));
  }
  auto operator()(const auto& a, const auto&) const { return grad_internal::refuse_two(a); }
  auto operator()(const Result& cotangent) const {
    std::vector<Tensor> given = linear_.pull(flatten(cotangent), tree_spec(cotangent)), all;
    size_t next = 0;
    for (size_t i = 0; i < point_.leaves.size(); ++i)
      all.push_back(point_.of[i] ? given[next++] : point_.leaves[i]);
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return grad_internal::chosen<I...>(std::span<const Tensor>(all), point_.specs,
                                         std::type_identity<std::tuple<Args...>>());
    }
    (std::index_sequence_for<Args...>());
  }

 private:
  grad_internal::Linear linear_;
  grad_internal::Point point_;  // leaves without tangents are zeros here
};

// What linearize() returns beside the value: tangents of the arguments -> that of the result.
template <class Result, class... Args>
class Pushforward {
 public:
  Pushforward(grad_internal::Linear linear, TreeSpec result)
      : linear_(std::move(linear)), result_(std::move(result)) {}

  template <class... T>
  requires((trace_internal::kIsNumber<T> || ...) &&
           std::is_same_v<std::tuple<grad_internal::TreeOf<T>...>, std::tuple<Args...>>)  //
      Result
      operator()(const T&... tangents) const {
    return (*this)(scan_internal::as_tree(tangents)...);
  }
  Result operator()(const Args&... tangents) const {
    const grad_internal::Point given = grad_internal::point_at(tangents...);
    const TreeSpec spec{.kind = TreeSpec::Kind::kTuple, .keys = {}, .children = given.specs};
    return grad_internal::tree_from<Result>(result_, linear_.push(given.leaves, spec));
  }

 private:
  grad_internal::Linear linear_;
  TreeSpec result_;
};

// A function that gives the gradient of `fn`, a function of trees to a scalar of floats, by its
// first argument: a tree like that. With argnums<1> by another one, with argnums<0, 2> by several:
// a tuple. Where fn returns std::pair(loss, aux) it gives std::pair(gradient, aux).
//
// fn      is kept by value; it may capture tensors
// errors  at a call: Error naming a result that is no scalar of floats, an argument of integers, or
//         the op without a derivative and its line
// cost    a few times the operations of fn; a loop is one loop forward and one back
template <class Fn>
requires(!trace_internal::TakesOperands<Fn>)  //
    auto grad(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::gradient_of<false>(std::forward<Fn>(fn), argnums<0>, at);
}
template <class Fn, size_t... I>
auto grad(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::gradient_of<false>(std::forward<Fn>(fn), by, at);
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused grad(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "grad(fn) is a function: write grad(fn)(x)");
  return {};
}
inline auto grad(trace_internal::ByName<Operand> fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::gradient_of<false>(fn, argnums<0>, at);
}

// The same that gives std::pair(what fn returns, gradient).
template <class Fn>
auto value_and_grad(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return grad_internal::gradient_of<true>(std::forward<Fn>(fn), argnums<0>, at);
}
template <class Fn, std::same_as<Tensor> X, class... More>
trace_internal::Refused value_and_grad(Fn&& /*fn*/, const X&, const More&...) {
  static_assert(!sizeof(Fn), "value_and_grad(fn) is a function: write value_and_grad(fn)(x)");
  return {};
}
template <class Fn, size_t... I>
auto value_and_grad(Fn&& fn, Argnums<I...> by, SourceLocation at = SourceLocation::here()) {
  return grad_internal::gradient_of<true>(std::forward<Fn>(fn), by, at);
}

namespace grad_internal {

// The leaves of a tangent, and whether each leaf of the argument has one. None{}: no tangents.
template <class Arg, class Tangent>
void append_tangents(std::string_view what, size_t number, const Arg& arg, const Tangent& tangent,
                     std::vector<bool>& of, std::vector<Tensor>& out) {
  const bool is_none = std::is_same_v<Tangent, None> && !std::is_same_v<Arg, None>;
  const std::vector<Tensor> of_arg = flatten(arg), leaves = flatten(tangent);
  if (!is_none)
    require_tangent(what, number, leaves, tree_spec(tangent), tree_spec(arg), types_of(of_arg));
  for (size_t i = 0; i < of_arg.size(); ++i) {
    of.push_back(!is_none && has_tangent(of_arg[i]));
    if (of.back()) out.push_back(leaves[i]);
  }
}

template <class Fn, class... Args, class... Tangents, size_t... I>
auto jvp_of(const Fn& fn, const std::tuple<Args...>& args, const std::tuple<Tangents...>& tangents,
            std::index_sequence<I...>) {
  constexpr bool kAreAlike =
      ((std::is_same_v<Args, Tangents> || std::is_same_v<Tangents, None>)&&...);
  static_assert(kAreAlike, "a tangent is a tree like its argument, or None{}");
  if constexpr (!kAreAlike || !maps_trees<Fn, Args...>()) {
    return std::pair<Tensor, Tensor>();
  } else {
    trace_internal::require_function("function", fn);
    using Result = ResultOf<Fn, Args...>;
    Point point = point_at(std::get<I>(args)...);
    by_all(point, "jvp");
    point.of.clear();
    std::vector<Tensor> given;
    (append_tangents("jvp", I, std::get<I>(args), std::get<I>(tangents), point.of, given), ...);
    const auto run = flat<Fn, Args...>(fn, point.specs);
    const Derived out = jvp(flat_function("jvp", fn, run, std::get<I>(args)...), point, given);
    return std::pair(tree_from<Result>(out.spec, out.results),
                     tree_from<Result>(out.spec, out.derivatives));
  }
}

// Numbers as scalars.
template <class... T>
std::tuple<TreeOf<T>...> as_trees(const std::tuple<T...>& all) {
  return std::apply(
      [](const T&... each) { return std::tuple<TreeOf<T>...>(scan_internal::as_tree(each)...); },
      all);
}

template <class Fn, class... Args>
auto vjp_of(std::string_view what, const Fn& fn, const Args&... args) {
  if constexpr (!maps_trees<Fn, Args...>()) {
    return std::pair<Tensor, Tensor>();
  } else {
    trace_internal::require_function("function", fn);
    using Result = ResultOf<Fn, Args...>;
    Point point = point_at(args...);
    by_all(point, what);
    const auto run = flat<Fn, Args...>(fn, point.specs);
    auto [out, linear] = linearize(flat_function(what, fn, run, args...), point);
    for (size_t i = 0; i < point.of.size(); ++i) {
      if (!point.of[i]) point.leaves[i] = zeros_like(point.leaves[i]);
    }
    return std::pair(tree_from<Result>(out.spec, out.results),
                     Pullback<Result, Args...>(std::move(linear), std::move(point)));
  }
}

template <class Fn, class... Args>
auto vjp_at(std::string_view what, const Fn& fn, SourceLocation at, const Args&... args) {
  const trace_internal::HigherOrderCall call(what, at);
  return vjp_of(what, fn, scan_internal::as_tree(args)...);
}

template <class Fn, class... Args>
auto linearize_of(std::string_view what, const Fn& fn, const Args&... args) {
  if constexpr (!maps_trees<Fn, Args...>()) {
    return std::pair<Tensor, Tensor>();
  } else {
    trace_internal::require_function("function", fn);
    using Result = ResultOf<Fn, Args...>;
    Point point = point_at(args...);
    by_all(point, what);
    const auto run = flat<Fn, Args...>(fn, point.specs);
    auto [out, linear] = linearize(flat_function(what, fn, run, args...), point);
    return std::pair{tree_from<Result>(out.spec, out.results),  // braces: before the spec is moved
                     Pushforward<Result, Args...>(std::move(linear), std::move(out.spec))};
  }
}

template <class Fn, class... Args>
auto linearize_at(std::string_view what, const Fn& fn, SourceLocation at, const Args&... args) {
  const trace_internal::HigherOrderCall call(what, at);
  return linearize_of(what, fn, scan_internal::as_tree(args)...);
}

template <class Fn, class... Args>
auto transpose_of(const Fn& fn, const Args&... like) {
  if constexpr (!maps_trees<Fn, Args...>()) {
    return Tensor();
  } else {
    trace_internal::require_function("function", fn);
    Point point = point_at(like...);
    by_all(point, "linear_transpose");
    point.of.assign(point.leaves.size(), true);
    const auto run = flat<Fn, Args...>(fn, point.specs);
    Linear linear = transposed(flat_function("linear_transpose", fn, run, like...), point);
    return Pullback<ResultOf<Fn, Args...>, Args...>(std::move(linear), std::move(point));
  }
}

template <class Fn, class... Args>
auto transpose_at(const Fn& fn, SourceLocation at, const Args&... like) {
  const trace_internal::HigherOrderCall call("linear_transpose", at);
  return transpose_of(fn, scan_internal::as_tree(like)...);
}

}  // namespace grad_internal

// fn(args..) and its tangent along `tangents`: trees like args, None{} where an argument has none.
// C++ numbers are scalars, as for grad(). Forward mode: the cost of a few fn; while_loop too.
//
// returns  std::pair(value, tangent), both of fn's type; tangents of integers are 0, given ones too
// errors   Error naming the tangent that is unlike its argument, or the op without a derivative
template <class Fn, class... Args, class... Tangents>
auto jvp(const Fn& fn, const std::tuple<Args...>& args, const std::tuple<Tangents...>& tangents,
         SourceLocation at = SourceLocation::here()) {
  static_assert(sizeof...(Args) == sizeof...(Tangents),
                "jvp takes as many tangents as arguments, None{} for one that has none; one "
                "argument that is a pair or a tuple is std::make_tuple(pair)");
  if constexpr (sizeof...(Args) == sizeof...(Tangents)) {
    const trace_internal::HigherOrderCall call("jvp", at);
    return grad_internal::jvp_of(fn, grad_internal::as_trees(args),
                                 grad_internal::as_trees(tangents),
                                 std::index_sequence_for<Args...>());
  } else {
    return std::pair<Tensor, Tensor>();
  }
}
template <class Fn, class Args, class Tangents>
requires(!grad_internal::kIsTuple<Args> || !grad_internal::kIsTuple<Tangents>)  //
    std::pair<Tensor, Tensor> jvp(const Fn& /*fn*/, const Args& /*args*/,
                                  const Tangents& /*tangents*/) {
  static_assert(!sizeof(Args),
                "the arguments are one tuple, and their tangents another: write jvp(fn, "
                "std::tuple(x), std::tuple(tangent))");
  return {};
}

// fn(args..) and its pullback: cotangents of the result -> those of args. What the pullback reads
// is computed once; it may be called any number of times, in and outside of traces.
//
// returns  std::pair(value, Pullback)
// errors   Error naming the op without a derivative; from the pullback, the cotangent of another
//          type
template <class Fn, class A>
auto vjp(const Fn& fn, const A& a, SourceLocation at = SourceLocation::here()) {
  return grad_internal::vjp_at("vjp", fn, at, a);
}
template <class Fn, class A, class B>
auto vjp(const Fn& fn, const A& a, const B& b, SourceLocation at = SourceLocation::here()) {
  return grad_internal::vjp_at("vjp", fn, at, a, b);
}
template <class Fn, class A, class B, class C>
auto vjp(const Fn& fn, const A& a, const B& b, const C& c,
         SourceLocation at = SourceLocation::here()) {
  return grad_internal::vjp_at("vjp", fn, at, a, b, c);
}
template <class Fn, class A, class B, class C, class D>
auto vjp(const Fn& fn, const A& a, const B& b, const C& c, const D& d,
         SourceLocation at = SourceLocation::here()) {
  return grad_internal::vjp_at("vjp", fn, at, a, b, c, d);
}
// With more arguments nothing could stand behind them: errors do not know the line.
template <class Fn, class... Args>
requires(sizeof...(Args) > 4) auto vjp(const Fn& fn, const Args&... args) {
  return grad_internal::vjp_at("vjp", fn, {}, args...);
}

// fn(args..) and its linear part: tangents of args -> that of the result.
//
// returns  std::pair(value, Pushforward)
// errors   as of vjp()
template <class Fn, class A>
auto linearize(const Fn& fn, const A& a, SourceLocation at = SourceLocation::here()) {
  return grad_internal::linearize_at("linearize", fn, at, a);
}
template <class Fn, class A, class B>
auto linearize(const Fn& fn, const A& a, const B& b, SourceLocation at = SourceLocation::here()) {
  return grad_internal::linearize_at("linearize", fn, at, a, b);
}
template <class Fn, class A, class B, class C>
auto linearize(const Fn& fn, const A& a, const B& b, const C& c,
               SourceLocation at = SourceLocation::here()) {
  return grad_internal::linearize_at("linearize", fn, at, a, b, c);
}
template <class Fn, class A, class B, class C, class D>
auto linearize(const Fn& fn, const A& a, const B& b, const C& c, const D& d,
               SourceLocation at = SourceLocation::here()) {
  return grad_internal::linearize_at("linearize", fn, at, a, b, c, d);
}
template <class Fn, class... Args>
requires(sizeof...(Args) > 4) auto linearize(const Fn& fn, const Args&... args) {
  return grad_internal::linearize_at("linearize", fn, {}, args...);
}

// The transpose of `fn`, which is linear: <u, fn(x)> = <transpose(u), x>. A function of what fn
// returns to what it takes; of several arguments a tuple. Complex numbers are not conjugated.
//
// like    trees with the types of the arguments, floats. Their values do not matter, and nothing
//         runs: placeholders will do
// errors  Error naming the op that is not linear and its line; or a sum with a term that does not
//         depend on the arguments
template <class Fn, class A>
auto linear_transpose(const Fn& fn, const A& like, SourceLocation at = SourceLocation::here()) {
  return grad_internal::transpose_at(fn, at, like);
}
template <class Fn, class A, class B>
auto linear_transpose(const Fn& fn, const A& like_a, const B& like_b,
                      SourceLocation at = SourceLocation::here()) {
  return grad_internal::transpose_at(fn, at, like_a, like_b);
}
template <class Fn, class A, class B, class C>
auto linear_transpose(const Fn& fn, const A& like_a, const B& like_b, const C& like_c,
                      SourceLocation at = SourceLocation::here()) {
  return grad_internal::transpose_at(fn, at, like_a, like_b, like_c);
}
template <class Fn, class... Args>
requires(sizeof...(Args) > 3) auto linear_transpose(const Fn& fn, const Args&... like) {
  return grad_internal::transpose_at(fn, {}, like...);
}

// The same tree, with derivative zero.
template <class T>
auto stop_gradient(const T& tree, SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("stop_gradient", at);
  return tree_map([](const Tensor& leaf) { return grad_internal::stopped(leaf); },
                  scan_internal::as_tree(tree));
}

// Throws unless the derivatives of fn at args agree with central differences along directions
// without order, and forward with reverse mode, to the given order.
//
// args    trees. f64 is checked to 1e-6, f32 to 2 %: choose numbers where fn is smooth
// errors  Error that names the difference and its size, or the op without a derivative
template <class Fn, class... Args>
void check_grads(const Fn& fn, const std::tuple<Args...>& args,
                 const CheckGradsOptions& options = {},
                 SourceLocation at = SourceLocation::here()) {
  using namespace grad_internal;
  if constexpr (maps_trees<Fn, TreeOf<Args>...>()) {
    const trace_internal::HigherOrderCall call("check_grads", at);
    trace_internal::require_function("function", fn);
    Point point = std::apply([](const auto&... each) { return point_at(each...); }, as_trees(args));
    by_all(point, "check_grads");
    const auto run = flat<Fn, TreeOf<Args>...>(fn, point.specs);
    check({"check_grads", "", run}, point,
          {options.order, options.reverse, options.forward, options.step, options.tolerance});
  }
}

}  // namespace heddle
