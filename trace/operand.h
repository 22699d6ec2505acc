// Operand: what an op takes: a Tensor, or a C++ number that takes the other operand's element type.
// Converting to it notes the caller's line, so that operators can report it too.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/tensor.h"

namespace heddle {

namespace trace_internal {

// A list of numbers or a text, where a Tensor or one number is wanted.
template <class T>
concept ListOrText = std::is_convertible_v<T, std::string_view> ||
    (std::ranges::range<T>&& std::is_arithmetic_v<std::ranges::range_value_t<T>>);

}  // namespace trace_internal

class Operand {
 public:
  Operand(const Tensor& tensor, SourceLocation at = SourceLocation::here())
      : value_(&tensor), at_(at) {}
  // Nobody reads the tensor again: an elementwise op empties it, and may write into its memory.
  Operand(Tensor&& tensor, SourceLocation at = SourceLocation::here())
      : value_(&tensor), at_(at), is_dying_(true) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, SourceLocation at = SourceLocation::here())
      : at_(at) {
    if constexpr (std::same_as<T, bool>)
      value_ = number;
    else if constexpr (std::floating_point<T>)
      value_ = static_cast<double>(number);
    else if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(uint64_t))
      value_ = uint64_t{number};  // unsigned long and unsigned long long, whichever uint64_t is
    else
      value_ = static_cast<int64_t>(number);
  }
  template <trace_internal::ComplexNumber T>
  Operand(T number, SourceLocation at = SourceLocation::here())
      : value_(
            ComplexValue{static_cast<double>(number.real()), static_cast<double>(number.imag())}),
        at_(at) {}
  template <trace_internal::ListOrText T>
  Operand(const T&) {
    refuse<T>();
  }
  template <class T>
  requires std::is_arithmetic_v<T> Operand(std::initializer_list<T>) { refuse<T>(); }

  [[nodiscard]] bool is_tensor() const { return std::holds_alternative<const Tensor*>(value_); }
  [[nodiscard]] const Tensor& tensor() const { return *std::get<const Tensor*>(value_); }
  struct ComplexValue {
    double real = 0;
    double imag = 0;
    friend bool operator==(const ComplexValue&, const ComplexValue&) = default;
  };
  using Number = std::variant<const Tensor*, bool, int64_t, uint64_t, double, ComplexValue>;
  [[nodiscard]] const Number& number() const { return value_; }
  [[nodiscard]] SourceLocation at() const { return at_; }
  // A copy may be used beside this one, so that its tensor is not dying.
  [[nodiscard]] bool is_dying() const { return is_dying_.value; }
  // The same operand, of another line of the program.
  [[nodiscard]] Operand of_line(SourceLocation at) const {
    Operand other = *this;
    other.at_ = at;
    return other;
  }

 private:
  template <class T>
  static constexpr void refuse() {
    static_assert(!sizeof(std::type_identity<T>),
                  "an operand is a Tensor or one number, and this is a list or a text: write "
                  "array({0, 1}), or array(values) of a std::vector");
  }

  // True of the operand that the caller made alone.
  struct OfThisOne {
    OfThisOne(bool is_so = false) : value(is_so) {}
    OfThisOne(const OfThisOne&) {}
    OfThisOne& operator=(const OfThisOne&) {
      value = false;
      return *this;
    }
    bool value = false;
  };

  Number value_;
  SourceLocation at_;
  OfThisOne is_dying_;
};

namespace trace_internal {

// A function of Heddle's, which templates for users' functions leave to ByName.
using UnaryFunction = Tensor (*)(Operand);
using BinaryFunction = Tensor (*)(Operand, Operand);
template <class Fn>
concept TakesOperands =
    std::same_as<std::decay_t<Fn>, UnaryFunction> || std::same_as<std::decay_t<Fn>, BinaryFunction>;

// A function of Heddle's by its name, as one of Tensors. C's math has an exp as well: no template
// could take it, and this can. Nor does it take a generic lambda, as a Tensor (*)(Operand) would by
// asking what it does with an Operand. Errors in it have the line where it was named.
template <class... Operands>
class ByName {
 public:
  ByName(Tensor (*fn)(Operands...), SourceLocation at = SourceLocation::here())
      : fn_(fn), at_(at) {}
  Tensor operator()(const std::conditional_t<true, Tensor, Operands>&... xs) const {
    return fn_(Operand(xs, at_)...);
  }
  explicit operator bool() const { return fn_ != nullptr; }

 private:
  Tensor (*fn_)(Operands...);
  SourceLocation at_;
};

}  // namespace trace_internal

// Throws unless the operand is a number that `dtype` holds without loss of meaning: 1.5 is no s32,
// -1 no u8, no complex number an f32, 1e300 no f32 (infinity and NaN are), and no integer an f32 or
// f64 that would round it. 0.1 is rounded, as an integer is to a float of 16 bits or fewer. Then a
// constant. `repair` is what the error says to do; empty: cast the tensor.
Tensor constant_like(const Operand& number, DType dtype, std::string_view repair = {});

// The operand as a tensor: a number becomes a scalar constant of the default type (bool pred,
// integers s32, floats f32, complex numbers c64).
Tensor as_tensor(const Operand& operand);

// For the numbers of Heddle's own formulas, which are meant to be rounded: an integer for a tensor
// of floats is a floating-point number, and one beyond its range infinite.
Operand rounded(const Operand& number, DType dtype);

// A C++ number, as text and as a double (a complex one's real part); empty for a tensor.
std::string number_text(const Operand& number);
std::optional<double> number_value(const Operand& operand);

// "cast one with astype(f64)", the dtype that loses least of both.
std::string cast_advice(DType a, DType b);
// The same of two operands. Where one is a C++ number, or follows from one alone, it says which and
// how to write it in the other's dtype: "one is the C++ number 0.0 of a.cc:7, an f64; write 0.0f".
std::string cast_advice(const Tensor& a, const Tensor& b);
// The C++ number that `x` is, or follows from, and how to write it in another dtype: "the C++
// number 0.0 at a.cc:7, an f64; write 0.0f". Empty where x is none.
std::string number_advice(const Tensor& x, DType wanted);

// x stretched to `dimensions` by numpy's rule: matched from the last, size 1 stretches.
// errors: InvalidArgument where a size is neither equal nor 1
Tensor broadcast_to(const Tensor& x, const base::Ints& dimensions,
                    SourceLocation at = SourceLocation::here());

// The shape that both stretch to, if there is one.
std::optional<std::vector<int64_t>> common_dimensions(const Shape& a, const Shape& b);
// The same. errors: InvalidArgument where there is none, with `what` they are the shapes of
std::vector<int64_t> broadcast_shapes(const Shape& a, const Shape& b,
                                      std::string_view what = "operands",
                                      SourceLocation at = SourceLocation::here());

// Two operands made to agree as jax.numpy does, but for dtypes: numbers take the tensor's dtype,
// shapes are broadcast. errors: InvalidArgument where dtypes differ or shapes do not broadcast
struct OperandPair {
  Tensor a;  // in the shape and dtype of both
  Tensor b;  // likewise
};
OperandPair unify(const Operand& a, const Operand& b);

}  // namespace heddle
