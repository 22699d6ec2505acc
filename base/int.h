// Int: an axis, an index, a count or a size that a public function takes. C++ turns true, 'a' and
// 2.5 into an int64_t in silence; none of them compiles as an Int.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace heddle::base {

template <class T>
concept HasOperatorBool = requires(T x) {
  x.operator bool();
};
template <class T>
concept HasOperatorChar = requires(T x) {
  x.operator char();
};
// Braces refuse a conversion that rounds a number.
template <class T>
concept BecomesInt = requires(T x) {
  int64_t{x};
};
template <class T>
concept BecomesUnsigned = requires(T x) {
  uint64_t{x};
};

template <class T, class... Ts>
inline constexpr bool kIsOneOf = (std::same_as<T, Ts> || ...);

// Integers of up to 64 bits, enums, and classes that convert to an integer, but not to a bool.
template <class T>
constexpr bool is_int() {
  if constexpr (std::is_class_v<T>)
    return !HasOperatorBool<T> && !HasOperatorChar<T> && (BecomesInt<T> || BecomesUnsigned<T>);
  else if constexpr (std::integral<T>)
    return sizeof(T) <= sizeof(int64_t) &&
           !kIsOneOf<T, bool, char, wchar_t, char8_t, char16_t, char32_t>;
  else
    return std::is_enum_v<T>;
}

// Takes what is_int allows, and converts to int64_t. An unsigned number beyond its range becomes
// the greatest one, which no array has.
class Int {
 public:
  template <class T>
  requires std::is_convertible_v<T, int64_t>
  constexpr Int(T value) : value_(static_cast<int64_t>(value)) {  // implicit: {.axis = 1}
    if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
      if (value > static_cast<uint64_t>(INT64_MAX)) value_ = INT64_MAX;
    }
    static_assert(is_int<T>(),
                  "an axis, an index, a count or a size is an integer; this is a bool, a "
                  "character, a floating-point number or a class of one");
  }
  constexpr operator int64_t() const { return value_; }

  friend std::string to_string(Int value) { return std::to_string(value.value_); }

 private:
  int64_t value_;
};

}  // namespace heddle::base
