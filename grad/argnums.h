// Which arguments a derivative is by, as types: grad(loss, argnums<0, 2>).
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <tuple>

#include "heddle/trace/tensor.h"

namespace heddle {

template <size_t... I>
struct Argnums {};
template <size_t... I>
inline constexpr Argnums<I...> argnums{};

namespace grad_internal {

// Whether each number occurs once.
template <size_t... I>
constexpr bool are_different() {
  constexpr size_t kAll[] = {I..., 0};
  for (size_t i = 0; i < sizeof...(I); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (kAll[i] == kAll[j]) return false;
    }
  }
  return true;
}

// JAX's argnums and has_aux, which do not compile: the compiler says what to write.
struct Numbered {
  template <std::integral N>
  Numbered(N /*number*/) {  // implicit: 1
    refuse<N>();
  }
  template <std::integral N>
  Numbered(std::initializer_list<N> /*numbers*/) {  // implicit: {0, 2}
    refuse<N>();
  }
  trace_internal::Refused operator()(const auto&... /*args*/) const { return {}; }

 private:
  template <class N>
  static void refuse() {
    static_assert(!sizeof(N),
                  "the numbers of arguments are types: write argnums<0, 2>; a function of "
                  "grad with an aux returns std::pair(loss, aux), and needs no flag; a function of "
                  "jacrev or jacfwd with one is told by jacrev(fn, has_aux)");
  }
};

// A number where a Result is taken, which is a Tensor.
template <class T, class Result>
concept NumberFor = trace_internal::kIsNumber<T> && std::same_as<Result, Tensor>;

// Two cotangents of one result.
template <class A>
auto refuse_two(const A& /*cotangent*/) {
  static_assert(!sizeof(A), "cotangents are one tree: write pullback(std::pair(a, b))");
}

// jvp takes one tuple of arguments, and one of their tangents.
template <class T>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;

}  // namespace grad_internal

template <class Fn>
grad_internal::Numbered grad(const Fn& /*fn*/, grad_internal::Numbered by) {
  return by;
}
template <class Fn>
grad_internal::Numbered value_and_grad(const Fn& /*fn*/, grad_internal::Numbered by) {
  return by;
}
template <class Fn>
grad_internal::Numbered jacrev(const Fn& /*fn*/, grad_internal::Numbered by) {
  return by;
}
template <class Fn>
grad_internal::Numbered jacfwd(const Fn& /*fn*/, grad_internal::Numbered by) {
  return by;
}
template <class Fn>
grad_internal::Numbered hessian(const Fn& /*fn*/, grad_internal::Numbered by) {
  return by;
}

}  // namespace heddle
