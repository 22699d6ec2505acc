// Flag: what a public function takes as true or false. C++ turns 1 and "no" into true in silence;
// neither compiles where a Flag is taken.
#pragma once

#include <concepts>
#include <type_traits>

namespace heddle::base {

// Takes a bool, or what has an operator bool, as an element of a vector<bool>; a lambda, which
// converts to a bool by way of a pointer, does not compile. Is a bool wherever one is wanted.
class Flag {
 public:
  constexpr Flag() = default;  // false
  template <class T>
  requires std::is_convertible_v<T, bool>
  constexpr Flag(T value) : value_(static_cast<bool>(value)) {  // implicit: sort(x, 0, true)
    static_assert(
        std::same_as<T, bool> || requires { value.operator bool(); },
        "this argument is a bool, true or false; several axes or sizes stand in braces");
  }
  constexpr operator bool() const { return value_; }

 private:
  bool value_ = false;
};

// A member of a struct that nobody writes, so that the members behind it are given by name. Then
// {0, 1}, which could be the struct or a list, is the list.
class OnlyByName {
 public:
  explicit OnlyByName() = default;
};

}  // namespace heddle::base
