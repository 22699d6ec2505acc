// The functions of jax_table.txt, and what is computed of each: as jax_modes.py does with JAX.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/tests/support/joined.h"

namespace heddle::derivatives {

using grad_internal::some;  // as some() in jax_modes.py
using Tensors = std::vector<Tensor>;
using V = const Tensors&;
using T = const Tensor&;
using Run = std::function<Tensors(const Tensors&)>;  // a case: inputs -> values

struct Case {
  std::string name;
  Run run;
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

using OfNumber = std::function<Tensor(const Tensor&)>;
using OfNumbers = std::function<Tensor(const Tensor&, const Tensor&)>;
using OfTensors = std::function<Tensor(const Tensors&)>;

// A number that depends on each element of y in another way.
Tensor weigh(const Tensor& y);
Tensor direction(const Tensor& x);

Run each(OfNumber f);      // the first and second derivative of f at each x
Run slope(OfNumber f);     // the first alone
Run pair(OfNumbers f);     // the gradient and the Hessian of f at each (x, y)
Run modes(OfTensors f);    // the value, the gradient of weigh(f), the tangent along direction()
Run forward(OfTensors f);  // the value and that tangent alone, where there is no way back
Run second(OfNumber f);    // the Hessian of weigh(f), of one array

// A complex result as two real ones.
OfTensors real_parts(OfTensors f);

std::vector<Case> element_cases();
std::vector<Case> array_cases();
std::vector<Case> matrix_cases();
std::vector<Case> loop_cases();
std::vector<Case> model_cases();
std::vector<Case> transform_cases();

}  // namespace heddle::derivatives
