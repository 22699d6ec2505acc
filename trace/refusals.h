// What does not compile, with a sentence that says what to write: the first error of the compiler.
#pragma once

#include <type_traits>

namespace heddle {

class Tensor;

}  // namespace heddle

namespace heddle::trace_internal {

// What a refused expression gives, so that the compiler has no more to say of what it stands in.
struct Refused {
  template <class T>
  operator T() const;
  template <class... Given>
  Refused operator()(const Given&...) const {
    return {};
  }
  template <class Stream>
  friend Stream& operator<<(Stream& to, const Refused&) {
    return to;
  }
// Of what is refused: else the first error is of some operator of ours, to whose operands it
// converts.
#define HEDDLE_REFUSED(op)                                    \
  friend Refused operator op(const Refused&, const Refused&); \
  template <class T>                                          \
  friend Refused operator op(const Refused&, const T&) {      \
    return {};                                                \
  }                                                           \
  template <class T>                                          \
  friend Refused operator op(const T&, const Refused&) {      \
    return {};                                                \
  }
  HEDDLE_REFUSED(+)
  HEDDLE_REFUSED(-)
  HEDDLE_REFUSED(*)
  HEDDLE_REFUSED(/)
#undef HEDDLE_REFUSED
};

// A number where none is taken. A user's own function of the same name is the better match.
struct RefusedNumber {
  template <class Number>
  requires std::is_arithmetic_v<Number> RefusedNumber(Number /*number*/) {}
};

// A tensor, and anything, likewise. What takes them is a template: a user's own function that
// converts its arguments too is the better match.
struct RefusedTensor {
  template <class X>
  requires std::is_same_v<X, Tensor> RefusedTensor(const X& /*x*/) {}
};
struct RefusedAny {
  template <class X>
  RefusedAny(const X& /*x*/) {}
};

// Its own template, so that only a use fails to compile.
template <class T>
constexpr void refuse_write() {
  static_assert(!sizeof(std::type_identity<T>),
                "x[i] is a new tensor, and writing to it would leave x as it is: write "
                "x = x.at({0}).set(..), or .add(..), .multiply(..)");
}
template <class T>
constexpr void refuse_assignment() {
  static_assert(!sizeof(std::type_identity<T>),
                "what is assigned is no Tensor: of a pair or tuple, as loops give, take .first or "
                "write auto [carry, ys] = ..; a number is scalar(2.0)");
}
template <class T>
constexpr Refused refuse_logic() {
  static_assert(!sizeof(std::type_identity<T>),
                "&&, || and ! of Tensors cannot stop early: write x & y, x | y and ~x, or "
                "logical_not(x)");
  return {};
}
template <class... Given>
constexpr Refused refuse_method() {
  static_assert(!sizeof(std::type_identity<Refused(Given...)>),
                "an op is a function and no method: write sum(x, 0), max(x), reshape(x, {3, 2})");
  return {};
}
template <class... Given>
constexpr Refused refuse_state() {
  static_assert(
      !sizeof(std::type_identity<Refused(Given...)>),
      "a Tensor is a value that nothing changes: write y = x for clone(), "
      "stop_gradient(x) for detach(), x.astype(f64) for to(), grad(fn)(x) for backward(), "
      "x.to_vector<float>() for numpy()");
  return {};
}
template <class... Given>
constexpr Refused refuse_size() {
  static_assert(!sizeof(std::type_identity<Refused(Given...)>),
                "the number of dimensions is x.rank(), that of elements x.size(), the size along "
                "an axis x.dim(0)");
  return {};
}
template <class Number>
constexpr auto refuse_rows() {  // auto, so that this error comes before those of its result
  static_assert(!sizeof(std::type_identity<Number>),
                "x[{{1, 0}}] does not say what it takes: write x[array({1, 0})] for rows 1 and 0, "
                "x[Slice{0, 1}] for a slice");
  return Refused();
}

}  // namespace heddle::trace_internal
