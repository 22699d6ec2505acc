// The C++ numbers that tensors are made from and read as, and the lists of them that array() takes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/hlo/dtype.h"

namespace heddle::trace_internal {

// std::complex of float, double and long double, known by its members: <complex> includes
// <sstream>, and every user's file would pay for that.
template <class T>
concept ComplexNumber = requires(const T& z) {
  { z.real() } -> std::same_as<typename T::value_type>;
  { z.imag() } -> std::same_as<typename T::value_type>;
}
&&sizeof(T) == 2 * sizeof(typename T::value_type) &&
    (std::same_as<typename T::value_type, float> || std::same_as<typename T::value_type, double> ||
     std::same_as<typename T::value_type, long double>);

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T>;
template <ComplexNumber T>
inline constexpr bool kIsNumber<T> = sizeof(T) <= 2 * sizeof(double);  // no long double
// A number of a list whose C++ types differ.
struct MixedNumber {
  template <class T>
  requires kIsNumber<T>
  constexpr MixedNumber(T /*number*/) {}
};

// A number of such a list that is made an array of a dtype.
class AnyReal {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr AnyReal(T number) : value_(static_cast<double>(number)) {}
  constexpr operator double() const { return value_; }

 private:
  double value_;
};

// The dtype whose elements a T holds.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return pred;
  else if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (ComplexNumber<T>)
    return sizeof(T) == 2 * sizeof(float) ? c64 : c128;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1 ? s8 : sizeof(T) == 2 ? s16 : sizeof(T) == 4 ? s32 : s64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1 ? u8 : sizeof(T) == 2 ? u16 : sizeof(T) == 4 ? u32 : u64;
  else
    static_assert(!sizeof(T), "no dtype holds this C++ type");
}

// What array() takes beside braces: vectors, std::array, spans and C arrays, of numbers or of
// such lists.
template <class C>
struct ListOf {
  static constexpr bool kIs = false;
};
template <class T>
struct ListOf<std::vector<T>> {
  static constexpr bool kIs = true;
  using Item = T;
};
template <class T, size_t N>
struct ListOf<std::array<T, N>> : ListOf<std::vector<T>> {};
template <class T, size_t N>
struct ListOf<T[N]> : ListOf<std::vector<std::remove_cv_t<T>>> {};
template <class T, size_t N>
struct ListOf<std::span<T, N>> : ListOf<std::vector<std::remove_cv_t<T>>> {};
template <class T>
struct ListOf<std::initializer_list<T>> : ListOf<std::vector<T>> {};
template <class C>
concept HostList = ListOf<C>::kIs;
template <class C>
concept NumberList = HostList<C> && kIsNumber<typename ListOf<C>::Item>;

template <class C>
struct NumberIn {
  using Type = C;
};
template <HostList C>
struct NumberIn<C> : NumberIn<typename ListOf<C>::Item> {};

// Takes nested lists apart, row by row; every list at one depth has the length of the first there.
class NestedShape {
 public:
  explicit NestedShape(SourceLocation at) : at_(at) {}
  // errors: throws Error naming the row that has another length than the first
  void enter(size_t length);
  void next() { ++path_.back(); }
  void leave() { path_.pop_back(); }
  [[nodiscard]] const std::vector<int64_t>& sizes() const { return sizes_; }
  // Every depth has a size, also where a list is empty.
  void fill(size_t depth) { sizes_.resize(depth, 0); }

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> path_;  // of the list that is read
  SourceLocation at_;
};

template <class C, class T>
void append_list(const C& list, std::vector<T>& values, NestedShape& shape) {
  shape.enter(std::size(list));
  for (const auto& item : list) {
    if constexpr (HostList<typename ListOf<C>::Item>)
      append_list<typename ListOf<C>::Item>(item, values, shape);
    else
      values.push_back(static_cast<T>(item));
    shape.next();
  }
  shape.leave();
}

template <class C>
constexpr size_t depth_of() {
  if constexpr (HostList<C>) return 1 + depth_of<typename ListOf<C>::Item>();
  return 0;
}

}  // namespace heddle::trace_internal
