// Functions and rules that derivatives cannot take, and tangents of another number.
#include "heddle/heddle.h"

using namespace heddle;

Tensor squared(Tensor x) { return x * x; }

// case aux_with_a_number (13 lines): a C++ number inside of a tree is written as a tensor
auto aux(Tensor x) {
#ifdef aux_with_a_number
  return grad([](Tensor x) { return std::pair(x, 3.0); })(x);
#else
  return grad([](Tensor x) { return std::pair(x, scalar(3.0)); })(x);
#endif
}

// case vmap_of_a_number: a C++ number inside of a tree is written as a tensor
auto mapped(Tensor x) {
#ifdef vmap_of_a_number
  return vmap([](Tensor x) { return std::pair(x, 3.0); })(x);
#else
  return vmap([](Tensor x) { return std::pair(x, scalar(3.0)); })(x);
#endif
}

// case a_tangent_too_few: jvp takes as many tangents as arguments
auto too_few(Tensor x) {
  const auto product = [](Tensor x, Tensor y) { return x * y; };
#ifdef a_tangent_too_few
  return jvp(product, std::tuple(x, 3.0), std::tuple(x));
#else
  return jvp(product, std::tuple(x, 3.0), std::tuple(x, None{}));
#endif
}

// case a_pair_as_arguments: one argument that is a pair or a tuple is std::make_tuple(pair)
auto pairs(std::pair<Tensor, Tensor> x) {
  const auto product = [](std::pair<Tensor, Tensor> x) { return x.first * x.second; };
#ifdef a_pair_as_arguments
  return jvp(product, std::make_tuple(x), std::tuple(x));
#else
  return jvp(product, std::make_tuple(x), std::make_tuple(x));
#endif
}

// case residuals_of_numbers: a C++ number inside of a tree is written as a tensor
auto residuals(Tensor x) {
#ifdef residuals_of_numbers
  return custom_vjp(
      squared, [](Tensor x) { return std::pair(x * x, 2.0); },
      [](double two, Tensor ct) { return ct * two; })(x);
#else
  return custom_vjp(
      squared, [](Tensor x) { return std::pair(x * x, x); },
      [](Tensor x, Tensor ct) { return ct * x * 2; })(x);
#endif
}

// case matvec_of_two: the matvec of custom_linear_solve takes a tree like b
auto products(Tensor b) {
  const auto solve = [](const auto&, Tensor y) { return y; };
#ifdef matvec_of_two
  return custom_linear_solve([](Tensor v) { return std::pair(v, v); }, b, solve);
#else
  return custom_linear_solve([](Tensor v) { return v; }, b, solve);
#endif
}

// case solve_of_one: the solve of custom_linear_solve takes (matvec, b)
// case transpose_solve_of_one: the transpose_solve of custom_linear_solve takes (the transpose of
// case list_of_numbers: a C++ number inside of a tree is written as a tensor
auto solutions(Tensor b) {
  const auto same = [](Tensor v) { return v; };
  const auto solve = [](const auto&, Tensor y) { return y; };
#ifdef solve_of_one
  return custom_linear_solve(same, b, same);
#elif defined(transpose_solve_of_one)
  return custom_linear_solve(same, b, solve, same);
#elif defined(list_of_numbers)
  return custom_linear_solve(same, std::vector<double>{1, 2}, solve);
#else
  return custom_linear_solve(same, b, solve, solve);
#endif
}

// case root_of_text: custom_linear_solve and custom_root solve for a tree of Tensors, or a C++
// case root_solve_of_one: the solve of custom_root takes (f, guess)
// case tangent_solve_of_one: the tangent_solve of custom_root takes (the derivative of f, y)
auto roots(Tensor guess) {
  const auto f = [](Tensor x) { return x - 1; };
  const auto solve = [](const auto&, Tensor y) { return y; };
#ifdef root_of_text
  return custom_root(f, std::string("1"), solve, solve);
#elif defined(root_solve_of_one)
  return custom_root(f, guess, f, solve);
#elif defined(tangent_solve_of_one)
  return custom_root(f, guess, solve, f);
#else
  return custom_root(f, guess, solve, solve);
#endif
}

// case argnums_as_a_number: the numbers of arguments are types: write argnums<0, 2>
// case argnums_in_braces: the numbers of arguments are types: write argnums<0, 2>
// case a_flag_for_the_aux: with an aux returns std::pair(loss, aux), and needs no flag
// case jacobian_by_a_number: the numbers of arguments are types: write argnums<0, 2>
auto by_number(Tensor x) {
  const auto product = [](Tensor x, Tensor y) { return sum(x * y); };
#ifdef argnums_as_a_number
  return grad(product, 1)(x, x);
#elif defined(argnums_in_braces)
  return grad(product, {0, 1})(x, x);
#elif defined(a_flag_for_the_aux)
  return value_and_grad([](Tensor x) { return std::pair(sum(x), x); }, true)(x);
#elif defined(jacobian_by_a_number)
  return jacfwd(product, 1)(x, x);
#else
  return grad(product, argnums<0, 1>)(x, x);
#endif
}

// case tangents_without_a_tuple: write jvp(fn, std::tuple(x), std::tuple(tangent))
auto along(Tensor x) {
#ifdef tangents_without_a_tuple
  return jvp(squared, x, x);
#else
  return jvp(squared, std::tuple(x), std::tuple(x));
#endif
}
