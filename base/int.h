// Int: an axis, an index, a count or a size that a public function takes. C++ turns true and 2.5
// into an int64_t in silence; neither compiles where an Int is taken.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace heddle::base {

// Takes what converts to an int64_t, and is one wherever one is wanted. An unsigned number beyond
// its range is the greatest one, which no array has.
class Int {
 public:
  template <class T>
  requires std::is_convertible_v<T, int64_t>
  constexpr Int(T value) : value_(static_cast<int64_t>(value)) {  // implicit: {.axis = 1}
    if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
      if (value > static_cast<uint64_t>(INT64_MAX)) value_ = INT64_MAX;
    }
    static_assert(!std::same_as<T, bool> && !std::floating_point<T>,
                  "an axis, an index, a count or a size is an integer; this is a bool or a "
                  "floating-point number");
  }
  constexpr operator int64_t() const { return value_; }

  friend std::string to_string(Int value) { return std::to_string(value.value_); }

 private:
  int64_t value_;
};

}  // namespace heddle::base
