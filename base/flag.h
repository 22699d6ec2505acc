// Flag: a parameter of a public function that is true or false. C++ turns 1 and "no" into true in
// silence; neither compiles as a Flag.
#pragma once

#include <concepts>
#include <type_traits>

namespace heddle::base {

// Takes a bool, or a value with an operator bool, as an element of a vector<bool>. A lambda, which
// converts to a bool by way of a pointer, does not compile. A Flag converts to bool.
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

// A member of a struct that nobody writes, so that callers must name the members behind it. Then
// {0, 1}, which could be the struct or a list, is the list.
class OnlyByName {
 public:
  explicit OnlyByName() = default;
};

}  // namespace heddle::base
