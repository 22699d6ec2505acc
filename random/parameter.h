// Parameter: an argument of a distribution besides the key and the shape.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "heddle/trace/operand.h"

namespace heddle::random {

// The elements of braces in place of a C++ number.
template <class T>
concept MisplacedShape = std::is_arithmetic_v<T>;

// A C++ number or a Tensor, as an Operand, but no braces: C++ takes them for the number in them.
// lognormal(key, {3}) means shape [3] and not sigma 3, and does not compile.
class Parameter : public Operand {
 public:
  using Operand::Operand;
  Parameter(const Operand& x) : Operand(x) {}
  template <class T>
  requires std::is_arithmetic_v<T>  // as that of Operand, which this one takes the place of
  Parameter(std::initializer_list<T>) : Operand(0) {
    static_assert(!sizeof(T),
                  "braces are a shape, and stand behind the parameters of a distribution: write "
                  "lognormal(key, 1.0, {3}); a parameter is a number or a Tensor");
  }
};

}  // namespace heddle::random
