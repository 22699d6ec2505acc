// Static: a C++ value as an argument. It is part of what is traced, not data: another value is
// another program.
//
//   auto step = compile([](Tensor x, Static<int> times) { return x * int(times); });
//   step(x, Static{3});
#pragma once

#include <tuple>

#include "heddle/base/containers/fields.h"
#include "heddle/trace/tree_checks.h"

namespace heddle {

// T: a number, bool, enum or std::string. A tree without leaves, wherever trees may be.
template <class T>
struct Static {
  static_assert(tree_internal::StaticValue<T>,
                "a Static is a number, a bool, an enum or a std::string; pass a Tensor as it is");
  T value{};

  operator const T&() const { return value; }  // implicit: it is used like the value

  static constexpr auto kFields = std::tuple(static_field("value", &Static::value));
};
template <class T>
Static(T) -> Static<T>;

}  // namespace heddle
